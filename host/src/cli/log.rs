//! `eval-host log`: the runs of a store, for people.

use std::collections::BTreeSet;

use clap::Args;

use super::Places;
use super::anchor::TrustedKeysArgs;
use super::evidence::{Opened, TrustArgs, exit_of, require_class};
use super::failure::Failure;
use super::printer::Printer;
use crate::output::cost;
use eval_evidence::anchor::RecordSignature;
use eval_evidence::chain::Link;
use eval_evidence::record::{Mode, RecordedRun, Sut};
use eval_model::advice::Exit;
use eval_model::confinement::Confinement;
use eval_model::ids::TaskClassName;
use eval_model::outcome::OutcomeClass;
use eval_model::text::Words;

#[derive(Debug, Args)]
pub(super) struct LogArgs {
    /// One task class only.
    #[arg(long, value_name = "NAME")]
    task_class: Option<TaskClassName>,
    #[command(flatten)]
    trusted_keys: TrustedKeysArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

/// The runs of each task class in order, with the state of the evidence first.
pub(super) fn log(args: &LogArgs) -> Result<Exit, Failure> {
    let mut opened = Opened::any(&args.places, args.trust)?;
    opened.check_signatures(&args.trusted_keys)?;
    if let Some(task_class) = &args.task_class {
        require_class(&opened.verification, task_class)?;
        opened.verification.limit_to(task_class);
    }
    let mut printer = Printer::stdio();
    let state = opened.verification.state();
    printer.text(&format!("evidence: {state}"));
    for finding in &opened.verification.findings {
        printer.text(&format!("  {}: {finding}", finding.state()));
    }
    let mut class = None;
    for link in opened.verification.links.values() {
        if class != Some(&link.position.task_class) {
            class = Some(&link.position.task_class);
            printer.text(&format!("\n{}", link.position.task_class));
        }
        printer.text(&match opened.read(link) {
            Some(record) => {
                let signed_by = signed_by(opened.verification.signature(link));
                format!("{}  by {}  signed by {signed_by}", summary(link, &record), named(&record.suts))
            }
            None => format!("  {:>4}  {}  changed since eval-host verified it", link.position.seq, link.finished_at),
        });
    }
    for started in &opened.verification.unfinished {
        let marker = &started.marker;
        printer.text(&format!(
            "\n{}: started {} with {} cases, never recorded",
            marker.task_class, marker.started_at, marker.cases
        ));
    }
    printer.finish(exit_of(state))
}

/// Who answered, by name, version and model.
pub(super) fn named(suts: &BTreeSet<Sut>) -> String {
    if suts.is_empty() {
        return "nobody".to_owned();
    }
    suts.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Who signed a record. A key's name is what somebody wrote into a file.
pub(super) fn signed_by(signature: &RecordSignature) -> String {
    match signature {
        RecordSignature::None => "nobody".to_owned(),
        RecordSignature::UnknownKey { name } => format!("the unknown key `{}`", Words(name)),
        RecordSignature::RetiredKey { key } => format!("the key `{}`, which was retired before", Words(key.name())),
        RecordSignature::Trusted { key } => format!("`{}`", Words(key.name())),
    }
}

/// How the agents of a live run were confined, in a word.
fn confined(confinement: Option<&Confinement>) -> &'static str {
    match confinement {
        None => "",
        Some(Confinement::None) => "  not confined",
        Some(Confinement::Caged(cage)) if cage.weaknesses().is_empty() => "  caged",
        Some(Confinement::Caged(_)) => "  caged, weaker",
    }
}

/// One run in one line.
pub(super) fn summary(link: &Link, record: &RecordedRun) -> String {
    let report = &record.report;
    let mode = match record.mode {
        Mode::Live => "live",
        Mode::Cassette => "cassette",
    };
    let mut line = format!(
        "  {:>4}  {}  {mode:<8}  {}/{} passed  mean {:.3}  lower bound {:.3}  {}",
        link.position.seq,
        link.file_name(),
        report.passed_count,
        report.attempted,
        report.mean_score,
        report.lower_bound_95,
        cost(report.total_cost_usd, report.estimated_cost_usd(|score| score.numbers().cost_usd)),
    );
    line += confined(record.confinement.as_ref());
    for class in [OutcomeClass::SutFault, OutcomeClass::RubricFault, OutcomeClass::HarnessFault, OutcomeClass::Skipped]
    {
        let count = report.outcomes.get(&class).copied().unwrap_or(0);
        if count > 0 {
            line += &format!("  {count} {}", class.as_str());
        }
    }
    if report.had_load_errors {
        line += &format!("  {} did not load", report.load_errors.len());
    }
    line
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use eval_model::confinement::{Cage, Namespace, Network};

    #[test]
    fn a_line_says_how_a_live_runs_agents_were_confined_and_nothing_of_cassettes() {
        let full = Cage {
            landlock_abi: 6,
            namespaces: Namespace::ALWAYS.into(),
            network: Network::Open,
            read: BTreeSet::new(),
            write: BTreeSet::new(),
            memory_mib: 4096,
            processes: 512,
            workspace_mib: 1024,
        };
        let weak = Cage { namespaces: BTreeSet::new(), ..full.clone() };
        assert_eq!(confined(None), "");
        assert_eq!(confined(Some(&Confinement::None)), "  not confined");
        assert_eq!(confined(Some(&Confinement::Caged(full))), "  caged");
        assert_eq!(confined(Some(&Confinement::Caged(weak))), "  caged, weaker");
    }
}
