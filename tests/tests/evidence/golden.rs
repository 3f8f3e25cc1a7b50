//! Evidence that the first version of the format wrote. These files are never made again: a program that cannot verify them
//! has broken somebody's evidence.

use eval_host_tests::{Workbench, copy_tree, project_root};

use crate::{BINARY, verified};

const HEAD: &str = "fa6629a33e0c6b51f9c2b2819f49a02427369e6bd2aeab4b5cc0d08ccd356e2f";

fn with_golden_files() -> Workbench {
    let workbench = Workbench::empty(BINARY);
    copy_tree(&project_root().join("tests/golden/evidence"), workbench.path());
    workbench
}

#[test]
fn a_store_of_version_1_is_verified_against_its_checkpoint() {
    let workbench = with_golden_files();
    let arguments = ["--out=store-v1", "--against=checkpoint-v1.txt", "--trusted-keys=key-v1.txt"];
    let (state, ended) = verified(&workbench, &arguments);
    assert_eq!(state, "OK", "{}", ended.stderr);
    assert_eq!(ended.line("verification")["classes"][0]["head"], HEAD);
}

#[test]
fn a_bundle_of_version_1_is_verified() {
    let (state, ended) = verified(&with_golden_files(), &["bundle-v1.tar"]);
    assert_eq!(state, "OK", "{}", ended.stderr);
    assert_eq!(ended.line("verification")["classes"][0]["head"], HEAD);
}
