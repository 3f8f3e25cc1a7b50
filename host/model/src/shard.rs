//! A part of a run: which of its cases it takes. It stands in a marker, a journal and an answer set, so it has one spelling.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One of several equal parts of a run: `2/3` is the second of three.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    index: usize,
    count: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a shard: it must look like `2/3`, the second of three", text.escape_default())]
pub struct ParseShardError {
    text: String,
}

impl Shard {
    pub fn index(self) -> usize {
        self.index
    }

    pub fn count(self) -> usize {
        self.count
    }

    /// Every so-manieth name, so that neighbours, which tend to be alike, are spread over the shards.
    pub fn select(self, names: &[String]) -> Vec<String> {
        names.iter().skip(self.index - 1).step_by(self.count).cloned().collect()
    }
}

impl FromStr for Shard {
    type Err = ParseShardError;

    fn from_str(text: &str) -> Result<Self, ParseShardError> {
        let numbers = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        let shard = numbers.map(|(index, count)| Self { index, count });
        let is_part = |shard: &Self| (1..=shard.count).contains(&shard.index);
        // Another spelling of a number does not survive being written again.
        let found = shard.filter(|shard| is_part(shard) && shard.to_string() == text);
        found.ok_or_else(|| ParseShardError { text: text.to_owned() })
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl TryFrom<String> for Shard {
    type Error = ParseShardError;

    fn try_from(text: String) -> Result<Self, ParseShardError> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}
