//! A checkpoint's text: which store, and for each task class how many records it had and the hash of the last one.
//!
//! ```text
//! eval-host/checkpoint/v1
//! <store id>
//! <task class> <number of records> <SHA-256 of the last record>
//! …
//! ```

use super::note::{self, NoteError, NoteSigner, NoteVerifier};
use crate::chain::{Head, Heads, StoreId};
use eval_model::ids::{RecordHash, TaskClassName};

const ORIGIN: &str = "eval-host/checkpoint/v1";

/// What a store's chains were when somebody signed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    store_id: StoreId,
    heads: Heads,
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
}

impl Checkpoint {
    pub fn new(store_id: StoreId, heads: Heads) -> Self {
        Self { store_id, heads }
    }

    pub(crate) fn heads(&self) -> &Heads {
        &self.heads
    }

    /// The signed note, to be committed.
    pub fn sign(&self, signer: &NoteSigner) -> Result<String, NoteError> {
        signer.sign(&self.to_text())
    }

    fn to_text(&self) -> String {
        let mut text = format!("{ORIGIN}\n{}\n", self.store_id);
        for (task_class, head) in self.heads.iter() {
            text += &format!("{task_class} {} {}\n", head.seq, head.hash);
        }
        text
    }

    /// Reads a checkpoint that one of the known keys has signed.
    pub fn open(note: &str, known: &[NoteVerifier]) -> Result<Self, OpenCheckpointError> {
        let text = note::open(note, known)?;
        let mut lines = text.lines();
        if lines.next() != Some(ORIGIN) {
            return Err(OpenCheckpointError::Origin);
        }
        let store_id = lines.next().and_then(|line| line.parse().ok()).ok_or(OpenCheckpointError::Line(2))?;
        let mut heads = Heads::default();
        for (index, line) in lines.enumerate() {
            let (task_class, head) = read_line(line).ok_or(OpenCheckpointError::Line(index + 3))?;
            heads.set(task_class, head);
        }
        let checkpoint = Self { store_id, heads };
        // Two lines of one class, another order or another spelling of a number do not survive being written again.
        if checkpoint.to_text() == text { Ok(checkpoint) } else { Err(OpenCheckpointError::Line(3)) }
    }

    /// What the checkpoint says about the records up to `heads`, and of which task classes it says nothing: with the number of
    /// its record if it has a later one.
    ///
    /// A bundle has one class of its store, up to one record. What comes behind it is none of its business, and a hash that
    /// stands for more records than it has cannot be compared with any of them.
    pub fn up_to(&self, heads: &Heads) -> (Self, Vec<(TaskClassName, Option<u64>)>) {
        let (mut known, mut silent) = (Heads::default(), Vec::new());
        for (task_class, last) in heads.iter() {
            match self.heads.get(task_class) {
                Some(anchored) if anchored.seq <= last.seq => known.set(task_class.clone(), anchored),
                later => silent.push((task_class.clone(), later.map(|later| later.seq))),
            }
        }
        (Self::new(self.store_id, known), silent)
    }

    /// Everything in which a store differs from the checkpoint. `hash_at` gives the hash of a record by its place.
    pub fn compare(
        &self,
        store_id: StoreId,
        heads: &Heads,
        hash_at: &dyn Fn(&TaskClassName, u64) -> Option<RecordHash>,
    ) -> Vec<(Option<TaskClassName>, Option<u64>, AnchorDefect)> {
        if self.store_id != store_id {
            return vec![(None, None, AnchorDefect::OtherStore { anchored: self.store_id, found: store_id })];
        }
        let defect = |(task_class, anchored): (&TaskClassName, Head)| {
            let class = Some(task_class.clone());
            match hash_at(task_class, anchored.seq) {
                Some(found) if found == anchored.hash => None,
                Some(found) => {
                    let defect = AnchorDefect::Rewritten { anchored: anchored.hash, found };
                    Some((class, Some(anchored.seq), defect))
                }
                None => {
                    let found = heads.get(task_class).map_or(0, |head| head.seq);
                    Some((class, None, AnchorDefect::Lost { anchored: anchored.seq, found }))
                }
            }
        };
        self.heads.iter().filter_map(defect).collect()
    }
}

