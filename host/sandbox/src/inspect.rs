//! What a component is, read from its bytes alone: nothing is compiled and nothing runs.
//!
//! What `rubric inspect` shows is what loading decides by, so that the two cannot disagree. A component is read in this order:
//! it is [parsed and weighed](weigh), then [validated](validate). Reading has no bound of its own but the bytes, and validating
//! has none at all: a host has both done by its [compiler](super::compiler), which is limited, and makes an [`Inspection`] of
//! the [`Facts`] that come back. [`inspect`] does it all in this process, for components that can be trusted that far.

use serde::{Deserialize, Serialize};
use wasmparser::{Chunk, Encoding, Parser, Payload, Validator};
use wasmtime::{Engine, Precompiled};

use super::compiler::Stopped;
use super::engine;
use super::grants::{self, Grant, InterfaceName, Refusal, SCORING, Version};
use super::score_type;
use super::weight::{Makeup, TooHeavy, Unfit};
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
    #[error("the component has more than a rubric is given ({0}): build it with less of that")]
    TooHeavy(TooHeavy),
    #[error(
        "the component is built for asynchronous calls, and `score` is an ordinary function: build it without `async` (Rust and \
         Python: no `async` in the bindings; JavaScript: `jco componentize --backend-qjs-disable-async`)"
    )]
    Async,
    #[error("{0}")]
    Stopped(Stopped),
    #[error("the component does not compile: {reason}")]
    DoesNotCompile { reason: String },
    #[error(
        "the component's imports have other types than `eval-host:rubric@0.1.0` and WASI 0.2 say ({reason}): build it against \
         this host's `wit/rubric.wit`"
    )]
    OtherTypes { reason: String },
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
    /// Why it does not load. Whether it compiles, and whether its imports have the right types, only a sandbox finds out.
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

/// What reading a component gives. It says nothing that a host could not find in the bytes, given time.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Facts {
    imports: Vec<String>,
    exports: Vec<String>,
    score: Option<String>,
}

/// What is wrong with the bytes of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Defect {
    Invalid { reason: String, offset: u64 },
    TooHeavy(TooHeavy),
    Async,
}

impl From<Defect> for NotARubric {
    fn from(defect: Defect) -> Self {
        match defect {
            Defect::Invalid { reason, offset } => Self::Invalid { reason, offset },
            Defect::TooHeavy(bound) => Self::TooHeavy(bound),
            Defect::Async => Self::Async,
        }
    }
}

impl From<wasmparser::BinaryReaderError> for Defect {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        Self::Invalid { reason: error.message().to_owned(), offset: error.offset() as u64 }
    }
}

impl From<Unfit> for Defect {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::TooHeavy(bound) => Self::TooHeavy(bound),
            Unfit::Async => Self::Async,
        }
    }
}

/// Reads what `bytes` are, in this process and however long it takes.
pub fn inspect(bytes: &[u8]) -> Inspection {
    let read = || weigh(bytes).and_then(|(_, facts)| validate(bytes, facts));
    match by_kind(bytes) {
        Some(refusal) => Inspection::refused(bytes, refusal),
        None => Inspection::of(bytes, read().map_err(NotARubric::from)),
    }
}

impl Inspection {
    /// What is known of bytes that are refused unread.
    pub(super) fn refused(bytes: &[u8], refusal: NotARubric) -> Self {
        Self::of(bytes, Err(refusal))
    }

    /// What the facts say of these bytes.
    pub(super) fn of(bytes: &[u8], read: Result<Facts, NotARubric>) -> Self {
        let (facts, refusal) = match read {
            Ok(facts) => (facts, None),
            Err(refusal) => (Facts::default(), Some(refusal)),
        };
        let import = |name: String| Import { grant: grants::grant(&name), name };
        let mut inspection = Self {
            kind: kind(bytes),
            bytes: bytes.len() as u64,
            digest: Digest::of(bytes),
            imports: facts.imports.into_iter().map(import).collect(),
            exports: facts.exports,
            contract_version: None,
            score: facts.score,
            refusal,
        };
        inspection.contract_version = contract_version(&inspection);
        if inspection.refusal.is_none() {
            inspection.refusal = by_names(&inspection);
        }
        inspection
    }
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

/// Why these bytes are no component, as their first ones and their number show.
pub(super) fn by_kind(bytes: &[u8]) -> Option<NotARubric> {
    let size = bytes.len() as u64;
    match kind(bytes) {
        _ if size == 0 => Some(NotARubric::Empty),
        _ if size > MOST_COMPONENT_BYTES => Some(NotARubric::TooLarge { bytes: size, maximum: MOST_COMPONENT_BYTES }),
        BinaryKind::Component => None,
        BinaryKind::CoreModule => Some(NotARubric::CoreModule),
        BinaryKind::Precompiled => Some(NotARubric::Precompiled),
        BinaryKind::Unknown => Some(NotARubric::NotWasm),
    }
}

/// Parses and bounds the whole component, and notes the imports and exports of its outermost level.
pub(super) fn weigh(bytes: &[u8]) -> Result<(Makeup, Facts), Defect> {
    let mut makeup = Makeup { bytes: bytes.len() as u64, ..Makeup::default() };
    let mut facts = Facts::default();
    let mut depth = 0_u64;
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload?;
        makeup.add(&payload, depth)??;
        match payload {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            payload if depth == 0 => note(&payload, &mut facts)?,
            _ => {}
        }
    }
    Ok((makeup, facts))
}

/// Validates a component that was weighed, and adds the type of its `score`.
pub(super) fn validate(bytes: &[u8], mut facts: Facts) -> Result<Facts, Defect> {
    let types = Validator::new_with_features(engine::rubric_features()).validate_all(bytes)?;
    let scoring = facts.exports.iter().find(|name| is_supported_scoring(name));
    facts.score = scoring.and_then(|scoring| score_type::score(&types, scoring));
    Ok(facts)
}

fn note(payload: &Payload<'_>, facts: &mut Facts) -> wasmparser::Result<()> {
    match payload {
        Payload::ComponentImportSection(section) => {
            for import in section.clone() {
                facts.imports.push(import?.name.name.to_owned());
            }
        }
        Payload::ComponentExportSection(section) => {
            for export in section.clone() {
                facts.exports.push(export?.name.name.to_owned());
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
