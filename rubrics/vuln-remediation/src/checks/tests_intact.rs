//! Whether the project's tests still test what they tested.
//!
//! A patch that turns a scanner green by silencing the tests is worse than none. So every test, every assertion and
//! every test file of the input must still be there, unless the reference changes it too, and no test may be skipped that
//! was not.

use super::Patched;
use crate::failure::{Failure, Failures};
use crate::tree::{Tree, file_name};

/// Compares the tests of the input with those of the patched project.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) {
    let (before, wanted) = (&patched.case.input, &patched.reference.applied.tree);
    for (path, text) in before.texts().filter(|(path, text)| has_tests(path, text)) {
        match patched.applied.tree.text(path) {
            None if wanted.contains(path) => {
                failures.add(Failure::TestDeleted, format!("`{path}` is gone"));
            }
            None => {}
            Some(after) if is_weaker(text, after, wanted.text(path).unwrap_or_default()) => {
                failures.add(Failure::TestWeakened, format!("`{path}` tests less than before"));
            }
            Some(_) => {}
        }
    }
    if skips_whole_suite(before, &patched.applied.tree) {
        failures.add(Failure::TestWeakened, "the test command of package.json is another one");
    }
}

/// Whether a file is part of the tests, by its place, its name, or what it says.
pub fn has_tests(path: &str, text: &str) -> bool {
    const FOLDERS: [&str; 5] = ["test", "tests", "__tests__", "spec", "testdata"];
    const ENDINGS: [&str; 8] =
        ["_test.go", "_test.py", "_test.rs", "Test.java", "Tests.java", "IT.java", "_spec.rb", "conftest.py"];
    let (name, folders) = (file_name(path), path.rsplit_once('/').map_or("", |(folders, _)| folders));
    folders.split('/').any(|folder| FOLDERS.contains(&folder))
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || name.contains(".test.")
        || name.contains(".spec.")
        || (name.starts_with("test_") && name.ends_with(".py"))
        || (name.ends_with(".rs") && text.contains("#[test]"))
}

/// Whether a line that matters is gone without the reference dropping it, or something is skipped anew.
fn is_weaker(before: &str, after: &str, reference: &str) -> bool {
    let (is, wanted) = (lines_that_matter(after), lines_that_matter(reference));
    let count = |lines: &[&str], line: &str| lines.iter().filter(|other| **other == line).count();
    let was = lines_that_matter(before);
    let lost = was.iter().any(|line| count(&is, line) < count(&was, line).min(count(&wanted, line)));
    // A test that the reference rewrites may be rewritten otherwise, but not with less in it.
    let fewer = is.len() < was.len().min(wanted.len());
    lost || fewer || skips(after) > skips(before).max(skips(reference))
}

/// Lines of a test that define it, assert something, or feed what is asserted: all but blank ones and comments.
fn lines_that_matter(text: &str) -> Vec<&str> {
    let is_comment = |line: &&str| {
        (line.starts_with("//") || line.starts_with('#') || line.starts_with('*') || line.starts_with("/*"))
            && !line.starts_with("#[")
    };
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !is_comment(line)).collect()
}

/// How often something is skipped, in any of the usual words for it.
fn skips(text: &str) -> usize {
    const WORDS: [&str; 22] = [
        "importorskip",
        "SkipTest",
        "__test__",
        "del test_",
        "if False",
        "if (false",
        "\"\"\"",
        ".skip(",
        ".skip.",
        ".todo(",
        ".only(",
        "xit(",
        "xdescribe(",
        "xtest(",
        "mark.skip",
        "mark.xfail",
        "unittest.skip",
        "pytest.skip",
        "#[ignore",
        "t.Skip",
        "@Disabled",
        "@Ignore",
    ];
    // What comes behind a return is not run.
    let returns = text.lines().filter(|line| matches!(line.trim(), "return" | "return;" | "return None")).count();
    WORDS.iter().map(|word| text.matches(word).count()).sum::<usize>() + returns
}

/// New files and settings that keep tests from running, such as a configuration that ignores their folder, are changes
/// outside the scope; the one that hides inside a manifest is the test command itself.
fn skips_whole_suite(before: &Tree, after: &Tree) -> bool {
    let command = |tree: &Tree| {
        let manifest: Option<serde_json::Value> = serde_json::from_str(tree.text("package.json")?).ok();
        manifest.and_then(|manifest| manifest.pointer("/scripts/test").cloned())
    };
    command(before).is_some() && command(before) != command(after)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = "test('adds', () => {\n  assert.equal(add(1, 2), 3);\n  assert.equal(add(0, 0), 0);\n});\n";

    #[test]
    fn tests_are_known_by_place_name_or_content() {
        for path in
            ["test/a.js", "src/__tests__/a.ts", "a.spec.ts", "pkg/a_test.go", "tests/test_a.py", "src/test/AT.java"]
        {
            assert!(has_tests(path, ""), "{path}");
        }
        assert!(has_tests("src/lib.rs", "#[test]\nfn a() {}"));
        for path in ["src/a.js", "src/contest.py", "src/lib.rs", "latest.md"] {
            assert!(!has_tests(path, ""), "{path}");
        }
    }

    #[test]
    fn a_lost_changed_or_commented_assertion_is_weaker() {
        let lost = BEFORE.replace("  assert.equal(add(0, 0), 0);\n", "");
        let trivial = BEFORE.replace("assert.equal(add(0, 0), 0)", "assert.ok(true)");
        let comment = BEFORE.replace("  assert.equal(add(0, 0), 0);", "  // assert.equal(add(0, 0), 0);");
        for after in [lost, trivial, comment] {
            assert!(is_weaker(BEFORE, &after, BEFORE), "{after}");
        }
    }

    #[test]
    fn a_skip_is_weaker_and_a_new_test_is_not() {
        assert!(is_weaker(BEFORE, &BEFORE.replace("test(", "test.skip("), BEFORE));
        let more = format!("{BEFORE}test('more', () => {{\n  assert.ok(add(1, 1));\n}});\n");
        assert!(!is_weaker(BEFORE, &more, BEFORE));
        assert!(!is_weaker(BEFORE, BEFORE, BEFORE));
    }

    #[test]
    fn what_the_reference_rewrites_may_be_rewritten_but_not_dropped() {
        let reference = BEFORE.replace("add(0, 0)", "add({ a: 0 })");
        let otherwise = BEFORE.replace("add(0, 0)", "add({ a: 0, b: 0 })");
        assert!(!is_weaker(BEFORE, &otherwise, &reference));
        let dropped = BEFORE.replace("  assert.equal(add(0, 0), 0);\n", "");
        assert!(is_weaker(BEFORE, &dropped, &reference));
    }

    #[test]
    fn another_test_command_skips_the_whole_suite() {
        let tree = |command: &str| {
            let manifest = format!(r#"{{"scripts":{{"test":"{command}"}}}}"#);
            [("package.json".to_owned(), manifest)].into()
        };
        assert!(skips_whole_suite(&tree("node --test"), &tree("exit 0")));
        assert!(!skips_whole_suite(&tree("node --test"), &tree("node --test")));
        assert!(!skips_whole_suite(&Tree::new(), &tree("node --test")));
    }
}
