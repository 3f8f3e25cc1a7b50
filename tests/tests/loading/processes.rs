//! Which commands start a compiler, as strace sees it, and what such a process can reach.

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Command, Stdio};

use eval_host_tests::{Ended, Eval, Workbench};

use crate::BINARY;

/// Runs a command, and gives the number of compilers that it started.
fn compilers(workbench: &Workbench, eval: Eval) -> (usize, Ended) {
    let log = workbench.path().join("strace.log");
    let strace = format!("strace -f -qq -e trace=execve -o {} \"$0\" \"$@\"; exit $?", log.display());
    let ended = eval.after(&strace).run();
    let log = fs::read_to_string(&log).expect("a log");
    let started = log.lines().filter(|line| line.contains("\"compile-rubric\"") && line.ends_with(" = 0"));
    (started.count(), ended)
}

fn workbench() -> Workbench {
    Workbench::with_fixture(BINARY)
}

fn eval<const N: usize>(workbench: &Workbench, args: [&str; N]) -> Eval {
    workbench
        .eval(args)
        .env("XDG_CACHE_HOME", workbench.path().join("cache"))
        .env("TMPDIR", workbench.path().join("tmp"))
}

/// Names in a folder.
fn names(workbench: &Workbench, folder: &str) -> Vec<String> {
    let entries = fs::read_dir(workbench.path().join(folder)).expect("a folder");
    entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

#[test]
fn a_rubric_is_compiled_once_and_a_verifier_believes_nothing_that_was_compiled_before() {
    let workbench = workbench();
    fs::create_dir(workbench.path().join("tmp")).expect("a folder");
    let file = workbench.fixture().join("rubric.wasm");
    let file = file.to_str().expect("UTF-8");
    let started = |args: &[&str], code| {
        let (started, ended) = compilers(&workbench, eval(&workbench, []).args(args));
        let _ = ended.expect_code(code);
        started
    };
    let verdict = ["promote-verdict", "--task-class=fixture", "--target-tier=silver"];
    let anew = [&verdict[..], &["--no-cache"]].concat();
    for (args, code, expected) in [
        // Nobody has compiled it, and then somebody has.
        (&["run", "--task-class=fixture"][..], 0, 1),
        (&["run", "--task-class=fixture"], 0, 0),
        (&["rubric", "test", "--task-class=fixture"], 0, 0),
        // The answer of both is no: something survives, and no attack is on record.
        (&["rubric", "attack", "--task-class=fixture"], 5, 0),
        (&["fence"], 5, 0),
        // It is read once more, to be shown.
        (&["rubric", "inspect", file], 0, 1),
        // Two records, one rubric, and no cache.
        (&["verify", "--replay"], 0, 1),
        (&verdict, 5, 0),
        (&anew, 5, 1),
    ] {
        assert_eq!(started(args, code), expected, "{args:?}");
    }
    assert_eq!(names(&workbench, "tmp"), Vec::<String>::new(), "what was compiled for one command is gone");
    assert_eq!(names(&workbench, "cache/eval-host"), ["modules"]);
}

#[test]
fn two_runs_at_once_compile_the_same_rubric_and_both_end_well() {
    let workbench = workbench();
    let run = |out: &str| eval(&workbench, ["run", "--task-class=fixture", "--out", out]).into_command();
    let start = |out: &str| run(out).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let children = ["a", "b", "c", "d"].map(start);
    for mut child in children {
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(names(&workbench, "cache/eval-host"), ["modules"]);
}

/// The compiler is the program that was started, whatever lies by now where its file was.
#[test]
fn a_host_whose_file_was_replaced_compiles_with_itself() {
    let workbench = workbench();
    let (copy, pipe) = (workbench.path().join("eval-host"), workbench.path().join("pipe"));
    fs::copy(BINARY, &copy).expect("a copy");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let eval =
        Eval::new(&copy, workbench.path(), &workbench.path().join("home")).args(["rubric", "inspect"]).args([&pipe]);
    let host = eval.into_command().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    // This waits until the host has opened the other end, and the host waits for a component.
    let mut component = File::options().write(true).open(&pipe).expect("a pipe");
    fs::remove_file(&copy).expect("it is ours");
    fs::copy("/bin/false", &copy).expect("another program");
    component.write_all(eval_host_tests::guests::HONEST).expect("the host reads");
    drop(component);
    let ended = host.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success() && said.ends_with("it loads\n"), "{said}");
}

/// What a compiler does after its own beginnings: everything is held by the kernel from the moment it says so.
#[test]
fn the_compiler_has_limits_no_environment_and_no_way_out_before_it_reads_the_component() {
    let workbench = workbench();
    let log = workbench.path().join("strace.log");
    let strace = format!(
        "strace -f -qq -v -s 300 -e trace=execve,prlimit64,prctl,seccomp,landlock_restrict_self,socket,connect,openat,read \
         -o {} \"$0\" \"$@\"; exit $?",
        log.display()
    );
    let _ = eval(&workbench, ["run", "--task-class=fixture"]).env("SECRET", "x").after(&strace).run().expect_code(0);
    let log = fs::read_to_string(&log).expect("a log");
    let started =
        log.lines().position(|line| line.contains("\"compile-rubric\"") && line.ends_with(" = 0")).expect("one");
    let lines: Vec<&str> = log.lines().collect();
    let pid = lines[started].split_whitespace().next().expect("a process");
    assert!(lines[started].contains("[\"RAYON_NUM_THREADS=4\"])"), "{}", lines[started]);
    let own: Vec<&str> = lines[started..].iter().copied().filter(|line| line.starts_with(pid)).collect();
    let at = |what: &str| own.iter().position(|line| line.contains(what)).unwrap_or_else(|| panic!("{what}: {own:#?}"));
    let reads = own.iter().position(|line| line.contains("read(0,")).expect("it reads the component");
    for set in ["RLIMIT_DATA, {", "RLIMIT_CPU, {", "RLIMIT_FSIZE, {", "PR_SET_NO_NEW_PRIVS, 1"] {
        assert!(at(set) < reads, "{set}");
    }
    let filter =
        own.iter().position(|line| line.contains("SECCOMP_MODE_FILTER") || line.contains("SECCOMP_SET_MODE_FILTER"));
    assert!(filter.expect("calls are forbidden") < reads);
    let after = &own[reads..];
    assert!(
        !after.iter().any(|line| line.contains("socket(") || line.contains("connect(") || line.contains("execve("))
    );
    let folder = workbench.path().join("cache/eval-host/compiling-");
    let elsewhere =
        after.iter().filter(|line| line.contains("openat(") && line.contains(" = ") && !line.contains(" = -1"));
    let elsewhere: Vec<_> = elsewhere.filter(|line| !line.contains(folder.to_str().expect("UTF-8"))).collect();
    assert!(elsewhere.is_empty(), "{elsewhere:#?}");
}
