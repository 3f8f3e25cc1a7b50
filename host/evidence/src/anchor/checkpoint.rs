//! A checkpoint's text: which store, when it was signed, and for each task class how many records and markers of live runs it
//! had and what the last of each hashes to.
//!
//! ```text
//! eval-host/checkpoint/v1
//! <store id>
//! <time of signing>
//! <task class> <records> <SHA-256 of the last one, or zeros> <markers> <BLAKE3 of the last one, or zeros>
//! …
//! ```
//!
//! The time is a claim of whoever signed: nothing depends on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::note::{self, NoteError, NoteSigner, NoteVerifier};
use crate::chain::{Head, Link, StoreId};
use crate::verify::State;
use eval_model::ids::{Digest, RecordHash, TaskClassName};
use eval_model::utc::UtcMillis;

const ORIGIN: &str = "eval-host/checkpoint/v1";

/// What stands for the last marker where there is none.
const NO_MARKER: Digest = Digest::from_bytes([0; 32]);

/// What a store's chains were when somebody signed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    store_id: StoreId,
    signed_at: UtcMillis,
    classes: BTreeMap<TaskClassName, ClassHeads>,
}

/// The last record and the last marker of a task class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClassHeads {
    pub record: Option<Head>,
    pub marker: Option<MarkerHead>,
}

/// The last marker of a task class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MarkerHead {
    pub seq: u64,
    pub digest: Digest,
}

/// Evidence that a checkpoint can be compared with.
pub trait Anchorable {
    fn store_id(&self) -> StoreId;

    /// The newest record of each task class.
    fn newest(&self) -> Vec<(TaskClassName, Head)>;

    fn record_at(&self, task_class: &TaskClassName, seq: u64) -> Option<RecordHash>;

    fn marker_at(&self, task_class: &TaskClassName, seq: u64) -> Option<Digest>;

    /// Whether a marker is there whose place nobody can tell, because only a newer program can read it.
    fn has_unplaced_marker(&self, digest: Digest) -> bool;
}

/// Why a checkpoint is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenCheckpointError {
    #[error(transparent)]
    Note(#[from] NoteError),
    #[error("it is a signed note, but not a checkpoint of eval-host")]
    Origin,
    #[error("line {0} of it does not read as one of a checkpoint")]
    Line(usize),
    #[error("the key `{0}` is retired, and what it signed goes beyond its last checkpoint")]
    Retired(String),
}

/// How a store differs from a checkpoint of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnchorDefect {
    #[error("the checkpoint is of the store `{anchored}`, and this is the store `{found}`")]
    OtherStore { anchored: StoreId, found: StoreId },
    #[error("the checkpoint has {anchored} records of it, and now there are {found}")]
    Lost { anchored: u64, found: u64 },
    #[error("it was rewritten: the checkpoint has it with the hash `{anchored}`, and it has `{found}` now")]
    Rewritten { anchored: RecordHash, found: RecordHash },
    #[error("marker {seq} of its started runs is gone: the checkpoint has it")]
    MarkerLost { seq: u64 },
    #[error(
        "marker {seq} of its started runs was replaced: the checkpoint has it as `{anchored}`, and it is `{found}` now"
    )]
    MarkerReplaced { seq: u64, anchored: Digest, found: Digest },
    #[error(
        "the checkpoint has its record {anchored}, and the bundle ends with {carried}, so the checkpoint says nothing about it; \
         {}", which_to_use(*carried)
    )]
    Later { anchored: u64, carried: u64 },
    #[error("the checkpoint has no record of it, and so says nothing about the bundle; {}", which_to_use(*carried))]
    Silent { carried: u64 },
}

/// What to do about a checkpoint that says nothing about a bundle.
fn which_to_use(carried: u64) -> String {
    match carried {
        1 => "compare it with one that was signed when there was 1 record of it".to_owned(),
        _ => format!("compare it with one that was signed when there were 1 to {carried} records of it"),
    }
}

impl AnchorDefect {
    pub fn state(&self) -> State {
        match self {
            Self::Later { .. } | Self::Silent { .. } => State::Unverifiable,
            Self::OtherStore { .. }
            | Self::Lost { .. }
            | Self::Rewritten { .. }
            | Self::MarkerLost { .. }
            | Self::MarkerReplaced { .. } => State::Tampered,
        }
    }
}

/// A defect, and the task class and the record that it is about, where there is one.
pub type PlacedDefect = (Option<TaskClassName>, Option<u64>, AnchorDefect);

