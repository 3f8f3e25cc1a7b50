//! The walk over a whole body of evidence.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::ObjectFacts;
use super::case::read_manifest;
use super::figures;
use super::finding::{Defect, ExcerptDefect, Finding, State};
use super::last_seen::{FirstUse, LastSeenDefect, LastSeenError, LastSeenFile, Memory};
use super::note::Note;
use super::run_summary::RunSummary;
use super::signatures::Signatures;
use crate::anchor::{AnchorDefect, Anchorable, Checkpoint, ClassHeads, MarkerHead};
use crate::chain::{Head, Heads, Link, Position, StoreId};
use crate::files::{FileError, LockError};
use crate::record::{ReadRecordError, RecordedRun};
use crate::store::{
    EXCERPT, Evidence, Excerpt, Extent, ReadMarkerError, ReadObjectError, Seen, Snapshot, Started, StoreReader, scan,
};
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

/// How much of a store is compared with a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectScope {
    All,
    /// Of each task class that is there, what is there of it: a bundle carries no more.
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
    /// What the evidence is, where it says that it is not all of its store.
    pub excerpt: Option<Excerpt>,
    /// Places of records that lack objects because these are left out.
    pub left_out: BTreeSet<(TaskClassName, u64)>,
    pub classes: BTreeMap<TaskClassName, ClassSummary>,
    /// Every record that reads as one, by its place. Of a fork, one branch.
    pub links: BTreeMap<(TaskClassName, u64), Link>,
    /// What kind of run each of them is of.
    runs: BTreeMap<(TaskClassName, u64), RunSummary>,
    /// How far the checkpoints reach that the evidence was compared with; `None` when it was compared with none.
    anchored: Option<BTreeMap<TaskClassName, u64>>,
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

    /// How much of a checkpoint the evidence can be held to.
    pub fn scope(&self) -> ObjectScope {
        if self.excerpt.is_some() { ObjectScope::Newest } else { ObjectScope::All }
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

    /// What the store is, to be signed. Only what holds should be.
    pub fn checkpoint(&self, signed_at: UtcMillis) -> Checkpoint {
        let mut classes: BTreeMap<TaskClassName, ClassHeads> = BTreeMap::new();
        for (task_class, head) in self.heads().iter() {
            classes.entry(task_class.clone()).or_default().record = Some(head);
        }
        // By their numbers, so that the last of each class stays.
        for ((task_class, seq), digest) in &self.markers {
            classes.entry(task_class.clone()).or_default().marker = Some(MarkerHead { seq: *seq, digest: *digest });
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

    /// What kind of run the record at a place is of.
    pub fn run(&self, link: &Link) -> Option<&RunSummary> {
        self.runs.get(&(link.position.task_class.clone(), link.position.seq))
    }

    /// Whether one of the checkpoints that this was compared with vouches for the record: it has the record or a later one, and
    /// agrees with what is there. `None` when it was compared with none.
    pub fn is_anchored(&self, task_class: &TaskClassName, seq: u64) -> Option<bool> {
        self.anchored.as_ref().map(|anchored| anchored.get(task_class).is_some_and(|last| seq <= *last))
    }

    /// How many live runs of the class were started and never recorded; `None` where nobody can know.
    pub fn unfinished_of(&self, task_class: &TaskClassName) -> Option<u64> {
        if self.excerpt.as_ref().is_some_and(|excerpt| excerpt.task_class == *task_class) {
            return None;
        }
        Some(self.unfinished.iter().filter(|started| started.marker.task_class == *task_class).count() as u64)
    }

    fn hash_at(&self, task_class: &TaskClassName, seq: u64) -> Option<RecordHash> {
        self.links.get(&(task_class.clone(), seq)).map(|link| link.hash)
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
    let (mut verification, named) = walk(store, progress)?;
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
    progress: &mut dyn FnMut(usize, usize),
) -> Result<Verification, VerifyError> {
    walk(evidence, progress).map(|(verification, _)| verification)
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
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Verification, NamedMarkers), VerifyError> {
    let mut classes: BTreeMap<TaskClassName, ClassSummary> = BTreeMap::new();
    let mut named = NamedMarkers::default();
    let (mut taken, mut runs) = (Vec::new(), BTreeMap::new());
    let mut contents = ContentCheck::new(evidence);
    let mut signatures = Signatures::default();
    let mut scan = scan(evidence, evidence.names()?, &Snapshot::default(), &mut |seen: &Seen<'_>| {
        classes.entry(seen.record.task_class.clone()).or_default().records += 1;
        if let Some(marker) = seen.record.started_marker {
            let place = (seen.record.task_class.clone(), seen.record.seq);
            taken.extend(named.claim(marker, place));
        }
        runs.insert((seen.record.task_class.clone(), seen.record.seq), RunSummary::of(seen.record));
        contents.check(seen);
        contents.contents.findings.extend(signatures.read(evidence, seen.link));
        progress(seen.done, seen.total);
    });
    let Contents { findings, left_out, required } = contents.contents;
    scan.findings.extend(findings);
    scan.findings.extend(taken);
    let unfinished = |draft| Finding::of_file(format!("runs/{draft}"), Defect::Draft);
    scan.findings.extend(scan.drafts.into_iter().map(unfinished));
    let place = |link: Link| ((link.position.task_class.clone(), link.position.seq), link);
    let mut verification = Verification {
        store_id: evidence.id(),
        excerpt: evidence.extent().excerpt().cloned(),
        left_out,
        classes,
        links: scan.links.into_iter().map(place).collect(),
        runs,
        anchored: None,
        unfinished: Vec::new(),
        markers: BTreeMap::new(),
        findings: Vec::new(),
        notes: Vec::new(),
        signatures,
        snapshot: scan.snapshot,
    };
    verification.note_clocks();
    verification.add(scan.findings);
    verification.check_extent(evidence, &required);
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

    /// Holds evidence that says that it is not all of its store to what it says.
    fn check_extent(&mut self, evidence: &dyn Evidence, required: &BTreeSet<Digest>) {
        let Some(excerpt) = evidence.extent().excerpt() else { return };
        self.notes.push(Note::Excerpt { task_class: excerpt.task_class.clone(), seq: excerpt.seq });
        let mut findings = Vec::new();
        if self.hash_at(&excerpt.task_class, excerpt.seq) != Some(excerpt.record) && !self.has_unread_records() {
            let Excerpt { task_class, seq, record } = excerpt.clone();
            let defect = Defect::Excerpt(ExcerptDefect::NoSuchRecord { task_class, seq, record });
            findings.push(Finding::of_file(EXCERPT.to_owned(), defect));
        }
        if let Extent::Bundle(excerpt) = evidence.extent() {
            let is_surplus = |link: &&Link| !excerpt.lacks_marker(&link.position.task_class, link.position.seq);
            let surplus = |link: &Link| Finding::at(link, Defect::Excerpt(ExcerptDefect::SurplusRecord));
            findings.extend(self.links.values().filter(is_surplus).map(surplus));
            findings.extend(self.strays(evidence, required));
        }
        self.add(findings);
    }

    /// Records that this program cannot read: any of them may be the one that is looked for.
    fn has_unread_records(&self) -> bool {
        let is_unread =
            |defect: &_| matches!(defect, Defect::Unreadable(_) | Defect::Malformed(ReadRecordError::Newer { .. }));
        self.findings.iter().any(|finding| is_unread(&finding.defect))
    }

    /// Objects of a bundle that its record does not name. Where something that names objects is missing or not understood,
    /// nobody can tell which these are.
    fn strays(&self, evidence: &dyn Evidence, required: &BTreeSet<Digest>) -> Vec<Finding> {
        if self.findings.iter().any(|finding| finding.state() == State::Unverifiable) {
            return Vec::new();
        }
        let stray =
            |digest| Finding::of_file(format!("objects/{digest}"), Defect::Excerpt(ExcerptDefect::SurplusObject));
        evidence.strays(required).into_iter().map(stray).collect()
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
            let task_class = &started.marker.task_class;
            self.classes.entry(task_class.clone()).or_default().started += 1;
            self.markers.insert((task_class.clone(), started.marker.seq.get()), started.digest);
            if !named.0.contains_key(&started.digest) {
                self.unfinished.push(started);
            }
        }
        let is_left_out = |(class, seq): &(TaskClassName, u64)| {
            self.excerpt.as_ref().is_some_and(|excerpt| excerpt.lacks_marker(class, *seq))
        };
        let gone = named.0.iter().filter(|(marker, place)| !there.contains(*marker) && !is_left_out(place));
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
        let extent_defect = match &memory {
            Memory::Seen(seen) => seen.compare_extent(self.store_id, self.excerpt.as_ref()),
            Memory::None | Memory::Damaged { .. } => None,
        };
        let mut defects = match memory {
            Memory::Seen(seen) => {
                seen.compare(self.store_id, self.heads(), &started, &|class, seq| self.hash_at(class, seq))
            }
            Memory::Damaged { path } => vec![(None, None, LastSeenDefect::Damaged { path })],
            Memory::None if checks.first_use == FirstUse::Refuse => vec![(None, None, LastSeenDefect::NeverSeen)],
            Memory::None => Vec::new(),
        };
        defects.retain(|(_, _, defect)| !is_there(defect));
        defects.extend(extent_defect.map(|defect| (None, None, defect)));
        let finding = |(class, seq, defect)| Finding::of_class(class, seq, Defect::LastSeen(defect));
        self.add(defects.into_iter().map(finding));
    }
}

/// What a record says beside its place: its figures, and the objects it names. An object is read once, whoever names it.
struct ContentCheck<'a> {
    evidence: &'a dyn Evidence,
    facts: ObjectFacts<'a>,
    checked: BTreeSet<Digest>,
    /// The files of each case that was read.
    cases: BTreeMap<Digest, Vec<Digest>>,
    required_cases: BTreeSet<Digest>,
    missing: BTreeSet<Digest>,
    contents: Contents,
}

