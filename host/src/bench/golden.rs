//! Golden tests of a rubric: `tests/<case-id>/<name>.json` holds an answer and the score that it must give.
//!
//! They run in the same sandbox and under the same limits as a run, so a rubric that passes them here behaves the same when a
//! score counts. What a golden test expects is compared exactly: a rubric is deterministic, so there is nothing to tolerate.

use std::collections::BTreeSet;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use eval_evidence::files::{Dir, FileError, MOST_FILE_BYTES};
use eval_model::advice::Advice;
use eval_model::case::ReadCase;
use eval_model::contract::{Meter, RubricRunner, RunnerError};
use eval_model::ids::Digest;
use eval_model::json;
use eval_model::judge::judge;

/// One golden test, as its file says.
#[derive(Debug)]
pub(crate) struct GoldenTest {
    pub(crate) name: String,
    pub(super) output_json: String,
    pub(crate) expected: Outcome,
    /// Why an answer that an attack found passes rightly, in the words of who accepted it.
    pub(super) equivalent: Option<String>,
    /// Of the file.
    pub(super) digest: Digest,
}

/// What a rubric makes of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Outcome {
    Score {
        passed: bool,
        score: f64,
        failure_modes: BTreeSet<String>,
    },
    /// The name of the fault, without the words behind it.
    Fault(String),
}

impl Outcome {
    pub(crate) fn passes(&self) -> bool {
        matches!(self, Self::Score { passed: true, .. })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Score { passed, score, failure_modes } => {
                let modes: Vec<_> = failure_modes.iter().map(String::as_str).collect();
                let verdict = if *passed { "pass" } else { "fail" };
                write!(f, "{verdict} {score} [{}]", modes.join(", "))
            }
            Self::Fault(name) => f.write_str(name),
        }
    }
}