impl Checkpoint {
    pub fn new(
        store_id: StoreId,
        signed_at: UtcMillis,
        classes: impl IntoIterator<Item = (TaskClassName, ClassHeads)>,
    ) -> Self {
        let has_any = |(_, heads): &(TaskClassName, ClassHeads)| *heads != ClassHeads::default();
        Self { store_id, signed_at, classes: classes.into_iter().filter(has_any).collect() }
    }

    pub fn store_id(&self) -> StoreId {
        self.store_id
    }

    /// When it was signed, as whoever signed it says.
    pub fn signed_at(&self) -> UtcMillis {
        self.signed_at
    }

    /// The last record and the last marker that it has of a task class.
    pub fn heads_of(&self, task_class: &TaskClassName) -> ClassHeads {
        self.classes.get(task_class).copied().unwrap_or_default()
    }

    /// The last record of each task class that it has one of.
    pub fn records(&self) -> impl Iterator<Item = (&TaskClassName, Head)> {
        self.classes.iter().filter_map(|(task_class, heads)| Some((task_class, heads.record?)))
    }

    /// The signed note, to be committed.
    pub fn sign(&self, signer: &NoteSigner) -> Result<String, NoteError> {
        signer.sign(&self.to_text())
    }

    fn to_text(&self) -> String {
        let mut text = format!("{ORIGIN}\n{}\n{}\n", self.store_id, self.signed_at);
        for (task_class, heads) in &self.classes {
            let (records, hash) = heads.record.map_or((0, RecordHash::GENESIS), |head| (head.seq, head.hash));
            let (markers, digest) = heads.marker.map_or((0, NO_MARKER), |head| (head.seq, head.digest));
            text += &format!("{task_class} {records} {hash} {markers} {digest}\n");
        }
        text
    }

    /// Reads a checkpoint that one of the known keys has signed.
    pub fn open(note: &str, known: &[NoteVerifier]) -> Result<Self, OpenCheckpointError> {
        Self::read(note::open(note, known)?)
    }

    /// Reads the text of a checkpoint, whoever signed it.
    pub(super) fn read(text: &str) -> Result<Self, OpenCheckpointError> {
        let mut lines = text.lines();
        if lines.next() != Some(ORIGIN) {
            return Err(OpenCheckpointError::Origin);
        }
        let store_id = lines.next().and_then(|line| line.parse().ok()).ok_or(OpenCheckpointError::Line(2))?;
        let signed_at = lines.next().and_then(|line| line.parse().ok()).ok_or(OpenCheckpointError::Line(3))?;
        let mut classes = BTreeMap::new();
        for (index, line) in lines.enumerate() {
            let (task_class, heads) = read_line(line).ok_or(OpenCheckpointError::Line(index + 4))?;
            classes.insert(task_class, heads);
        }
        let checkpoint = Self { store_id, signed_at, classes };
        // Two lines of one class, another order or another spelling of a number do not survive being written again.
        if checkpoint.to_text() == text { Ok(checkpoint) } else { Err(OpenCheckpointError::Line(4)) }
    }

    /// Whether it has nothing that `other` lacks. What both end with must be the same; what lies before an end cannot be told.
    pub fn is_within(&self, other: &Self) -> bool {
        let fits = |(task_class, heads): (&TaskClassName, &ClassHeads)| {
            let there = other.heads_of(task_class);
            let record =
                heads.record.is_none_or(|here| there.record.is_some_and(|there| here.seq < there.seq || here == there));
            let marker =
                heads.marker.is_none_or(|here| there.marker.is_some_and(|there| here.seq < there.seq || here == there));
            record && marker
        };
        self.store_id == other.store_id && self.classes.iter().all(fits)
    }

    /// Whether `other` has more of the store and says that it was signed before.
    pub fn has_later_clock_than(&self, other: &Self) -> bool {
        other.signed_at < self.signed_at && self.classes != other.classes && self.is_within(other)
    }

    /// Whether a record is among those that it has, as the last one or before it.
    pub(super) fn has_record(&self, link: &Link) -> bool {
        let last = self.heads_of(&link.position.task_class).record;
        let is_within = |last: Head| link.position.seq < last.seq || link.head() == last;
        self.store_id == link.position.store_id && last.is_some_and(is_within)
    }

