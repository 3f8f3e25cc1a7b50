//! What `verify` says of a store that somebody changed.

use std::fs;

use eval_host_tests::Workbench;

use crate::BINARY;

#[test]
fn changing_one_byte_of_a_record_makes_verify_name_it() {
    let workbench = Workbench::with_fixture(BINARY);
    let run = || workbench.eval(["run", "--task-class=fixture"]).run();
    let verify = || workbench.eval(["verify", "--task-class=fixture"]).run();
    let first = run().expect_code(0);
    let _second = run().expect_code(0);
    assert_eq!(verify().expect_code(0).line("verification")["state"], "OK");

    let path = first.record_path(workbench.path());
    let name = path.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
    let text = fs::read_to_string(&path).expect("the record");
    fs::write(&path, text.replacen("\"score\":1.0", "\"score\":0.9", 1)).expect("the record");
    let ended = verify().expect_code(6);
    assert_eq!(ended.line("verification")["state"], "TAMPERED");
    assert!(ended.stderr.contains(&name), "{}", ended.stderr);

    let refused = run().expect_code(6);
    assert!(refused.stderr.contains("TAMPERED"), "a broken chain is not continued: {}", refused.stderr);
    assert_eq!(refused.stdout, "");
}

#[test]
fn a_store_that_is_not_there_cannot_be_verified() {
    let ended = Workbench::empty(BINARY).eval(["verify"]).run().expect_code(6);
    assert!(ended.stderr.contains("there is no store at `.codegenie/eval`"), "{}", ended.stderr);
}
