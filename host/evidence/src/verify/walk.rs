//! The walk over a whole body of evidence.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::ObjectFacts;
use super::case::read_manifest;
use super::figures;
use super::finding::{Defect, Finding, State};
use super::last_seen::{FirstUse, LastSeenDefect, LastSeenError, LastSeenFile, Memory};
use super::note::Note;
use super::run_summary::RunSummary;
use super::signature::RecordSignature;
use crate::anchor::Checkpoint;
use crate::chain::{Heads, Link, Position, StoreId};
use crate::files::{FileError, LockError};
use crate::store::{Evidence, ReadMarkerError, Seen, Snapshot, Started, StoreReader, scan};
use eval_model::advice::Advice;
use eval_model::ids::{Digest, RecordHash, TaskClassName};
use eval_model::utc::UtcMillis;

/// What a task class has in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClassSummary {
    pub records: u64,
    /// Live runs that were started, finished or not.
    pub started: u64,
}

/// Of which records the objects must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectScope {
    All,
    /// Of the newest record of each task class: what a bundle carries.
    Newest,
}

/// What a store is compared with besides itself.
#[derive(Debug, Clone, Copy)]
pub struct Checks<'a> {
    /// Where there is none, nothing can be remembered: every use is a first one.
    pub last_seen: Option<&'a LastSeenFile>,
    pub first_use: FirstUse,
    /// Who should own the store.
    pub user: u32,
}

/// Why evidence could not even be looked at.
#[derive(Debug, thiserror::Error)]
pub enum VerifyError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error(transparent)]
    File(#[from] FileError),
    #[error(transparent)]
    LastSeen(#[from] LastSeenError),
}

impl Advice for VerifyError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::LastSeen(error) => error.hint(),
            _ => None,
        }
    }
}

/// What was found out. Everything that is wrong, in order: what concerns the whole, then each class record by record.
#[derive(Debug)]
pub struct Verification {
    pub store_id: StoreId,
    pub classes: BTreeMap<TaskClassName, ClassSummary>,
    /// Every record that reads as one, by its place. Of a fork, one branch.
    pub links: BTreeMap<(TaskClassName, u64), Link>,
    /// What kind of run each of them is of.
    runs: BTreeMap<(TaskClassName, u64), RunSummary>,
    /// How far the checkpoints reach that the evidence was compared with; `None` when it was compared with none.
    anchored: Option<BTreeMap<TaskClassName, u64>>,
    /// Markers of live runs that no record names: unfinished, or still running.
    pub unfinished: Vec<Started>,
    pub findings: Vec<Finding>,
    pub notes: Vec<Note>,
    /// What was seen, for a writer that goes on from here.
    pub snapshot: Snapshot,
}

impl Verification {
    /// The worst that was found.
    pub fn state(&self) -> State {
        self.findings.iter().map(Finding::state).max().unwrap_or(State::Ok)
    }

    pub fn heads(&self) -> &Heads {
        self.snapshot.heads()
    }