    /// What the checkpoint says about the records of a bundle, and of which of its task classes it says nothing.
    ///
    /// A bundle has one class of its store, up to one record, and no markers. What comes behind it is none of its business, and
    /// a hash that stands for more records than it has cannot be compared with any of them.
    pub fn up_to(&self, bundle: &dyn Anchorable) -> (Self, Vec<(TaskClassName, AnchorDefect)>) {
        let (mut known, mut silent) = (BTreeMap::new(), Vec::new());
        for (task_class, Head { seq: carried, .. }) in bundle.newest() {
            match self.heads_of(&task_class).record {
                Some(head) if head.seq <= carried => {
                    known.insert(task_class, ClassHeads { record: Some(head), marker: None });
                }
                Some(later) => silent.push((task_class, AnchorDefect::Later { anchored: later.seq, carried })),
                None => silent.push((task_class, AnchorDefect::Silent { carried })),
            }
        }
        (Self { classes: known, ..self.clone() }, silent)
    }

    /// Everything in which evidence differs from the checkpoint.
    pub fn compare(&self, evidence: &dyn Anchorable) -> Vec<PlacedDefect> {
        let found = evidence.store_id();
        if self.store_id != found {
            return vec![(None, None, AnchorDefect::OtherStore { anchored: self.store_id, found })];
        }
        let newest: BTreeMap<_, _> = evidence.newest().into_iter().collect();
        let mut defects = Vec::new();
        for (task_class, heads) in &self.classes {
            let found = newest.get(task_class).map_or(0, |head| head.seq);
            let record = heads.record.and_then(|head| record_defect(evidence, task_class, head, found));
            let marker = heads.marker.and_then(|head| marker_defect(evidence, task_class, head));
            defects.extend(record.map(|(seq, defect)| (Some(task_class.clone()), seq, defect)));
            defects.extend(marker.map(|defect| (Some(task_class.clone()), None, defect)));
        }
        defects
    }
}

fn record_defect(
    evidence: &dyn Anchorable,
    task_class: &TaskClassName,
    anchored: Head,
    found: u64,
) -> Option<(Option<u64>, AnchorDefect)> {
    match evidence.record_at(task_class, anchored.seq) {
        Some(hash) if hash == anchored.hash => None,
        Some(found) => Some((Some(anchored.seq), AnchorDefect::Rewritten { anchored: anchored.hash, found })),
        None => Some((None, AnchorDefect::Lost { anchored: anchored.seq, found })),
    }
}

fn marker_defect(
    evidence: &dyn Anchorable,
    task_class: &TaskClassName,
    MarkerHead { seq, digest }: MarkerHead,
) -> Option<AnchorDefect> {
    match evidence.marker_at(task_class, seq) {
        Some(found) if found == digest => None,
        Some(found) => Some(AnchorDefect::MarkerReplaced { seq, anchored: digest, found }),
        None if evidence.has_unplaced_marker(digest) => None,
        None => Some(AnchorDefect::MarkerLost { seq }),
    }
}

