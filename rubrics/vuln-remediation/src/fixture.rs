//! A small case in memory, for the tests of this crate: one pinned package, one advisory, one test.

use eval_rubric::{BenchCase, CaseFiles, Difficulty, Disposition, RubricError, Source};

use crate::case::Case;

/// The files of a case, to be changed before it is read.
#[derive(Debug, Clone)]
pub(crate) struct Fixture {
    disposition: Disposition,
    files: Vec<(String, String)>,
}

const FILES: [(&str, &str); 8] = [
    ("input/task.json", r#"{"ecosystem":"PyPI","advisories":["A-1"],"policy":{"pre_releases":false}}"#),
    (
        "input/advisories.json",
        r#"[{"id":"A-1","aliases":["CVE-1"],"affected":[{"package":{"ecosystem":"PyPI","name":"lib"},
            "ranges":[{"events":[{"introduced":"0"},{"fixed":"1.2"}]}]}]}]"#,
    ),
    (
        "input/registry.json",
        r#"{"ecosystem":"PyPI","taken_at":"2024-01-01","packages":{
            "lib":{"1.0":{},"1.1":{},"1.2":{},"1.3":{},"2.0":{}},"other":{"5":{},"6":{}}}}"#,
    ),
    ("input/requirements.txt", "lib==1.1\nother==5\n"),
    ("input/app.py", "import lib\n"),
    ("input/tests/test_app.py", "def test_app():\n    assert True\n"),
    ("expected/fix.diff", "--- a/requirements.txt\n+++ b/requirements.txt\n@@ -1 +1 @@\n-lib==1.1\n+lib==1.2\n"),
    ("expected/cve-delta.json", r#"{"removed":["A-1"],"remaining":[]}"#),
];

impl Fixture {
    /// A case that accepts the patch to 1.2.
    pub(crate) fn positive() -> Self {
        let files = FILES.map(|(path, text)| (path.to_owned(), text.to_owned())).to_vec();
        let fixture = Self { disposition: Disposition::Positive, files };
        fixture.with("expected/verdict.toml", "accepts = [\"patch\"]\n")
    }

    pub(crate) fn with(mut self, path: &str, text: &str) -> Self {
        self.files.retain(|(known, _)| known != path);
        self.files.push((path.to_owned(), text.to_owned()));
        self
    }

    pub(crate) fn disposed(mut self, disposition: Disposition) -> Self {
        self.disposition = disposition;
        self
    }

    pub(crate) fn read(self) -> Result<Case, RubricError> {
        let case = BenchCase {
            case_id: "fixture".to_owned(),
            task_class: "vuln-remediation".to_owned(),
            disposition: self.disposition,
            difficulty: Difficulty::Easy,
            source: Source::Curated,
        };
        Case::read(&case, &CaseFiles::in_memory(self.files))
    }
}

/// A diff that puts a line in the place of another one.
pub(crate) fn replace_line(path: &str, number: usize, old: &str, new: &str) -> String {
    format!("--- a/{path}\n+++ b/{path}\n@@ -{number} +{number} @@\n-{old}\n+{new}\n")
}
