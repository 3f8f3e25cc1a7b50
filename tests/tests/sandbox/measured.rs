//! The guests that the benchmark measures: it means something only while they do what they say.

pub(crate) mod judges_a_version {
    use eval_host_tests::guests::JUDGES_A_VERSION;
    use eval_model::contract::{RawScore, RubricFault, Scored};
    use eval_model::limits::Limits;
    use serde_json::{Value, json};

    use crate::support::{Case, perfect, prepare};

    fn judged(output: &Value) -> Scored {
        Case::named("measured").score_output(&prepare(JUDGES_A_VERSION, Limits::default()), &output.to_string())
    }

    #[test]
    fn an_answer_is_held_to_the_lines_of_the_fact() {
        let output = json!({ "package": "the fact", "version": "1", "files": [], "confidence": 0.5 });
        let breakdown = [("confidence", 0.5), ("holding", 2.0)];
        let expected = RawScore {
            passed: false,
            score: 2.0 / 3.0,
            breakdown: breakdown.map(|(key, value)| (key.to_owned(), value)).into(),
            failure_modes: vec!["wrong_version".to_owned()],
            ..perfect()
        };
        assert_eq!(judged(&output).result, Ok(expected));
    }

    #[test]
    fn an_answer_of_another_shape_is_malformed() {
        let result = judged(&json!({ "package": 1 })).result;
        assert!(matches!(result, Err(RubricFault::OutputMalformed(_))), "{result:?}");
    }
}

pub(crate) mod judges_nothing {
    use eval_host_tests::guests::JUDGES_NOTHING;

    use crate::support::{ends, perfect};

    #[test]
    fn it_passes_whatever_it_is_given() {
        let scored = ends(JUDGES_NOTHING, "");
        assert_eq!(scored.result, Ok(perfect()));
        assert!(scored.stdout.kept.is_empty());
    }
}
