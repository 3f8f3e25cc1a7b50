//! What an agent is told: one JSON object on its standard input.
//!
//! It says nothing that would give the answer away. A case's disposition, difficulty and source are the curators' knowledge,
//! and stay with the rubric.

use std::path::Path;

use serde::Serialize;

use eval_model::contract::BenchCase;
use eval_model::ids::{CaseId, TaskClassName};

/// The version of the protocol. It changes when an agent written for the one before could misunderstand a request.
pub(super) const PROTOCOL: u64 = 1;

#[derive(Serialize)]
struct Request<'a> {
    protocol: u64,
    case: CaseFacts<'a>,
    workspace: &'a str,
    budget_usd: f64,
}

#[derive(Serialize)]
struct CaseFacts<'a> {
    case_id: &'a CaseId,
    task_class: &'a TaskClassName,
}

/// The request as one line. The workspace's path is UTF-8 because the host made it.
pub(super) fn request(case: &BenchCase, workspace: &Path, budget_usd: f64) -> String {
    let request = Request {
        protocol: PROTOCOL,
        case: CaseFacts { case_id: &case.case_id, task_class: &case.task_class },
        workspace: &workspace.to_string_lossy(),
        budget_usd,
    };
    let mut line = serde_json::to_string(&request).expect("names, a path and a finite number serialise");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_model::contract::{Difficulty, Disposition, Source};

    #[test]
    fn a_request_names_the_case_and_gives_nothing_away() {
        let case = BenchCase {
            case_id: "001-a".parse().expect("a case id"),
            task_class: "vuln-remediation".parse().expect("a task class"),
            disposition: Disposition::Negative,
            difficulty: Difficulty::Hard,
            source: Source::Curated,
            added_at: "2026-11-16".parse().expect("a date"),
        };
        let line = request(&case, Path::new("/w"), 0.5);
        assert_eq!(
            line,
            concat!(
                r#"{"protocol":1,"case":{"case_id":"001-a","task_class":"vuln-remediation"},"#,
                r#""workspace":"/w","budget_usd":0.5}"#,
                "\n"
            )
        );
    }
}