/// What came of a golden test.
#[derive(Debug)]
pub(crate) struct GoldenResult {
    pub(crate) actual: Outcome,
    /// The whole failure mode, for people, when it was a fault.
    pub(crate) fault: Option<String>,
    pub(crate) fuel_used: Option<u64>,
    pub(crate) peak_memory_bytes: Option<u64>,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum GoldenError {
    #[error(transparent)]
    File(FileError),
    #[error("`{path}` is not a golden test: {message}")]
    Malformed { path: String, message: String },
}

impl Advice for GoldenError {}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GoldenFile {
    output: Box<RawValue>,
    expect: Expect,
    #[serde(default, deserialize_with = "json::not_null")]
    equivalent: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    passed: Option<bool>,
    score: Option<f64>,
    failure_modes: Option<BTreeSet<String>>,
    fault: Option<String>,
}

/// The golden tests of one case, by name. A case without a folder has none.
pub(crate) fn golden_tests(bench: &Dir, case_name: &str) -> Result<Vec<GoldenTest>, GoldenError> {
    let folder = match bench.child("tests").and_then(|tests| tests.child(case_name)) {
        Ok(folder) => folder,
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(GoldenError::File(error)),
    };
    let entries = folder.utf8_entries().map_err(GoldenError::File)?;
    entries.iter().map(|(file_name, _)| golden_test(&folder, case_name, file_name)).collect()
}

/// The names below `tests/` that are no case of the bench.
pub(crate) fn orphaned_tests(bench: &Dir, case_names: &[String]) -> Result<Vec<String>, FileError> {
    let names = match bench.child("tests").and_then(|tests| tests.utf8_entries()) {
        Ok(entries) => entries.into_iter().map(|(name, _)| name),
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    Ok(names.filter(|name| !case_names.contains(name)).collect())
}

fn golden_test(folder: &Dir, case_name: &str, file_name: &str) -> Result<GoldenTest, GoldenError> {
    let malformed = |message: String| {
        let path = format!("tests/{case_name}/{file_name}");
        GoldenError::Malformed { path, message }
    };
    let name =
        file_name.strip_suffix(".json").ok_or_else(|| malformed("its name does not end in `.json`".to_owned()))?;
    let text = folder.read_text(file_name, MOST_FILE_BYTES).map_err(GoldenError::File)?;
    let file: GoldenFile = json::parse(&text).map_err(|error| malformed(error.to_string()))?;
    let expected = file
        .expect
        .outcome()
        .ok_or_else(|| malformed("expect has either passed, score and failure_modes, or fault".to_owned()))?;
    check_reason(file.equivalent.as_deref(), &expected).map_err(|message| malformed(message.to_owned()))?;
    Ok(GoldenTest {
        name: name.to_owned(),
        output_json: file.output.get().to_owned(),
        expected,
        equivalent: file.equivalent,
        digest: Digest::of(text.as_bytes()),
    })
}

fn check_reason(equivalent: Option<&str>, expected: &Outcome) -> Result<(), &'static str> {
    match equivalent {
        Some(reason) if reason.trim().is_empty() => Err("say in `equivalent` why the answer is as good as a right one"),
        Some(_) if !expected.passes() => Err("an answer that is `equivalent` to a right one passes"),
        _ => Ok(()),
    }
}

impl Expect {
    fn outcome(self) -> Option<Outcome> {
        match self {
            Self { passed: Some(passed), score: Some(score), failure_modes: Some(failure_modes), fault: None } => {
                Some(Outcome::Score { passed, score, failure_modes })
            }
            Self { passed: None, score: None, failure_modes: None, fault: Some(name) } => Some(Outcome::Fault(name)),
            _ => None,
        }
    }
}

/// Runs one golden test.
pub(crate) fn run_golden(
    test: &GoldenTest,
    case: &ReadCase,
    runner: &dyn RubricRunner,
    block: &BTreeSet<String>,
) -> Result<GoldenResult, RunnerError> {
    let judged = judge(runner, case, &test.output_json, Meter::default(), block)?;
    let actual = match &judged.fault {
        None => Outcome::Score {
            passed: judged.score.passed(),
            score: judged.score.score(),
            failure_modes: judged.score.failure_modes().iter().cloned().collect(),
        },
        Some(fault) => Outcome::Fault(fault.name().to_owned()),
    };
    Ok(GoldenResult {
        actual,
        fault: judged.fault.map(|fault| fault.to_string()),
        fuel_used: judged.fuel_used,
        peak_memory_bytes: judged.peak_memory_bytes,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::{Value, json};

    use super::*;
    use crate::bench::fixture::Fixture;
    use crate::bench::{InputRoot, load_folder};
    use eval_model::contract::{CapturedStream, RawScore, RubricFault, ScoreRequest, Scored};

    /// Says of an answer what the answer says of itself: a score, the fault of a rubric, or that the machine has failed.
    struct Parrot;

    impl RubricRunner for Parrot {
        fn score(&self, request: &ScoreRequest<'_>) -> Result<Scored, RunnerError> {
            let said: Value = serde_json::from_str(request.output_json).expect("an answer is JSON");
            if said["machine"] == "fails" {
                return Err(RunnerError::new("no memory"));
            }
            let text = |value: &Value| value.as_str().expect("a text").to_owned();
            let result = match said.get("unreadable") {
                Some(why) => Err(RubricFault::OutputMalformed(text(why))),
                None => Ok(RawScore {
                    passed: said["passed"].as_bool().expect("a verdict"),
                    score: said["score"].as_f64().expect("a number"),
                    breakdown: Vec::new(),
                    failure_modes: said["modes"].as_array().expect("a list").iter().map(text).collect(),
                    cost_usd: request.meter.cost_usd,
                    duration_seconds: request.meter.duration_seconds,
                }),
            };
            let silence = CapturedStream::default;
            let (fuel_used, peak_memory_bytes) = (Some(7), Some(65_536));
            Ok(Scored { result, fuel_used, peak_memory_bytes, stdout: silence(), stderr: silence() })
        }
    }

    fn says(passed: bool, score: f64, modes: &[&str]) -> Value {
        json!({ "passed": passed, "score": score, "modes": modes })
    }

    fn expects(passed: bool, score: f64, modes: &[&str]) -> Value {
        json!({ "passed": passed, "score": score, "failure_modes": modes })
    }

    /// A golden test of these two, read from its file and run.
    fn ran(output: &Value, expect: &Value) -> Result<(GoldenTest, GoldenResult), RunnerError> {
        let fixture = Fixture::new();
        fixture.remove("tests/001-greets");
        fixture.write("tests/001-greets/only.json", json!({ "output": output, "expect": expect }).to_string());
        let bench = load_folder(&fixture.root(), &Fixture::task_class()).expect("a bench");
        let case = bench.read_case("001-greets", &InputRoot::default()).expect("a case").read;
        let test = golden_tests(&bench.folder, "001-greets").expect("golden tests").remove(0);
        let result = run_golden(&test, &case, &Parrot, &bench.registration.standards.block_modes)?;
        Ok((test, result))
    }

    #[track_caller]
    fn holds(output: &Value, expect: &Value) -> GoldenResult {
        let (test, result) = ran(output, expect).expect("the machine works");
        assert_eq!(result.actual, test.expected);
        result
    }

    #[test]
    fn the_golden_tests_of_a_case_are_read_in_the_order_of_their_names() {
        let fixture = Fixture::new();
        let tests = golden_tests(&fixture.open(""), "001-greets").expect("golden tests");
        let read: Vec<_> = tests.iter().map(|test| (test.name.as_str(), test.expected.to_string())).collect();
        let told = |text: &str| text.to_owned();
        let expected = [
            ("declined", told("fail 0 [not_greeted]")),
            ("line-lost", told("fail 0 [harmful]")),
            ("right", told("pass 1 []")),
        ];
        assert_eq!(read, expected);
        assert_eq!(tests.iter().map(|test| test.expected.passes()).collect::<Vec<_>>(), [false, false, true]);
        let tests = golden_tests(&fixture.open(""), "002-leaves-alone").expect("golden tests");
        assert_eq!(tests[1].expected, Outcome::Fault("output_malformed".to_owned()));
        assert!(!tests[1].expected.passes(), "a fault passes nothing");
    }

    #[test]
    fn an_answer_reaches_the_rubric_byte_for_byte() {
        let fixture = Fixture::new();
        let output = "{ \"b\" : 1.50,\n  \"a\":[] }";
        fixture.write("tests/001-greets/a.json", format!(r#"{{"output":{output},"expect":{{"fault":"timeout"}}}}"#));
        assert_eq!(golden_tests(&fixture.open(""), "001-greets").expect("golden tests")[0].output_json, output);
    }

    #[test]
    fn a_case_without_a_folder_has_no_golden_tests() {
        let fixture = Fixture::new();
        assert_eq!(golden_tests(&fixture.open(""), "009-none").expect("nothing is wrong").len(), 0);
        fixture.remove("tests");
        assert_eq!(golden_tests(&fixture.open(""), "001-greets").expect("nothing is wrong").len(), 0);
        assert_eq!(orphaned_tests(&fixture.open(""), &[]).expect("nothing is wrong"), Vec::<String>::new());
    }

    #[test]
    fn what_belongs_to_no_case_is_found() {
        let fixture = Fixture::new();
        let all = ["001-greets", "002-leaves-alone", "003-either-way"].map(str::to_owned);
        assert_eq!(orphaned_tests(&fixture.open(""), &all).expect("it can be listed"), Vec::<String>::new());
        fixture.write("tests/notes.txt", "");
        let found = orphaned_tests(&fixture.open(""), &all[..2]).expect("it can be listed");
        assert_eq!(found, ["003-either-way", "notes.txt"]);
    }

    #[test]
    fn a_test_that_holds_says_what_it_used() {
        let result = holds(&says(true, 1.0, &[]), &expects(true, 1.0, &[]));
        assert_eq!((result.fault, result.fuel_used, result.peak_memory_bytes), (None, Some(7), Some(65_536)));
        holds(&says(false, 0.25, &["b", "a"]), &expects(false, 0.25, &["a", "b"]));
    }

    #[test]
    fn a_test_that_does_not_hold_says_what_was_expected_and_what_came() {
        let expect = expects(true, 1.0, &[]);
        for (output, actual) in [
            (says(false, 1.0, &[]), "fail 1 []"),
            (says(true, 0.999_999_999_999_999_9, &[]), "pass 0.9999999999999999 []"),
            (says(true, 1.0, &["slow"]), "pass 1 [slow]"),
            (json!({ "unreadable": "no field" }), "output_malformed"),
        ] {
            let (test, result) = ran(&output, &expect).expect("the machine works");
            assert_ne!(result.actual, test.expected);
            assert_eq!((test.expected.to_string().as_str(), result.actual.to_string().as_str()), ("pass 1 []", actual));
        }
    }

    #[test]
    fn a_fault_is_expected_by_its_name_and_told_with_its_words() {
        let result = holds(&json!({ "unreadable": "no field `diff`" }), &json!({ "fault": "output_malformed" }));
        assert_eq!(result.fault.as_deref(), Some("output_malformed: no field `diff`"));
        let (test, result) =
            ran(&says(false, 0.0, &[]), &json!({ "fault": "output_malformed" })).expect("the machine works");
        assert_ne!(result.actual, test.expected, "an answer that is only wrong is no fault");
    }

    #[test]
    fn a_score_that_the_host_would_not_admit_in_a_run_is_a_fault_here_too() {
        for (output, field) in [
            (says(true, 1.5, &[]), "score"),
            (says(true, 1.0, &["harmful"]), "passed"),
            (says(false, 0.0, &["timeout"]), "failure_modes"),
        ] {
            let result = holds(&output, &json!({ "fault": "rubric_malformed" }));
            let fault = result.fault.expect("a fault");
            assert!(fault.starts_with(&format!("rubric_malformed: {field}: ")), "{fault}");
        }
    }

    #[test]
    fn a_machine_that_cannot_run_rubrics_says_nothing_of_the_test() {
        let failed = ran(&json!({ "machine": "fails" }), &expects(true, 1.0, &[])).expect_err("it cannot");
        assert!(failed.to_string().starts_with("this machine could not run the rubric"), "{failed}");
    }

    #[track_caller]
    fn refused(file_name: &str, text: &str, expected: &str) {
        let fixture = Fixture::new();
        fixture.write(&format!("tests/001-greets/{file_name}"), text);
        let error = golden_tests(&fixture.open(""), "001-greets").expect_err(text);
        assert_eq!(error.to_string(), format!("`tests/001-greets/{file_name}` is not a golden test: {expected}"));
    }

    #[test]
    fn a_malformed_file_is_named_with_what_is_wrong_in_it() {
        let whole = r#"{"output":{},"expect":{"fault":"timeout"}}"#;
        refused("notes.txt", whole, "its name does not end in `.json`");
        refused("a.json", "", "EOF while parsing a value at line 1 column 0");
        refused("a.json", "[]", "invalid type: sequence, expected a JSON object at line 1 column 0");
        refused("a.json", r#"{"expect":{"fault":"timeout"}}"#, "missing field `output` at line 1 column 30");
        refused("a.json", r#"{"output":{}}"#, "missing field `expect` at line 1 column 13");
        refused(
            "a.json",
            r#"{"output":{},"expect":{"fault":"timeout"},"note":1}"#,
            "unknown field `note`, expected one of `output`, `expect`, `equivalent` at line 1 column 48",
        );
        refused(
            "a.json",
            r#"{"output":{"a":1,"a":2},"expect":{"fault":"timeout"}}"#,
            "the key `a` occurs twice at line 1 column 23",
        );
    }

    #[test]
    fn an_expectation_is_whole_and_of_one_kind() {
        let message = "expect has either passed, score and failure_modes, or fault";
        for expect in [
            r#"{}"#,
            r#"{"passed":true}"#,
            r#"{"passed":true,"score":1.0}"#,
            r#"{"score":1.0,"failure_modes":[]}"#,
            r#"{"passed":true,"score":1.0,"failure_modes":[],"fault":"timeout"}"#,
            r#"{"passed":false,"fault":"timeout"}"#,
        ] {
            refused("a.json", &format!(r#"{{"output":{{}},"expect":{expect}}}"#), message);
        }
    }

    #[test]
    fn what_is_no_regular_file_is_not_followed() {
        let fixture = Fixture::new();
        fs::create_dir(fixture.path("tests/001-greets/a.json")).expect("a folder");
        let error = golden_tests(&fixture.open(""), "001-greets").expect_err("it is a folder");
        assert!(matches!(error, GoldenError::File(_)), "{error}");
        fixture.remove("tests/001-greets/a.json");
        std::os::unix::fs::symlink("right.json", fixture.path("tests/001-greets/a.json")).expect("a link");
        let error = golden_tests(&fixture.open(""), "001-greets").expect_err("it is a link");
        let expected = "`ROOT/fixture/tests/001-greets/a.json`: it is a symbolic link, not a file";
        assert_eq!(fixture.anywhere(&error.to_string()), expected);
    }
}
