//! A directory held open, and what can be done in it.
//!
//! Interrupted calls are repeated here and nowhere else.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt as _, OpenOptionsSyncExt as _};
use cap_std::fs::{DirBuilder, DirBuilderExt as _, OpenOptions, OpenOptionsExt as _};
use rustix::buffer::spare_capacity;
use rustix::fs::{self, AtFlags, CWD, Mode, OFlags, RawDir, RenameFlags, Stat};
use rustix::io::{Errno, retry_on_intr};

use super::beneath;
use super::error::{FileError, FileProblem, Kind};

const PRIVATE_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
const PRIVATE_DIR: Mode = Mode::RWXU;

/// How a directory is opened, whichever way one comes to it.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Bytes of a listing that are asked for at once: a small directory is listed by one call, and its end found by another.
const LISTING_BYTES: usize = 8 << 10;

/// A directory that stays the same one whatever happens to its path.
pub struct Dir {
    within: cap_std::fs::Dir,
    /// For messages, and to see whether it still leads here.
    path: PathBuf,
}

/// Whether a directory that is not there should be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    Create,
    Fail,
}

/// Who may read a file that is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Nobody else, whatever the umask.
    Owner,
    /// Whom the umask says: for files that lie in a repository, among those of its users.
    Umask,
}

impl fmt::Debug for Dir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dir").field(&self.path).finish()
    }
}

impl Dir {
    /// Opens a directory that the operator named, whichever way its path leads there. This is where ambient authority ends.
    pub fn open_ambient(path: &Path) -> Result<Self, FileError> {
        Self::open_at(path, path, OFlags::empty())
    }

    /// Opens a directory of this program's own. The last component of its path is never followed if it is a link; links on
    /// the way are the user's choice. What is made is private.
    pub fn open_own(path: &Path, missing: Missing) -> Result<Self, FileError> {
        // A slash or a dot at the end would make the kernel follow a link.
        let exact: PathBuf = path.components().collect();
        let exact = if exact.as_os_str().is_empty() { Path::new(".") } else { &exact };
        match Self::open_at(exact, path, OFlags::NOFOLLOW) {
            Err(error) if error.is_missing() && missing == Missing::Create => {
                make_all(exact).map_err(|errno| FileError::io("made", path, errno))?;
                Self::open_at(exact, path, OFlags::NOFOLLOW)
            }
            result => result,
        }
    }

    fn open_at(exact: &Path, path: &Path, flags: OFlags) -> Result<Self, FileError> {
        match retry_on_intr(|| fs::openat(CWD, exact, DIRECTORY | flags, Mode::empty())) {
            Ok(fd) => Ok(Self::held(fd.into(), path.to_owned())),
            Err(errno @ (Errno::NOTDIR | Errno::LOOP)) => {
                let stat = retry_on_intr(|| fs::statat(CWD, exact, AtFlags::SYMLINK_NOFOLLOW));
                Err(wrong_kind(Kind::Directory, stat.ok().as_ref(), path, errno.into()))
            }
            Err(errno) => Err(FileError::io("opened", path, errno)),
        }
    }

    fn held(file: File, path: PathBuf) -> Self {
        Self { within: cap_std::fs::Dir::from_std_file(file), path }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.within.as_fd()
    }

    /// This directory with a position and a lock of its own.
    pub(super) fn reopen(&self) -> Result<OwnedFd, Errno> {
        retry_on_intr(|| fs::openat(self.fd(), ".", DIRECTORY, Mode::empty()))
    }

    pub fn stat(&self) -> Result<Stat, FileError> {
        retry_on_intr(|| fs::fstat(self.fd())).map_err(|errno| FileError::io("examined", &self.path, errno))
    }

