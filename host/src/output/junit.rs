//! A report as JUnit XML, which every CI system shows: a case is a test case, a low score a failure, a fault an error.
//!
//! XML 1.0 has no way to write most control characters, not even escaped, so those of foreign text are spelled out.

use std::fmt::Write as _;

use eval_model::ids::TaskClassName;
use eval_model::outcome::OutcomeClass;
use eval_model::report::{BenchRunReport, CaseResult, LoadErrorEntry};
use eval_model::score::BenchScore;

/// Writes the whole file. `log_of` gives what a case's rubric and agent wrote, as far as it was kept.
pub(crate) fn junit(
    task_class: &TaskClassName,
    report: &BenchRunReport,
    log_of: &dyn Fn(&CaseResult<BenchScore>) -> Option<String>,
) -> String {
    let count = |kind: Kind| report.cases.iter().filter(|case| Kind::of(case) == kind).count();
    let (failures, errors, skipped) =
        (count(Kind::Failure), count(Kind::Error) + report.load_errors.len(), count(Kind::Skipped));
    let seconds: f64 = report.cases.iter().map(|case| case.score.duration_seconds()).sum::<f64>() + 0.0;
    let totals = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds}\"",
        report.cases.len() + report.load_errors.len()
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"eval-host\" {totals}>\n  <testsuite name=\"{task_class}\" {totals}>\n"
    );
    for case in &report.cases {
        test_case(&mut xml, task_class, case, log_of(case));
    }
    for entry in &report.load_errors {
        load_error(&mut xml, task_class, entry);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
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
    let (name, seconds) = (&case.case_id, score.duration_seconds());
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
