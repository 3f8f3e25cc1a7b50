//! `eval-host rubric inspect`: what a component is, and whether it loads, without running it.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;

use crate::cli::error::HostError;
use crate::cli::failure::Failure;
use crate::cli::printer::Printer;
use crate::cli::{environment, read_file};
use crate::output::lines::{InspectionLine, Line};
use eval_model::advice::Exit;
use eval_sandbox::MOST_COMPONENT_BYTES;

#[derive(Debug, Args)]
pub(in crate::cli) struct InspectArgs {
    /// The component.
    #[arg(value_name = "WASM")]
    component: PathBuf,
}

pub(in crate::cli) fn inspect(args: &InspectArgs) -> Result<Exit, Failure> {
    // One byte over the limit is enough to be told so.
    let bytes = read_file(&args.component, MOST_COMPONENT_BYTES + 1)?;
    let rubric = format!("`{}`", args.component.display());
    let inspection = environment::sandbox(NonZeroUsize::MIN)?
        .inspect(&bytes)
        .map_err(|source| HostError::LoadRubric { rubric, source })?;
    let line = InspectionLine::from(&inspection);
    let mut printer = Printer::stdio();
    for text in for_people(&line) {
        printer.tell(&text);
    }
    printer.data(&Line::Inspection(line));
    printer.finish(if inspection.refusal.is_none() { Exit::Ok } else { Exit::AnswerIsNo })
}

fn for_people(line: &InspectionLine<'_>) -> Vec<String> {
    let mut text = vec![
        format!("{}, {} bytes, BLAKE3 {}", line.binary, line.bytes, line.blake3),
        format!("world: {}", line.world.unwrap_or("none that this host runs")),
    ];
    for import in &line.imports {
        text.push(match (import.granted_by, &import.refusal) {
            (Some(who), _) => format!("imports {}: granted by {who}", import.name),
            (None, refusal) => format!("imports {}: REFUSED: {}", import.name, refusal.as_deref().unwrap_or("")),
        });
    }
    text.extend(line.exports.iter().map(|export| format!("exports {export}")));
    text.push(line.refusal.as_ref().map_or("it loads".to_owned(), |refusal| format!("it does not load: {refusal}")));
    text
}
