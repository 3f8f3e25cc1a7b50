//! What whoever reads a verification should know although nothing is wrong: a note never changes the state of the evidence.
//!
//! What could not be checked because it was not asked for, or because nothing is known about it, is said here; what was asked
//! for and could not be checked is a [`super::Finding`]. A note quotes nothing that is not a name that was parsed or escaped.

use std::fmt;

use crate::anchor::AnchorDefect;
use eval_model::ids::TaskClassName;
use eval_model::utc::UtcMillis;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// There is nothing that the store could be compared with, so a lost tail would not be noticed.
    NotSeenBefore,
    /// Nor will there be the next time.
    NothingRemembered,
    /// The evidence says that it is what a bundle of this record holds.
    Excerpt { task_class: TaskClassName, seq: u64 },
    /// Something is wrong with task classes that were not asked for.
    OtherFindings { findings: usize },
    /// Something is wrong with records that were not asked for.
    EarlierFindings { findings: usize, since: UtcMillis },
    /// Somebody else owns parts of the store, of which this is the first.
    ForeignOwner { file: String, owner: u32, user: u32, more: usize },
    /// Others may read or write parts of the store, of which this is the first.
    OpenToOthers { file: String, mode: u32, more: usize },
    /// A record says that it was finished before the one that it follows.
    ClockWentBack { task_class: TaskClassName, seq: u64 },
    /// One of several checkpoints says nothing about a bundle's records of the class.
    CheckpointIsSilent { task_class: TaskClassName, defect: AnchorDefect },
    /// A checkpoint that has more of the store says that it was signed before one that has less.
    CheckpointClockWentBack { more: UtcMillis, less: UtcMillis },
}

impl Note {
    /// The task class that it concerns; `None` when it concerns the whole.
    pub fn task_class(&self) -> Option<&TaskClassName> {
        match self {
            Self::ClockWentBack { task_class, .. } | Self::CheckpointIsSilent { task_class, .. } => Some(task_class),
            Self::NotSeenBefore
            | Self::NothingRemembered
            | Self::Excerpt { .. }
            | Self::OtherFindings { .. }
            | Self::EarlierFindings { .. }
            | Self::ForeignOwner { .. }
            | Self::OpenToOthers { .. }
            | Self::CheckpointClockWentBack { .. } => None,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSeenBefore => f.write_str(
                "eval-host has not seen this store on this machine before, so it cannot tell whether its last records are missing",
            ),
            Self::NothingRemembered => f.write_str(
                "without a state directory nothing is remembered of the store, so a tail that is cut off is not noticed; set HOME \
                 or XDG_STATE_HOME",
            ),
            Self::Excerpt { task_class, seq } => write!(
                f,
                "this is what a bundle of record {seq} of `{task_class}` holds: objects of earlier records, markers of live runs up \
                 to it and other task classes are left out, so nobody can tell from it which runs were never recorded"
            ),
            Self::OtherFindings { findings } => {
                write!(f, "findings about other task classes do not count here, and are not shown: {findings}")
            }
            Self::EarlierFindings { findings, since } => {
                write!(f, "findings about records that were finished before {since} count, and are not shown: {findings}")
            }
            Self::ForeignOwner { file, owner, user, more } => {
                write!(f, "`{file}`{} belongs to user {owner}, and you are user {user}", and_more(*more))
            }
            Self::OpenToOthers { file, mode, more } => {
                write!(f, "others may read or write `{file}`{} (mode {mode:04o})", and_more(*more))
            }
            Self::ClockWentBack { task_class, seq } => write!(
                f,
                "record {seq} of `{task_class}` says that it was finished before the one before it: a clock was set back; the \
                 order of records does not depend on it"
            ),
            Self::CheckpointIsSilent { task_class, defect } => write!(f, "task class `{task_class}`: {defect}"),
            Self::CheckpointClockWentBack { more, less } => write!(
                f,
                "a checkpoint that was signed at {more} has more than one that was signed at {less}: a clock was set back; \
                 nothing depends on it"
            ),
        }
    }
}

fn and_more(count: usize) -> String {
    if count == 0 { String::new() } else { format!(" (and {count} more)") }
}
