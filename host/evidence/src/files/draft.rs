//! A file that gets its name only when it is whole and durable.
//!
//! Its draft has a name that nobody else draws, so two processes that write the same file do not write into each other's. A
//! writer that is dropped takes its draft away; one that is killed leaves a file whose name begins with `.tmp-`.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;

use super::dir::{Audience, Dir};
use super::error::FileError;

/// A file that is being written.
#[derive(Debug)]
pub struct Draft {
    dir: Dir,
    file: File,
    /// What it is called for now.
    draft: String,
    /// What it will be called.
    name: String,
}

impl Draft {
    pub fn begin(dir: Dir, name: &str, audience: Audience) -> Result<Self, FileError> {
        let mut number = [0; 8];
        getrandom::fill(&mut number).map_err(|error| FileError::io("created", &dir.path().join(name), error))?;
        let draft = format!(".tmp-{:016x}-{name}", u64::from_be_bytes(number));
        let file = dir.create(&draft, audience)?;
        Ok(Self { dir, file, draft, name: name.to_owned() })
    }

    pub fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.file.write_all(bytes).map_err(|error| FileError::io("written", &self.path(), error))
    }

    /// The file itself, for somebody who writes a lot of it.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its name, durably, if nothing has it: what is there already stays as it is.
    pub fn publish_new(self) -> Result<PathBuf, FileError> {
        self.dir.sync_file(&self.file, &self.draft)?;
        self.dir.name_new(&self.draft, &self.name)?;
        self.dir.sync()?;
        Ok(self.path())
    }

    /// Gives the file its name, durably. What had it before is gone then, and until then is as it was.
    pub fn publish(self) -> Result<PathBuf, FileError> {
        self.dir.sync_file(&self.file, &self.draft)?;
        self.dir.rename_over(&self.draft, &self.name)?;
        self.dir.sync()?;
        Ok(self.path())
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join(&self.name)
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After `publish` nothing has this name any more. What cannot be taken away says by its name that it is a draft.
        let _ = self.dir.unlink(&self.draft);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn draft(folder: &tempfile::TempDir, audience: Audience) -> Draft {
        Draft::begin(Dir::open_ambient(folder.path()).expect("it opens"), "file", audience).expect("a draft")
    }

    #[test]
    fn a_draft_that_replaces_nothing_leaves_what_is_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        let mut first = draft(&folder, Audience::Owner);
        first.write(b"first").expect("written");
        assert_eq!(first.publish_new().expect("published"), path);
        let mut second = draft(&folder, Audience::Owner);
        second.write(b"second").expect("written");
        assert!(second.publish_new().expect_err("the name is taken").is_taken());
        assert_eq!(fs::read(&path).expect("a file"), b"first");
        assert_eq!(fs::read_dir(folder.path()).expect("listed").count(), 1, "no draft is left");
    }

    #[test]
    fn a_draft_has_its_name_when_it_is_published_and_is_gone_when_it_is_dropped() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let count = || fs::read_dir(folder.path()).expect("listed").count();
        let path = folder.path().join("file");
        let mut first = draft(&folder, Audience::Owner);
        let mut second = draft(&folder, Audience::Owner);
        first.write(b"first").expect("written");
        second.write(b"second").expect("written");
        assert!(!path.exists());
        assert_eq!(first.publish().expect("published"), path);
        assert_eq!((fs::read(&path).expect("a file"), count()), (b"first".to_vec(), 2));
        drop(second);
        assert_eq!((fs::read(&path).expect("a file"), count()), (b"first".to_vec(), 1));
        let mut third = draft(&folder, Audience::Owner);
        third.write(b"third").expect("written");
        third.publish().expect("published");
        assert_eq!((fs::read(&path).expect("a file"), count()), (b"third".to_vec(), 1));
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600);
    }
}
