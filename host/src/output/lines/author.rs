//! The lines for curators and rubric authors: `fence`, `list` and `rubric …`.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::Line;
use crate::bench::Bench;
use crate::bench::fence::Gap;
use crate::bench::golden::{GoldenResult, GoldenTest};
use crate::bench::rubric_build::BuiltRubric;
use eval_evidence::record::Sut;
use eval_model::contract::{Difficulty, Disposition};
use eval_model::ids::{CaseId, Digest, TaskClassName, Tier};
use eval_model::judge::Judgement;
use eval_model::limits::Limits;
use eval_model::outcome::OutcomeClass;
use eval_model::score::BenchScore;
use eval_model::utc::UtcMillis;
use eval_sandbox::{BinaryKind, Grant, Import, Inspection};

#[derive(Serialize)]
pub(crate) struct GapLine<'a> {
    pub(super) path: Cow<'a, str>,
    pub(super) message: &'a str,
}

impl<'a> From<&'a Gap> for Line<'a> {
    fn from(gap: &'a Gap) -> Self {
        Self::Gap(GapLine { path: gap.path.to_string_lossy(), message: &gap.message })
    }
}

#[derive(Serialize)]
pub(crate) struct TaskClassLine<'a> {
    pub(crate) task_class: &'a TaskClassName,
    pub(crate) current_tier: Tier,
    pub(crate) cases: usize,
    pub(crate) dispositions: BTreeMap<Disposition, u64>,
    pub(crate) difficulties: BTreeMap<Difficulty, u64>,
    pub(crate) unloadable: u64,
    pub(crate) last_run: Option<UtcMillis>,
    pub(crate) last_run_by: Vec<SutLine<'a>>,
}

/// When a task class was last run, and who answered.
#[derive(Debug, Clone)]
pub(crate) struct LastRun {
    pub(crate) at: UtcMillis,
    pub(crate) suts: BTreeSet<Sut>,
}

/// Who answered.
#[derive(Serialize)]
pub(crate) struct SutLine<'a> {
    pub(super) name: &'a str,
    pub(super) version: &'a str,
    pub(super) model: Option<&'a str>,
}

impl<'a> From<&'a Sut> for SutLine<'a> {
    fn from(sut: &'a Sut) -> Self {
        Self { name: &sut.name, version: &sut.version, model: sut.model.as_deref() }
    }
}

impl<'a> TaskClassLine<'a> {
    pub(crate) fn new(task_class: &'a TaskClassName, bench: &Bench, last_run: Option<&'a LastRun>) -> Self {
        let mut line = Self {
            task_class,
            current_tier: bench.registration.current_tier,
            cases: bench.case_names().len(),
            dispositions: BTreeMap::new(),
            difficulties: BTreeMap::new(),
            unloadable: 0,
            last_run: last_run.map(|run| run.at),
            last_run_by: last_run.into_iter().flat_map(|run| &run.suts).map(SutLine::from).collect(),
        };
        for name in bench.case_names() {
            match bench.case_file(name) {
                Ok(case) => {
                    *line.dispositions.entry(case.case.disposition).or_default() += 1;
                    *line.difficulties.entry(case.case.difficulty).or_default() += 1;
                }
                Err(_) => line.unloadable += 1,
            }
        }
        line
    }
}

#[derive(Serialize)]
pub(crate) struct GoldenLine<'a> {
    pub(super) case_id: &'a str,
    pub(super) name: &'a str,
    pub(super) holds: bool,
    pub(super) expected: String,
    pub(super) actual: String,
    pub(super) fuel_used: Option<u64>,
    pub(super) peak_memory_bytes: Option<u64>,
}

impl<'a> GoldenLine<'a> {
    pub(crate) fn new(case_name: &'a str, test: &'a GoldenTest, result: &GoldenResult) -> Self {
        Self {
            case_id: case_name,
            name: &test.name,
            holds: result.actual == test.expected,
            expected: test.expected.to_string(),
            actual: result.actual.to_string(),
            fuel_used: result.fuel_used,
            peak_memory_bytes: result.peak_memory_bytes,
        }
    }
}

#[derive(Serialize)]
pub(crate) struct RubricLine<'a> {
    pub(super) task_class: &'a TaskClassName,
    pub(super) bytes: usize,
    pub(super) blake3: Digest,
}

impl<'a> RubricLine<'a> {
    pub(crate) fn new(task_class: &'a TaskClassName, built: &BuiltRubric) -> Self {
        Self { task_class, bytes: built.bytes.len(), blake3: built.digest }
    }
}

#[derive(Serialize)]
pub(crate) struct TriedCaseLine<'a> {
    pub(super) case_id: &'a CaseId,
    pub(super) outcome: OutcomeClass,
    pub(super) score: &'a BenchScore,
    pub(super) fuel_used: Option<u64>,
    pub(super) fuel_limit: u64,
    pub(super) peak_memory_bytes: Option<u64>,
    pub(super) memory_limit_bytes: u64,
}

impl<'a> TriedCaseLine<'a> {
    pub(crate) fn new(case_id: &'a CaseId, judged: &'a Judgement, limits: Limits) -> Self {
        Self {
            case_id,
            outcome: judged.outcome(),
            score: &judged.score,
            fuel_used: judged.fuel_used,
            fuel_limit: limits.fuel(),
            peak_memory_bytes: judged.peak_memory_bytes,
            memory_limit_bytes: limits.memory_bytes(),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct InspectionLine<'a> {
    pub(crate) binary: &'static str,
    pub(crate) world: Option<&'static str>,
    pub(super) contract_version: Option<String>,
    pub(crate) bytes: u64,
    pub(crate) blake3: Digest,
    pub(crate) imports: Vec<ImportLine<'a>>,
    pub(crate) exports: &'a [String],
    pub(super) loads: bool,
    pub(crate) refusal: Option<String>,
}

impl<'a> From<&'a Inspection> for InspectionLine<'a> {
    fn from(inspection: &'a Inspection) -> Self {
        Self {
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
            imports: inspection.imports.iter().map(ImportLine::from).collect(),
            exports: &inspection.exports,
            loads: inspection.refusal.is_none(),
            refusal: inspection.refusal.as_ref().map(ToString::to_string),
        }
    }
}

#[derive(Serialize)]
pub(crate) struct ImportLine<'a> {
    pub(crate) name: &'a str,
    pub(crate) granted_by: Option<&'static str>,
    pub(crate) refusal: Option<String>,
}

impl<'a> From<&'a Import> for ImportLine<'a> {
    fn from(import: &'a Import) -> Self {
        let (granted_by, refusal) = match &import.grant {
            Grant::Sandbox => (Some("the sandbox"), None),
            Grant::Contract => (Some("the contract's types"), None),
            Grant::Refused(refusal) => (None, Some(format!("{}; {}", refusal.why, refusal.remedy))),
        };
        Self { name: &import.name, granted_by, refusal }
    }
}
