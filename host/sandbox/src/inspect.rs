//! What a component is, read from its bytes alone: nothing is compiled and nothing runs.
//!
//! [`inspect`] is what `rubric inspect` shows and what loading decides by, so that the two cannot disagree.

use wasmparser::{Chunk, Encoding, Parser, Payload, Validator};
use wasmtime::{Engine, Precompiled};

use super::compile_cost::{CompileCost, TooCostly};
use super::engine;
use super::grants::{self, Grant, InterfaceName, Refusal, SCORING, Version};
use super::score_type;
use eval_model::ids::Digest;

/// A component larger than this is refused before it is looked at.
pub const MOST_COMPONENT_BYTES: u64 = 64 << 20;

/// What bytes turn out to be before anybody trusts them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BinaryKind {
    Component,
    /// A core module, which `wasm32-wasip1` builds.
    CoreModule,
    /// Machine code from wasmtime itself, which must never be trusted from a file.
    Precompiled,
    Unknown,
}

/// One import of a component, and who answers it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Import {
    pub name: String,
    pub grant: Grant,
}

/// Why a component is not a rubric that this host runs, as far as its bytes can tell.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotARubric {
    #[error("the component is empty: build it again")]
    Empty,
    #[error("the component has {bytes} bytes, above the maximum of {maximum}: strip it, and build it for release")]
    TooLarge { bytes: u64, maximum: u64 },
    #[error(
        "this is a core module and not a component: build with `cargo build --target wasm32-wasip2` or `cargo component build`"
    )]
    CoreModule,
    #[error(
        "this is code that wasmtime has compiled already, which cannot be checked: give the component it was made from"
    )]
    Precompiled,
    #[error(
        "this is not a WebAssembly component: build with `cargo build --target wasm32-wasip2` or `cargo component build`"
    )]
    NotWasm,
    #[error(
        "the component is damaged or uses a WebAssembly proposal that no rubric needs: {reason} (at offset {offset:#x})"
    )]
    Invalid { reason: String, offset: u64 },
    #[error("the component would cost too much to compile ({0}): split what is large, and build it for release")]
    TooCostly(TooCostly),
    #[error("{}", ungranted(imports))]
    Ungranted { imports: Vec<(String, Refusal)> },
    #[error(
        "the component is made for version {found} of `eval-host:rubric`, and this host runs 0.1: build it against this \
         host's `wit/rubric.wit`, or use a host that runs {found}"
    )]
    OtherVersion { found: Version },
    #[error(
        "the component does not implement the world `eval-host:rubric/rubric@0.1.0`: it exports {}, not `{SCORING}`; \
         build it against this host's `wit/rubric.wit`",
        listed(exports)
    )]
    OtherWorld { exports: Vec<String> },
    #[error(
        "the component's `score` is `{found}`, not `{}`; build it against this host's `wit/rubric.wit`",
        score_type::SCORE
    )]
    OtherScore { found: String },
}

/// One clause for all imports that are refused for one reason, in the order in which the component names them.
fn ungranted(imports: &[(String, Refusal)]) -> String {
    let mut clauses: Vec<(Vec<String>, &Refusal)> = Vec::new();
    for (name, refusal) in imports {
        match clauses.iter_mut().find(|(_, known)| *known == refusal) {
            Some((names, _)) => names.push(name.clone()),
            None => clauses.push((vec![name.clone()], refusal)),
        }
    }
    let clause = |(names, refusal): (Vec<String>, &Refusal)| {
        format!("imports {}, but {}: {}", listed(&names), refusal.why, refusal.remedy)
    };
    format!("the component {}", clauses.into_iter().map(clause).collect::<Vec<_>>().join("; it "))
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "nothing".to_owned();
    }
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// What the bytes of a component say about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    pub kind: BinaryKind,
    pub bytes: u64,
    pub digest: Digest,
    /// In the order of the component.
    pub imports: Vec<Import>,
    pub exports: Vec<String>,
    /// The version of `eval-host:rubric` that the component says it implements, whether or not this host runs it.
    pub contract_version: Option<Version>,
    /// The type of the exported `score`, if there is one.
    pub score: Option<String>,
    /// Why it would not load; `None` does not promise that its imports have the right types, which only linking shows.
    pub refusal: Option<NotARubric>,
}

impl Inspection {
    /// The world that the component implements, if it is the one this host runs.
    pub fn world(&self) -> Option<&'static str> {
        self.scoring().map(|_| grants::RUBRIC_WORLD)
    }

    /// The export that `score` is looked for in, at whatever compatible version the component says.
    pub(super) fn scoring(&self) -> Option<&str> {
        self.exports.iter().map(String::as_str).find(|name| is_supported_scoring(name))
    }
}