    /// What lies under a name, without following it.
    pub fn stat_of(&self, name: impl AsRef<OsStr>) -> Result<Option<Stat>, FileError> {
        let name = self.plain(name.as_ref())?;
        match retry_on_intr(|| fs::statat(self.fd(), name, AtFlags::SYMLINK_NOFOLLOW)) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(FileError::io("examined", &self.path.join(name), errno)),
        }
    }

    /// Whether something has this name. For what is opened anyway, ask whether that failed because it is missing.
    pub fn contains(&self, name: &str) -> bool {
        self.stat_of(name).is_ok_and(|stat| stat.is_some())
    }

    /// Opens a directory in this one.
    pub fn child(&self, name: impl AsRef<OsStr>) -> Result<Self, FileError> {
        let name = name.as_ref();
        let file = self.open(name, OFlags::RDONLY | OFlags::DIRECTORY, Kind::Directory)?;
        Ok(Self::held(file, self.path.join(name)))
    }

    /// The same with what lies in it, as [`Dir::entries`] has it and for two system calls less.
    pub fn child_with_entries(&self, name: impl AsRef<OsStr>) -> Result<(Self, Vec<(OsString, Kind)>), FileError> {
        let child = self.child(name)?;
        // Nobody else has this descriptor, so it still stands at the beginning.
        let listed = child.list_from(child.fd())?;
        let entries = child.with_kinds(listed)?;
        Ok((child, entries))
    }

    /// The same, or none.
    pub fn child_if_any(&self, name: impl AsRef<OsStr>) -> Result<Option<Self>, FileError> {
        if_any(self.child(name))
    }

    /// Opens a directory in this one, which is made if there is none.
    pub fn child_or_new(&self, name: &str) -> Result<Self, FileError> {
        let plain = self.plain(OsStr::new(name))?;
        let mut builder = DirBuilder::new();
        builder.mode(PRIVATE_DIR.bits());
        let made = match retry(|| self.within.create_dir_with(plain, &builder)) {
            // A umask that takes the owner's own rights away would make a directory that its maker cannot use.
            Ok(()) => {
                retry_on_intr(|| fs::chmodat(self.fd(), plain, PRIVATE_DIR, AtFlags::empty())).map_err(Into::into)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
        };
        made.map_err(|error| FileError::io("made", &self.path.join(plain), error))?;
        self.child(name)
    }

    /// All names in this directory but `.` and `..`, sorted.
    pub fn names(&self) -> Result<Vec<OsString>, FileError> {
        Ok(self.list()?.into_iter().map(|(name, _)| name).collect())
    }

    /// The same with what lies under them.
    pub fn entries(&self) -> Result<Vec<(OsString, Kind)>, FileError> {
        self.with_kinds(self.list()?)
    }

    /// The same with names that are text, or an error for one that is not.
    pub fn utf8_entries(&self) -> Result<Vec<(String, Kind)>, FileError> {
        self.with_text(self.entries()?)
    }

    /// Some filesystems do not say it in a listing.
    fn with_kinds(&self, mut listed: Vec<(OsString, Kind)>) -> Result<Vec<(OsString, Kind)>, FileError> {
        for (name, kind) in listed.iter_mut().filter(|(_, kind)| *kind == Kind::Unknown) {
            *kind = self.stat_of(name)?.as_ref().map_or(Kind::Unknown, Kind::of);
        }
        Ok(listed)
    }

    /// Names that are text, or an error for one that is not.
    pub(super) fn with_text(&self, entries: Vec<(OsString, Kind)>) -> Result<Vec<(String, Kind)>, FileError> {
        let text =
            |name: OsString| name.into_string().map_err(|name| self.wrong(FileProblem::NameNotUtf8(printable(&name))));
        entries.into_iter().map(|(name, kind)| Ok((text(name)?, kind))).collect()
    }

    fn list(&self) -> Result<Vec<(OsString, Kind)>, FileError> {
        // Others may be listing it too, and a descriptor has one position.
        let own = self.reopen().map_err(|errno| FileError::io("listed", &self.path, errno))?;
        self.list_from(own.as_fd())
    }

    /// What this directory has from where a descriptor of it stands, sorted.
    fn list_from(&self, fd: BorrowedFd<'_>) -> Result<Vec<(OsString, Kind)>, FileError> {
        let mut buffer = Vec::with_capacity(LISTING_BYTES);
        let mut listing = RawDir::new(fd, buffer.spare_capacity_mut());
        let mut entries = Vec::new();
        while let Some(entry) = listing.next() {
            let entry = match entry {
                Err(Errno::INTR) => continue,
                entry => entry.map_err(|errno| FileError::io("listed", &self.path, errno))?,
            };
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                entries.push((OsStr::from_bytes(name).to_owned(), entry.file_type().into()));
            }
        }
        entries.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        Ok(entries)
    }

    /// Opens a regular file for reading and gives its size, which is at most `most`.
    pub fn open_file(&self, name: impl AsRef<OsStr>, most: u64) -> Result<(File, u64), FileError> {
        let name = name.as_ref();
        let file = self.open(name, OFlags::RDONLY, Kind::File)?;
        checked(file, &self.path.join(name), most)
    }

    /// The bytes of a regular file of at most `most` bytes.
    pub fn read(&self, name: impl AsRef<OsStr>, most: u64) -> Result<Vec<u8>, FileError> {
        let (file, size) = self.open_file(name.as_ref(), most)?;
        read_whole(&file, size, &self.path.join(name.as_ref()), most)
    }

    /// The same, or none.
    pub fn read_if_any(&self, name: impl AsRef<OsStr>, most: u64) -> Result<Option<Vec<u8>>, FileError> {
        if_any(self.read(name, most))
    }

    pub fn read_text(&self, name: &str, most: u64) -> Result<String, FileError> {
        let wrong = |_| FileError { path: self.path.join(name), problem: FileProblem::NotUtf8 };
        String::from_utf8(self.read(name, most)?).map_err(wrong)
    }

    /// Opens a regular file that is written at its end.
    pub fn open_to_append(&self, name: &str) -> Result<File, FileError> {
        let file = self.open(OsStr::new(name), OFlags::WRONLY | OFlags::APPEND, Kind::File)?;
        checked(file, &self.path.join(name), u64::MAX).map(|(file, _)| file)
    }

    /// Opens a regular file to be read and written, which is made if there is none.
    pub fn open_or_new(&self, name: &str, audience: Audience) -> Result<File, FileError> {
        match self.open_to_update(name) {
            Err(error) if error.is_missing() => {}
            result => return result,
        }
        match self.create(name, audience) {
            // Somebody else made it in between.
            Err(error) if error.is_taken() => self.open_to_update(name),
            result => result,
        }
    }

    fn open_to_update(&self, name: &str) -> Result<File, FileError> {
        let file = self.open(OsStr::new(name), OFlags::RDWR, Kind::File)?;
        checked(file, &self.path.join(name), u64::MAX).map(|(file, _)| file)
    }

    /// Makes a file that did not exist, to be read and written.
    pub(crate) fn create(&self, name: &str, audience: Audience) -> Result<File, FileError> {
        let mode = match audience {
            Audience::Owner => PRIVATE_FILE.bits(),
            Audience::Umask => 0o666,
        };
        let mut options = OpenOptions::new();
        options.follow(FollowSymlinks::No).nonblock(true).custom_flags(OFlags::NOCTTY.bits().cast_signed());
        options.read(true).write(true).create_new(true).mode(mode);
        let plain = self.plain(OsStr::new(name))?;
        let path = self.path.join(plain);
        let opened = retry(|| self.within.open_with(plain, &options));
        let file = opened.map_err(|error| FileError::io("created", &path, error))?.into_std();
        if audience == Audience::Owner {
            retry_on_intr(|| fs::fchmod(&file, PRIVATE_FILE))
                .map_err(|errno| FileError::io("made private", &path, errno))?;
        }
        Ok(file)
    }

    /// Writes a private file that did not exist. Nothing is durable yet.
    pub fn write_new(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        self.create_with(name, bytes).map(drop)
    }

    /// Writes a private file and makes its bytes durable, but not its name. One of this name is what a crash left, and makes
    /// way: the caller sees to it that nobody else writes it.
    pub fn write_draft(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let file = match self.create_with(name, bytes) {
            Err(error) if error.is_taken() => {
                self.unlink(name)?;
                self.create_with(name, bytes)?
            }
            result => result?,
        };
        self.sync_file(&file, name)
    }

    fn create_with(&self, name: &str, bytes: &[u8]) -> Result<File, FileError> {
        let mut file = self.create(name, Audience::Owner)?;
        file.write_all(bytes).map_err(|error| FileError::io("written", &self.path.join(name), error))?;
        Ok(file)
    }

    /// Replaces a private file by another content, durably: after a crash it has the one or the other. The caller has locked
    /// the directory.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), FileError> {
        let draft = format!(".tmp-{name}");
        self.write_draft(&draft, bytes)?;
        self.rename_over(&draft, name)?;
        self.sync()
    }

    /// Gives a file of this directory a name in `target` that nothing had before.
    pub fn rename_new(&self, from: &str, target: &Self, to: &str) -> Result<(), FileError> {
        let (from, to) = (self.plain(OsStr::new(from))?, target.plain(OsStr::new(to))?);
        retry_on_intr(|| fs::renameat_with(self.fd(), from, target.fd(), to, RenameFlags::NOREPLACE))
            .map_err(|errno| FileError::io("given its name", &target.path.join(to), errno))
    }

    /// The same for a directory that lies wherever the user says: some network filesystems know no rename that replaces
    /// nothing, and there a second name is as good. Whoever made the file removes its first one.
    pub(super) fn name_new(&self, from: &str, to: &str) -> Result<(), FileError> {
        match self.rename_new(from, self, to) {
            Err(error) if !error.is_taken() => {
                let (from, to) = (self.plain(OsStr::new(from))?, self.plain(OsStr::new(to))?);
                retry_on_intr(|| fs::linkat(self.fd(), from, self.fd(), to, AtFlags::empty())).map_err(|_| error)
            }
            result => result,
        }
    }

    /// Gives a file of this directory a name that may have been another's, which is gone then.
    pub(super) fn rename_over(&self, from: &str, to: &str) -> Result<(), FileError> {
        let (from, to) = (self.plain(OsStr::new(from))?, self.plain(OsStr::new(to))?);
        retry_on_intr(|| fs::renameat(self.fd(), from, self.fd(), to))
            .map_err(|errno| FileError::io("replaced", &self.path.join(to), errno))
    }

    pub fn unlink(&self, name: impl AsRef<OsStr>) -> Result<(), FileError> {
        let name = self.plain(name.as_ref())?;
        retry(|| self.within.remove_file(name)).map_err(|error| FileError::io("removed", &self.path.join(name), error))
    }

    /// Removes an empty directory in this one.
    pub fn remove_child(&self, name: &str) -> Result<(), FileError> {
        let name = self.plain(OsStr::new(name))?;
        retry(|| self.within.remove_dir(name)).map_err(|error| FileError::io("removed", &self.path.join(name), error))
    }

    /// Makes the names in this directory durable.
    pub fn sync(&self) -> Result<(), FileError> {
        sync(self.fd(), &self.path)
    }

    /// Makes all that was written to this directory's filesystem durable, with one call for any number of files.
    pub fn sync_filesystem(&self) -> Result<(), FileError> {
        retry_on_intr(|| fs::syncfs(self.fd())).map_err(|errno| FileError::io("made durable", &self.path, errno))
    }

    /// Makes the bytes of a file in this directory durable.
    pub(crate) fn sync_file(&self, file: &File, name: &str) -> Result<(), FileError> {
        sync(file.as_fd(), &self.path.join(name))
    }

    /// Opens what is there already. A link is not followed, and a FIFO not waited for.
    fn open(&self, name: &OsStr, flags: OFlags, wanted: Kind) -> Result<File, FileError> {
        let name = self.plain(name)?;
        beneath::open(self.fd(), name, flags).map(File::from).map_err(|errno| self.not_opened(name, wanted, errno))
    }

    /// Says what is there, when it is not what was wanted.
    fn not_opened(&self, name: &Path, wanted: Kind, errno: Errno) -> FileError {
        let path = self.path.join(name);
        match errno {
            Errno::LOOP | Errno::NOTDIR | Errno::ISDIR | Errno::NXIO => {
                wrong_kind(wanted, self.stat_of(name).ok().flatten().as_ref(), &path, errno.into())
            }
            _ => FileError::io("opened", &path, errno),
        }
    }

    /// A name and nothing else: whatever would lead on, back or elsewhere is refused before anybody resolves it.
    fn plain<'a>(&self, name: &'a OsStr) -> Result<&'a Path, FileError> {
        let path = Path::new(name);
        match path.components().next() {
            Some(Component::Normal(only)) if only == name => Ok(path),
            _ => Err(self.wrong(FileProblem::NotAName(printable(name)))),
        }
    }

    fn wrong(&self, problem: FileProblem) -> FileError {
        FileError { path: self.path.clone(), problem }
    }
}