/// What became of the objects.
#[derive(Default)]
struct Contents {
    findings: Vec<Finding>,
    /// Places of records that may lack objects, and do.
    left_out: BTreeSet<(TaskClassName, u64)>,
    /// The objects that must be there: what a record without an excuse names.
    required: BTreeSet<Digest>,
}

/// Whether an object that a record names must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    /// It may be left out. If it is there, it must be right.
    Optional,
}

impl<'a> ContentCheck<'a> {
    fn new(evidence: &'a dyn Evidence) -> Self {
        Self {
            evidence,
            facts: ObjectFacts::new(evidence),
            checked: BTreeSet::new(),
            cases: BTreeMap::new(),
            required_cases: BTreeSet::new(),
            missing: BTreeSet::new(),
            contents: Contents::default(),
        }
    }

    fn check(&mut self, seen: &Seen<'_>) {
        if let Some(contradiction) = figures::contradiction(seen.record) {
            self.contents.findings.push(Finding::at(seen.link, Defect::Contradiction(contradiction)));
        }
        if let Some(defect) = self.facts.contradiction(seen.record) {
            self.contents.findings.push(Finding::at(seen.link, Defect::Answer(defect)));
        }
        self.check_objects(seen.link, seen.record);
    }

    fn check_objects(&mut self, link: &Link, record: &RecordedRun) {
        let may_lack = |excerpt: &Excerpt| excerpt.may_lack_objects(&record.task_class, record.seq);
        let is_optional = self.evidence.extent().excerpt().is_some_and(may_lack);
        let presence = if is_optional { Presence::Optional } else { Presence::Required };
        // Cases first: an object that is a case and something else too must be read as a case.
        let cases: BTreeSet<_> = record.case_digest_set.values().copied().collect();
        for case in cases {
            self.check_case(link, presence, case);
        }
        for digest in record.named_objects() {
            self.check_object(link, presence, digest);
        }
    }

