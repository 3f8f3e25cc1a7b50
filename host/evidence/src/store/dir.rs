//! Directories held open, and the few things the store does in them.
//!
//! Every name is resolved relative to a directory that was opened once, and no link is ever followed, so nobody can swap
//! what lies under a path between a check and its use. Interrupted calls are repeated here and nowhere else. Every error
//! names what was attempted and on which path.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use eval_model::advice::Advice;
use rustix::fs::{self, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

/// Something the operating system refused.
#[derive(Debug, thiserror::Error)]
#[error("failed to {action} `{}`", path.display())]
pub struct FileError {
    pub action: &'static str,
    pub path: PathBuf,
    #[source]
    pub source: io::Error,
}

impl Advice for FileError {}

/// Why a file in a store was not read.
#[derive(Debug, thiserror::Error)]
pub enum ReadFileError {
    #[error("there is no `{}`", path.display())]
    Missing { path: PathBuf },
    #[error("`{}` is a {kind}, not a file", path.display())]
    NotAFile { path: PathBuf, kind: &'static str },
    #[error("`{}` has {size} bytes, more than the {limit} that such a file can have", path.display())]
    TooLarge { path: PathBuf, size: u64, limit: u64 },
    #[error(transparent)]
    Io(#[from] FileError),
}

impl Advice for ReadFileError {}

const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const PRIVATE_DIR: Mode = Mode::RWXU;

/// A directory that stays the same one whatever happens to its path.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
    /// For messages only.
    path: PathBuf,
}

/// Whether a directory that is not there should be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Create,
    Fail,
}

impl Dir {
    /// Opens the directory at `path`. Its last component is never followed if it is a link.
    pub fn open_path(path: &Path, missing: Missing) -> Result<Self, FileError> {
        let start = if path.is_absolute() { "/" } else { "." };
        let mut here = open_waypoint(CWD, OsStr::new(start)).map_err(|errno| failed("open", path, errno))?;
        let mut names = path.components().filter_map(name_of).peekable();
        while let Some(name) = names.next() {
            if names.peek().is_none() {
                return Self::open_last(&here, name, path, missing);
            }
            here = step_into(&here, name, missing).map_err(|errno| failed("open", path, errno))?;
        }
        Self::open_last(&here, OsStr::new("."), path, missing)
    }

    fn open_last(parent: &OwnedFd, name: &OsStr, path: &Path, missing: Missing) -> Result<Self, FileError> {
        if missing == Missing::Create {
            make(parent.as_fd(), name).map_err(|errno| failed("create the directory", path, errno))?;
        }
        let fd = open_dir(parent.as_fd(), name).map_err(|errno| failed("open the directory", path, errno))?;
        Ok(Self { fd, path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub fn stat(&self) -> Result<Stat, FileError> {
        retry_on_intr(|| fs::fstat(&self.fd)).map_err(|errno| failed("examine", &self.path, errno))
    }

    /// Opens a directory in this one, or says that there is none.
    pub fn child(&self, name: &str) -> Result<Option<Self>, FileError> {
        let path = self.path.join(name);
        match open_dir(self.fd(), OsStr::new(name)) {
            Ok(fd) => Ok(Some(Self { fd, path })),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed("open the directory", &path, errno)),
        }
    }

    /// Whether a name in this directory is another directory's.
    pub fn has_child(&self, name: &str) -> Result<bool, FileError> {
        let is_dir = |stat: Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
        Ok(self.stat_of(name)?.is_some_and(is_dir))
    }

    /// Opens a directory in this one, which is made if there is none.
    pub fn child_or_new(&self, name: &str) -> Result<Self, FileError> {
        let path = self.path.join(name);
        make(self.fd(), OsStr::new(name)).map_err(|errno| failed("create the directory", &path, errno))?;
        let fd = open_dir(self.fd(), OsStr::new(name)).map_err(|errno| failed("open the directory", &path, errno))?;
        Ok(Self { fd, path })
    }

    /// All names in this directory but `.` and `..`, sorted.
    pub fn names(&self) -> Result<Vec<OsString>, FileError> {
        let error = |errno| failed("list", &self.path, errno);
        // A directory stream has a position, so each listing gets a descriptor of its own.
        let fd = open_dir(self.fd(), OsStr::new(".")).map_err(error)?;
        let mut names = Vec::new();
        for entry in fs::Dir::new(fd).map_err(error)? {
            let entry = entry.map_err(error)?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens a regular file for reading and gives its size, which is at most `limit`. A FIFO or a device does not block it.
    pub fn open_file(&self, name: impl AsRef<OsStr>, limit: u64) -> Result<(File, u64), ReadFileError> {
        let path = self.path.join(name.as_ref());
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let fd = match retry_on_intr(|| fs::openat(&self.fd, name.as_ref(), flags, Mode::empty())) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Err(ReadFileError::Missing { path }),
            Err(Errno::LOOP) => return Err(ReadFileError::NotAFile { path, kind: "symbolic link" }),
            Err(Errno::NXIO) => return Err(ReadFileError::NotAFile { path, kind: "socket or device" }),
            Err(errno) => return Err(failed("open", &path, errno).into()),
        };
        let stat = retry_on_intr(|| fs::fstat(&fd)).map_err(|errno| failed("examine", &path, errno))?;
        if let Some(kind) = other_than_file(FileType::from_raw_mode(stat.st_mode)) {
            return Err(ReadFileError::NotAFile { path, kind });
        }
        let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
        if size > limit {
            return Err(ReadFileError::TooLarge { path, size, limit });
        }
        Ok((File::from(fd), size))
    }

    /// The bytes of a regular file of at most `limit` bytes.
    pub fn read(&self, name: impl AsRef<OsStr>, limit: u64) -> Result<Vec<u8>, ReadFileError> {
        let (file, size) = self.open_file(name.as_ref(), limit)?;
        let path = self.path.join(name.as_ref());
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // The file may grow while it is read; what is beyond the limit is never taken in.
        match file.take(limit.saturating_add(1)).read_to_end(&mut bytes) {
            Ok(read) if read as u64 > limit => Err(ReadFileError::TooLarge { path, size: read as u64, limit }),
            Ok(_) => Ok(bytes),
            Err(source) => Err(FileError { action: "read", path, source }.into()),
        }
    }

    /// What lies under a name, without following it.
    pub fn stat_of(&self, name: impl AsRef<OsStr>) -> Result<Option<Stat>, FileError> {
        match retry_on_intr(|| fs::statat(&self.fd, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(failed("examine", &self.path.join(name.as_ref()), errno)),
        }
    }

    /// Writes a file that did not exist, private whatever the umask. Nothing is durable yet.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<File, FileError> {
        let path = self.path.join(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = retry_on_intr(|| fs::openat(&self.fd, name, flags, PRIVATE_FILE))
            .map_err(|errno| failed("create", &path, errno))?;
        retry_on_intr(|| fs::fchmod(&fd, PRIVATE_FILE)).map_err(|errno| failed("make private", &path, errno))?;
        let mut file = File::from(fd);
        file.write_all(bytes).map_err(|source| FileError { action: "write", path, source })?;
        Ok(file)
    }

    /// Gives a file of this directory a name in `target` that nothing had before.
    pub fn rename_new(&self, from: &str, target: &Self, to: &str) -> Result<(), FileError> {
        let flags = RenameFlags::NOREPLACE;
        retry_on_intr(|| fs::renameat_with(&self.fd, from, &target.fd, to, flags))
            .map_err(|errno| failed("rename into place", &target.path.join(to), errno))
    }

    /// Gives a file of this directory a name that may have been another's, which is gone then.
    pub fn rename_over(&self, from: &str, to: &str) -> Result<(), FileError> {
        retry_on_intr(|| fs::renameat(&self.fd, from, &self.fd, to))
            .map_err(|errno| failed("replace", &self.path.join(to), errno))
    }

    pub fn unlink(&self, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        retry_on_intr(|| fs::unlinkat(&self.fd, name.as_ref(), AtFlags::empty()))
            .map_err(|errno| failed("remove", &self.path.join(name.as_ref()), errno))
    }

    /// Removes an empty directory in this one.
    pub fn remove_child(&self, name: &str) -> Result<(), FileError> {
        retry_on_intr(|| fs::unlinkat(&self.fd, name, AtFlags::REMOVEDIR))
            .map_err(|errno| failed("remove the directory", &self.path.join(name), errno))
    }

    /// Makes the names in this directory durable.
    pub fn sync(&self) -> Result<(), FileError> {
        sync_fd(self.fd(), &self.path)
    }

    /// Makes all that was written to this directory's filesystem durable, with one call for any number of files.
    pub fn sync_filesystem(&self) -> Result<(), FileError> {
        retry_on_intr(|| fs::syncfs(&self.fd)).map_err(|errno| failed("make durable", &self.path, errno))
    }
}

/// Replaces a file by another content, durably: after a crash it has the one or the other. The caller has locked the
/// directory, so that a draft which is there already is a crash's.
pub fn replace_file(dir: &Dir, name: &str, bytes: &[u8]) -> Result<(), FileError> {
    let draft = format!(".tmp-{name}");
    if dir.stat_of(&draft)?.is_some() {
        dir.unlink(&draft)?;
    }
    let file = dir.write_new(&draft, bytes)?;
    sync_file(&file, &dir.path.join(&draft))?;
    dir.rename_over(&draft, name)?;
    dir.sync()
}

/// Makes the bytes of a file durable.
pub(super) fn sync_file(file: &File, path: &Path) -> Result<(), FileError> {
    sync_fd(file.as_fd(), path)
}

fn sync_fd(fd: BorrowedFd<'_>, path: &Path) -> Result<(), FileError> {
    retry_on_intr(|| fs::fsync(fd)).map_err(|errno| failed("make durable", path, errno))
}

fn failed(action: &'static str, path: &Path, errno: Errno) -> FileError {
    FileError { action, path: path.to_owned(), source: errno.into() }
}

fn name_of(component: Component<'_>) -> Option<&OsStr> {
    match component {
        Component::Normal(name) => Some(name),
        Component::ParentDir => Some(OsStr::new("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    }
}

/// A directory on the way: only passed through, so it need not be readable, and links on the way are the user's choice.
fn open_waypoint(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| fs::openat(parent, name, flags, Mode::empty()))
}

fn step_into(parent: &OwnedFd, name: &OsStr, missing: Missing) -> Result<OwnedFd, Errno> {
    match open_waypoint(parent.as_fd(), name) {
        Err(Errno::NOENT) if missing == Missing::Create => {
            make(parent.as_fd(), name)?;
            open_waypoint(parent.as_fd(), name)
        }
        other => other,
    }
}

fn open_dir(parent: BorrowedFd<'_>, name: &OsStr) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    retry_on_intr(|| fs::openat(parent, name, flags, Mode::empty()))
}

/// Makes a private directory, or leaves what is there alone.
fn make(parent: BorrowedFd<'_>, name: &OsStr) -> Result<(), Errno> {
    match retry_on_intr(|| fs::mkdirat(parent, name, PRIVATE_DIR)) {
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
        // A umask that takes the owner's own rights away would make a directory that its maker cannot use.
        Ok(()) => retry_on_intr(|| fs::chmodat(parent, name, PRIVATE_DIR, AtFlags::empty())),
    }
}

fn other_than_file(kind: FileType) -> Option<&'static str> {
    match kind {
        FileType::RegularFile => None,
        FileType::Directory => Some("directory"),
        FileType::Symlink => Some("symbolic link"),
        FileType::Fifo => Some("FIFO"),
        FileType::Socket => Some("socket"),
        FileType::CharacterDevice | FileType::BlockDevice => Some("device"),
        FileType::Unknown => Some("thing of an unknown kind"),
    }
}