/// Opens a regular file that the operator named, whichever way its path leads there, and gives its size.
pub fn open_ambient_file(path: &Path, most: u64) -> Result<(File, u64), FileError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let fd = retry_on_intr(|| fs::openat(CWD, path, flags, Mode::empty()))
        .map_err(|errno| FileError::io("opened", path, errno))?;
    checked(fd.into(), path, most)
}

/// The bytes of a regular file that the operator named.
pub fn read_ambient_file(path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let (file, size) = open_ambient_file(path, most)?;
    read_whole(&file, size, path, most)
}

/// A file that is regular and not too large, with its size.
fn checked(file: File, path: &Path, most: u64) -> Result<(File, u64), FileError> {
    let wrong = |problem| FileError { path: path.to_owned(), problem };
    let stat = retry_on_intr(|| fs::fstat(&file)).map_err(|errno| FileError::io("examined", path, errno))?;
    let size = u64::try_from(stat.st_size).unwrap_or(u64::MAX);
    match Kind::of(&stat) {
        Kind::File if size > most => Err(wrong(FileProblem::TooLarge { size, most })),
        Kind::File => Ok((file, size)),
        other => Err(wrong(FileProblem::NotAFile(other))),
    }
}

/// Reads a file that was examined and had `size` bytes then, which are no more than `most`.
fn read_whole(file: &File, size: u64, path: &Path, most: u64) -> Result<Vec<u8>, FileError> {
    let size = usize::try_from(size).unwrap_or(0);
    // Room for one byte more: a read that leaves it empty has come to the end that the file had.
    let mut bytes = Vec::with_capacity(size.saturating_add(1));
    loop {
        let read = retry_on_intr(|| rustix::io::read(file, spare_capacity(&mut bytes)))
            .map_err(|errno| FileError::io("read", path, errno))?;
        let length = bytes.len() as u64;
        match read {
            // The file may have grown since; what is beyond the bound is never taken in.
            _ if length > most => {
                return Err(FileError { path: path.to_owned(), problem: FileProblem::TooLarge { size: length, most } });
            }
            0 => return Ok(bytes),
            _ if bytes.len() == size => return Ok(bytes),
            _ if bytes.len() == bytes.capacity() => bytes.reserve_exact(room(length, most)),
            _ => {}
        }
    }
}

