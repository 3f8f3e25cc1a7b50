//! A bench of very many small cases: the fixture's registration and rubric, and cases of four short files, none like another.

use std::fs;
use std::path::Path;

use crate::Workbench;
use crate::guests;
use crate::workbench::{install_rubric, project_root};

impl Workbench {
    /// A workbench with as many small cases as that, whose cassettes pass.
    ///
    /// # Panics
    ///
    /// If a case cannot be written.
    pub fn with_small_cases(cases: usize, binary: &str) -> Self {
        let workbench = Self::empty(binary);
        let bench = workbench.fixture();
        fs::create_dir_all(bench.join("cases")).expect("a folder");
        let registration = project_root().join("tests/fixture/bench/fixture/registration.toml");
        fs::copy(registration, bench.join("registration.toml")).expect("a copy");
        install_rubric(&bench, guests::JUDGES_GREETINGS);
        (1..=cases).for_each(|number| write_case(&bench.join("cases"), number));
        workbench
    }
}

fn write_case(cases: &Path, number: usize) {
    let name = format!("{number:06}-greets");
    let folder = cases.join(&name);
    fs::create_dir_all(folder.join("input")).expect("a folder");
    fs::create_dir(folder.join("expected")).expect("a folder");
    let write = |path: &str, text: String| fs::write(folder.join(path), text).expect("a file");
    let note = format!("To: Ada {number}\nFrom: Grace\n");
    let input_digest = input_digest("input/note.txt", note.as_bytes());
    write("input/note.txt", note);
    write("expected/right.txt", format!("add Hello, Ada {number}!\n"));
    write(
        "case.toml",
        format!(
            "case_id = \"{name}\"\ntask_class = \"fixture\"\ndisposition = \"positive\"\ndifficulty = \"easy\"\n\
             source = \"curated\"\nadded_at = \"2026-11-16\"\nlast_validated_at = \"2026-11-16\"\n"
        ),
    );
    let diff = format!(
        "--- a/note.txt\n+++ b/note.txt\n@@ -1,2 +1,3 @@\n To: Ada {number}\n From: Grace\n+Hello, Ada {number}!\n"
    );
    let cassette = serde_json::json!({
        "schema_version": 1,
        "sut": { "name": "curator", "version": "1" },
        "kind": "solved-example",
        "input_digest": input_digest,
        "recorded_at": "2026-11-16T00:00:00Z",
        "duration_seconds": 0.0,
        "cost_usd": 0.0,
        "output": { "action": "patch", "diff": diff },
    });
    write("cassette.json", cassette.to_string());
}

/// What a case says that its system under test was given, by the rule of the manifest, for an input of one file.
fn input_digest(path: &str, bytes: &[u8]) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(path.len() as u64).to_le_bytes());
    hasher.update(path.as_bytes());
    hasher.update(blake3::hash(bytes).as_bytes());
    hasher.finalize().to_hex().to_string()
}
