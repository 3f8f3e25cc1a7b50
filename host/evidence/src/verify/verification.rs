//! What a verification found out, and what may be asked of it.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, State};
use super::note::Note;
use super::run_summary::RunSummary;
use super::signatures::Signatures;
use crate::anchor::MarkerHead;
use crate::chain::{Heads, Link, StoreId};
use crate::store::{Excerpt, Snapshot, Started};
use eval_model::ids::{Digest, RecordHash, TaskClassName};
use eval_model::utc::UtcMillis;

/// What a task class has in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassSummary {
    pub records: u64,
    /// Live runs that were started, finished or not.
    pub started: u64,
}

/// What was found out. Everything that is wrong, in order: what concerns the whole, then each class record by record.
#[derive(Debug)]
pub struct Verification {
    pub store_id: StoreId,
    /// What the evidence is, where it says that it is not all of its store.
    pub excerpt: Option<Excerpt>,
    /// Places of records that lack objects because these are left out.
    pub left_out: BTreeSet<(TaskClassName, u64)>,
    pub classes: BTreeMap<TaskClassName, ClassSummary>,
    /// Every record that reads as one, by its place. Of a fork, one branch.
    pub links: BTreeMap<(TaskClassName, u64), Link>,
    /// What kind of run each of them is of.
    pub(super) runs: BTreeMap<(TaskClassName, u64), RunSummary>,
    /// How far the checkpoints reach that the evidence was compared with; `None` when it was compared with none.
    pub(super) anchored: Option<BTreeMap<TaskClassName, u64>>,
    /// Markers of live runs that no record names: unfinished, or still running.
    pub unfinished: Vec<Started>,
    /// Every marker that reads as one, by its place. Of a fork, one branch.
    pub markers: BTreeMap<(TaskClassName, u64), Digest>,
    pub findings: Vec<Finding>,
    pub notes: Vec<Note>,
    pub(super) signatures: Signatures,
    /// What was seen, for a writer that goes on from here.
    pub snapshot: Snapshot,
}

impl Verification {
    /// The worst that was found.
    pub fn state(&self) -> State {
        self.findings.iter().map(Finding::state).max().unwrap_or(State::Ok)
    }

    /// Whether all that is wrong is that a first use must be said.
    pub fn lacks_only_trust(&self) -> bool {
        !self.findings.is_empty() && self.findings.iter().all(Finding::is_first_use)
    }

    pub fn heads(&self) -> &Heads {
        self.snapshot.heads()
    }

    /// The last marker of each class.
    pub fn marker_heads(&self) -> BTreeMap<TaskClassName, MarkerHead> {
        // By their numbers, so that the last of each class stays.
        let markers = self.markers.iter();
        markers.map(|((class, seq), digest)| (class.clone(), MarkerHead { seq: *seq, digest: *digest })).collect()
    }

    /// Adds what was found elsewhere, and keeps the order.
    pub fn add(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
        self.findings.sort_by(|a, b| (&a.task_class, a.seq, &a.file).cmp(&(&b.task_class, b.seq, &b.file)));
    }

    /// Whether there is anything of a task class: a record, a marker, or a finding that may be about it.
    pub fn knows(&self, task_class: &TaskClassName) -> bool {
        let may_concern = |finding: &Finding| finding.task_class.as_ref().is_none_or(|class| class == task_class);
        self.classes.contains_key(task_class) || self.findings.iter().any(may_concern)
    }

    /// Keeps what concerns one task class. What nobody can attribute concerns every one.
    pub fn limit_to(&mut self, task_class: &TaskClassName) {
        let before = self.findings.len();
        self.findings.retain(|finding| finding.task_class.as_ref().is_none_or(|class| class == task_class));
        let findings = before - self.findings.len();
        self.notes.retain(|note| note.task_class().is_none_or(|class| class == task_class));
        if findings > 0 {
            self.notes.push(Note::OtherFindings { findings });
        }
        self.classes.retain(|class, _| class == task_class);
        self.links.retain(|(class, _), _| class == task_class);
        self.left_out.retain(|(class, _)| class == task_class);
        self.unfinished.retain(|started| &started.marker.task_class == task_class);
    }

    /// Keeps what concerns records that were finished at `since` or later, and what is of no record. Whoever asks for less must
    /// not hear OK of something broken, so what is left out is counted in a note, and the state is to be taken before.
    pub fn limit_to_since(&mut self, since: UtcMillis) {
        let is_earlier = |link: &Link| link.finished_at < since;
        let earlier: BTreeSet<_> =
            self.links.iter().filter(|(_, link)| is_earlier(link)).map(|(place, _)| place.clone()).collect();
        for (task_class, _) in &earlier {
            let summary = self.classes.entry(task_class.clone()).or_default();
            summary.records = summary.records.saturating_sub(1);
        }
        let place = |finding: &Finding| finding.task_class.clone().zip(finding.seq);
        let before = self.findings.len();
        self.findings.retain(|finding| place(finding).is_none_or(|place| !earlier.contains(&place)));
        let findings = before - self.findings.len();
        if findings > 0 {
            self.notes.push(Note::EarlierFindings { findings, since });
        }
        self.links.retain(|place, _| !earlier.contains(place));
        self.unfinished.retain(|started| started.marker.started_at >= since);
    }

    /// Whether anything is wrong that a crash does not explain.
    pub fn is_sound(&self) -> bool {
        self.state() <= State::Incomplete
    }

    /// What kind of run the record at a place is of.
    pub fn run(&self, link: &Link) -> Option<&RunSummary> {
        self.runs.get(&(link.position.task_class.clone(), link.position.seq))
    }

    /// How many live runs of the class were started and never recorded; `None` where nobody can know.
    pub fn unfinished_of(&self, task_class: &TaskClassName) -> Option<u64> {
        if self.excerpt.as_ref().is_some_and(|excerpt| excerpt.task_class == *task_class) {
            return None;
        }
        Some(self.unfinished_at_least(task_class))
    }

    /// What is known of them, wherever nobody can know all.
    pub fn unfinished_at_least(&self, task_class: &TaskClassName) -> u64 {
        self.unfinished.iter().filter(|started| started.marker.task_class == *task_class).count() as u64
    }

    /// Whether there was something to compare the evidence with: a bundle has no past, and needs none.
    pub fn was_seen_before(&self) -> bool {
        !self.notes.iter().any(|note| matches!(note, Note::NotSeenBefore | Note::NothingRemembered))
    }

    pub(super) fn hash_at(&self, task_class: &TaskClassName, seq: u64) -> Option<RecordHash> {
        self.links.get(&(task_class.clone(), seq)).map(|link| link.hash)
    }
}
