//! Nothing is touched that the task does not need, and no test at all.

use super::ignored;
use crate::expectation::Expectation;
use crate::failure::{Finding, Mode};
use crate::glob;
use eval_diff::{Applied, Tree};
use std::collections::BTreeSet;

/// Where tests are, in the ecosystems that the bench has.
const TESTS: [&str; 12] = [
    "**/test/**",
    "**/tests/**",
    "**/spec/**",
    "**/__tests__/**",
    "**/*.Tests/**",
    "**/test_*",
    "**/*_test.*",
    "**/*.test.*",
    "**/*.spec.*",
    "**/*Test.*",
    "**/*Tests.*",
    "**/conftest.py",
];

/// What a patch changed and need not have, beyond what may change at all.
pub(super) fn leftovers(input: &Tree, applied: &Applied, dockerfile: &str) -> BTreeSet<Finding> {
    let doubled = applied.doubled_blocks(input).into_iter().map(|(path, line)| {
        Finding::new(Mode::LinesDoubled, format!("`{path}` says it twice in a row from `{}` on", line.trim()))
    });
    let blank = applied.changed_paths().into_iter().filter(|path| is_blank_change(input, &applied.tree, path));
    let blank =
        blank.map(|path| Finding::new(Mode::UnrelatedChange, format!("`{path}` changes in nothing but blank lines")));
    doubled.chain(blank).chain(ignored::needless(input, &applied.tree, dockerfile)).collect()
}

fn is_blank_change(before: &Tree, after: &Tree, path: &str) -> bool {
    let lines = |tree: &Tree| {
        let text = tree.text(path)?;
        Some(text.lines().map(str::trim_end).filter(|line| !line.is_empty()).map(str::to_owned).collect::<Vec<_>>())
    };
    before.get(path) != after.get(path) && lines(before).is_some_and(|was| Some(was) == lines(after))
}

pub(super) fn judge(expectation: &Expectation, applied: &Applied) -> Vec<Finding> {
    applied.changed_paths().into_iter().filter_map(|path| finding(expectation, path)).collect()
}

/// What the agent was given to read. Whoever changes it changes the question.
const EVIDENCE: [&str; 2] = ["TASK.md", "images.toml"];

fn finding(expectation: &Expectation, path: &str) -> Option<Finding> {
    if EVIDENCE.contains(&path) {
        return Some(Finding::new(Mode::EvidenceChanged, format!("`{path}` is part of the question")));
    }
    let fits = |pattern: &&str| glob::matches_path(pattern, path);
    let own_tests = expectation.tests.iter().map(String::as_str);
    if TESTS.into_iter().chain(own_tests).any(|pattern| fits(&pattern)) {
        return Some(Finding::new(Mode::TestChanged, format!("`{path}` is a test and was changed")));
    }
    let allowed = expectation.changeable().iter().any(fits);
    (!allowed).then(|| Finding::new(Mode::UnrelatedChange, format!("`{path}` need not change")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_diff::{Tree, apply};

    fn modes(path: &str) -> Vec<Mode> {
        let text = "schema_version = 1\naccept = [\"patch\"]\nmay_change = [\"Dockerfile\", \"conf/*.conf\"]\n\
                    tests = [\"checks/**\"]\n[final]\nimages = [\"a\"]\n";
        let expectation = Expectation::parse(text).unwrap();
        let diff = format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
        let applied = apply(&Tree::new(), &diff).unwrap();
        judge(&expectation, &applied).into_iter().map(|finding| finding.mode).collect()
    }

    #[test]
    fn only_what_may_change_may_change() {
        assert_eq!(modes("Dockerfile"), []);
        assert_eq!(modes("conf/nginx.conf"), []);
        assert_eq!(modes("conf/deep/nginx.conf"), [Mode::UnrelatedChange]);
        assert_eq!(modes("app.py"), [Mode::UnrelatedChange]);
        assert_eq!(modes("images.toml"), [Mode::EvidenceChanged]);
    }

    #[test]
    fn tests_are_found_by_the_customs_of_their_languages() {
        let tests = ["tests/a.py", "test_app.py", "x/server_test.go", "a.test.js", "src/test/java/A.java", "checks/a"];
        for path in tests {
            assert_eq!(modes(path), [Mode::TestChanged], "{path}");
        }
        assert_eq!(modes("latest.txt"), [Mode::UnrelatedChange]);
    }
}
