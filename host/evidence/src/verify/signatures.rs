//! Who signed which record, by the notes beside them.
//!
//! A walk reads every note and compares it with its record, which needs no key: one that is not about its record is a finding,
//! whoever signed it. Which keys are trusted is for the caller to say afterwards. That a record is not signed, or by somebody
//! whom nobody here knows, is counted and is never a finding: what a record must have is the gate's business.

use std::collections::BTreeMap;

use super::finding::{Defect, Finding};
use super::verification::Verification;
use crate::anchor::{RecordNoteError, RecordSignature, TrustedKeys, judge_record_note};
use crate::chain::Link;
use crate::store::Evidence;
use eval_model::ids::{RecordHash, TaskClassName};

/// The notes of the records that have one which is about them.
#[derive(Debug, Default)]
pub(super) struct Signatures {
    notes: BTreeMap<RecordHash, Vec<u8>>,
    judged: BTreeMap<RecordHash, RecordSignature>,
}

impl Signatures {
    /// Reads the note beside a record, if there is one, and says what is wrong with it.
    pub(super) fn read(&mut self, evidence: &dyn Evidence, link: &Link) -> Option<Finding> {
        let wrong = |error| Some(Finding::at(link, Defect::Signature(error)));
        let note = match evidence.note(link.file_name().as_str()) {
            Ok(note) => note?,
            Err(error) => return wrong(RecordNoteError::File(error)),
        };
        match judge_record_note(&note, link, &TrustedKeys::default()) {
            Ok(signature) => {
                self.notes.insert(link.hash, note);
                self.judged.insert(link.hash, signature);
                None
            }
            Err(error) => wrong(error),
        }
    }

    fn judge(&mut self, link: &Link, trusted: &TrustedKeys) -> Option<Finding> {
        let note = self.notes.get(&link.hash)?;
        match judge_record_note(note, link, trusted) {
            Ok(signature) => {
                self.judged.insert(link.hash, signature);
                None
            }
            Err(error) => {
                self.notes.remove(&link.hash);
                self.judged.remove(&link.hash);
                Some(Finding::at(link, Defect::Signature(error)))
            }
        }
    }
}

/// How many records of a task class are signed, and by whom. Together they are the records that read as such.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SignatureCounts {
    pub trusted: u64,
    pub unknown: u64,
    pub unsigned: u64,
}

impl Verification {
    /// Says which keys are trusted. A signature that one of them is said to have made and has not is a finding.
    pub fn check_signatures(&mut self, trusted: &TrustedKeys) {
        let signatures = &mut self.signatures;
        let findings: Vec<_> = self.links.values().filter_map(|link| signatures.judge(link, trusted)).collect();
        self.add(findings);
    }

    /// Who signed a record. Before [`Self::check_signatures`] nobody is trusted.
    pub fn signature(&self, link: &Link) -> &RecordSignature {
        self.signatures.judged.get(&link.hash).unwrap_or(&RecordSignature::None)
    }

    pub fn signature_counts(&self, task_class: &TaskClassName) -> SignatureCounts {
        let mut counts = SignatureCounts::default();
        for link in self.links.values().filter(|link| link.position.task_class == *task_class) {
            let count = match self.signature(link) {
                RecordSignature::Trusted { .. } => &mut counts.trusted,
                RecordSignature::UnknownKey { .. } | RecordSignature::RetiredKey { .. } => &mut counts.unknown,
                RecordSignature::None => &mut counts.unsigned,
            };
            *count += 1;
        }
        counts
    }
}