/// How much more is read of a file that has grown: as much again, and one byte over the bound at most.
fn room(length: u64, most: u64) -> usize {
    usize::try_from(length.clamp(4096, 1 << 20).min(most.saturating_sub(length).saturating_add(1))).unwrap_or(4096)
}

fn wrong_kind(wanted: Kind, found: Option<&Stat>, path: &Path, error: io::Error) -> FileError {
    let problem = match found.map(Kind::of) {
        Some(found) if found != wanted && wanted == Kind::Directory => FileProblem::NotADirectory(found),
        Some(found) if found != wanted => FileProblem::NotAFile(found),
        _ => return FileError::io("opened", path, error),
    };
    FileError { path: path.to_owned(), problem }
}

/// Makes a private directory and those above it, or leaves what is there alone.
fn make_all(path: &Path) -> Result<(), Errno> {
    match (make(path), path.parent()) {
        (Err(Errno::NOENT), Some(parent)) if !parent.as_os_str().is_empty() => {
            make_all(parent)?;
            make(path)
        }
        (result, _) => result,
    }
}

fn make(path: &Path) -> Result<(), Errno> {
    match retry_on_intr(|| fs::mkdirat(CWD, path, PRIVATE_DIR)) {
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno),
        Ok(()) => retry_on_intr(|| fs::chmodat(CWD, path, PRIVATE_DIR, AtFlags::empty())),
    }
}

