//! A copy of the tests' own bench (`tests/fixture/bench`), for tests to break without starting a process.
//!
//! The bench has no component there, so this puts bytes in its place that are none, with their pin.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use eval_evidence::files::Dir;
use eval_model::ids::{Digest, TaskClassName};

/// What lies in place of a component.
pub(crate) const NO_COMPONENT: &[u8] = b"not a component";

/// A bench root with the fixture in it.
pub(crate) struct Fixture {
    temp: TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let fixture = Self { temp: tempfile::tempdir().expect("a temporary folder") };
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixture/bench"), fixture.temp.path());
        fixture.write("rubric.wasm", NO_COMPONENT);
        fixture.write("rubric.wasm.blake3", format!("{}  rubric.wasm\n", Digest::of(NO_COMPONENT)));
        fixture
    }

    pub(crate) fn task_class() -> TaskClassName {
        "fixture".parse().expect("a task class")
    }

    /// The bench root, opened.
    pub(crate) fn root(&self) -> Dir {
        Dir::open_ambient(self.temp.path()).expect("a folder")
    }

    /// Another folder of this test's own, opened.
    pub(crate) fn open(&self, path: &str) -> Dir {
        Dir::open_ambient(&self.path(path)).expect("a folder")
    }

    /// A path in the bench.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.temp.path().join("fixture").join(below)
    }

    /// A text without what differs between two copies: the bench's path.
    pub(crate) fn anywhere(&self, text: &str) -> String {
        text.replace(self.temp.path().to_str().expect("UTF-8"), "ROOT")
    }

    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) {
        let path = self.path(below);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, content).expect("written");
    }

    pub(crate) fn read(&self, below: &str) -> String {
        fs::read_to_string(self.path(below)).expect("text")
    }

    /// Replaces a text that must be there.
    pub(crate) fn edit(&self, below: &str, from: &str, to: &str) {
        let text = self.read(below);
        assert!(text.contains(from), "`{from}` in {below}");
        self.write(below, text.replacen(from, to, 1));
    }

    /// Removes a file, or a folder with all that is in it.
    pub(crate) fn remove(&self, below: &str) {
        let path = self.path(below);
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.expect("removed");
    }
}

fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the target folder");
    for entry in fs::read_dir(from).expect("the source folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("its kind").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}
