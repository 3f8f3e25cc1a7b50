//! Guests that return what they must not. The sandbox hands over what was claimed, if it can be read at all; judging it is
//! the next stage's.

pub(crate) mod lies {
    use std::fs;

    use eval_host_tests::Workbench;
    use eval_host_tests::guests::LIES;
    use eval_model::contract::{RawScore, RubricFault};

    use crate::support::{METER, ends, perfect};

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
        assert_eq!(claimed("other-cost").cost_usd.to_bits(), (METER.cost_usd + 1.0).to_bits());
        assert_eq!(claimed("other-duration").duration_seconds.to_bits(), (METER.duration_seconds + 1.0).to_bits());
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

    /// One lie, told to the whole program: how the case ended and what it is called.
    fn told(workbench: &Workbench, lie: &str) -> String {
        fs::write(workbench.path().join("output.json"), format!(r#"{{"do":"{lie}"}}"#)).expect("the output");
        let case = "bench/vuln-remediation/cases/001-ws-several-branches";
        let ended = workbench
            .eval(["rubric", "score", "--rubric", "lies.wasm", "--case", case, "--output", "output.json"])
            .run();
        let line = ended.line("case");
        format!("{lie}: {} {} {}", line["outcome"], line["score"]["score"], line["score"]["failure_modes"])
    }

    #[test]
    fn no_lie_gets_into_a_score() {
        let workbench = Workbench::with_bench(env!("CARGO_BIN_EXE_eval-host-under-test"), "vuln-remediation");
        fs::write(workbench.path().join("lies.wasm"), LIES).expect("the component");
        let lies = [
            "nan",
            "infinity",
            "negative-infinity",
            "negative-zero",
            "just-above-one",
            "negative",
            "duplicate-keys",
            "empty-key",
            "banned-key",
            "overlong-key",
            "other-alphabet-key",
            "many-keys",
            "host-mode",
            "control-mode",
            "blocked-and-passed",
            "other-cost",
            "other-duration",
            "malformed-output",
            "malformed-case",
            "internal",
        ];
        let told: Vec<String> = lies.iter().map(|lie| told(&workbench, lie)).collect();
        insta::assert_snapshot!(told.join("\n"), @r#"
        nan: "rubric_fault" 0.0 ["rubric_malformed: score: not a finite number"]
        infinity: "rubric_fault" 0.0 ["rubric_malformed: score: not a finite number"]
        negative-infinity: "rubric_fault" 0.0 ["rubric_malformed: score: not a finite number"]
        negative-zero: "scored" 0.0 []
        just-above-one: "rubric_fault" 0.0 ["rubric_malformed: score: 1.0000000000000002 is outside of [0, 1]"]
        negative: "rubric_fault" 0.0 ["rubric_malformed: score: -0.1 is outside of [0, 1]"]
        duplicate-keys: "rubric_fault" 0.0 ["rubric_malformed: breakdown: the key `twice` occurs twice"]
        empty-key: "rubric_fault" 0.0 ["rubric_malformed: breakdown: `` does not match `[a-z][a-z0-9_]{0,63}`"]
        banned-key: "rubric_fault" 0.0 ["rubric_malformed: breakdown: `confidence` contains `confidence`, and a score has facts only"]
        overlong-key: "rubric_fault" 0.0 ["rubric_malformed: breakdown: `kkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkkk` does not match `[a-z][a-z0-9_]{0,63}`"]
        other-alphabet-key: "rubric_fault" 0.0 ["rubric_malformed: breakdown: `schlüssel` does not match `[a-z][a-z0-9_]{0,63}`"]
        many-keys: "rubric_fault" 0.0 ["rubric_malformed: breakdown: 65 entries, at most 64 are allowed"]
        host-mode: "rubric_fault" 0.0 ["rubric_malformed: failure_modes: `rubric_fuel_exhausted` is the host's own name"]
        control-mode: "rubric_fault" 0.0 ["rubric_malformed: failure_modes: `mode\\u{1b}[2J` does not match `[a-z][a-z0-9_]{0,63}`"]
        blocked-and-passed: "rubric_fault" 0.0 ["rubric_malformed: passed: true together with `cve_still_present`, which is of block severity"]
        other-cost: "rubric_fault" 0.0 ["rubric_malformed: cost_usd: 1 is not what the host metered, 0"]
        other-duration: "rubric_fault" 0.0 ["rubric_malformed: duration_seconds: 1 is not what the host metered, 0"]
        malformed-output: "sut_fault" 0.0 ["output_malformed: no field `patch`"]
        malformed-case: "rubric_fault" 0.0 ["rubric_error: malformed_case: no file `expected/diff`"]
        internal: "rubric_fault" 0.0 ["rubric_error: internal: gave up\\u{1b}[2J"]
        "#);
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
    use eval_host_tests::guests::RETURNS_TOO_MUCH;
    use eval_model::contract::{RubricFault, TrapKind};

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

fn unreadable() -> eval_model::contract::RubricFault {
    eval_model::contract::RubricFault::Malformed {
        field: "result",
        why: "not a value of its type, or larger than 1048576 bytes".to_owned(),
    }
}
