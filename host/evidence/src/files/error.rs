//! What can be wrong with a file or a directory, and with which.

use eval_model::advice::Advice;
use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, Stat};

/// What is wrong, and with what.
#[derive(Debug)]
pub struct FileError {
    pub path: PathBuf,
    pub problem: FileProblem,
}

#[derive(Debug, thiserror::Error)]
pub enum FileProblem {
    #[error("not found")]
    Missing,
    #[error("it is {0}, not a file")]
    NotAFile(Kind),
    #[error("it is {0}, not a directory")]
    NotADirectory(Kind),
    #[error("it has {size} bytes, more than the {most} that such a file can have")]
    TooLarge { size: u64, most: u64 },
    #[error("its files have more than {most} bytes together")]
    TooMuch { most: u64 },
    #[error("it has more than {most} files")]
    TooMany { most: usize },
    #[error("its directories are nested deeper than {most}")]
    TooDeep { most: usize },
    /// Names are given as they would be printed.
    #[error("the name `{0}` in it is not UTF-8")]
    NameNotUtf8(String),
    #[error("`{0}` is not the name of something in it")]
    NotAName(String),
    #[error("it is not UTF-8 text")]
    NotUtf8,
    #[error("it cannot be {action}")]
    Io {
        action: &'static str,
        #[source]
        source: io::Error,
    },
}

/// What lies under a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Directory,
    Link,
    Fifo,
    Socket,
    Device,
    Unknown,
}

impl Advice for FileError {}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.path.display(), self.problem)
    }
}

impl Error for FileError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.problem.source()
    }
}

impl FileError {
    /// Something that the operating system refused to do with `path`, such as `opened`.
    pub fn io(action: &'static str, path: &Path, source: impl Into<io::Error>) -> Self {
        let source = source.into();
        let problem = match source.kind() {
            io::ErrorKind::NotFound => FileProblem::Missing,
            _ => FileProblem::Io { action, source },
        };
        Self { path: path.to_owned(), problem }
    }

    pub fn is_missing(&self) -> bool {
        matches!(self.problem, FileProblem::Missing)
    }

    /// Whether a name that nothing should have had was another's.
    pub fn is_taken(&self) -> bool {
        matches!(&self.problem, FileProblem::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists)
    }
}

impl FileProblem {
    /// The problem in words that are the same on every machine.
    pub fn words(&self) -> String {
        match self {
            Self::Io { source, .. } => source.kind().to_string(),
            problem => problem.to_string(),
        }
    }
}

impl Kind {
    pub(super) fn of(stat: &Stat) -> Self {
        FileType::from_raw_mode(stat.st_mode).into()
    }
}

impl From<FileType> for Kind {
    fn from(file_type: FileType) -> Self {
        match file_type {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Directory,
            FileType::Symlink => Self::Link,
            FileType::Fifo => Self::Fifo,
            FileType::Socket => Self::Socket,
            FileType::CharacterDevice | FileType::BlockDevice => Self::Device,
            FileType::Unknown => Self::Unknown,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File => "a file",
            Self::Directory => "a directory",
            Self::Link => "a symbolic link",
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Unknown => "something of an unknown kind",
        })
    }
}