/// One line, with zeros exactly where there is nothing to hash.
fn read_line(line: &str) -> Option<(TaskClassName, ClassHeads)> {
    let mut words = line.split(' ');
    let task_class = words.next()?.parse().ok()?;
    let (records, hash): (u64, RecordHash) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let (markers, digest): (u64, Digest) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let is_whole = (records == 0) == (hash == RecordHash::GENESIS) && (markers == 0) == (digest == NO_MARKER);
    if !is_whole || (records, markers) == (0, 0) || words.next().is_some() {
        return None;
    }
    let record = (records > 0).then_some(Head { seq: records, hash });
    let marker = (markers > 0).then_some(MarkerHead { seq: markers, digest });
    Some((task_class, ClassHeads { record, marker }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::hash_of;

    fn class(name: &str) -> TaskClassName {
        name.parse().expect("a class")
    }

    fn record(seq: u64, content: &str) -> Option<Head> {
        Some(Head { seq, hash: hash_of(content.as_bytes()) })
    }

    fn marker(seq: u64, content: &str) -> Option<MarkerHead> {
        Some(MarkerHead { seq, digest: Digest::of(content.as_bytes()) })
    }

    fn at(time: &str, classes: &[(&str, Option<Head>, Option<MarkerHead>)]) -> Checkpoint {
        let heads =
            |(name, record, marker): &(&str, _, _)| (class(name), ClassHeads { record: *record, marker: *marker });
        Checkpoint::new(StoreId::from_bytes([3; 16]), time.parse().expect("a time"), classes.iter().map(heads))
    }

    const TIME: &str = "2026-11-16T09:30:00.120Z";

    fn checkpoint() -> Checkpoint {
        let only_started = ("c", None, marker(1, "c-m1"));
        at(TIME, &[("b", record(12, "b12"), None), ("a", record(3, "a3"), marker(2, "a-m2")), only_started])
    }

    #[test]
    fn a_checkpoint_survives_being_signed_and_read() {
        let signer = NoteSigner::generate("ci.example.org/eval-host").expect("a key");
        let note = checkpoint().sign(&signer).expect("signed");
        let known = [signer.verifier().clone()];
        assert_eq!(Checkpoint::open(&note, &known), Ok(checkpoint()));
        let text: Vec<_> = note.lines().take(6).collect();
        let zeros = "0".repeat(64);
        let a = format!("a 3 {} 2 {}", hash_of(b"a3"), Digest::of(b"a-m2"));
        let b = format!("b 12 {} 0 {zeros}", hash_of(b"b12"));
        let c = format!("c 0 {zeros} 1 {}", Digest::of(b"c-m1"));
        assert_eq!(text, [ORIGIN, "03030303030303030303030303030303", TIME, &a, &b, &c]);
        let other = NoteSigner::generate("ci.example.org/eval-host").expect("a key");
        let unknown = Checkpoint::open(&note, &[other.verifier().clone()]);
        assert_eq!(unknown, Err(OpenCheckpointError::Note(NoteError::Unsigned)));
    }

    #[test]
    fn a_signed_text_that_is_no_checkpoint_is_refused() {
        let signer = NoteSigner::generate("k").expect("a key");
        let open = |text: &str| {
            let note = signer.sign(text).expect("signed");
            Checkpoint::open(&note, &[signer.verifier().clone()]).expect_err("refused")
        };
        let text = checkpoint().to_text();
        assert_eq!(open("hello\n"), OpenCheckpointError::Origin);
        for (changed, line) in [
            (format!("{ORIGIN}\n"), 2),
            (text.replace(".120Z", "Z"), 3),
            (text.replace(&format!("{TIME}\n"), ""), 3),
            (text.replace("a 3 ", "a 03 "), 4),
            (text.replace("a 3 ", "b 3 "), 4),
            (text.replace("a 3 ", "a 0 "), 4),
            (text.replace(" 2 ", " 0 "), 4),
            (text.replace("b 12 ", "../b 12 "), 5),
            (text.replace(" 0 0000", " 1 0000"), 5),
            (text.replace("c 0 ", "c 1 "), 6),
            (format!("{text}extension\n"), 7),
        ] {
            assert_eq!(open(&changed), OpenCheckpointError::Line(line), "{changed}");
        }
    }

    /// Evidence as a list of what is there.
    #[derive(Default)]
    struct There {
        store: u8,
        records: BTreeMap<(TaskClassName, u64), RecordHash>,
        markers: BTreeMap<(TaskClassName, u64), Digest>,
        unplaced: Vec<Digest>,
    }

    impl There {
        /// What `checkpoint` speaks of, and a little more.
        fn grown() -> Self {
            let records = [("a", 3, "a3"), ("a", 4, "a4"), ("b", 12, "b12")];
            let markers = [("a", 2, "a-m2"), ("a", 3, "a-m3"), ("c", 1, "c-m1")];
            let record = |(name, seq, content): (&str, u64, &str)| ((class(name), seq), hash_of(content.as_bytes()));
            let marker = |(name, seq, content): (&str, u64, &str)| ((class(name), seq), Digest::of(content.as_bytes()));
            let (records, markers) = (records.map(record).into(), markers.map(marker).into());
            Self { store: 3, records, markers, unplaced: Vec::new() }
        }
    }

    impl Anchorable for There {
        fn store_id(&self) -> StoreId {
            StoreId::from_bytes([self.store; 16])
        }

        fn newest(&self) -> Vec<(TaskClassName, Head)> {
            let newest: BTreeMap<_, _> = self
                .records
                .iter()
                .map(|((class, seq), hash)| (class.clone(), Head { seq: *seq, hash: *hash }))
                .collect();
            newest.into_iter().collect()
        }

        fn record_at(&self, task_class: &TaskClassName, seq: u64) -> Option<RecordHash> {
            self.records.get(&(task_class.clone(), seq)).copied()
        }

        fn marker_at(&self, task_class: &TaskClassName, seq: u64) -> Option<Digest> {
            self.markers.get(&(task_class.clone(), seq)).copied()
        }

        fn has_unplaced_marker(&self, digest: Digest) -> bool {
            self.unplaced.contains(&digest)
        }
    }

    #[track_caller]
    fn differs(change: impl FnOnce(&mut There), expected: &[&str]) {
        let mut there = There::grown();
        change(&mut there);
        let found: Vec<_> = checkpoint().compare(&there).into_iter().map(|(_, _, defect)| defect.to_string()).collect();
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected)), "{found:?}");
    }

    #[test]
    fn losses_and_rewrites_of_records_are_found() {
        differs(|_| {}, &[]);
        differs(
            |there| assert!(there.records.insert((class("a"), 3), hash_of(b"another")).is_some()),
            &["it was rewritten"],
        );
        differs(
            |there| there.records.clear(),
            &[
                "the checkpoint has 3 records of it, and now there are 0",
                "the checkpoint has 12 records of it, and now there are 0",
            ],
        );
        differs(|there| there.store = 4, &["the checkpoint is of the store `0303"]);
    }

    #[test]
    fn a_marker_that_was_removed_or_replaced_is_found_and_one_of_a_newer_program_is_not_gone() {
        let last = || (class("a"), 2);
        let gone = "marker 2 of its started runs is gone: the checkpoint has it";
        differs(|there| assert!(there.markers.remove(&last()).is_some()), &[gone]);
        differs(
            |there| assert!(there.markers.insert(last(), Digest::of(b"another")).is_some()),
            &["marker 2 of its started runs was replaced"],
        );
        let unplaced = |there: &mut There| {
            there.markers.remove(&last());
            there.unplaced.push(Digest::of(b"a-m2"));
        };
        differs(unplaced, &[]);
        differs(
            |there| assert!(there.markers.remove(&(class("c"), 1)).is_some()),
            &["marker 1 of its started runs is gone: the checkpoint has it"],
        );
    }

    #[test]
    fn of_a_part_of_a_store_only_what_is_there_is_compared() {
        let part = |name: &str, seq: u64| {
            let records = BTreeMap::from([((class(name), seq), hash_of(b"head"))]);
            checkpoint().up_to(&There { store: 3, records, ..There::default() })
        };
        let (only_a, nothing) = (at(TIME, &[("a", record(3, "a3"), None)]), at(TIME, &[]));
        let later = AnchorDefect::Later { anchored: 3, carried: 2 };
        let silent = AnchorDefect::Silent { carried: 1 };
        assert_eq!(part("a", 3), (only_a.clone(), Vec::new()));
        assert_eq!(part("a", 4), (only_a, Vec::new()));
        assert_eq!(part("a", 2), (nothing.clone(), vec![(class("a"), later.clone())]));
        assert_eq!(part("c", 1), (nothing.clone(), vec![(class("c"), silent.clone())]), "it was only started");
        assert_eq!(part("d", 1), (nothing, vec![(class("d"), silent.clone())]));
        assert_eq!((later.state(), silent.state()), (State::Unverifiable, State::Unverifiable));
        assert_eq!(
            later.to_string(),
            "the checkpoint has its record 3, and the bundle ends with 2, so the checkpoint says nothing about it; compare it \
             with one that was signed when there were 1 to 2 records of it"
        );
    }

    #[test]
    fn one_checkpoint_lies_within_another_of_the_same_store_with_the_same_ends_or_later_ones() {
        let later = "2026-11-16T09:30:01.000Z";
        let grown = at(later, &[("a", record(4, "a4"), marker(2, "a-m2")), ("b", record(12, "b12"), None)]);
        let within = |name, record, marker| at(TIME, &[(name, record, marker)]).is_within(&grown);
        assert!(within("a", record(4, "a4"), marker(2, "a-m2")) && within("a", record(3, "any"), None));
        assert!(!within("a", record(4, "another"), None), "two pasts");
        assert!(!within("a", None, marker(2, "another")) && !within("a", record(4, "a4"), marker(3, "a-m3")));
        assert!(!within("d", None, marker(1, "d-m1")) && !within("b", None, marker(1, "b-m1")));
        let elsewhere = Checkpoint { store_id: StoreId::from_bytes([4; 16]), ..at(TIME, &[]) };
        assert!(!elsewhere.is_within(&grown));
        let less = |time| at(time, &[("a", record(3, "a3"), None)]);
        assert!(less("2026-11-16T09:30:02.000Z").has_later_clock_than(&grown));
        assert!(!less(TIME).has_later_clock_than(&grown) && !grown.has_later_clock_than(&less(TIME)));
    }
}