    /// A case's object leads to its files.
    fn check_case(&mut self, link: &Link, presence: Presence, digest: Digest) {
        if presence == Presence::Required && !self.required_cases.insert(digest) {
            return;
        }
        self.read_case(link, digest);
        self.hold(link, presence, digest);
        for file in self.cases[&digest].clone() {
            self.check_object(link, presence, file);
        }
    }

    fn read_case(&mut self, link: &Link, digest: Digest) {
        if self.cases.contains_key(&digest) {
            return;
        }
        self.checked.insert(digest);
        let files = match read_manifest(self.evidence, digest) {
            Ok(manifest) => manifest.files().map(|(_, file)| file).collect(),
            Err(error) => {
                self.add(link, digest, error.into());
                Vec::new()
            }
        };
        self.cases.insert(digest, files);
    }

    fn check_object(&mut self, link: &Link, presence: Presence, digest: Digest) {
        if self.checked.insert(digest)
            && let Err(error) = self.evidence.check_object(digest)
        {
            self.add(link, digest, error.into());
        }
        self.hold(link, presence, digest);
    }

    /// What is missing is wrong only where somebody needs it.
    fn add(&mut self, link: &Link, digest: Digest, defect: Defect) {
        match defect {
            Defect::ObjectMissing(ReadObjectError::Missing { .. }) => {
                self.missing.insert(digest);
            }
            defect => self.contents.findings.push(Finding::at(link, defect)),
        }
    }

    fn hold(&mut self, link: &Link, presence: Presence, digest: Digest) {
        let is_new = presence == Presence::Required && self.contents.required.insert(digest);
        if !self.missing.contains(&digest) {
            return;
        }
        match presence {
            Presence::Required if is_new => {
                let defect = Defect::ObjectMissing(ReadObjectError::Missing { digest });
                self.contents.findings.push(Finding::at(link, defect));
            }
            Presence::Required => {}
            Presence::Optional => {
                self.contents.left_out.insert((link.position.task_class.clone(), link.position.seq));
            }
        }
    }
}
