//! `attack.json`: that a rubric was attacked, with what, and what came of it.
//!
//! It holds digests, so that the fence can tell without scoring whether it is about the bench as it is now. The same attack gives
//! the same bytes. It is a note of what a curator did, and no proof: whoever doubts it attacks again.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::campaign::{Accepted, Attack, Tally};
use super::mutants::MUTATORS_VERSION;
use super::target::Target;
use eval_evidence::files::{Audience, Dir, Draft, FileError, MOST_FILE_BYTES};
use eval_model::ids::{CaseId, Digest};
use eval_model::json;

pub(crate) const FILE_NAME: &str = "attack.json";

const SCHEMA_VERSION: u64 = 1;

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    schema_version: u64,
    rubric_digest: Digest,
    target_digest: Digest,
    mutators_version: u32,
    mutators: Vec<MutatorEntry>,
    accepted: Vec<AcceptedEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MutatorEntry {
    name: String,
    mutants: u64,
    killed: u64,
    survivors: u64,
    accepted: u64,
    faulted: u64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct AcceptedEntry {
    case_id: CaseId,
    test: String,
    mutator: String,
    reason: String,
}

impl Record {
    fn new(attack: &Attack, rubric_digest: Digest, target: &Target) -> Self {
        let mutator = |(name, tally): (&String, &Tally)| MutatorEntry {
            name: name.clone(),
            mutants: tally.mutants,
            killed: tally.killed,
            survivors: tally.survivors,
            accepted: tally.accepted,
            faulted: tally.faulted,
        };
        let accepted = |accepted: &Accepted| AcceptedEntry {
            case_id: accepted.case_id.clone(),
            test: accepted.test.clone(),
            mutator: accepted.mutator.clone(),
            reason: accepted.reason.clone(),
        };
        Self {
            schema_version: SCHEMA_VERSION,
            rubric_digest,
            target_digest: target.digest,
            mutators_version: MUTATORS_VERSION,
            mutators: attack.mutators.iter().map(mutator).collect(),
            accepted: attack.accepted.iter().map(accepted).collect(),
        }
    }
}

/// Writes what came of an attack into a bench's folder, whole or not at all. It is committed, so it is not private.
pub(crate) fn write(bench: &Path, attack: &Attack, rubric_digest: Digest, target: &Target) -> Result<(), FileError> {
    let text = text(attack, rubric_digest, target);
    let mut draft = Draft::begin(Dir::open_ambient(bench)?, FILE_NAME, Audience::Umask)?;
    draft.write(text.as_bytes())?;
    draft.publish().map(drop)
}

fn text(attack: &Attack, rubric_digest: Digest, target: &Target) -> String {
    let record = Record::new(attack, rubric_digest, target);
    serde_json::to_string_pretty(&record).expect("names and numbers serialise") + "\n"
}

/// Whether a bench has exactly this attack on record.
pub(crate) fn is_recorded(bench: &Dir, attack: &Attack, rubric_digest: Digest, target: &Target) -> bool {
    bench.read_text(FILE_NAME, MOST_FILE_BYTES).is_ok_and(|recorded| recorded == text(attack, rubric_digest, target))
}

/// Why the attack that a bench has on record is not one on this rubric and this target that the rubric withstood.
pub(crate) fn problem(bench: &Dir, rubric_digest: Digest, target: &Target) -> Option<String> {
    let text = match bench.read_text(FILE_NAME, MOST_FILE_BYTES) {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Some(again("missing: no attack on the rubric is recorded")),
        Err(error) => return Some(error.problem.words()),
    };
    match json::parse::<Record>(&text) {
        Ok(record) => record.problem(rubric_digest, target),
        Err(error) => Some(again(&format!("not the record of an attack: {error}"))),
    }
}

impl Record {
    fn problem(&self, rubric_digest: Digest, target: &Target) -> Option<String> {
        let of = |count: fn(&MutatorEntry) -> u64| self.mutators.iter().map(count).sum::<u64>();
        let (survivors, faulted) = (of(|entry| entry.survivors), of(|entry| entry.faulted));
        if (self.schema_version, self.mutators_version) != (SCHEMA_VERSION, MUTATORS_VERSION) {
            Some(again("recorded by another version of eval-host, which attacks otherwise"))
        } else if self.rubric_digest != rubric_digest {
            Some(again("stale: the attack was on another rubric"))
        } else if self.target_digest != target.digest {
            Some(again("stale: cases, answers, golden tests, block modes or mutators have changed since"))
        } else if survivors > 0 || faulted > 0 {
            let what =
                format!("survivors that nobody accepted: {survivors}; mutants on which the rubric fails: {faulted}");
            Some(again(&format!("{what}: mend the rubric, or accept what is as good as a right answer")))
        } else {
            None
        }
    }
}

fn again(what: &str) -> String {
    format!("{what}; `eval-host rubric attack --write` attacks and records it")
}
