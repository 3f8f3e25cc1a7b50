//! The names and digests that everything else is keyed by: parsed once at the edge, printed exactly, nothing more.
//!
//! No identifier is a bare `String` past this module, so a name that reaches a path, a record or a terminal is known to be
//! made of harmless characters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

/// Why a text is not the identifier it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseIdError {
    #[error("`{}` is not a {what}: it must match `[a-z0-9][a-z0-9-]{{0,63}}`", text.escape_default())]
    Slug { what: &'static str, text: String },
    #[error("`{}` is not a {what}: it must be 64 lower-case hexadecimal digits", text.escape_default())]
    Hex { what: &'static str, text: String },
    #[error("`{}` is not a tier: it must be `bronze`, `silver`, `gold` or `platinum`", text.escape_default())]
    Tier { text: String },
}

fn is_slug(text: &str) -> bool {
    let bytes = text.as_bytes();
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    bytes.len() <= 64
        && bytes.first().is_some_and(alphanumeric)
        && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}

/// What an editor is told about an identifier. Only tests write the schemas, so nothing of this is in the program.
macro_rules! text_schema {
    ($name:ident, $pattern:literal) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "pattern": $pattern })
            }
        }
    };
}

macro_rules! slug {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "SmolStr", into = "SmolStr")]
        pub struct $name(SmolStr);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                Self::try_from(SmolStr::new(text))
            }
        }

        impl TryFrom<SmolStr> for $name {
            type Error = ParseIdError;

            fn try_from(text: SmolStr) -> Result<Self, ParseIdError> {
                if is_slug(&text) { Ok(Self(text)) } else { Err(ParseIdError::Slug { what: $what, text: text.into() }) }
            }
        }

        impl From<$name> for SmolStr {
            fn from(name: $name) -> Self {
                name.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        text_schema!($name, "^[a-z0-9][a-z0-9-]{0,63}$");
    };
}

slug!(
    /// A kind of work, and the name of its bench's folder.
    TaskClassName,
    "task class"
);
slug!(
    /// One problem of a bench, and the name of its folder.
    CaseId,
    "case id"
);

/// In lower case: every manifest, record and object name has digests, so they are not formatted byte by byte.
fn hex(bytes: &[u8; 32]) -> [u8; 64] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 64];
    for (pair, byte) in text.chunks_exact_mut(2).zip(bytes) {
        pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
    text
}

macro_rules! digest {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name([u8; 32]);

        impl $name {
            pub const fn from_bytes(bytes: [u8; 32]) -> Self {
                Self(bytes)
            }

            pub const fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(str::from_utf8(&hex(&self.0)).expect("digits are ASCII"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self)
            }
        }

        impl FromStr for $name {
            type Err = ParseIdError;

            fn from_str(text: &str) -> Result<Self, ParseIdError> {
                match parse_hex(text) {
                    Some(bytes) => Ok(Self(bytes)),
                    None => Err(ParseIdError::Hex { what: $what, text: text.to_owned() }),
                }
            }
        }

        impl TryFrom<String> for $name {
            type Error = ParseIdError;

            fn try_from(text: String) -> Result<Self, ParseIdError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(digest: $name) -> Self {
                digest.to_string()
            }
        }

        text_schema!($name, "^[0-9a-f]{64}$");
    };
}

/// Exactly 64 lower-case digits, so that a digest has one spelling.
fn parse_hex(text: &str) -> Option<[u8; 32]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let text = text.as_bytes();
    if text.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(bytes)
}

digest!(
    /// The BLAKE3 of some content: a file, a case, a rubric, an output.
    Digest,
    "BLAKE3 digest"
);
digest!(
    /// The SHA-256 of a record's exact bytes, which the next record names as its `prev_hash`.
    RecordHash,
    "record hash"
);
digest!(
    /// The SHA-256 over the results of a run: equal for two runs exactly when their scores are.
    RunId,
    "run id"
);

impl Digest {
    pub fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }
}

impl RecordHash {
    /// What the first record of a task class names as its predecessor.
    pub const GENESIS: Self = Self([0; 32]);
}

/// How far a task class is trusted. Changed by hand, in a reviewed pull request, never by this program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    Bronze,
    Silver,
    Gold,
    Platinum,
}

impl Tier {
    pub const ALL: [Self; 4] = [Self::Bronze, Self::Silver, Self::Gold, Self::Platinum];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Bronze => "bronze",
            Self::Silver => "silver",
            Self::Gold => "gold",
            Self::Platinum => "platinum",
        }
    }

    /// The tier right above this one, which is the only one a promotion can aim at.
    pub const fn next(self) -> Option<Self> {
        match self {
            Self::Bronze => Some(Self::Silver),
            Self::Silver => Some(Self::Gold),
            Self::Gold => Some(Self::Platinum),
            Self::Platinum => None,
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Tier {
    type Err = ParseIdError;

    fn from_str(text: &str) -> Result<Self, ParseIdError> {
        Self::ALL
            .into_iter()
            .find(|tier| tier.as_str() == text)
            .ok_or_else(|| ParseIdError::Tier { text: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_slug_and_nothing_else() {
        for good in ["a", "0", "vuln-remediation", "003-ws-header-dos", &"x".repeat(64)] {
            assert_eq!(good.parse::<CaseId>().expect("a slug").as_str(), good);
        }
        for bad in ["", "-a", "A", "a_b", "a/b", "..", "a.b", "é", "a\0", "a b", &"x".repeat(65)] {
            assert!(bad.parse::<TaskClassName>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_rejected_name_is_escaped_in_its_message() {
        let error = "a\x1b[2J".parse::<TaskClassName>().expect_err("not a slug");
        assert_eq!(error.to_string(), r"`a\u{1b}[2J` is not a task class: it must match `[a-z0-9][a-z0-9-]{0,63}`");
    }

    #[test]
    fn a_digest_has_one_spelling() {
        let digest = Digest::of(b"eval-host");
        assert_eq!(digest.to_string().parse::<Digest>(), Ok(digest));
        assert!(digest.to_string().to_uppercase().parse::<Digest>().is_err());
        assert!("00".parse::<Digest>().is_err());
        assert_eq!(RecordHash::GENESIS.to_string(), "0".repeat(64));
    }

    #[test]
    fn tiers_are_ordered_and_each_has_one_above_it_but_the_last() {
        assert!(Tier::Bronze < Tier::Platinum);
        assert_eq!(Tier::Bronze.next(), Some(Tier::Silver));
        assert_eq!(Tier::Platinum.next(), None);
        assert_eq!("gold".parse(), Ok(Tier::Gold));
        assert!("Gold".parse::<Tier>().is_err());
    }
}
