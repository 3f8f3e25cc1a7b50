//! The walk over a whole body of evidence, and the comparison with what was seen of it before.

use std::collections::{BTreeMap, BTreeSet};

use super::contents::{ContentCheck, Contents};
use super::finding::{Defect, ExcerptDefect, Finding, State};
use super::last_seen::{FirstUse, LastSeenDefect, LastSeenError, LastSeenFile, Memory};
use super::markers::NamedMarkers;
use super::note::Note;
use super::run_summary::RunSummary;
use super::signatures::Signatures;
use super::verification::{ClassSummary, Verification};
use crate::anchor::Anchorable as _;
use crate::chain::{Link, Position};
use crate::files::{FileError, LockError};
use crate::record::ReadRecordError;
use crate::store::{EXCERPT, Evidence, Excerpt, Extent, PACKS, Seen, Snapshot, StoreReader, scan};
use eval_model::advice::Advice;
use eval_model::ids::{Digest, TaskClassName};

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

fn walk(
    evidence: &dyn Evidence,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<(Verification, NamedMarkers), VerifyError> {
    let mut classes: BTreeMap<TaskClassName, ClassSummary> = BTreeMap::new();
    let mut named = NamedMarkers::default();
    let (mut taken, mut continuing, mut runs) = (Vec::new(), Vec::new(), BTreeMap::new());
    let mut contents = ContentCheck::new(evidence);
    let mut signatures = Signatures::default();
    // What these records name was stored before they got their names.
    let names = evidence.names()?;
    let surveyed = evidence.survey()?;
    let mut scan = scan(evidence, names, &Snapshot::default(), &mut |seen: &Seen<'_>| {
        classes.entry(seen.record.task_class.clone()).or_default().records += 1;
        if let Some(marker) = seen.record.started_marker {
            let place = (seen.record.task_class.clone(), seen.record.seq);
            taken.extend(named.claim(marker, place));
        }
        runs.insert((seen.record.task_class.clone(), seen.record.seq), RunSummary::of(seen.record));
        if let Some(hash) = seen.record.continues {
            continuing.push((seen.link.clone(), hash));
        }
        contents.check(seen);
        contents.contents.findings.extend(signatures.read(evidence, seen.link));
        progress(seen.done, seen.total);
    });
    let Contents { findings, left_out, required } = contents.contents;
    scan.findings.extend(surveyed);
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
    verification.check_continued(evidence, &continuing);
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
    pub(super) fn has_unread_records(&self) -> bool {
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
        let stray = |digest| {
            let surplus = ExcerptDefect::SurplusObject { digest };
            Finding::of_file(PACKS.to_owned(), Defect::Excerpt(surplus))
        };
        evidence.strays(required).into_iter().map(stray).collect()
    }

    fn compare_with_last_seen(&mut self, checks: Checks<'_>, memory: Memory) {
        let started = self.marker_heads();
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
                let marker_at = |class: &_, seq| self.marker_at(class, seq);
                seen.compare(self.store_id, self.heads(), &started, &|class, seq| self.hash_at(class, seq), &marker_at)
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
