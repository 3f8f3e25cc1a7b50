//! A folder of a test's own, with a copy of the benches and an empty home.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Eval, guests};

/// The task class of the tests' own bench, `tests/fixture/bench/fixture`.
pub const FIXTURE: &str = "fixture";

/// The root of this repository.
///
/// # Panics
///
/// Never: the manifest's folder has a parent.
pub fn project_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ has a parent").to_owned()
}

/// Copies a folder and all below it.
///
/// # Panics
///
/// If anything cannot be copied.
pub fn copy_tree(from: &Path, to: &Path) {
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

/// Puts a component into a bench's folder, with its pin.
///
/// # Panics
///
/// If it cannot be written.
pub fn install_rubric(bench: &Path, component: &[u8]) {
    let pin = format!("{}  rubric.wasm\n", blake3::hash(component).to_hex());
    fs::write(bench.join("rubric.wasm"), component).expect("the component");
    fs::write(bench.join("rubric.wasm.blake3"), pin).expect("the pin");
}

/// A temporary folder with `bench/` in it.
#[derive(Debug)]
pub struct Workbench {
    temp: tempfile::TempDir,
    binary: PathBuf,
}

impl Workbench {
    /// A workbench without benches.
    ///
    /// # Panics
    ///
    /// If there is no temporary folder to be had.
    pub fn empty(binary: &str) -> Self {
        let temp = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(temp.path().join("home")).expect("a home");
        fs::create_dir(temp.path().join("bench")).expect("a bench root");
        Self { temp, binary: PathBuf::from(binary) }
    }

    /// A workbench with a copy of one bench of this repository.
    pub fn with_bench(binary: &str, task_class: &str) -> Self {
        let workbench = Self::empty(binary);
        copy_tree(&project_root().join("bench").join(task_class), &workbench.path().join("bench").join(task_class));
        workbench
    }

    /// A workbench with the fixture: the bench for tests that are about any bench. Its cases are `001-greets`,
    /// `002-leaves-alone` and `003-either-way`, and its solved examples pass.
    pub fn with_fixture(binary: &str) -> Self {
        let workbench = Self::empty(binary);
        copy_tree(&project_root().join("tests/fixture/bench").join(FIXTURE), &workbench.fixture());
        install_rubric(&workbench.fixture(), guests::JUDGES_GREETINGS);
        workbench
    }

    /// A workbench with the fixture and as many cases as that: its own, over and over, as `004-greets`, `005-leaves-alone`
    /// and so on. A copy has no golden tests, so the fence is for [`Workbench::with_fixture`].
    ///
    /// # Panics
    ///
    /// If a case cannot be copied.
    pub fn with_fixture_of(cases: usize, binary: &str) -> Self {
        let workbench = Self::with_fixture(binary);
        let folder = workbench.fixture().join("cases");
        let mut names: Vec<String> = fs::read_dir(&folder)
            .expect("the cases")
            .map(|entry| entry.expect("a case").file_name().into_string().expect("UTF-8"))
            .collect();
        names.sort_unstable();
        for number in names.len()..cases {
            let original = &names[number % names.len()];
            let (_, kind) = original.split_once('-').expect("a number and a name");
            let name = format!("{:03}-{kind}", number + 1);
            copy_tree(&folder.join(original), &folder.join(&name));
            let file = folder.join(&name).join("case.toml");
            let text = fs::read_to_string(&file).expect("case.toml").replace(original.as_str(), &name);
            fs::write(file, text).expect("case.toml");
        }
        workbench
    }

    /// The fixture's folder.
    pub fn fixture(&self) -> PathBuf {
        self.path().join("bench").join(FIXTURE)
    }

    /// Puts a component in place of a bench's rubric, with its pin.
    pub fn replace_rubric(&self, task_class: &str, component: &[u8]) {
        install_rubric(&self.path().join("bench").join(task_class), component);
    }

    /// The store of a command line that names no other.
    pub fn store(&self) -> PathBuf {
        self.path().join(".codegenie/eval")
    }

    /// Takes away the store and what is remembered of it, if there is one.
    pub fn forget_runs(&self) {
        for left in [".codegenie", "home/.local"] {
            let _ = fs::remove_dir_all(self.path().join(left));
        }
    }

    pub fn path(&self) -> &Path {
        self.temp.path()
    }

    /// An eval-host command line in this folder. Compiled rubrics are shared between tests, beside the binary, as they are
    /// between an operator's runs.
    pub fn eval<const N: usize>(&self, args: [&str; N]) -> Eval {
        let cache = self.binary.with_file_name("test-cache");
        Eval::new(&self.binary, self.path(), &self.path().join("home")).env("XDG_CACHE_HOME", cache).args(args)
    }
}
