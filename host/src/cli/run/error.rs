//! What can be wrong with a command that runs cases, besides what the run itself says.

use std::io;
use std::path::PathBuf;

use eval_evidence::record::ReadRecordError;
use eval_model::advice::{Advice, Exit};
use eval_model::ids::TaskClassName;

#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum RunCommandError {
    #[error("--live is refused because the variable CI is set")]
    LiveInCi,
    #[error("no case of `{task_class}` is selected")]
    NoneSelected { task_class: TaskClassName, cases: PathBuf },
    #[error("the record `{}` cannot be read", path.display())]
    NotARecord { path: PathBuf, source: ReadRecordError },
    #[error("the record `{}` is of `{found}`, not of `{wanted}`", path.display())]
    RecordOfOtherClass { path: PathBuf, found: TaskClassName, wanted: TaskClassName },
    #[error("the operating system gave no random number")]
    Mark(#[source] getrandom::Error),
    #[error("eval-host cannot listen for signals")]
    Signals(#[source] io::Error),
    #[error("{what}, but `{}` could not be written", path.display())]
    ReportNotWritten { what: &'static str, path: PathBuf, source: io::Error },
    #[error("{what}, but the report of it could not be written to stdout")]
    NotPrinted { what: &'static str, source: io::Error },
}

impl Advice for RunCommandError {
    fn exit(&self) -> Exit {
        match self {
            Self::NoneSelected { .. } => Exit::NoCases,
            Self::LiveInCi | Self::NotARecord { .. } | Self::RecordOfOtherClass { .. } => Exit::UsageOrCap,
            Self::Mark(_) | Self::Signals(_) | Self::ReportNotWritten { .. } | Self::NotPrinted { .. } => {
                Exit::HarnessError
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::LiveInCi => {
                Some("replay cassettes, or say that CI may spend money with --allow-live-in-ci".to_owned())
            }
            Self::NoneSelected { cases, .. } => Some(format!("the cases are below `{}`", cases.display())),
            _ => None,
        }
    }
}