    pub fn started_counts(&self) -> BTreeMap<TaskClassName, u64> {
        let counts = self.classes.iter().map(|(class, summary)| (class.clone(), summary.started));
        counts.filter(|(_, started)| *started > 0).collect()
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
        self.findings.retain(|finding| finding.task_class.as_ref().is_none_or(|class| class == task_class));
        self.notes.retain(|note| note.task_class().is_none_or(|class| class == task_class));
        self.classes.retain(|class, _| class == task_class);
        self.links.retain(|(class, _), _| class == task_class);
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

    /// Compares with what somebody signed. With the scope of a bundle, only what a bundle can have is compared.
    pub fn compare_with_checkpoint(&mut self, checkpoint: &Checkpoint, scope: ObjectScope) {
        let anchored = self.anchored.get_or_insert_default();
        for (task_class, head) in checkpoint.heads().iter() {
            let reach = anchored.entry(task_class.clone()).or_default();
            *reach = (*reach).max(head.seq);
        }
        let (checkpoint, silent) = match scope {
            ObjectScope::All => (checkpoint.clone(), Vec::new()),
            ObjectScope::Newest => checkpoint.up_to(self.heads()),
        };
        let carried = |class: &TaskClassName| self.heads().get(class).map_or(0, |head| head.seq);
        let note = |(task_class, later): (TaskClassName, Option<u64>)| match later {
            Some(anchored) => Note::CheckpointIsLater { carried: carried(&task_class), task_class, anchored },
            None => Note::CheckpointIsSilent { task_class },
        };
        let notes: Vec<_> = silent.into_iter().map(note).collect();
        self.notes.extend(notes);
        let hash_at = |class: &TaskClassName, seq| self.hash_at(class, seq);
        let defects = checkpoint.compare(self.store_id, self.heads(), &hash_at);
        let finding = |(class, seq, defect)| Finding::of_class(class, seq, Defect::Anchor(defect));
        self.add(defects.into_iter().map(finding));
    }

    /// What kind of run the record at a place is of.
    pub fn run(&self, link: &Link) -> Option<&RunSummary> {
        self.runs.get(&(link.position.task_class.clone(), link.position.seq))
    }

    /// Whether a checkpoint that the evidence was compared with has the record; `None` when it was compared with none.
    pub fn is_anchored(&self, link: &Link) -> Option<bool> {
        let reaches = |anchored: &BTreeMap<TaskClassName, u64>| anchored.get(&link.position.task_class).copied();
        self.anchored.as_ref().map(|anchored| reaches(anchored).is_some_and(|seq| link.position.seq <= seq))
    }

    pub fn signature(&self, _link: &Link) -> RecordSignature {
        RecordSignature::None
    }

    /// How many live runs of the class were started and never recorded; `None` where nobody can know.
    pub fn unfinished_of(&self, task_class: &TaskClassName) -> Option<u64> {
        Some(self.unfinished.iter().filter(|started| started.marker.task_class == *task_class).count() as u64)
    }

    fn hash_at(&self, task_class: &TaskClassName, seq: u64) -> Option<RecordHash> {
        self.links.get(&(task_class.clone(), seq)).map(|link| link.hash)
    }
}

/// Walks a store and compares it with what was seen of it before.
///
/// Others may append meanwhile. What is remembered only follows the records, and a record only follows its marker, so the three
/// are read in this order: what is read later has at least what the earlier one speaks of.
pub fn verify_store(
    store: &StoreReader,
    checks: Checks<'_>,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Verification, VerifyError> {
    let memory = checks.last_seen.map_or(Ok(Memory::None), LastSeenFile::read)?;
    let (mut verification, named) = walk(store, ObjectScope::All, progress)?;
    let (markers, marker_findings) = store.started()?;
    verification.add(marker_findings);
    verification.add_markers(markers, named);
    verification.compare_with_last_seen(checks, memory);
    verification.notes.extend(store.privacy(checks.user)?);
    Ok(verification)
}

/// Walks evidence that has no more than its records and objects.
pub fn verify_evidence(
    evidence: &dyn Evidence,
    scope: ObjectScope,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Verification, VerifyError> {
    walk(evidence, scope, progress).map(|(verification, _)| verification)
}

/// Which record names which marker.
#[derive(Default)]
struct NamedMarkers(BTreeMap<Digest, (TaskClassName, u64)>);

impl NamedMarkers {
    /// One announcement is one run: a record that names another's marker would hide a run of its own.
    fn claim(&mut self, marker: Digest, place: (TaskClassName, u64)) -> Option<Finding> {
        let (task_class, seq) = self.0.get(&marker).cloned().unwrap_or_else(|| place.clone());
        if (&task_class, seq) == (&place.0, place.1) {
            self.0.insert(marker, place);
            return None;
        }
        let defect = Defect::MarkerTaken { marker, task_class, seq };
        Some(Finding::of_class(Some(place.0), Some(place.1), defect))
    }
}

fn walk(
    evidence: &dyn Evidence,
    scope: ObjectScope,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Verification, NamedMarkers), VerifyError> {
    let mut classes: BTreeMap<TaskClassName, ClassSummary> = BTreeMap::new();
    let mut named = NamedMarkers::default();
    let (mut taken, mut runs) = (Vec::new(), BTreeMap::new());
    let mut contents = ContentCheck::new(evidence, scope);
    let mut scan = scan(evidence, evidence.names()?, &Snapshot::default(), &mut |seen: &Seen<'_>| {
        classes.entry(seen.record.task_class.clone()).or_default().records += 1;
        if let Some(marker) = seen.record.started_marker {
            let place = (seen.record.task_class.clone(), seen.record.seq);
            taken.extend(named.claim(marker, place));
        }
        runs.insert((seen.record.task_class.clone(), seen.record.seq), RunSummary::of(seen.record));
        contents.check(seen);
        progress(seen.done, seen.total);
    });
    scan.findings.extend(contents.finish());
    scan.findings.extend(taken);
    let unfinished = |draft| Finding::of_file(format!("runs/{draft}"), Defect::Draft);
    scan.findings.extend(scan.drafts.into_iter().map(unfinished));
    let place = |link: Link| ((link.position.task_class.clone(), link.position.seq), link);
    let mut verification = Verification {
        store_id: evidence.id(),
        classes,
        links: scan.links.into_iter().map(place).collect(),
        runs,
        anchored: None,
        unfinished: Vec::new(),
        findings: Vec::new(),
        notes: Vec::new(),
        snapshot: scan.snapshot,
    };
    verification.note_clocks();
    verification.add(scan.findings);
    Ok((verification, named))
}

impl Verification {
    /// Time is a claim, and no order depends on it; that it went back may still explain something to somebody.
    fn note_clocks(&mut self) {
        let pairs = self.links.values().zip(self.links.values().skip(1));
        let went_back = |(one, next): &(&Link, &Link)| {
            one.position.task_class == next.position.task_class && next.finished_at < one.finished_at
        };
        let note = |(_, next): (&Link, &Link)| {
            let Position { task_class, seq, .. } = next.position.clone();
            Note::ClockWentBack { task_class, seq }
        };
        let notes: Vec<_> = pairs.filter(went_back).map(note).collect();
        self.notes.extend(notes);
    }

