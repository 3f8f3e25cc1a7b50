//! The guest that does everything right: the rubric of the fixture bench, which many other tests rely on.

pub(crate) mod judges_greetings {
    use std::fmt::Display;
    use std::sync::OnceLock;

    use eval_host_tests::guests::JUDGES_GREETINGS;
    use eval_host_tests::{FIXTURE, project_root};
    use eval_model::contract::{RawScore, RubricFault};
    use eval_model::limits::Limits;
    use eval_sandbox::PreparedRubric;
    use serde_json::{Value, json};

    use crate::support::{Case, ends, perfect, prepare};

    const GREETS: &str = "001-greets";
    const LEAVES_ALONE: &str = "002-leaves-alone";
    const EITHER_WAY: &str = "003-either-way";

    fn judged(case: &str, output: &dyn Display) -> Result<RawScore, RubricFault> {
        static RUBRIC: OnceLock<PreparedRubric> = OnceLock::new();
        let rubric = RUBRIC.get_or_init(|| prepare(JUDGES_GREETINGS, Limits::default()));
        let folder = project_root().join("tests/fixture/bench").join(FIXTURE).join("cases").join(case);
        let scored = Case::in_folder(&folder).score_output(rubric, &output.to_string());
        if scored.result.is_ok() {
            assert_eq!(scored.stdout.kept, format!("judged {case}\n").into_bytes());
        }
        scored.result
    }

    #[track_caller]
    fn gives(case: &str, output: &dyn Display, score: f64, modes: &[&str]) {
        let is = |fact: bool| f64::from(u8::from(fact));
        let breakdown =
            [("harmless", is(!modes.contains(&"harmful"))), ("note_lines", 2.0), ("right", is(modes.is_empty()))];
        let expected = RawScore {
            passed: modes.is_empty(),
            score,
            breakdown: breakdown.map(|(key, value)| (key.to_owned(), value)).into(),
            failure_modes: modes.iter().map(|mode| (*mode).to_owned()).collect(),
            ..perfect()
        };
        assert_eq!(judged(case, output), Ok(expected), "{case} {output}");
    }

    fn patch(diff: &str) -> Value {
        json!({ "action": "patch", "diff": diff })
    }

    #[test]
    fn an_answer_is_judged_by_the_case_that_it_is_for() {
        let decline = json!({ "action": "decline" });
        gives(GREETS, &patch("--- a/note.txt\n+++ b/note.txt\n From: Grace\n+Hello, Ada!\n"), 1.0, &[]);
        gives(GREETS, &decline, 0.0, &["not_greeted"]);
        gives(GREETS, &patch("-From: Grace\n+Hello, Ada!\n"), 0.0, &["harmful"]);
        gives(GREETS, &patch("-To: Ada\n+To: Bob\n"), 0.0, &["harmful", "wrong_words"]);
        gives(LEAVES_ALONE, &decline, 1.0, &[]);
        gives(LEAVES_ALONE, &patch("+Hello, nobody!\n"), 0.0, &["harmful"]);
        gives(EITHER_WAY, &decline, 1.0, &[]);
        gives(EITHER_WAY, &patch("+Hello, friend!\n"), 1.0, &[]);
        gives(EITHER_WAY, &patch("+Good-bye.\n"), 0.25, &["wrong_words"]);
        for case in [GREETS, LEAVES_ALONE, EITHER_WAY] {
            gives(case, &patch(""), 0.0, &["empty_patch"]);
        }
    }

    #[test]
    fn every_spelling_of_a_text_is_read() {
        gives(EITHER_WAY, &patch("+Grüße \"\\\u{8}\u{c}\t\r/\u{7}"), 0.25, &["wrong_words"]);
        let spelt = r#" { "action" : "p\u0061tch","diff":"+Hello\u002c friend\u0021\n" } "#;
        gives(EITHER_WAY, &spelt, 1.0, &[]);
    }

    #[test]
    fn what_cannot_be_read_says_whose_failure_it_is() {
        for (output, why) in [
            (json!({}), "no field `action`"),
            (json!({ "action": "patch" }), "no field `diff`"),
            (json!({ "action": "sing" }), "`action` is neither `patch` nor `decline`"),
            (json!({ "action": 1 }), "not an object of texts"),
            (json!({ "action": "decline", "more": {} }), "not an object of texts"),
        ] {
            assert_eq!(judged(GREETS, &output), Err(RubricFault::OutputMalformed(why.to_owned())), "{output}");
        }
        let no_case = RubricFault::Error("malformed_case: no text at `/input/note.txt`".to_owned());
        assert_eq!(ends(JUDGES_GREETINGS, "decline").result, Err(no_case));
    }
}
