//! Evidence beside checkpoints: what is to be signed of it, and how it differs from what somebody signed.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Defect, Finding};
use super::note::Note;
use super::verification::Verification;
use crate::anchor::{AnchorDefect, Anchorable, Checkpoint, ClassHeads};
use crate::chain::{Head, StoreId};
use eval_model::ids::{Digest, RecordHash, TaskClassName};
use eval_model::utc::UtcMillis;

/// How much of a store is compared with a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectScope {
    All,
    /// Of each task class that is there, what is there of it: a bundle carries no more.
    Newest,
}

impl Verification {
    /// How much of a checkpoint the evidence can be held to.
    pub fn scope(&self) -> ObjectScope {
        if self.excerpt.is_some() { ObjectScope::Newest } else { ObjectScope::All }
    }

    /// What the store is, to be signed. Only what holds should be.
    pub fn checkpoint(&self, signed_at: UtcMillis) -> Checkpoint {
        let mut classes: BTreeMap<TaskClassName, ClassHeads> = BTreeMap::new();
        for (task_class, head) in self.heads().iter() {
            classes.entry(task_class.clone()).or_default().record = Some(head);
        }
        for (task_class, marker) in self.marker_heads() {
            classes.entry(task_class).or_default().marker = Some(marker);
        }
        Checkpoint::new(self.store_id, signed_at, classes)
    }

    /// Compares with what somebody signed. With the scope of a bundle, only what a bundle can have is compared; that none of the
    /// checkpoints says anything about it is a finding, because whoever names one asks for a comparison.
    pub fn compare_with_checkpoints(&mut self, checkpoints: &[Checkpoint], scope: ObjectScope) {
        if !checkpoints.is_empty() {
            self.anchored.get_or_insert_default();
        }
        let mut silent: BTreeMap<TaskClassName, Vec<AnchorDefect>> = BTreeMap::new();
        let mut spoken_of = BTreeSet::new();
        for checkpoint in checkpoints {
            let (said, unsaid) = match scope {
                ObjectScope::All => (checkpoint.clone(), Vec::new()),
                ObjectScope::Newest => checkpoint.up_to(self),
            };
            spoken_of.extend(said.records().map(|(task_class, _)| task_class.clone()));
            for (task_class, defect) in unsaid {
                silent.entry(task_class).or_default().push(defect);
            }
            self.compare_with(&said);
        }
        for (task_class, defects) in silent {
            self.add_silence(&task_class, defects, spoken_of.contains(&task_class));
        }
        self.note_clocks_of(checkpoints);
    }

    fn compare_with(&mut self, checkpoint: &Checkpoint) {
        let defects = checkpoint.compare(self);
        let is_sound = |task_class: &TaskClassName| {
            defects.iter().all(|(class, ..)| class.as_ref().is_some_and(|class| class != task_class))
        };
        for (task_class, head) in checkpoint.records().filter(|(task_class, _)| is_sound(task_class)) {
            let anchored = self.anchored.get_or_insert_default().entry(task_class.clone()).or_default();
            *anchored = (*anchored).max(head.seq);
        }
        let finding = |(class, seq, defect)| Finding::of_class(class, seq, Defect::Anchor(defect));
        self.add(defects.into_iter().map(finding));
    }

    /// What checkpoints do not say is worth a note where another says it.
    fn add_silence(&mut self, task_class: &TaskClassName, defects: Vec<AnchorDefect>, is_spoken_of: bool) {
        if is_spoken_of {
            let note = |defect| Note::CheckpointIsSilent { task_class: task_class.clone(), defect };
            self.notes.extend(defects.into_iter().map(note));
        } else {
            let finding = |defect| Finding::of_class(Some(task_class.clone()), None, Defect::Anchor(defect));
            self.add(defects.into_iter().map(finding));
        }
    }

    /// The time of a checkpoint is a claim, too.
    fn note_clocks_of(&mut self, checkpoints: &[Checkpoint]) {
        for more in checkpoints {
            for less in checkpoints.iter().filter(|less| less.has_later_clock_than(more)) {
                let (more, less) = (more.signed_at(), less.signed_at());
                self.notes.push(Note::CheckpointClockWentBack { more, less });
            }
        }
    }

    /// Whether one of the checkpoints that this was compared with vouches for the record: it has the record or a later one, and
    /// agrees with what is there. `None` when it was compared with none.
    pub fn is_anchored(&self, task_class: &TaskClassName, seq: u64) -> Option<bool> {
        self.anchored.as_ref().map(|anchored| anchored.get(task_class).is_some_and(|last| seq <= *last))
    }
}

impl Anchorable for Verification {
    fn store_id(&self) -> StoreId {
        self.store_id
    }

    fn newest(&self) -> Vec<(TaskClassName, Head)> {
        self.heads().iter().map(|(task_class, head)| (task_class.clone(), head)).collect()
    }

    fn record_at(&self, task_class: &TaskClassName, seq: u64) -> Option<RecordHash> {
        self.hash_at(task_class, seq)
    }

    fn marker_at(&self, task_class: &TaskClassName, seq: u64) -> Option<Digest> {
        self.markers.get(&(task_class.clone(), seq)).copied()
    }

    fn has_unplaced_marker(&self, digest: Digest) -> bool {
        self.newer_markers().any(|newer| newer == digest)
    }
}
