//! Guests that end without an answer.

pub(crate) mod dies {
    use eval_host_tests::guests::DIES;
    use eval_model::contract::TrapKind;

    use crate::support::{ends, perfect, trap};

    #[test]
    fn every_way_to_die_is_told_apart_by_its_cause() {
        for (how, kind) in [
            ("exit-0", TrapKind::Exit),
            ("exit-1", TrapKind::Exit),
            ("exit-3", TrapKind::Exit),
            ("abort", TrapKind::Unreachable),
            ("panic", TrapKind::Unreachable),
            ("unreachable", TrapKind::Unreachable),
        ] {
            assert_eq!(ends(DIES, how).result, trap(kind), "{how}");
        }
        assert_eq!(ends(DIES, "not at all").result, Ok(perfect()));
    }

    #[test]
    fn a_panic_is_explained_on_stderr() {
        let scored = ends(DIES, "panic");
        let stderr = String::from_utf8(scored.stderr.kept).expect("a panic is text");
        assert!(stderr.contains("on purpose"), "{stderr}");
    }
}

macro_rules! traps {
    ($($guest:ident: $constant:ident, $kind:ident, $test:ident;)*) => { $(
        pub(crate) mod $guest {
            use eval_model::contract::TrapKind;

            use crate::support::{ends, trap};

            #[test]
            fn $test() {
                let scored = ends(eval_host_tests::guests::$constant, "");
                assert_eq!(scored.result, trap(TrapKind::$kind));
                assert!(scored.fuel_used.is_some(), "the same on every machine");
            }
        }
    )* };
}

traps! {
    traps_at_start: TRAPS_AT_START, Unreachable, it_is_a_trap_like_any_other;
    reads_out_of_bounds: READS_OUT_OF_BOUNDS, OutOfBounds, memory_ends_where_it_ends;
    divides_by_zero: DIVIDES_BY_ZERO, Other, it_is_a_trap_like_any_other;
    traps_by_name: TRAPS_BY_NAME, Other, it_is_a_trap_like_any_other;
}

pub(crate) mod misplaces_arguments {
    use eval_host_tests::guests::MISPLACES_ARGUMENTS;
    use eval_model::contract::TrapKind;
    use eval_model::limits::Limits;
    use eval_sandbox::Backend;

    use crate::support::{Case, prepare, sandbox_on, the_next_case_scores, trap};

    const LONG: &str = "a-name-that-takes-more-than-forty-bytes-to-write";

    /// `score` was never called, so there is no result to find fault with.
    #[test]
    fn an_address_that_is_none_is_a_trap_whichever_argument_it_is_for() {
        let rubric = prepare(MISPLACES_ARGUMENTS, Limits::default());
        for (case_id, asked) in [(LONG, ""), ("short", LONG)] {
            let scored = Case::named(case_id).score(&rubric, asked);
            assert_eq!(scored.result, trap(TrapKind::BadArgument), "{case_id} {asked}");
            assert!(scored.fuel_used.is_some(), "the same on every machine");
        }
        let called = Case::named("short").score(&rubric, "");
        assert_eq!(called.result, trap(TrapKind::Unreachable), "with its arguments in place it is called");
        the_next_case_scores();
    }

    #[test]
    fn another_architecture_calls_it_the_same() {
        let interpreter = sandbox_on(Backend::Interpreter);
        let rubric = interpreter.load(MISPLACES_ARGUMENTS).expect("it loads").prepare(Limits::default());
        assert_eq!(Case::named("short").score(&rubric, LONG).result, trap(TrapKind::BadArgument));
    }
}
