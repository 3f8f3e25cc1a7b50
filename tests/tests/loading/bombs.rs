//! Small components that are heavy to read or to compile: an error of loading that names its limit, while the host stays as small
//! as it is with an honest one.

use eval_host_tests::bombs::{self, Bomb};
use eval_host_tests::{Eval, FIXTURE, Workbench, guests};

use crate::BINARY;
use crate::peak::{Peak, peak};

/// What the host itself may have more than with an honest rubric: what it reads of the component, and some room.
const MORE_KIBIBYTES: u64 = 32 << 10;

const MEMORY: &str = "compiling the component takes more than the 512 MiB of memory that it may take";
const CPU: &str = "compiling the component takes more than the 2 CPU seconds that it may take; it is made of ";

/// A bench with this rubric, which nobody has compiled before, and little for whoever does.
fn workbench(component: &[u8]) -> Workbench {
    let workbench = Workbench::with_fixture(BINARY);
    workbench.replace_rubric(FIXTURE, component);
    workbench
}

fn eval<const N: usize>(workbench: &Workbench, args: [&str; N]) -> Eval {
    let cache = workbench.path().join("cache");
    let eval = workbench.eval(args).env("XDG_CACHE_HOME", cache);
    eval.env("EVAL_HOST_COMPILE_CPU_SECONDS", "2").env("EVAL_HOST_COMPILE_MEMORY_MIB", "512")
}

fn run(component: &[u8]) -> Peak {
    let workbench = workbench(component);
    peak(eval(&workbench, ["run", "--task-class=fixture"]).into_command())
}

fn bomb(name: &str) -> Bomb {
    bombs::all().into_iter().find(|bomb| bomb.name == name).expect("a bomb of this name")
}

/// Runs a bench whose rubric is a bomb, and one with an honest rubric beside it.
#[track_caller]
fn ends_with_one_of(name: &str, limits: &[&str]) {
    let Peak { code, stderr, kibibytes } = run(&bomb(name).component);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.starts_with("error: failed to load the rubric of `fixture`\n"), "{stderr}");
    assert!(limits.iter().any(|limit| stderr.contains(limit)), "{stderr}");
    assert!(!stderr.contains("panicked"), "{stderr}");
    let honest = run(guests::JUDGES_GREETINGS);
    assert_eq!(honest.code, Some(0), "{}", honest.stderr);
    assert!(kibibytes < honest.kibibytes + MORE_KIBIBYTES, "{kibibytes} KiB, and {} KiB else", honest.kibibytes);
}

macro_rules! bombs {
    ($($test:ident: $name:literal, [$($limit:expr),*];)*) => { $(
        #[test]
        fn $test() {
            ends_with_one_of($name, &[$($limit),*]);
        }
    )* };
}

bombs! {
    blocks_with_a_thousand_parameters_and_results: "blocks", [MEMORY, CPU];
    calls_with_a_thousand_arguments_and_results: "calls", [MEMORY, CPU];
    a_million_elements_at_computed_offsets: "elements", [MEMORY, CPU];
    constant_expressions_of_a_million_terms: "terms", [MEMORY, CPU];
    ninety_thousand_data_segments_at_computed_offsets: "segments", [MEMORY, CPU];
    a_hundred_thousand_components_in_each_other: "nested",
        ["components nested in each other: 17, above the maximum of 16"];
    sixty_thousand_types_in_each_other: "types", ["has overflowed its stack"];
    seventy_thousand_globals: "globals", [", above the maximum of 32768): build it with less of that"];
}

#[test]
fn every_bomb_has_a_test() {
    let tested = include_str!("bombs.rs");
    for bomb in bombs::all() {
        assert!(tested.contains(&format!(": {:?}, ", bomb.name)) || tested.contains(&format!(": {:?},\n", bomb.name)));
    }
}

#[test]
fn every_command_that_loads_meets_the_same_limit() {
    let workbench = workbench(&bomb("blocks").component);
    let file = workbench.fixture().join("rubric.wasm");
    let file = file.to_str().expect("UTF-8");
    let case = workbench.fixture().join("cases/001-greets");
    let output = workbench.path().join("output.json");
    std::fs::write(&output, "{}").expect("an output");
    let (case, output) = (case.to_str().expect("UTF-8"), output.to_str().expect("UTF-8"));
    for (code, ended) in [
        (1, eval(&workbench, ["rubric", "test", "--task-class=fixture"]).run()),
        (1, eval(&workbench, ["rubric", "score", "--case", case, "--output", output]).run()),
        (5, eval(&workbench, ["rubric", "inspect", file]).run()),
        (5, eval(&workbench, ["fence"]).run()),
    ] {
        let ended = ended.expect_code(code);
        assert!(ended.stderr.contains(MEMORY) || ended.stderr.contains(CPU), "{}", ended.stderr);
    }
    let line = eval(&workbench, ["rubric", "inspect", file]).run().line("inspection");
    assert_eq!(line["loads"], false);
}

#[test]
fn time_that_is_up_is_a_limit_too() {
    let workbench = workbench(&bomb("calls").component);
    let eval = eval(&workbench, ["run", "--task-class=fixture"]);
    let plenty = eval.env("EVAL_HOST_COMPILE_CPU_SECONDS", "1000").env("EVAL_HOST_COMPILE_MEMORY_MIB", "16000");
    let ended = plenty.env("EVAL_HOST_COMPILE_SECONDS", "1").run().expect_code(1);
    assert!(ended.stderr.contains("takes longer than the 1 seconds that it may take"), "{}", ended.stderr);
    assert!(ended.stderr.contains("raise EVAL_HOST_COMPILE_SECONDS"), "{}", ended.stderr);
}
