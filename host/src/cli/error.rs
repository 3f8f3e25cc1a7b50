//! What goes wrong in a command itself, as opposed to something below it, which brings advice of its own: each with its exit code
//! and what to do. A new failure of a command is a variant here, so that no command picks an exit code by hand.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::bench::rubric_build::BuildRubricError;
use crate::live::agent::quoted;
use eval_evidence::anchor::{KeyError, KeysError, NoteError, OpenCheckpointError};
use eval_evidence::bundle::{ExportError, OpenBundleError};
use eval_evidence::files::{FileError, FileProblem};
use eval_evidence::store::{FinishError, OpenStoreError};
use eval_evidence::verify::{FirstUse, LastSeenError, State, VerifyError};
use eval_model::advice::{Advice, Exit};
use eval_model::ids::TaskClassName;
use eval_sandbox::LoadRubricError;

/// The command line names something that cannot be used. Always a usage error.
#[derive(Debug, thiserror::Error)]
pub(super) enum ArgumentError {
    #[error("there is no command `{name}`")]
    NoSuchCommand { name: String },
    #[error("{folder} `{}` cannot be used", path.display())]
    Folder {
        folder: NamedFolder,
        path: PathBuf,
        #[source]
        problem: FileProblem,
    },
    #[error("`{}` cannot be read", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("`{}` has more than {most} bytes", path.display())]
    TooLarge { path: PathBuf, most: u64 },
    #[error("`{}` is not a commit of this repository", base.escape_default())]
    NotACommit { base: String },
    #[error("`{}` is not a key to sign with", path.display())]
    SigningKey { path: PathBuf, source: ReadKeyError },
    #[error("`{}` says that the key `{name}` of `{}` is retired", path.display(), key.display())]
    RetiredKey { name: String, key: PathBuf, path: PathBuf },
    #[error("the case `{}` cannot be opened", path.display())]
    OpenCase { path: PathBuf, source: io::Error },
    #[error("`{}` is not a case's folder, `bench/<slug>/cases/<case-id>`", path.display())]
    NotACase { path: PathBuf },
    #[error("`{}` is not an output: {why}", path.display())]
    NotAnOutput { path: PathBuf, why: String },
    #[error("`{}` is an answer set of a shard, not a bundle of evidence", path.display())]
    IsAnswerSet { path: PathBuf },
}

impl Advice for ArgumentError {
    fn exit(&self) -> Exit {
        Exit::UsageOrCap
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoSuchCommand { .. } => "`eval-host --help` lists them",
            Self::NotACommit { .. } => "--base takes a branch, a tag or a hash, and needs git",
            Self::SigningKey { path, source: ReadKeyError::OpenToOthers { .. } } => {
                return Some(format!("chmod 600 {}", quoted(&path.to_string_lossy())));
            }
            Self::SigningKey { source: ReadKeyError::ForeignOwner { .. }, .. } => {
                "whoever owns the file can read it: sign with a key of your own, in a file of your own with mode 600"
            }
            Self::SigningKey { .. } => "make one with `eval-host keygen`",
            Self::RetiredKey { .. } => {
                "sign with the key that took its place; `eval-host keygen --rotate <this key>` makes one"
            }
            Self::NotAnOutput { .. } => "--output takes a file with one JSON object, as the system under test gives it",
            Self::IsAnswerSet { .. } => "score and chain the answer sets of all shards with `eval-host merge`",
            Self::Folder { folder: NamedFolder::BenchRoot, .. } => {
                "run from the repository's root, or name the benches' folder with --bench-root"
            }
            Self::Folder { .. }
            | Self::Read { .. }
            | Self::TooLarge { .. }
            | Self::OpenCase { .. }
            | Self::NotACase { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// What a folder is for that the command line names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedFolder {
    BenchRoot,
    InputRoot,
    Cassettes,
    Keep,
}

impl fmt::Display for NamedFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BenchRoot => "the bench root",
            Self::InputRoot => "the input root",
            Self::Cassettes => "the cassettes' folder",
            Self::Keep => "the folder for survivors",
        })
    }
}

