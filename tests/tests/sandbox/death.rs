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
}
