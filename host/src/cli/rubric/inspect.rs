//! `eval-host rubric inspect`: what a component is, without compiling or running it.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use crate::cli::failure::Failure;
use crate::cli::printer::Printer;
use crate::cli::read_file;
use eval_model::advice::Exit;
use eval_model::ids::Digest;
use eval_sandbox::{BinaryKind, Grant, Inspection, MOST_COMPONENT_BYTES, inspect as inspect_bytes};

#[derive(Debug, Args)]
pub(in crate::cli) struct InspectArgs {
    /// The component.
    #[arg(value_name = "WASM")]
    component: PathBuf,
}

#[derive(Serialize)]
struct InspectionLine<'a> {
    kind: &'static str,
    binary: &'static str,
    world: Option<&'static str>,
    contract_version: Option<String>,
    bytes: u64,
    blake3: Digest,
    imports: Vec<ImportLine<'a>>,
    exports: &'a [String],
    loads: bool,
    refusal: Option<String>,
}

#[derive(Serialize)]
struct ImportLine<'a> {
    name: &'a str,
    granted_by: Option<&'static str>,
    refusal: Option<String>,
}

pub(in crate::cli) fn inspect(args: &InspectArgs) -> Result<Exit, Failure> {
    // One byte over the limit is enough to be told so.
    let bytes = read_file(&args.component, MOST_COMPONENT_BYTES + 1)?;
    let inspection = inspect_bytes(&bytes);
    let line = line(&inspection);
    let mut printer = Printer::stdio();
    for text in for_people(&line) {
        printer.tell(&text);
    }
    printer.data(&line);
    printer.finish(if line.loads { Exit::Ok } else { Exit::AnswerIsNo })
}

fn line(inspection: &Inspection) -> InspectionLine<'_> {
    InspectionLine {
        kind: "inspection",
        binary: match inspection.kind {
            BinaryKind::Component => "component",
            BinaryKind::CoreModule => "core_module",
            BinaryKind::Precompiled => "precompiled",
            BinaryKind::Unknown => "unknown",
        },
        world: inspection.world(),
        contract_version: inspection.contract_version.map(|version| version.to_string()),
        bytes: inspection.bytes,
        blake3: inspection.digest,
        imports: inspection.imports.iter().map(|import| import_line(&import.name, &import.grant)).collect(),
        exports: &inspection.exports,
        loads: inspection.refusal.is_none(),
        refusal: inspection.refusal.as_ref().map(ToString::to_string),
    }
}

fn import_line<'a>(name: &'a str, grant: &Grant) -> ImportLine<'a> {
    let (granted_by, refusal) = match grant {
        Grant::Sandbox => (Some("the sandbox"), None),
        Grant::Contract => (Some("the contract's types"), None),
        Grant::Refused(refusal) => (None, Some(format!("{}; {}", refusal.why, refusal.remedy))),
    };
    ImportLine { name, granted_by, refusal }
}

fn for_people(line: &InspectionLine<'_>) -> Vec<String> {
    let mut text = vec![
        format!("{}, {} bytes, BLAKE3 {}", line.binary, line.bytes, line.blake3),
        format!("world: {}", line.world.unwrap_or("none that this host runs")),
    ];
    for import in &line.imports {
        text.push(match (import.granted_by, &import.refusal) {
            (Some(who), _) => format!("imports {}: granted by {who}", import.name.escape_debug()),
            (None, refusal) => {
                format!("imports {}: REFUSED: {}", import.name.escape_debug(), refusal.as_deref().unwrap_or(""))
            }
        });
    }
    text.extend(line.exports.iter().map(|export| format!("exports {}", export.escape_debug())));
    text.push(line.refusal.as_ref().map_or("it loads".to_owned(), |refusal| format!("it does not load: {refusal}")));
    text
}
