//! What unit tests need to run real agents: this program, as it is built beside them.

#![expect(clippy::disallowed_methods, reason = "a test finds the program where cargo puts it")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::reach::{Confine, Reach, ReachArgs};
use crate::bench::SutSettings;

/// The program whose stages run agents. Tests of the whole build it, and a test that is run alone needs it all the same.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test is a program");
    let folder = test.ancestors().nth(2).expect("cargo puts tests below the programs");
    let program = folder.join("eval-host-under-test");
    assert!(program.exists(), "build it first: cargo build -p eval-host-tests --bins");
    program
}

/// The reach of an agent that is not confined: tests of the cage are tests of the whole program.
pub(crate) fn unconfined() -> Reach {
    let args = ReachArgs {
        confine: Confine::Never,
        read: &[],
        write: &[],
        command: Vec::new(),
        program: Path::new("/usr/bin/eval-host"),
        home: None,
        here: Path::new("/"),
        scratch: Path::new("/tmp"),
        protected: &[],
    };
    Reach::new(&SutSettings::of_command(vec!["agent".to_owned()]), &args).expect("nothing is shown")
}

/// Processes that were started from a folder: they work in it, or their environment names it.
pub(crate) fn processes_of(folder: &Path) -> BTreeSet<String> {
    let name = folder.to_string_lossy().into_owned();
    let entries = fs::read_dir("/proc").expect("processes").filter_map(Result::ok);
    let is_of = |process: &PathBuf| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        let works_there =
            fs::read_link(process.join("cwd")).is_ok_and(|folder| folder.to_string_lossy().contains(&name));
        works_there || String::from_utf8_lossy(&environment).contains(&name)
    };
    let numbered = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<u32>().is_ok());
    let ours = entries.map(|entry| entry.path()).filter(numbered).filter(is_of);
    ours.map(|path| path.display().to_string()).collect()
}