/// Evidence cannot be had, or is not what it must be.
#[derive(Debug, thiserror::Error)]
pub(super) enum EvidenceError {
    #[error("eval-host cannot look up what it last saw of the store")]
    LastSeen(#[source] LastSeenError),
    #[error("the store `{}` is {state}", path.display())]
    Store { path: PathBuf, state: State, source: OpenStoreError },
    #[error("the store `{}` cannot be verified", path.display())]
    VerifyStore { path: PathBuf, source: VerifyError },
    #[error("a crash left a record in the store `{}` unfinished, and it cannot be finished", path.display())]
    FinishStore { path: PathBuf, source: Box<FinishError> },
    #[error("the evidence in `{}` is {state}", path.display())]
    NotOk { path: PathBuf, state: State },
    #[error("eval-host has not seen the store `{}` on this machine before, and in CI believes none on sight", path.display())]
    NeverSeen { path: PathBuf },
    #[error("the store has no record `{}`", path.display())]
    NoSuchRecord { path: PathBuf },
    #[error("the evidence has no record of `{task_class}`")]
    NoSuchClass { task_class: TaskClassName, there: Vec<TaskClassName> },
    #[error("the bundle `{}` is {}", path.display(), source.state())]
    Bundle { path: PathBuf, source: OpenBundleError },
    #[error("the bundle `{}` cannot be verified", path.display())]
    VerifyBundle { path: PathBuf, source: VerifyError },
    #[error("the record `{file}` is not the one that eval-host verified a moment ago")]
    RecordChanged { file: String },
    #[error("`{}` does not name the keys to trust", path.display())]
    TrustedKeys { path: PathBuf, source: ReadTrustedKeysError },
    #[error("the checkpoint `{}` is refused", path.display())]
    Checkpoint { path: PathBuf, source: ReadCheckpointError },
    #[error("the store contradicts the checkpoint `{}`, which a trusted key signed: {finding}", path.display())]
    OtherPast { path: PathBuf, finding: String },
}

impl Advice for EvidenceError {
    fn exit(&self) -> Exit {
        match self {
            Self::LastSeen(_) => Exit::HarnessError,
            Self::NoSuchRecord { .. } => Exit::UsageOrCap,
            Self::NoSuchClass { .. } => Exit::TaskClassNotFound,
            Self::Store { .. }
            | Self::VerifyStore { .. }
            | Self::FinishStore { .. }
            | Self::NotOk { .. }
            | Self::NeverSeen { .. }
            | Self::Bundle { .. }
            | Self::VerifyBundle { .. }
            | Self::RecordChanged { .. }
            | Self::TrustedKeys { .. }
            | Self::Checkpoint { .. }
            | Self::OtherPast { .. } => Exit::EvidenceBroken,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Store { state: State::Tampered, .. } => {
                "this machine saw the store before, or its files say that it is one: restore it, or name another with --out"
            }
            Self::Store { source: OpenStoreError::Missing { .. }, .. } => {
                "name the store with --out; `eval-host run` makes one where there was none"
            }
            Self::Store { .. } => "name the store with --out",
            Self::NeverSeen { .. } => FirstUse::ADVICE,
            Self::VerifyStore { source, .. } => return source.hint(),
            Self::LastSeen(_) => "name a writable folder with XDG_STATE_HOME",
            Self::NotOk { .. } => "`eval-host verify` says what is wrong",
            Self::NoSuchRecord { .. } => "`eval-host log` lists the records; name the store with --out",
            Self::NoSuchClass { there, .. } if there.is_empty() => {
                "it has no record of any task class; name the store with --out"
            }
            Self::NoSuchClass { there, .. } => {
                let there: Vec<_> = there.iter().map(|class| format!("`{class}`")).collect();
                return Some(format!("it has records of {}; name another store with --out", there.join(", ")));
            }
            Self::RecordChanged { .. } => "run the command again; `eval-host verify` says what is wrong",
            Self::TrustedKeys { source: ReadTrustedKeysError::Malformed(KeysError::Line { .. }), .. } => {
                "a line is a key as `eval-host keygen` prints it, or such a key, `retired` and the file name of its last checkpoint"
            }
            Self::TrustedKeys { .. } => {
                "put the line that `eval-host keygen` printed there, or name another file with --trusted-keys"
            }
            Self::OtherPast { .. } => {
                "nothing was signed; keep the store unchanged for the investigation, and start another with --out"
            }
            Self::FinishStore { .. } | Self::Bundle { .. } | Self::VerifyBundle { .. } | Self::Checkpoint { .. } => {
                return None;
            }
        };
        Some(hint.to_owned())
    }
}

/// The machine or the bench fails the command.
#[derive(Debug, thiserror::Error)]
pub(super) enum HostError {
    #[error("the result could not be written to stdout")]
    Stdout(#[source] io::Error),
    #[error("failed to write the key `{}`", path.display())]
    WriteKey { path: PathBuf, source: io::Error },
    #[error("failed to write the rotation note `{}`; no key was made", path.display())]
    WriteRotation { path: PathBuf, source: io::Error },
    #[error("failed to list the checkpoints in `{}`", path.display())]
    ListCheckpoints { path: PathBuf, source: io::Error },
    #[error("failed to write the checkpoint `{}`", path.display())]
    WriteCheckpoint { path: PathBuf, source: io::Error },
    #[error("failed to write the bundle `{}`", path.display())]
    WriteBundle { path: PathBuf, source: ExportError },
    #[error("neither CARGO_HOME nor HOME is set, so cargo's folder is unknown")]
    NoCargoHome,
    #[error("failed to build the rubric of `{task_class}`")]
    BuildRubric { task_class: TaskClassName, source: BuildRubricError },
    #[error("the rubric of `{task_class}` is built, but its bench cannot be written")]
    InstallRubric { task_class: TaskClassName, source: BuildRubricError },
    /// `rubric` says which: a file in backticks, or a bench's own.
    #[error("failed to load {rubric}")]
    LoadRubric { rubric: String, source: LoadRubricError },
    #[error("the attack is done, but its record cannot be written to `{}`", path.display())]
    WriteAttack { path: PathBuf, source: FileError },
    #[error("failed to write the survivor `{}`", path.display())]
    KeepSurvivor { path: PathBuf, source: FileError },
    #[error("failed to make the folder `{}` for the scratch directory", path.display())]
    MakeScratch { path: PathBuf, source: io::Error },
    #[error("failed to write `{}`, which the rubric left in its scratch directory", path.display())]
    WriteScratch { path: PathBuf, source: io::Error },
}

impl Advice for HostError {
    fn exit(&self) -> Exit {
        match self {
            Self::WriteBundle { source, .. } => source.exit(),
            Self::LoadRubric { source, .. } => source.exit(),
            Self::Stdout(_)
            | Self::WriteKey { .. }
            | Self::WriteRotation { .. }
            | Self::ListCheckpoints { .. }
            | Self::WriteCheckpoint { .. }
            | Self::NoCargoHome
            | Self::BuildRubric { .. }
            | Self::InstallRubric { .. }
            | Self::WriteAttack { .. }
            | Self::KeepSurvivor { .. }
            | Self::MakeScratch { .. }
            | Self::WriteScratch { .. } => Exit::HarnessError,
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::WriteKey { .. } => "--key takes a file that does not exist yet",
            Self::WriteBundle { source: ExportError::Write(_) | ExportError::Place(_), .. } => {
                "--to takes a file that does not exist yet, in a folder that can be written and has room"
            }
            Self::NoCargoHome => "set CARGO_HOME to cargo's folder",
            Self::MakeScratch { .. } => "--keep-scratch takes a folder that does not exist yet",
            Self::WriteBundle { source, .. } => return source.hint(),
            Self::LoadRubric { source, .. } => return source.hint(),
            Self::Stdout(_)
            | Self::WriteRotation { .. }
            | Self::ListCheckpoints { .. }
            | Self::WriteCheckpoint { .. }
            | Self::BuildRubric { .. }
            | Self::InstallRubric { .. }
            | Self::WriteAttack { .. }
            | Self::KeepSurvivor { .. }
            | Self::WriteScratch { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

/// Why a file holds no key to sign with.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadKeyError {
    #[error("the file cannot be read")]
    File(#[source] io::Error),
    #[error("others may read or write it (mode {mode:04o}), and whoever has it can sign")]
    OpenToOthers { mode: u32 },
    #[error("it belongs to user {owner}, and you are user {user}")]
    ForeignOwner { owner: u32, user: u32 },
    #[error(transparent)]
    Malformed(KeyError),
}

/// Why a file does not say which keys are trusted.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadTrustedKeysError {
    #[error("the file cannot be read")]
    File(#[source] io::Error),
    #[error("its folder `{}` cannot be listed", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the rotation note `{}` beside it cannot be read", path.display())]
    Rotation { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Malformed(#[from] KeysError),
}

/// Why a file holds no checkpoint that is believed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ReadCheckpointError {
    #[error("the file cannot be read")]
    File(#[source] io::Error),
    #[error(transparent)]
    Untrusted(OpenCheckpointError),
}

impl ReadCheckpointError {
    /// Whether nobody who is trusted can have written what is there. That a trusted key's signature is wrong, or that what it
    /// signed is not understood, is not such a case.
    pub(super) fn is_of_a_stranger(&self) -> bool {
        match self {
            Self::File(error) => {
                matches!(
                    error.kind(),
                    io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData | io::ErrorKind::FileTooLarge
                )
            }
            Self::Untrusted(error) => matches!(
                error,
                OpenCheckpointError::Note(NoteError::Unsigned | NoteError::Malformed(_))
                    | OpenCheckpointError::Retired(_)
            ),
        }
    }

    /// With its cause, for a note.
    pub(super) fn in_one_line(&self) -> String {
        match self {
            Self::File(error) => format!("{self}: {error}"),
            Self::Untrusted(error) => error.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::failure::Failure;
    use super::*;

    #[test]
    fn a_failure_of_a_command_says_what_why_and_what_to_do() {
        let path = PathBuf::from("evidence");
        let source = OpenStoreError::Missing { path: path.clone() };
        let failure = Failure::from(EvidenceError::Store { path, state: State::Unverifiable, source });
        assert_eq!(failure.exit, Exit::EvidenceBroken);
        assert_eq!(
            failure.rendered(),
            "error: the store `evidence` is UNVERIFIABLE\n  caused by: there is no store at `evidence`\n\
             hint: name the store with --out; `eval-host run` makes one where there was none"
        );
    }

    #[test]
    fn a_bundle_that_lacks_evidence_and_one_that_lacks_room_end_differently() {
        let not_written = |source| Failure::from(HostError::WriteBundle { path: PathBuf::from("a.tar"), source });
        assert_eq!(not_written(ExportError::Changed).exit, Exit::EvidenceBroken);
        let full = not_written(ExportError::Write(io::Error::other("no room")));
        assert_eq!(full.exit, Exit::HarnessError);
        assert!(full.rendered().ends_with("  caused by: no room\nhint: --to takes a file that does not exist yet, in a folder that can be written and has room"));
    }
}
