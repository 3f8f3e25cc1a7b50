//! The place of one record in its chain, and the names made from it.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use eval_model::ids::{RecordHash, TaskClassName};
use eval_model::utc::UtcMillis;

/// The SHA-256 of a record's exact bytes.
pub fn hash_of(record: &[u8]) -> RecordHash {
    RecordHash::from_bytes(Sha256::digest(record).into())
}

/// What a store calls itself: drawn once, when it is created, and bound into every record, so that a record of one store is
/// no record of another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct StoreId([u8; 16]);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a store id: it must be 32 lower-case hexadecimal digits", text.escape_default())]
pub struct ParseStoreIdError {
    text: String,
}

impl StoreId {
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreId({self})")
    }
}

impl FromStr for StoreId {
    type Err = ParseStoreIdError;

    fn from_str(text: &str) -> Result<Self, ParseStoreIdError> {
        let error = || ParseStoreIdError { text: text.to_owned() };
        let number = u128::from_str_radix(text, 16).map_err(|_| error())?;
        let id = Self(number.to_be_bytes());
        // Printing it again is what makes the spelling unique: signs, upper case and missing zeros do not survive it.
        if id.to_string() == text { Ok(id) } else { Err(error()) }
    }
}

impl TryFrom<String> for StoreId {
    type Error = ParseStoreIdError;

    fn try_from(text: String) -> Result<Self, ParseStoreIdError> {
        text.parse()
    }
}

impl From<StoreId> for String {
    fn from(id: StoreId) -> Self {
        id.to_string()
    }
}

/// Where a record stands: which store and task class, at which number, after which record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    pub store_id: StoreId,
    pub task_class: TaskClassName,
    /// 1 for the first record of a task class.
    pub seq: u64,
    pub prev_hash: RecordHash,
}

/// A record as the chain sees it: a position, and the hash that the next one must name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub position: Position,
    pub finished_at: UtcMillis,
    pub hash: RecordHash,
}

impl Link {
    /// The one name that a file with this record may have.
    pub fn file_name(&self) -> RecordFileName {
        RecordFileName::new(self.finished_at, self.hash)
    }

    pub fn head(&self) -> Head {
        Head { seq: self.position.seq, hash: self.hash }
    }
}

/// The newest record of a task class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Head {
    pub seq: u64,
    pub hash: RecordHash,
}

/// The newest record of every task class that has one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Heads(BTreeMap<TaskClassName, Head>);

impl Heads {
    pub fn get(&self, task_class: &TaskClassName) -> Option<Head> {
        self.0.get(task_class).copied()
    }

    pub fn set(&mut self, task_class: TaskClassName, head: Head) {
        self.0.insert(task_class, head);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&TaskClassName, Head)> {
        self.0.iter().map(|(task_class, head)| (task_class, *head))
    }

    /// Where the next record of a task class goes.
    pub fn next(&self, store_id: StoreId, task_class: &TaskClassName) -> Position {
        let (seq, prev_hash) = match self.get(task_class) {
            Some(head) => (head.seq.saturating_add(1), head.hash),
            None => (1, RecordHash::GENESIS),
        };
        Position { store_id, task_class: task_class.clone(), seq, prev_hash }
    }
}

/// `<UTC time in ISO 8601's basic format>-<first 8 digits of the record's hash>.json`. Wholly determined by the record's
/// bytes, so that a file that was edited or renamed contradicts its own name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordFileName(String);

impl RecordFileName {
    pub fn new(finished_at: UtcMillis, hash: RecordHash) -> Self {
        let mut digits = hash.to_string();
        digits.truncate(8);
        Self(format!("{}-{digits}.json", finished_at.basic()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the signature beside the record of this name is called.
    pub fn note_of(record_name: &str) -> String {
        format!("{}.note", record_name.strip_suffix(".json").unwrap_or(record_name))
    }

    /// The name of the record that a file of this name signs, if it has the shape of a signature's.
    pub fn signed_by(note_name: &str) -> Option<String> {
        let record = format!("{}.json", note_name.strip_suffix(".note")?);
        Self::has_shape(&record).then_some(record)
    }

    /// Whether a name has the shape of a record's, whatever the file's bytes are.
    pub fn has_shape(name: &str) -> bool {
        const SHAPE: &[u8] = b"00000000T000000.000Z-xxxxxxxx.json";
        let fits = |(byte, shape): (u8, &u8)| match shape {
            b'0' => byte.is_ascii_digit(),
            b'x' => byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte),
            literal => byte == *literal,
        };
        name.len() == SHAPE.len() && name.bytes().zip(SHAPE).all(fits)
    }
}

impl fmt::Display for RecordFileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_id_has_one_spelling() {
        let text = "000102030405060708090a0b0c0d0e0f";
        let id: StoreId = text.parse().expect("a store id");
        assert_eq!(id, StoreId::from_bytes([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]));
        assert_eq!(id.to_string(), text);
        for other in ["", "0", "+00102030405060708090a0b0c0d0e0f", &text.to_uppercase(), &format!("0{text}")] {
            assert!(other.parse::<StoreId>().is_err(), "{other}");
        }
    }

    #[test]
    fn a_record_file_has_a_name_with_its_time_and_hash_and_no_colon() {
        let finished_at = "2026-11-16T09:30:00.120Z".parse().expect("a moment");
        let name = RecordFileName::new(finished_at, hash_of(b"abc"));
        assert_eq!(name.as_str(), "20261116T093000.120Z-ba7816bf.json");
        assert!(RecordFileName::has_shape(name.as_str()));
        for other in [
            "",
            ".20261116T093000.120Z-ba7816bf.json",
            "20261116T093000.120Z-BA7816BF.json",
            "20261116T093000.120Z-ba7816bf.json~",
            "20261116T093000.120Z-ba7816bf_json",
        ] {
            assert!(!RecordFileName::has_shape(other), "{other}");
        }
    }

    #[test]
    fn a_signature_is_called_as_its_record() {
        let (record, note) = ("20261116T093000.120Z-ba7816bf.json", "20261116T093000.120Z-ba7816bf.note");
        assert_eq!(RecordFileName::note_of(record), note);
        assert_eq!(RecordFileName::signed_by(note).as_deref(), Some(record));
        assert!(!RecordFileName::has_shape(note));
        for other in
            ["", ".note", record, ".tmp-20261116T093000.120Z-ba7816bf.note", "20261116T093000.120Z-ba7816bf.json.note"]
        {
            assert_eq!(RecordFileName::signed_by(other), None, "{other}");
        }
    }

    #[test]
    fn a_chain_begins_at_one_after_zeros() {
        let task_class: TaskClassName = "a".parse().expect("a task class");
        let store_id = StoreId::from_bytes([7; 16]);
        let mut heads = Heads::default();
        let first = heads.next(store_id, &task_class);
        assert_eq!((first.seq, first.prev_hash), (1, RecordHash::GENESIS));
        heads.set(task_class.clone(), Head { seq: 1, hash: hash_of(b"abc") });
        let second = heads.next(store_id, &task_class);
        assert_eq!((second.seq, second.prev_hash), (2, hash_of(b"abc")));
    }
}