    fn add_markers(&mut self, markers: Vec<Started>, mut named: NamedMarkers) {
        // The record of a run in shards names one marker, and that one names those of the shards.
        let mut misused = Vec::new();
        for Started { digest, marker } in &markers {
            let Some(place) = named.0.get(digest).cloned() else { continue };
            if marker.task_class != place.0 {
                let (marker, announced) = (*digest, marker.task_class.clone());
                let defect = Defect::MarkerOfOtherClass { marker, announced };
                misused.push(Finding::of_class(Some(place.0.clone()), Some(place.1), defect));
            }
            misused.extend(marker.shards.iter().filter_map(|shard| named.claim(*shard, place.clone())));
        }
        self.add(misused);
        let newer = self.newer_markers();
        let there: BTreeSet<_> = markers.iter().map(|started| started.digest).chain(newer).collect();
        for started in markers {
            self.classes.entry(started.marker.task_class.clone()).or_default().started += 1;
            if !named.0.contains_key(&started.digest) {
                self.unfinished.push(started);
            }
        }
        let gone = named.0.iter().filter(|(marker, _)| !there.contains(*marker));
        let finding = |(marker, (class, seq)): (&Digest, &(TaskClassName, u64))| {
            Finding::of_class(Some(class.clone()), Some(*seq), Defect::MarkerGone { marker: *marker })
        };
        self.add(gone.map(finding).collect::<Vec<_>>());
    }

    /// Markers that are there, and that only a newer program can read.
    fn newer_markers(&self) -> impl Iterator<Item = Digest> {
        self.findings.iter().filter_map(|finding| match &finding.defect {
            Defect::Marker(ReadMarkerError::Newer { digest, .. }) => Some(*digest),
            _ => None,
        })
    }

