//! The results of a run as JUnit XML, which every CI system shows: a case is a test case, a low score a failure, a fault an error.
//!
//! There is no one JUnit. What is written here is what Jenkins' schema (`junit-10.xsd`) allows, which is the strictest in use: no
//! attribute and no element beside its own, and times as plain decimals. XML 1.0 has no way to write most control characters,
//! not even escaped, so those of foreign text are spelled out.

use std::fmt::Write as _;

use eval_model::ids::{RunId, TaskClassName};
use eval_model::outcome::OutcomeClass;
use eval_model::report::{CaseResult, LoadErrorEntry};
use eval_model::score::BenchScore;
use eval_model::utc::UtcMillis;

/// What a run has to say.
pub(crate) struct JunitRun<'a> {
    pub(crate) task_class: &'a TaskClassName,
    pub(crate) started_at: UtcMillis,
    pub(crate) cases: Vec<&'a CaseResult<BenchScore>>,
    pub(crate) load_errors: &'a [LoadErrorEntry],
    /// Where the results are chained; those of a shard are not.
    pub(crate) record: Option<JunitRecord<'a>>,
    /// What a case's rubric and agent wrote, as far as it was kept.
    pub(crate) log_of: &'a dyn Fn(&CaseResult<BenchScore>) -> Option<String>,
}

/// The record of a run, as the `record` line names it.
pub(crate) struct JunitRecord<'a> {
    pub(crate) run_id: RunId,
    pub(crate) path: &'a str,
    pub(crate) seq: u64,
    /// What the run spent, and how much of that is an estimate.
    pub(crate) total_cost_usd: f64,
    pub(crate) estimated_cost_usd: f64,
}

/// Writes the whole file.
pub(crate) fn junit(run: &JunitRun<'_>) -> String {
    let JunitRun { task_class, started_at, cases, load_errors, .. } = run;
    let count = |kind: Kind| cases.iter().filter(|case| Kind::of(case) == kind).count();
    let (failures, errors, skipped) =
        (count(Kind::Failure), count(Kind::Error) + load_errors.len(), count(Kind::Skipped));
    let seconds = Seconds(cases.iter().map(|case| case.score.duration_seconds()).sum());
    let totals = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" time=\"{seconds}\"",
        cases.len() + load_errors.len()
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"eval-host\" {totals}>\n  \
         <testsuite name=\"{task_class}\" {totals} skipped=\"{skipped}\" timestamp=\"{started_at}\">\n"
    );
    if let Some(record) = &run.record {
        properties(&mut xml, record);
    }
    for case in cases {
        test_case(&mut xml, task_class, case, (run.log_of)(case));
    }
    for entry in *load_errors {
        load_error(&mut xml, task_class, entry);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn properties(xml: &mut String, record: &JunitRecord<'_>) {
    xml.push_str("    <properties>\n");
    for (name, value) in [
        ("run_id", record.run_id.to_string()),
        ("record", record.path.to_owned()),
        ("seq", record.seq.to_string()),
        ("total_cost_usd", record.total_cost_usd.to_string()),
        ("estimated_cost_usd", record.estimated_cost_usd.to_string()),
    ] {
        let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{}\"/>", Xml(&value));
    }
    xml.push_str("    </properties>\n");
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Success,
    Failure,
    Error,
    Skipped,
}

impl Kind {
    fn of(case: &CaseResult<BenchScore>) -> Self {
        match case.outcome {
            OutcomeClass::Scored if case.score.passed() => Self::Success,
            OutcomeClass::Scored => Self::Failure,
            OutcomeClass::Skipped => Self::Skipped,
            OutcomeClass::SutFault | OutcomeClass::RubricFault | OutcomeClass::HarnessFault => Self::Error,
        }
    }
}

fn test_case(xml: &mut String, task_class: &TaskClassName, case: &CaseResult<BenchScore>, log: Option<String>) {
    let score = &case.score;
    let modes = score.failure_modes().join(", ");
    let (name, seconds) = (&case.case_id, Seconds(score.duration_seconds()));
    let _ = writeln!(xml, "    <testcase classname=\"{task_class}\" name=\"{name}\" time=\"{seconds}\">");
    let message = Xml(&modes);
    let _ = match Kind::of(case) {
        Kind::Success => Ok(()),
        Kind::Failure => {
            writeln!(xml, "      <failure type=\"low_score\" message=\"score {}: {message}\"/>", score.score())
        }
        Kind::Error => writeln!(xml, "      <error type=\"{}\" message=\"{message}\"/>", case.outcome.as_str()),
        Kind::Skipped => writeln!(xml, "      <skipped message=\"{message}\"/>"),
    };
    if let Some(log) = log {
        let _ = writeln!(xml, "      <system-err>{}</system-err>", Xml(&log));
    }
    xml.push_str("    </testcase>\n");
}

fn load_error(xml: &mut String, task_class: &TaskClassName, entry: &LoadErrorEntry) {
    let (name, field, message) = (Xml(&entry.folder), Xml(&entry.field), Xml(&entry.message));
    let _ = writeln!(xml, "    <testcase classname=\"{task_class}\" name=\"{name}\">");
    let _ = writeln!(xml, "      <error type=\"load_error\" message=\"{field}: {message}\"/>\n    </testcase>");
}

/// A duration as Jenkins reads one: digits, and a point with three more; no exponent, no sign, and always a number.
struct Seconds(f64);

impl std::fmt::Display for Seconds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // A cassette may claim any duration, and a sum of such may have no end.
        let seconds = if self.0.is_nan() { 0.0 } else { self.0.clamp(0.0, f64::MAX).abs() };
        write!(f, "{seconds:.3}")
    }
}

/// Foreign text, for an attribute or an element.
struct Xml<'a>(&'a str);

impl std::fmt::Display for Xml<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\n' | '\t' => write!(f, "&#{};", u32::from(character))?,
                _ if is_xml(character) => write!(f, "{character}")?,
                _ => write!(f, "{}", character.escape_default())?,
            }
        }
        Ok(())
    }
}

/// Whether XML 1.0 has the character, and no reader is discouraged from taking it.
fn is_xml(character: char) -> bool {
    !character.is_control() && !matches!(u32::from(character) & 0xffff, 0xfffe | 0xffff)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_a_plain_decimal() {
        for (seconds, text) in [
            (0.0, "0.000"),
            (-0.0, "0.000"),
            (1.5e-9, "0.000"),
            (0.0005, "0.001"),
            (12.3456, "12.346"),
            (1e21, "1000000000000000000000.000"),
            (-1.0, "0.000"),
            (f64::NAN, "0.000"),
            (f64::NEG_INFINITY, "0.000"),
        ] {
            assert_eq!(Seconds(seconds).to_string(), text, "{seconds:e}");
        }
        let endless = Seconds(f64::INFINITY).to_string();
        assert!(endless.len() > 300 && endless.chars().all(|c| c.is_ascii_digit() || c == '.'), "{endless}");
    }

    #[test]
    fn every_character_there_is_gives_something_that_xml_has() {
        for character in (0..=0x10_ffff).filter_map(char::from_u32) {
            let text = Xml(&character.to_string()).to_string();
            let is_char =
                |c: char| matches!(u32::from(c), 0x9 | 0xa | 0xd | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x10000..);
            assert!(text.chars().all(is_char) && !text.contains(['<', '>', '"']), "{character:?}");
            assert!(!text.contains('&') || text.ends_with(';'), "{character:?}");
        }
    }
}
