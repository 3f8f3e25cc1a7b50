//! `eval-host show`: one record, case by case, for people.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Args;

use super::Places;
use super::anchor::TrustedKeysArgs;
use super::error::EvidenceError;
use super::evidence::{Opened, TrustArgs, exit_of};
use super::failure::Failure;
use super::log::{named, signed_by, summary};
use super::printer::Printer;
use crate::output::{agent_said, cost};
use eval_evidence::chain::Link;
use eval_evidence::record::RecordedRun;
use eval_model::advice::Exit;
use eval_model::judge::only_stream;
use eval_model::outcome::OutcomeClass;
use eval_model::text::Words;

#[derive(Debug, Args)]
pub(super) struct ShowArgs {
    /// The record: its path, or its file's name.
    #[arg(value_name = "RECORD")]
    record: PathBuf,
    #[command(flatten)]
    trusted_keys: TrustedKeysArgs,
    #[command(flatten)]
    trust: TrustArgs,
    #[command(flatten)]
    places: Places,
}

/// One record, case by case.
pub(super) fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let mut opened = Opened::any(&args.places, args.trust)?;
    opened.check_signatures(&args.trusted_keys)?;
    let link = opened.find(&args.record)?;
    let changed = || EvidenceError::RecordChanged { file: link.file_name().to_string() };
    let record = opened.read(link).ok_or_else(changed)?;
    let mut printer = Printer::stdio();
    let state = opened.verification.state();
    let position = &link.position;
    printer.text(&format!("{} record {} ({})", position.task_class, position.seq, link.file_name()));
    printer.text(&summary(link, &record));
    for (name, value) in facts(link, &record) {
        printer.text(&format!("  {name:<13} {value}"));
    }
    printer.text(&format!("  {:<13} {}", "signed by", signed_by(opened.verification.signature(link))));
    printer.text("");
    for case in &record.report.cases {
        let score = case.score.fields();
        let word = if score.passed { "pass" } else { "fail" };
        let modes: Vec<_> = score.failure_modes.iter().map(|mode| Words(mode).to_string()).collect();
        let estimate =
            if case.cost_is_estimate { format!("  ({})", cost(score.cost_usd, score.cost_usd)) } else { String::new() };
        printer.text(&format!("  {word}  {:.3}  {:<40}  {}{estimate}", score.score, case.case_id, modes.join(", ")));
        if case.outcome == OutcomeClass::SutFault {
            let log = case.agent_log_digest.and_then(|digest| opened.evidence().object(digest).ok());
            let said = log.iter().flat_map(|log| agent_said(only_stream(log)));
            said.for_each(|line| printer.text(&line));
        }
    }
    for error in &record.report.load_errors {
        printer.text(&format!("  did not load: {}: {}", Words(&error.folder), Words(&error.message)));
    }
    for warning in &record.report.warnings {
        printer.text(&format!("  warning: {}", Words(warning)));
    }
    printer.text(&format!("\nevidence: {state}"));
    printer.finish(exit_of(state))
}

fn facts(link: &Link, record: &RecordedRun) -> Vec<(&'static str, String)> {
    let live = [
        ("confinement", record.confinement.as_ref().map(ToString::to_string)),
        ("cost cap", record.max_cost_usd.map(|cap| format!("${cap:.2}"))),
        ("continues", record.continues.map(|hash| hash.to_string())),
    ];
    let mut facts = vec![
        ("run id", record.run_id.to_string()),
        ("hash", link.hash.to_string()),
        ("prev hash", link.position.prev_hash.to_string()),
        ("rubric", record.rubric_digest.to_string()),
        ("answered by", named(&record.suts)),
        ("started", record.started_at.to_string()),
        ("eval-host", Words(&record.harness_version).to_string()),
        ("wasmtime", Words(&record.wasmtime_version).to_string()),
        ("price list", record.price_list_version.to_string()),
        ("bench commit", bench_commit(record)),
    ];
    let files: BTreeSet<_> = record.suts.iter().flat_map(|sut| &sut.files).collect();
    facts.extend(files.into_iter().map(|(name, digest)| ("agent's file", format!("{digest} {}", Words(name)))));
    facts.extend(live.into_iter().filter_map(|(name, value)| Some((name, value?))));
    facts
}

fn bench_commit(record: &RecordedRun) -> String {
    match (&record.bench_git_commit, record.bench_dirty) {
        (Some(commit), Some(true)) => format!("{commit}, and the bench's files differed from it"),
        (Some(commit), _) => commit.to_string(),
        (None, _) => "unknown".to_owned(),
    }
}
