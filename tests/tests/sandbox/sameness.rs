//! The same component, case and output give the same bytes and the same fuel: again, in another process, order, thread and
//! surrounding, and on another architecture.

pub(crate) mod observes_everything {
    use std::process::Command;
    use std::thread;

    use eval_host_tests::guests::OBSERVES_EVERYTHING;
    use eval_model::contract::Scored;
    use eval_model::limits::Limits;
    use eval_sandbox::{Backend, PreparedRubric};

    use crate::support::{Case, WORKERS, again_in_a_process, ends, prepare, sandbox_on};

    const CASES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

    fn rubric() -> PreparedRubric {
        prepare(OBSERVES_EVERYTHING, Limits::default())
    }

    fn observe(rubric: &PreparedRubric) -> Vec<Scored> {
        CASES.iter().map(|name| Case::named(name).score(rubric, "")).collect()
    }

    /// The golden file is what makes builds comparable that never meet: debug and release, this machine and another.
    #[test]
    fn what_it_sees_is_what_it_has_always_seen() {
        let scored = ends(OBSERVES_EVERYTHING, "");
        let seen = &scored.result.as_ref().expect("it returned").breakdown;
        let (fuel, peak) = (scored.fuel_used.expect("it returned"), scored.peak_memory_bytes.expect("it returned"));
        let seen: String = seen.iter().map(|(name, digest)| format!("{name} {digest}\n")).collect();
        insta::assert_snapshot!(format!("{seen}fuel {fuel}\npeak {peak}"), @r#"
        case 2137867180476499
        output 1367782868586579
        files 1991398366989130
        clocks 5413540967153984
        random 6715480399638933
        surroundings 3083184519016433
        addresses 527481223815217
        floats 6329545580380980
        fuel 874843
        peak 1114112
        "#);
    }

    #[test]
    fn another_process_in_other_surroundings_sees_it_too() {
        let test = "sameness::observes_everything::what_it_sees_is_what_it_has_always_seen";
        for (zone, language, directory) in [("Pacific/Chatham", "tr_TR.UTF-8", "/"), ("UTC", "C", "/proc")] {
            again_in_a_process(test, |program| {
                let mut command = Command::new(program);
                command.env_clear().current_dir(directory);
                command.envs([("TZ", zone), ("LC_ALL", language), ("SECRET", "nobody's business")]);
                command
            });
        }
    }

    /// Where the address space is too small for the instance pool, instances are allocated one by one instead.
    #[test]
    fn a_process_with_little_address_space_sees_it_too() {
        let test = "sameness::observes_everything::what_it_sees_is_what_it_has_always_seen";
        again_in_a_process(test, |program| {
            let mut command = Command::new("sh");
            command.args(["-c", r#"ulimit -v 8000000; exec "$0" "$@""#]).arg(program);
            command
        });
    }

    #[test]
    fn the_order_of_cases_does_not_show() {
        let rubric = rubric();
        let forward = observe(&rubric);
        let mut backward: Vec<Scored> = CASES.iter().rev().map(|name| Case::named(name).score(&rubric, "")).collect();
        backward.reverse();
        assert_eq!(forward, backward);
    }

    #[test]
    fn cases_that_run_together_do_not_show_to_each_other() {
        let rubric = rubric();
        let alone = observe(&rubric);
        thread::scope(|scope| {
            let together: Vec<_> = (0..2 * WORKERS).map(|_| scope.spawn(|| observe(&rubric))).collect();
            for observed in together {
                assert_eq!(observed.join().expect("no panic"), alone);
            }
        });
    }

    #[test]
    fn an_interpreter_sees_the_same_as_this_machine() {
        let interpreter = sandbox_on(Backend::Interpreter);
        let interpreted = interpreter.load(OBSERVES_EVERYTHING).expect("it loads").prepare(Limits::default());
        assert_eq!(observe(&interpreted), observe(&rubric()));
    }
}

/// What holds for the guest that looks for differences must hold for the rubrics that people rely on.
mod benches {
    use std::fs;
    use std::path::{Path, PathBuf};
    use std::thread;

    use eval_host_tests::project_root;
    use eval_model::contract::Scored;
    use eval_model::limits::Limits;
    use eval_sandbox::{Backend, PreparedRubric};
    use serde_json::Value;

    use crate::support::{Case, prepare, sandbox_on};

    struct Answered {
        case: Case,
        output: String,
    }

    impl Answered {
        fn score(&self, rubric: &PreparedRubric) -> Scored {
            self.case.score_output(rubric, &self.output)
        }
    }

    fn folders(folder: PathBuf) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
        folders.sort();
        folders
    }

    fn cases(bench: &Path) -> Vec<Answered> {
        let answered = |folder: PathBuf| {
            let cassette = fs::read(folder.join("cassette.json")).ok()?;
            let cassette: Value = serde_json::from_slice(&cassette).expect("a cassette is JSON");
            Some(Answered { case: Case::in_folder(&folder), output: cassette.get("output")?.to_string() })
        };
        folders(bench.join("cases")).into_iter().filter_map(answered).collect()
    }

    #[test]
    fn every_case_of_every_bench_scores_the_same_in_any_order_on_any_thread_and_interpreted() {
        let interpreter = sandbox_on(Backend::Interpreter);
        for bench in folders(project_root().join("bench")) {
            let component = fs::read(bench.join("rubric.wasm")).expect("a bench has a rubric");
            let native = prepare(&component, Limits::default());
            let interpreted = interpreter.load(&component).expect("it loads").prepare(Limits::default());
            let cases = cases(&bench);
            assert!(!cases.is_empty(), "{}", bench.display());
            let expected: Vec<Scored> = cases.iter().map(|case| case.score(&native)).collect();
            let reversed: Vec<Scored> = cases.iter().rev().map(|case| case.score(&native)).collect();
            assert!(reversed.iter().rev().eq(&expected), "{}: the order shows", bench.display());
            thread::scope(|scope| {
                let scored: Vec<_> = cases.iter().map(|case| scope.spawn(|| case.score(&native))).collect();
                for (scored, expected) in scored.into_iter().zip(&expected) {
                    assert_eq!(&scored.join().expect("no panic"), expected);
                }
            });
            for (case, expected) in cases.iter().zip(&expected) {
                assert_eq!(&case.score(&interpreted), expected, "{}: the architecture shows", bench.display());
            }
        }
    }
}