/// Reads what `bytes` are.
pub fn inspect(bytes: &[u8]) -> Inspection {
    let kind = kind(bytes);
    let mut inspection = Inspection {
        kind,
        bytes: bytes.len() as u64,
        digest: Digest::of(bytes),
        imports: Vec::new(),
        exports: Vec::new(),
        contract_version: None,
        score: None,
        refusal: None,
    };
    inspection.refusal = by_kind(bytes.len() as u64, kind).or_else(|| read(bytes, &mut inspection).err());
    inspection.contract_version = contract_version(&inspection);
    if inspection.refusal.is_none() {
        inspection.refusal = by_names(&inspection);
    }
    inspection
}

fn kind(bytes: &[u8]) -> BinaryKind {
    if matches!(Engine::detect_precompiled(bytes), Some(Precompiled::Module | Precompiled::Component)) {
        return BinaryKind::Precompiled;
    }
    match Parser::new(0).parse(bytes, true) {
        Ok(Chunk::Parsed { payload: Payload::Version { encoding: Encoding::Component, .. }, .. }) => {
            BinaryKind::Component
        }
        Ok(Chunk::Parsed { payload: Payload::Version { encoding: Encoding::Module, .. }, .. }) => {
            BinaryKind::CoreModule
        }
        _ => BinaryKind::Unknown,
    }
}

fn by_kind(bytes: u64, kind: BinaryKind) -> Option<NotARubric> {
    match kind {
        _ if bytes == 0 => Some(NotARubric::Empty),
        _ if bytes > MOST_COMPONENT_BYTES => Some(NotARubric::TooLarge { bytes, maximum: MOST_COMPONENT_BYTES }),
        BinaryKind::Component => None,
        BinaryKind::CoreModule => Some(NotARubric::CoreModule),
        BinaryKind::Precompiled => Some(NotARubric::Precompiled),
        BinaryKind::Unknown => Some(NotARubric::NotWasm),
    }
}

fn invalid(error: &wasmparser::BinaryReaderError) -> NotARubric {
    NotARubric::Invalid { reason: error.message().to_owned(), offset: error.offset() as u64 }
}

/// Validates and bounds the whole component, and notes the imports and exports of its outermost level.
fn read(bytes: &[u8], inspection: &mut Inspection) -> Result<(), NotARubric> {
    let types =
        Validator::new_with_features(engine::features()).validate_all(bytes).map_err(|error| invalid(&error))?;
    let mut cost = CompileCost::default();
    let mut depth = 0_u64;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|error| invalid(&error))?;
        cost.add(&payload, depth).map_err(|error| invalid(&error))?.map_err(NotARubric::TooCostly)?;
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            payload if depth == 0 => note(&payload, inspection).map_err(|error| invalid(&error))?,
            _ => {}
        }
    }
    inspection.score = inspection.scoring().and_then(|scoring| score_type::score(&types, scoring));
    Ok(())
}

fn note(payload: &Payload<'_>, inspection: &mut Inspection) -> wasmparser::Result<()> {
    match payload {
        Payload::ComponentImportSection(section) => {
            for import in section.clone() {
                let name = import?.name.name.to_owned();
                inspection.imports.push(Import { grant: grants::grant(&name), name });
            }
        }
        Payload::ComponentExportSection(section) => {
            for export in section.clone() {
                inspection.exports.push(export?.name.name.to_owned());
            }
        }
        _ => {}
    }
    Ok(())
}

fn is_supported_scoring(name: &str) -> bool {
    InterfaceName::parse(name).is_some_and(|name| name.is_ours() && name.interface == "scoring" && name.is_supported())
}

fn contract_version(inspection: &Inspection) -> Option<Version> {
    let imports = inspection.imports.iter().map(|import| &import.name);
    let mut ours = inspection
        .exports
        .iter()
        .chain(imports)
        .filter_map(|name| InterfaceName::parse(name))
        .filter(InterfaceName::is_ours);
    ours.find_map(|name| name.version)
}

/// Judges a valid component by its imports and exports. A version of our own package that we do not run explains everything
/// else, so it comes first.
fn by_names(inspection: &Inspection) -> Option<NotARubric> {
    if let Some(found) = inspection.contract_version
        && !found.is_compatible_with(grants::PACKAGE_VERSION)
    {
        return Some(NotARubric::OtherVersion { found });
    }
    let refused = inspection.imports.iter().filter_map(|import| match &import.grant {
        Grant::Refused(refusal) => Some((import.name.clone(), refusal.clone())),
        Grant::Sandbox | Grant::Contract => None,
    });
    let imports: Vec<(String, Refusal)> = refused.collect();
    if !imports.is_empty() {
        return Some(NotARubric::Ungranted { imports });
    }
    if inspection.world().is_none() {
        return Some(NotARubric::OtherWorld { exports: inspection.exports.clone() });
    }
    match inspection.score.as_deref() {
        Some(score_type::SCORE) => None,
        found => Some(NotARubric::OtherScore { found: found.unwrap_or("missing").to_owned() }),
    }
}