fn sync(fd: BorrowedFd<'_>, path: &Path) -> Result<(), FileError> {
    retry_on_intr(|| fs::fsync(fd)).map_err(|errno| FileError::io("made durable", path, errno))
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn if_any<T>(result: Result<T, FileError>) -> Result<Option<T>, FileError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.is_missing() => Ok(None),
        Err(error) => Err(error),
    }
}

/// A name that anybody may have chosen, safe to print.
pub(crate) fn printable(name: &OsStr) -> String {
    name.as_encoded_bytes().escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    fn dir() -> (tempfile::TempDir, Dir) {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let dir = Dir::open_ambient(temp.path()).expect("it opens");
        (temp, dir)
    }

    fn problem(result: Result<impl Sized, FileError>) -> String {
        result.err().expect("a file error").problem.to_string()
    }

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("it is there").permissions().mode() & 0o7777
    }

    /// One of every kind that is no regular file, and one that is.
    fn zoo() -> (tempfile::TempDir, Dir) {
        let (temp, dir) = dir();
        symlink("file", temp.path().join("link")).expect("a link");
        symlink("dir", temp.path().join("link-to-dir")).expect("a link");
        let fifo = temp.path().join("fifo");
        rustix::fs::mknodat(CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
        std::os::unix::net::UnixListener::bind(temp.path().join("socket")).expect("a socket");
        fs::create_dir(temp.path().join("dir")).expect("a folder");
        fs::write(temp.path().join("file"), "12345").expect("a file");
        (temp, dir)
    }

    #[test]
    fn nothing_but_regular_files_is_read_or_written() {
        let (_temp, dir) = zoo();
        for (name, expected) in [
            ("link", "it is a symbolic link, not a file"),
            ("link-to-dir", "it is a symbolic link, not a file"),
            ("fifo", "it is a FIFO, not a file"),
            ("socket", "it is a socket, not a file"),
            ("dir", "it is a directory, not a file"),
        ] {
            assert_eq!(problem(dir.read(name, 10)), expected, "{name}");
            assert_eq!(problem(dir.open_to_append(name)), expected, "{name}");
            assert_eq!(problem(dir.open_or_new(name, Audience::Owner)), expected, "{name}");
        }
        assert_eq!(problem(dir.read("absent", 10)), "not found");
        assert_eq!(dir.read_if_any("absent", 10).expect("nothing is there"), None);
    }

    #[test]
    fn nothing_but_directories_is_entered() {
        let (_temp, dir) = zoo();
        for (name, expected) in [
            ("link", "it is a symbolic link, not a directory"),
            ("link-to-dir", "it is a symbolic link, not a directory"),
            ("fifo", "it is a FIFO, not a directory"),
            ("file", "it is a file, not a directory"),
        ] {
            assert_eq!(problem(dir.child(name)), expected);
            assert_eq!(problem(dir.child_or_new(name)), expected);
            assert_eq!(problem(Dir::open_own(&dir.path().join(name), Missing::Create)), expected);
        }
        assert!(dir.child_if_any("absent").expect("nothing is there").is_none());
        assert_eq!(
            problem(Dir::open_own(&dir.path().join("link-to-dir/."), Missing::Fail)),
            "it is a symbolic link, not a directory"
        );
        Dir::open_ambient(&dir.path().join("link-to-dir")).expect("the operator may name a link");
        assert_eq!(problem(Dir::open_ambient(&dir.path().join("file"))), "it is a file, not a directory");
    }

    #[test]
    fn a_listing_says_what_everything_is() {
        let (_temp, dir) = zoo();
        let expected = [
            ("dir", Kind::Directory),
            ("fifo", Kind::Fifo),
            ("file", Kind::File),
            ("link", Kind::Link),
            ("link-to-dir", Kind::Link),
            ("socket", Kind::Socket),
        ];
        assert_eq!(dir.utf8_entries().expect("listed"), expected.map(|(name, kind)| (name.to_owned(), kind)));
        assert_eq!(dir.names().expect("listed"), expected.map(|(name, _)| OsString::from(name)));
        fs::write(dir.path().join(OsStr::from_bytes(b"\xff")), "").expect("a file");
        assert_eq!(problem(dir.utf8_entries()), r"the name `\xff` in it is not UTF-8");
    }

    #[test]
    fn a_file_over_its_bound_is_refused() {
        let (_temp, dir) = zoo();
        assert_eq!(dir.read("file", 5).expect("at the bound"), b"12345");
        let expected = "it has 5 bytes, more than the 4 that such a file can have";
        assert_eq!(problem(dir.read("file", 4)), expected);
        assert_eq!(problem(read_ambient_file(&dir.path().join("link"), 4)), expected);
    }

    #[test]
    fn neither_a_device_nor_a_link_of_the_kernels_is_read() {
        let devices = Dir::open_ambient(Path::new("/dev")).expect("it opens");
        assert_eq!(problem(devices.read("null", 10)), "it is a device, not a file");
        assert_eq!(problem(devices.child("null")), "it is a device, not a directory");
        let process = Dir::open_ambient(Path::new("/proc/self")).expect("it opens");
        assert_eq!(problem(process.read("exe", 10)), "it is a symbolic link, not a file");
        assert_eq!(problem(process.child("cwd")), "it is a symbolic link, not a directory");
    }

    #[test]
    fn a_file_is_read_to_its_end_whatever_it_had_when_it_was_examined() {
        let (_temp, dir) = zoo();
        let path = dir.path().join("file");
        let read = |size, most| read_whole(&File::open(&path).expect("it opens"), size, &path, most);
        for size in [0, 1, 4, 5, 6, 5000] {
            assert_eq!(read(size, 5).expect("within the bound"), b"12345", "{size}");
        }
        assert_eq!(problem(read(2, 4)), "it has 5 bytes, more than the 4 that such a file can have");
        fs::write(&path, vec![b'x'; 100_000]).expect("it grows");
        assert_eq!(read(5, 100_000).expect("at the bound").len(), 100_000);
        assert_eq!(problem(read(5, 99_999)), "it has 100000 bytes, more than the 99999 that such a file can have");
        // The kernel says of such a file that it is empty.
        let process = Dir::open_ambient(Path::new("/proc/self")).expect("it opens");
        assert!(process.read("status", 1 << 20).expect("a file").starts_with(b"Name:"));
    }

    #[test]
    fn a_directory_stays_the_same_one_whatever_takes_its_name() {
        let (temp, dir) = zoo();
        fs::write(temp.path().join("dir/inner"), "x").expect("a file");
        let (child, entries) = dir.child_with_entries("dir").expect("a directory");
        assert_eq!(entries, [("inner".into(), Kind::File)]);
        fs::rename(temp.path().join("dir"), temp.path().join("moved")).expect("moved");
        symlink("/etc", temp.path().join("dir")).expect("a link");
        assert_eq!(child.read("inner", 10).expect("a file"), b"x");
        assert_eq!(child.entries().expect("listed"), entries);
        assert_eq!(problem(dir.child_with_entries("dir")), "it is a symbolic link, not a directory");
    }

    #[test]
    fn a_listing_is_whole_however_long_it_is() {
        let (temp, dir) = dir();
        fs::create_dir(temp.path().join("wide")).expect("a folder");
        let names: Vec<String> = (100..400).map(|number| format!("{number}{}", "x".repeat(200))).collect();
        names.iter().rev().for_each(|name| fs::write(temp.path().join("wide").join(name), "").expect("a file"));
        let (child, entries) = dir.child_with_entries("wide").expect("a directory");
        assert!(entries.iter().map(|(name, _)| name.to_str()).eq(names.iter().map(|name| Some(name.as_str()))));
        assert_eq!(child.entries().expect("listed"), entries);
        assert_eq!(child.entries().expect("listed again"), entries);
    }

    #[test]
    fn a_name_leads_nowhere_but_to_what_is_in_the_directory() {
        let (temp, dir) = zoo();
        fs::write(temp.path().join("dir/inner"), "x").expect("a file");
        let child = dir.child("dir").expect("a directory");
        for name in ["../file", "..", ".", "", "/etc/passwd", "inner/", "./inner", "inner/."] {
            let refusals = [
                problem(child.read(name, 10)),
                problem(child.child(name)),
                problem(child.child_or_new(name)),
                problem(child.stat_of(name)),
                problem(child.open_or_new(name, Audience::Owner)),
                problem(child.write_new(name, b"")),
                problem(child.unlink(name)),
                problem(child.remove_child(name)),
                problem(child.rename_new("inner", &dir, name)),
                problem(child.rename_new(name, &dir, "stolen")),
                problem(child.rename_over(name, "inner")),
            ];
            let expected = format!("`{name}` is not the name of something in it");
            assert!(refusals.iter().all(|refusal| *refusal == expected), "{refusals:?}");
        }
        assert_eq!(child.read("inner", 10).expect("a file"), b"x");
    }

    #[test]
    fn what_is_made_is_private() {
        let (temp, dir) = dir();
        let deep = temp.path().join("a/b/../c");
        let made = Dir::open_own(&deep, Missing::Create).expect("made");
        made.child_or_new("child").expect("made");
        made.write_new("new", b"1").expect("written");
        made.write_draft("draft", b"2").expect("written");
        made.open_or_new("updated", Audience::Owner).expect("made");
        made.replace("replaced", b"3").expect("written");
        for directory in ["a", "a/b", "a/c", "a/c/child"] {
            assert_eq!(mode(&temp.path().join(directory)), 0o700, "{directory}");
        }
        for file in ["new", "draft", "updated", "replaced"] {
            assert_eq!(mode(&made.path().join(file)), 0o600, "{file}");
        }
        assert_eq!(made.names().expect("listed"), ["child", "draft", "new", "replaced", "updated"]);
        assert_eq!(problem(dir.write_new("a", b"")), "it cannot be created");
    }

    #[test]
    fn what_a_crash_left_of_a_draft_makes_way() {
        let (temp, dir) = dir();
        fs::write(temp.path().join(".tmp-file"), "torn").expect("a draft");
        dir.replace("file", b"one").expect("written");
        dir.replace("file", b"other").expect("written");
        assert_eq!(dir.read("file", 10).expect("a file"), b"other");
        assert_eq!(dir.names().expect("listed"), ["file"]);
    }

    #[test]
    fn a_name_that_is_taken_stays_with_what_has_it() {
        let (_temp, dir) = dir();
        dir.write_new("one", b"1").expect("written");
        dir.write_new("other", b"2").expect("written");
        assert!(dir.rename_new("one", &dir, "other").expect_err("taken").is_taken());
        assert!(dir.write_new("one", b"3").expect_err("taken").is_taken());
        assert_eq!(dir.read("other", 10).expect("a file"), b"2");
    }
}