fn read_line(line: &str) -> Option<(TaskClassName, Head)> {
    let (task_class, rest) = line.split_once(' ')?;
    let (seq, hash) = rest.split_once(' ')?;
    let head = Head { seq: seq.parse().ok().filter(|seq| *seq > 0)?, hash: hash.parse().ok()? };
    Some((task_class.parse().ok()?, head))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::hash_of;

    fn checkpoint() -> Checkpoint {
        let mut heads = Heads::default();
        heads.set("b".parse().expect("a class"), Head { seq: 12, hash: hash_of(b"b12") });
        heads.set("a".parse().expect("a class"), Head { seq: 3, hash: hash_of(b"a3") });
        Checkpoint::new(StoreId::from_bytes([3; 16]), heads)
    }

    #[test]
    fn a_checkpoint_survives_being_signed_and_read() {
        let signer = NoteSigner::generate("ci.example.org/eval-host").expect("a key");
        let note = checkpoint().sign(&signer).expect("signed");
        let known = [signer.verifier().clone()];
        assert_eq!(Checkpoint::open(&note, &known), Ok(checkpoint()));
        let text: Vec<_> = note.lines().take(4).collect();
        let (a, b) = (format!("a 3 {}", hash_of(b"a3")), format!("b 12 {}", hash_of(b"b12")));
        assert_eq!(text, [ORIGIN, "03030303030303030303030303030303", &a, &b]);
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
        assert_eq!(open(&format!("{ORIGIN}\n")), OpenCheckpointError::Line(2));
        assert_eq!(open(&text.replace("a 3 ", "a 03 ")), OpenCheckpointError::Line(3));
        assert_eq!(open(&text.replace("a 3 ", "b 3 ")), OpenCheckpointError::Line(3));
        assert_eq!(open(&text.replace("a 3 ", "a 0 ")), OpenCheckpointError::Line(3));
        assert_eq!(open(&text.replace("b 12 ", "../b 12 ")), OpenCheckpointError::Line(4));
        assert_eq!(open(&format!("{text}extension\n")), OpenCheckpointError::Line(5));
    }

    #[test]
    fn losses_and_rewrites_are_found() {
        let grown = {
            let mut heads = checkpoint().heads;
            heads.set("a".parse().expect("a class"), Head { seq: 4, hash: hash_of(b"a4") });
            heads
        };
        let compare = |id: u8, heads: &Heads, a3: Option<&str>| -> Vec<String> {
            let hash_at = |class: &TaskClassName, _| match class.as_str() {
                "a" => a3.map(|content| hash_of(content.as_bytes())),
                _ => Some(hash_of(b"b12")),
            };
            let found = checkpoint().compare(StoreId::from_bytes([id; 16]), heads, &hash_at);
            found.into_iter().map(|(_, _, defect)| defect.to_string()).collect()
        };
        assert_eq!(compare(3, &grown, Some("a3")), Vec::<String>::new());
        assert!(compare(3, &grown, Some("another"))[0].starts_with("it was rewritten"));
        assert_eq!(compare(3, &Heads::default(), None), ["the checkpoint has 3 records of it, and now there are 0"]);
        assert!(compare(4, &grown, Some("a3"))[0].starts_with("the checkpoint is of the store `0303"));
    }

    #[test]
    fn of_a_part_of_a_store_only_what_is_there_is_compared() {
        let part = |class: &str, seq: u64| {
            let mut heads = Heads::default();
            heads.set(class.parse().expect("a class"), Head { seq, hash: hash_of(b"head") });
            checkpoint().up_to(&heads)
        };
        let only_a = {
            let mut heads = Heads::default();
            heads.set("a".parse().expect("a class"), Head { seq: 3, hash: hash_of(b"a3") });
            Checkpoint::new(StoreId::from_bytes([3; 16]), heads)
        };
        let nothing = Checkpoint::new(StoreId::from_bytes([3; 16]), Heads::default());
        let silent = |class: &str, seq| vec![(class.parse().expect("a class"), seq)];
        assert_eq!(part("a", 3), (only_a.clone(), Vec::new()));
        assert_eq!(part("a", 4), (only_a, Vec::new()));
        assert_eq!(part("a", 2), (nothing.clone(), silent("a", Some(3))));
        assert_eq!(part("c", 1), (nothing, silent("c", None)));
    }
}