    fn compare_with_last_seen(&mut self, checks: Checks<'_>, memory: Memory) {
        let started = self.started_counts();
        if memory == Memory::None {
            let is_kept = checks.last_seen.is_some();
            self.notes.push(if is_kept { Note::NotSeenBefore } else { Note::NothingRemembered });
        }
        // A marker that only a newer program can read is not gone, and nobody can tell of which class it is.
        let newer = u64::try_from(self.newer_markers().count()).unwrap_or(u64::MAX);
        let is_there =
            |defect: &_| matches!(defect, LastSeenDefect::MarkersGone { seen, found } if seen - found <= newer);
        let mut defects = match memory {
            Memory::Seen(seen) => {
                seen.compare(self.store_id, self.heads(), &started, &|class, seq| self.hash_at(class, seq))
            }
            Memory::Damaged { path } => vec![(None, None, LastSeenDefect::Damaged { path })],
            Memory::None if checks.first_use == FirstUse::Refuse => vec![(None, None, LastSeenDefect::NeverSeen)],
            Memory::None => Vec::new(),
        };
        defects.retain(|(_, _, defect)| !is_there(defect));
        let finding = |(class, seq, defect)| Finding::of_class(class, seq, Defect::LastSeen(defect));
        self.add(defects.into_iter().map(finding));
    }
}

/// What a record says beside its place: its figures, and the objects it names. An object is read once, whoever names it.
struct ContentCheck<'a> {
    evidence: &'a dyn Evidence,
    scope: ObjectScope,
    facts: ObjectFacts<'a>,
    checked: BTreeSet<Digest>,
    findings: Vec<Finding>,
    /// The newest record of each class so far, whose objects are checked at the end.
    newest: BTreeMap<TaskClassName, Named>,
}

/// A record's place, and the objects it names.
struct Named {
    link: Link,
    objects: BTreeSet<Digest>,
    cases: BTreeSet<Digest>,
}

impl<'a> ContentCheck<'a> {
    fn new(evidence: &'a dyn Evidence, scope: ObjectScope) -> Self {
        let facts = ObjectFacts::new(evidence);
        Self { evidence, scope, facts, checked: BTreeSet::new(), findings: Vec::new(), newest: BTreeMap::new() }
    }

    fn check(&mut self, seen: &Seen<'_>) {
        let record = seen.record;
        let named = Named {
            link: seen.link.clone(),
            objects: record.named_objects(),
            cases: record.case_digest_set.values().copied().collect(),
        };
        if let Some(contradiction) = figures::contradiction(record) {
            self.findings.push(Finding::at(&named.link, Defect::Contradiction(contradiction)));
        }
        if let Some(defect) = self.facts.contradiction(record) {
            self.findings.push(Finding::at(&named.link, Defect::Answer(defect)));
        }
        match self.scope {
            ObjectScope::All => self.check_objects(&named),
            ObjectScope::Newest => {
                if self.newest.get(&record.task_class).is_none_or(|newest| newest.link.position.seq < record.seq) {
                    self.newest.insert(record.task_class.clone(), named);
                }
            }
        }
    }

    fn finish(mut self) -> Vec<Finding> {
        for named in std::mem::take(&mut self.newest).values() {
            self.check_objects(named);
        }
        self.findings
    }

    fn check_objects(&mut self, named: &Named) {
        for digest in &named.objects {
            let is_case = named.cases.contains(digest);
            let defect = if is_case { self.check_case(*digest) } else { self.check_object(*digest) };
            if let Some(defect) = defect {
                self.findings.push(Finding::at(&named.link, defect));
            }
        }
    }

    fn check_object(&mut self, digest: Digest) -> Option<Defect> {
        if self.checked.insert(digest) { self.evidence.check_object(digest).err().map(Defect::from) } else { None }
    }

    /// A case's object leads to its files.
    fn check_case(&mut self, digest: Digest) -> Option<Defect> {
        if !self.checked.insert(digest) {
            return None;
        }
        match read_manifest(self.evidence, digest) {
            Ok(manifest) => manifest.files().find_map(|(_, file)| self.check_object(file)),
            Err(error) => Some(error.into()),
        }
    }
}
