//! The mark of a run, by which its workspaces are known as ours when nothing else is left of the process that made them.

use std::fmt;

use serde::{Deserialize, Serialize};

/// 32 hexadecimal digits of the kernel's randomness. A run has the same mark when it is resumed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct RunMark(String);

impl RunMark {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }
}

impl fmt::Display for RunMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RunMark {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if text.len() == 32 && text.bytes().all(is_hex) {
            Ok(Self(text))
        } else {
            Err(format!("`{}` is not a run's mark", text.escape_default()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_only_in_its_own_spelling() {
        let run = RunMark::new().expect("randomness");
        assert_eq!(RunMark::try_from(run.to_string()), Ok(run));
        for bad in ["", "abc", &"G".repeat(32), &"A".repeat(32), "../../../../../../../../../../tmp"] {
            assert!(RunMark::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
