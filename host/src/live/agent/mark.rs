//! The mark that every process of a run carries in its environment, by which it is known as ours when nothing else is left
//! of the run that started it.
//!
//! A process group's number says little: an agent's child can leave the group, and the number is used again once the group
//! is gone. The mark is inherited by every descendant, and nobody else can have it by chance.

use std::fmt;

use serde::{Deserialize, Serialize};

use eval_model::ids::CaseId;

/// The variable that carries a case's mark.
pub(crate) const MARK_VARIABLE: &str = "EVAL_HOST_MARK";

/// What marks all processes of one run, and all that one host process started for it: 32 hexadecimal digits of the kernel's
/// randomness each. A run has the same mark when it is resumed; a host process has one of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct RunMark(String);

impl RunMark {
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{:032x}", u128::from_be_bytes(bytes))))
    }

    /// The mark of the processes that a host starts for one case.
    pub(crate) fn of_case(&self, case_id: &CaseId, host: &Self) -> CaseMark {
        CaseMark(format!("{}.{case_id}.{host}", self.0))
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

/// What marks all processes of one case of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseMark(String);

impl CaseMark {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which marked processes are meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Marked<'a> {
    Run(&'a RunMark),
    Host(&'a RunMark),
    Case(&'a CaseMark),
}

impl Marked<'_> {
    /// Whether an environment, in the form of `/proc/<pid>/environ`, carries the mark.
    pub(crate) fn is_in(&self, environment: &[u8]) -> bool {
        let prefix = format!("{MARK_VARIABLE}=");
        environment
            .split(|byte| *byte == 0)
            .filter_map(|entry| entry.strip_prefix(prefix.as_bytes()))
            .any(|value| self.matches(value))
    }

    fn matches(&self, value: &[u8]) -> bool {
        match self {
            Self::Run(RunMark(mark)) => value.strip_prefix(mark.as_bytes()).is_some_and(|rest| rest.starts_with(b".")),
            Self::Host(RunMark(mark)) => value.strip_suffix(mark.as_bytes()).is_some_and(|rest| rest.ends_with(b".")),
            Self::Case(CaseMark(mark)) => value == mark.as_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_whole_and_only_as_the_value_of_its_variable() {
        let run = RunMark::new().expect("randomness");
        let (host, other_host) = (RunMark::new().expect("randomness"), RunMark::new().expect("randomness"));
        let case = run.of_case(&"001-a".parse().expect("a case id"), &host);
        let environment = format!("PATH=/bin\0{MARK_VARIABLE}={}\0HOME=/", case.as_str());
        assert!(Marked::Run(&run).is_in(environment.as_bytes()));
        assert!(Marked::Case(&case).is_in(environment.as_bytes()));
        assert!(Marked::Host(&host).is_in(environment.as_bytes()));
        assert!(
            !Marked::Host(&other_host).is_in(environment.as_bytes())
                && !Marked::Host(&run).is_in(environment.as_bytes())
        );
        let other = run.of_case(&"001-ab".parse().expect("a case id"), &host);
        assert!(!Marked::Case(&other).is_in(environment.as_bytes()));
        assert!(!Marked::Run(&RunMark::new().expect("randomness")).is_in(environment.as_bytes()));
        assert!(!Marked::Run(&run).is_in(format!("OTHER={MARK_VARIABLE}={}", case.as_str()).as_bytes()));
    }

    #[test]
    fn a_mark_is_read_back_only_in_its_own_spelling() {
        let run = RunMark::new().expect("randomness");
        assert_eq!(RunMark::try_from(run.to_string()), Ok(run));
        for bad in ["", "abc", &"G".repeat(32), &"A".repeat(32), "../../../../../../../../../../tmp"] {
            assert!(RunMark::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }
}
