//! The folder of the compile cache, when it is not as it should be: an error before the run, and never anybody else's code.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use eval_host_tests::{Ended, Workbench};

use crate::BINARY;

fn run(workbench: &Workbench) -> Ended {
    let cache = workbench.path().join("cache");
    workbench.eval(["run", "--task-class=fixture"]).env("XDG_CACHE_HOME", cache).run()
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn a_link_and_a_folder_that_is_open_to_others_are_refused() {
    let workbench = Workbench::with_fixture(BINARY);
    let cache = workbench.path().join("cache/eval-host");
    fs::create_dir_all(workbench.path().join("cache")).expect("a folder");
    fs::create_dir(workbench.path().join("elsewhere")).expect("a folder");
    symlink(workbench.path().join("elsewhere"), &cache).expect("a link");
    let linked = run(&workbench).expect_code(1);
    assert!(linked.stderr.contains("is not a directory of its own"), "{}", linked.stderr);
    fs::remove_file(&cache).expect("the link");
    fs::create_dir(&cache).expect("a folder");
    mode(&cache, 0o770);
    let open = run(&workbench).expect_code(1);
    assert!(open.stderr.contains("has mode 770, so that others can reach the code in it"), "{}", open.stderr);
    mode(&cache, 0o700);
    let _ = run(&workbench).expect_code(0);
}

/// `/dev/full` has no room by design; a folder has none where nothing can be made in it.
#[test]
fn a_cache_that_cannot_be_written_is_an_error_unless_the_rubric_is_in_it() {
    let workbench = Workbench::with_fixture(BINARY);
    let cache = workbench.path().join("cache/eval-host");
    fs::create_dir_all(&cache).expect("a folder");
    mode(&cache, 0o700);
    // Root may write where the mode forbids it, and nobody where there is a file in place of a folder.
    fs::write(cache.join("modules"), "").expect("a file");
    let full = run(&workbench).expect_code(1);
    assert!(full.stderr.contains("compiled code cannot be kept in the compile cache"), "{}", full.stderr);
    assert!(full.stderr.contains("XDG_CACHE_HOME"), "{}", full.stderr);
    fs::remove_file(cache.join("modules")).expect("the file");
    let _ = run(&workbench).expect_code(0);
}

#[test]
fn files_that_may_not_grow_are_an_error_and_no_crash() {
    let workbench = Workbench::with_fixture(BINARY);
    let cache = workbench.path().join("cache");
    for signal in ["trap '' XFSZ", "trap - XFSZ"] {
        let eval = workbench.eval(["rubric", "test", "--task-class=fixture"]).env("XDG_CACHE_HOME", &cache);
        let ended = eval.after(&format!("{signal}\nulimit -f 16")).run();
        assert!(ended.code.is_none_or(|code| code == 1), "{:?}: {}", ended.code, ended.stderr);
    }
}
