//! What evidence says of itself when it is not all of its store: `bundle.json`, in a bundle and in what is unpacked from one.
//!
//! It only ever excuses what a bundle leaves out, by name: nothing in it makes anything believed. Put into a whole store it
//! would hide that objects are gone, so [`crate::verify`] remembers what a store said and demands the record that it names.

use std::io;

use serde::{Deserialize, Serialize};

use super::open::{IdentityError, OpenStoreError};
use crate::chain::Link;
use crate::files::Dir;
use eval_model::ids::{RecordHash, TaskClassName};
use eval_model::json;

pub const EXCERPT: &str = "bundle.json";
const EXCERPT_VERSION: u32 = 1;
/// Most bytes that the file can have.
pub const MOST_EXCERPT_BYTES: u64 = 4096;

/// What a bundle of this version leaves out, always.
const LEFT_OUT: [&str; 3] = ["markers", "objects_of_earlier_records", "other_task_classes"];

/// The records of one task class up to one of them, which alone has all its objects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Excerpt {
    pub task_class: TaskClassName,
    pub seq: u64,
    /// The hash of the record at that place.
    pub record: RecordHash,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ExcerptFile {
    schema_version: u32,
    task_class: TaskClassName,
    seq: u64,
    record: RecordHash,
    left_out: Vec<String>,
}

impl Excerpt {
    /// Of everything up to a record.
    pub fn up_to(link: &Link) -> Self {
        Self { task_class: link.position.task_class.clone(), seq: link.position.seq, record: link.hash }
    }

    /// The bytes of the file, of which there is one spelling.
    pub fn encode(&self) -> Vec<u8> {
        let Self { task_class, seq, record } = self.clone();
        let left_out = LEFT_OUT.map(str::to_owned).to_vec();
        json::line(&ExcerptFile { schema_version: EXCERPT_VERSION, task_class, seq, record, left_out })
    }

    pub fn parse(bytes: &[u8]) -> Result<Self, IdentityError> {
        let newer = |version: &json::Version| version.schema_version > u64::from(EXCERPT_VERSION);
        match str::from_utf8(bytes).ok().and_then(json::version).filter(newer) {
            Some(version) => Err(IdentityError::Newer { found: version.schema_version }),
            None => Self::decode(bytes).map_err(IdentityError::Malformed),
        }
    }

    fn decode(bytes: &[u8]) -> Result<Self, io::Error> {
        let text = str::from_utf8(bytes).map_err(io::Error::other)?;
        let ExcerptFile { task_class, seq, record, .. } = json::parse(text)?;
        let excerpt = Self { task_class, seq, record };
        if excerpt.seq > 0 && excerpt.encode() == bytes { Ok(excerpt) } else { Err(io::Error::other("it was edited")) }
    }

    /// Whether the record at a place may lack objects.
    pub fn may_lack_objects(&self, task_class: &TaskClassName, seq: u64) -> bool {
        self.task_class == *task_class && seq < self.seq
    }

    /// Whether the marker of the record at a place is left out.
    pub fn lacks_marker(&self, task_class: &TaskClassName, seq: u64) -> bool {
        self.task_class == *task_class && seq <= self.seq
    }
}

/// How much of its store some evidence holds, as it says itself.
#[derive(Debug, Clone, Copy)]
pub enum Extent<'a> {
    Whole,
    /// What was in a bundle, and whatever was appended since.
    Unpacked(&'a Excerpt),
    /// What a bundle holds, and nothing else.
    Bundle(&'a Excerpt),
}

impl<'a> Extent<'a> {
    pub fn excerpt(self) -> Option<&'a Excerpt> {
        match self {
            Self::Whole => None,
            Self::Unpacked(excerpt) | Self::Bundle(excerpt) => Some(excerpt),
        }
    }
}

/// What a store says that it is a part of, if it does.
pub(super) fn read(root: &Dir) -> Result<Option<Excerpt>, OpenStoreError> {
    let Some(bytes) = root.read_if_any(EXCERPT, MOST_EXCERPT_BYTES)? else { return Ok(None) };
    let path = || root.path().join(EXCERPT);
    Excerpt::parse(&bytes).map(Some).map_err(|error| match error {
        IdentityError::Newer { found } => OpenStoreError::Newer { path: path(), found },
        IdentityError::Malformed(source) => OpenStoreError::Excerpt { path: path(), source },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::hash_of;
    use crate::files::Missing;
    use crate::verify::State;

    fn excerpt() -> Excerpt {
        Excerpt { task_class: "fixture".parse().expect("a task class"), seq: 2, record: hash_of(b"a record") }
    }

    #[test]
    fn it_has_one_spelling_and_every_bit_of_it_counts() {
        let bytes = excerpt().encode();
        let expected = format!(
            "{{\"schema_version\":1,\"task_class\":\"fixture\",\"seq\":2,\"record\":\"{}\",\"left_out\":[\"markers\",\
             \"objects_of_earlier_records\",\"other_task_classes\"]}}\n",
            hash_of(b"a record")
        );
        assert_eq!(String::from_utf8(bytes.clone()).expect("text"), expected);
        assert_eq!(Excerpt::parse(&bytes).expect("it parses"), excerpt());
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(!Excerpt::parse(&flipped).is_ok_and(|other| other == excerpt()), "bit {bit}");
        }
        for other in [
            expected.replace("\"markers\",", ""),
            expected.replace("\"seq\":2", "\"seq\":0"),
            expected.replace("\"seq\":2", "\"seq\":2,\"seq\":2"),
            expected.replace("}\n", "}"),
            expected.replace(':', ": "),
            expected.replace("\"left_out\"", "\"region\":\"north\",\"left_out\""),
        ] {
            assert!(matches!(Excerpt::parse(other.as_bytes()), Err(IdentityError::Malformed(_))), "{other}");
        }
    }

    #[test]
    fn of_a_newer_version_it_is_unverifiable_and_not_tampered() {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let root = Dir::open_own(temp.path(), Missing::Fail).expect("opened");
        let with = |text: &str| {
            std::fs::write(temp.path().join(EXCERPT), text).expect("written");
            read(&root).expect_err(text)
        };
        let newer = with("{\"schema_version\":2,\"left_out\":[]}\n");
        assert_eq!(newer.state(), State::Unverifiable, "{newer}");
        assert!(
            newer
                .to_string()
                .ends_with("bundle.json` has format version 2, and this program knows up to 1: use a newer eval-host"),
            "{newer}"
        );
        for text in ["{\"schema_version\":1,\"left_out\":[]}\n", "{\"schema_version\":2,\"schema_version\":2}\n", ""] {
            assert_eq!(with(text).state(), State::Tampered, "{text}");
        }
    }
}
