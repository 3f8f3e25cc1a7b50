//! `eval-host verify`: walks every chain from its first record and names what is wrong.

use clap::Args;

use super::exit::Exit;
use super::printer::Printer;
use super::problem::Problem;
use super::{LOCK_PATIENCE, Places};
use crate::ids::TaskClassName;
use crate::store::StoreReader;
use crate::verify::{State, Verification, verify as verify_store};

#[derive(Debug, Args)]
pub(super) struct VerifyArgs {
    /// Report on one task class only; every chain is walked all the same.
    #[arg(long, value_name = "NAME")]
    task_class: Option<TaskClassName>,
    #[command(flatten)]
    places: Places,
}

pub(super) fn verify(args: &VerifyArgs) -> Result<Exit, Problem> {
    let cannot = || format!("the store `{}` cannot be verified", args.places.out.display());
    let store = StoreReader::open(&args.places.out, LOCK_PATIENCE).map_err(|error| {
        Problem::new(Exit::EvidenceBroken, cannot()).caused_by(&error).hint("name the store with --out")
    })?;
    let mut checked = verify_store(&store, &mut |_, _| {})
        .map_err(|error| Problem::new(Exit::EvidenceBroken, cannot()).caused_by(&error))?;
    if let Some(task_class) = &args.task_class {
        checked.limit_to(task_class);
    }
    report(&checked)
}

fn report(checked: &Verification) -> Result<Exit, Problem> {
    let mut printer = Printer::stdio();
    let state = checked.state();
    for finding in &checked.findings {
        printer.tell(&format!("{}: {finding}", finding.state()));
    }
    for (task_class, summary) in &checked.classes {
        printer.tell(&format!("{task_class}: {} records", summary.records));
    }
    printer.tell(state.as_str());
    printer.data(&serde_json::json!({
        "kind": "verification",
        "state": state.as_str(),
        "findings": checked.findings.iter().map(ToString::to_string).collect::<Vec<_>>(),
    }));
    printer.finish(if state == State::Ok { Exit::Ok } else { Exit::EvidenceBroken })
}
