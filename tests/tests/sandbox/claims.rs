//! Guests that return what they must not. The sandbox hands over what was claimed, if it can be read at all; judging it is
//! the next stage's.

pub(crate) mod lies {
    use eval_host::contract::{RawScore, RubricFault};
    use eval_host_tests::guests::LIES;

    use crate::support::{ends, perfect};

    fn claimed(lie: &str) -> RawScore {
        ends(LIES, lie).result.expect("a lie is an answer")
    }

    #[test]
    fn a_claimed_number_arrives_bit_for_bit() {
        for (lie, score) in [
            ("infinity", f64::INFINITY),
            ("negative-infinity", f64::NEG_INFINITY),
            ("negative-zero", -0.0),
            ("just-above-one", 1.000_000_000_000_000_2),
            ("negative", -0.1),
        ] {
            assert_eq!(claimed(lie).score.to_bits(), score.to_bits(), "{lie}");
        }
        assert!(claimed("nan").score.is_nan());
        assert_eq!(claimed("other-cost").cost_usd.to_bits(), 0.0_f64.to_bits());
        assert_eq!(claimed("other-duration").duration_seconds.to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn claimed_names_arrive_as_they_are() {
        for (lie, keys) in [
            ("duplicate-keys", vec!["twice".to_owned(), "twice".to_owned()]),
            ("empty-key", vec![String::new()]),
            ("banned-key", vec!["confidence".to_owned()]),
            ("overlong-key", vec!["k".repeat(65)]),
            ("other-alphabet-key", vec!["schlüssel".to_owned()]),
            ("many-keys", vec!["k".to_owned(); 65]),
        ] {
            let found: Vec<String> = claimed(lie).breakdown.into_iter().map(|(key, _)| key).collect();
            assert_eq!(found, keys, "{lie}");
        }
        for (lie, passed, mode) in [
            ("host-mode", false, "rubric_fuel_exhausted"),
            ("control-mode", false, "mode\u{1b}[2J"),
            ("blocked-and-passed", true, "cve_still_present"),
        ] {
            assert_eq!(claimed(lie), RawScore { passed, failure_modes: vec![mode.to_owned()], ..perfect() }, "{lie}");
        }
    }

    #[test]
    fn each_error_says_whose_failure_it_is() {
        let fault = |lie| ends(LIES, lie).result.expect_err("no score");
        assert_eq!(fault("malformed-output"), RubricFault::OutputMalformed("no field `patch`".to_owned()));
        assert_eq!(fault("malformed-case"), RubricFault::Error("malformed_case: no file `expected/diff`".to_owned()));
        assert_eq!(fault("internal"), RubricFault::Error("internal: gave up\u{1b}[2J".to_owned()));
    }
}

pub(crate) mod returns_too_much {
    use eval_host::contract::{RubricFault, TrapKind};
    use eval_host_tests::guests::RETURNS_TOO_MUCH;

    use super::unreadable;
    use crate::support::{ends, trap};

    #[test]
    fn a_result_that_is_too_large_is_malformed_whatever_it_says() {
        for how in ["entries", "mode", "malformed-output", "malformed-case", "internal"] {
            assert_eq!(ends(RETURNS_TOO_MUCH, how).result, Err(unreadable()), "{how}");
        }
        assert_ne!(unreadable(), RubricFault::MemoryExhausted);
    }

    #[test]
    fn an_argument_that_is_too_large_is_not_mistaken_for_a_result() {
        assert_eq!(ends(RETURNS_TOO_MUCH, "argument").result, trap(TrapKind::BadArgument));
    }
}

pub(crate) mod returns_a_wild_pointer {
    use eval_host_tests::guests::RETURNS_A_WILD_POINTER;

    use super::unreadable;
    use crate::support::ends;

    #[test]
    fn a_result_outside_the_guests_memory_is_malformed() {
        assert_eq!(ends(RETURNS_A_WILD_POINTER, "").result, Err(unreadable()));
    }
}

pub(crate) mod returns_broken_text {
    use eval_host_tests::guests::RETURNS_BROKEN_TEXT;

    use super::unreadable;
    use crate::support::ends;

    #[test]
    fn a_text_that_is_not_unicode_is_malformed() {
        assert_eq!(ends(RETURNS_BROKEN_TEXT, "").result, Err(unreadable()));
    }
}

fn unreadable() -> eval_host::contract::RubricFault {
    eval_host::contract::RubricFault::Malformed {
        field: "result",
        why: "not a value of its type, or larger than 1048576 bytes".to_owned(),
    }
}
