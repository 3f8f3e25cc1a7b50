//! Every way to spoil a unified diff by one step, and the diff so spoilt.
//!
//! Finding an edit is cheap and making it is not, so the two are apart: a diff of thousands of lines has as many edits, of which
//! a few are made.

use std::collections::BTreeSet;

use super::own::OwnMutator;
use super::patch::{FilePatch, Kind, Line, Patch, Place};
use super::stray::stray_lines;
use super::tokens;

/// One step away from a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatchEdit {
    DropLine(Place),
    DuplicateLine(Place),
    /// What was to go stays.
    KeepLine(Place),
    DropHunk {
        file: usize,
        hunk: usize,
    },
    DuplicateHunk {
        file: usize,
        hunk: usize,
    },
    DropFile(usize),
    DuplicateFile(usize),
    /// Another file changes too.
    AddFile(FilePatch),
    /// An added line, before this place.
    Insert(Place, String),
    /// Another text for an added line.
    Replace(Place, String),
    /// A text that is another in all added lines.
    ReplaceEverywhere {
        from: String,
        to: String,
    },
    /// The last field of an object, and the comma before it.
    DropLastField(Place),
}

/// Where sources of a mutant come from. The name is reserved, so nobody can have meant it.
const OTHER_HOST: &str = "mirror.invalid";
const FORK: &str = "git+https://git.invalid/fork.git#0000000000000000000000000000000000000000";

/// A file that no project has.
const NEW_FILE: &str = "stray.txt";

/// At most so many lines of a file that the diff leaves alone are dropped, one at a time.
const LINES_OF_OTHER_FILES: usize = 40;

/// The texts that a case gives to who answers it: paths and contents.
pub(super) type Input<'a> = [(&'a str, &'a str)];

/// All edits of a diff, each with the name of its mutator, in a fixed order.
pub(super) fn patch_edits<'m>(patch: &Patch, own: &'m [OwnMutator], input: &Input<'_>) -> Vec<(&'m str, PatchEdit)> {
    let mut edits = Vec::new();
    whole_parts(patch, &mut edits);
    other_files(patch, input, &mut edits);
    // A blank line more or less is the same file to every reader.
    for (place, line) in patch.places().filter(|(_, line)| !line.text.trim().is_empty()) {
        match line.kind {
            Kind::Added => added_line(patch, place, line, own, &mut edits),
            Kind::Removed => edits.push(("keep-removed-line", PatchEdit::KeepLine(place))),
            Kind::Context => {}
        }
    }
    versions_everywhere(patch, &mut edits);
    edits
}

fn whole_parts(patch: &Patch, edits: &mut Vec<(&str, PatchEdit)>) {
    for (file, parts) in patch.files.iter().enumerate() {
        if patch.files.len() > 1 {
            edits.push(("drop-file", PatchEdit::DropFile(file)));
        }
        edits.push(("duplicate-file", PatchEdit::DuplicateFile(file)));
        for hunk in 0..parts.hunks.len() {
            edits.push(("drop-hunk", PatchEdit::DropHunk { file, hunk }));
            edits.push(("duplicate-hunk", PatchEdit::DuplicateHunk { file, hunk }));
            for stray in stray_lines(parts.path()) {
                for line in [0, parts.hunks[hunk].lines.len()] {
                    edits.push(("stray-line", PatchEdit::Insert(Place { file, hunk, line }, (*stray).to_owned())));
                }
            }
        }
    }
}

/// Changes of files that the diff leaves alone, if its paths are those of the input.
fn other_files(patch: &Patch, input: &Input<'_>, edits: &mut Vec<(&str, PatchEdit)>) {
    let is_touched = |path: &str| patch.files.iter().any(|file| file.path() == path);
    if !input.iter().any(|(path, _)| is_touched(path)) {
        return;
    }
    edits.push(("add-file", PatchEdit::AddFile(FilePatch::new_file(NEW_FILE, "stray"))));
    for (path, text) in input.iter().filter(|(path, _)| !is_touched(path)) {
        let blank = FilePatch::of_file(path, 0, Line::added(""));
        edits.push(("touch-other-file", PatchEdit::AddFile(blank)));
        let lines: Vec<_> = Line::removed(text).into_iter().enumerate().collect();
        for (before, line) in sample(&lines, LINES_OF_OTHER_FILES) {
            let cut = FilePatch::of_file(path, *before, line.clone());
            edits.push(("drop-line-of-other-file", PatchEdit::AddFile(cut)));
        }
    }
}

/// At most so many, spread evenly.
pub(super) fn sample<T>(items: &[T], most: usize) -> impl Iterator<Item = &T> {
    let count = items.len().min(most);
    (0..count).map(move |index| &items[index * items.len() / count])
}

fn added_line<'m>(
    patch: &Patch,
    place: Place,
    line: &Line,
    own: &'m [OwnMutator],
    edits: &mut Vec<(&'m str, PatchEdit)>,
) {
    let path = patch.files[place.file].path();
    let replace = |text: String| PatchEdit::Replace(place, text);
    edits.push(("drop-added-line", PatchEdit::DropLine(place)));
    edits.push(("duplicate-added-line", PatchEdit::DuplicateLine(place)));
    edits.extend(stray_lines(path).iter().map(|stray| ("stray-line", PatchEdit::Insert(place, (*stray).to_owned()))));
    for version in tokens::versions(&line.text) {
        let other = |change: fn(&str) -> Option<String>| {
            change(&line.text[version.clone()]).map(|other| replace(tokens::replaced(&line.text, &version, &other)))
        };
        edits.extend(other(tokens::one_up).map(|edit| ("version-up", edit)));
        edits.extend(other(tokens::one_down).map(|edit| ("version-down", edit)));
    }
    checksums(place, &line.text, edits);
    sources(place, &line.text, edits);
    for mutator in own.iter().filter(|mutator| mutator.fits(path)) {
        edits.extend(mutator.applied(&line.text).map(|text| (mutator.name.as_str(), replace(text))));
    }
}

fn checksums(place: Place, text: &str, edits: &mut Vec<(&str, PatchEdit)>) {
    if tokens::is_checksum_line(text) && !text.trim_end().ends_with(',') {
        edits.push(("drop-checksum", PatchEdit::DropLastField(place)));
    } else if tokens::is_checksum_line(text) {
        edits.push(("drop-checksum", PatchEdit::DropLine(place)));
    }
    for part in tokens::inline_checksums(text) {
        edits.push(("drop-checksum", PatchEdit::Replace(place, tokens::replaced(text, &part, ""))));
    }
    if let Some(value) = tokens::checksum_value(text) {
        let first = if text[value.clone()].starts_with('0') { "1" } else { "0" };
        let part = value.start..value.start + 1;
        edits.push(("other-checksum", PatchEdit::Replace(place, tokens::replaced(text, &part, first))));
    }
}

fn sources(place: Place, text: &str, edits: &mut Vec<(&str, PatchEdit)>) {
    let replace = |part, by| PatchEdit::Replace(place, tokens::replaced(text, &part, by));
    for address in tokens::addresses(text) {
        if let Some(host) = tokens::host(&text[address.clone()]) {
            edits.push(("other-host", replace(address.start + host.start..address.start + host.end, OTHER_HOST)));
        }
        edits.push(("git-fork", replace(address, FORK)));
    }
    for host in tokens::bare_hosts(text) {
        edits.push(("other-host", replace(host, OTHER_HOST)));
    }
}

fn versions_everywhere(patch: &Patch, edits: &mut Vec<(&str, PatchEdit)>) {
    let added = || patch.places().map(|(_, line)| line).filter(|line| line.kind == Kind::Added);
    let versions: BTreeSet<&str> =
        added().flat_map(|line| tokens::versions(&line.text).into_iter().map(|range| &line.text[range])).collect();
    for from in versions {
        for (name, to) in
            [("version-up-everywhere", tokens::one_up(from)), ("version-down-everywhere", tokens::one_down(from))]
        {
            edits.extend(to.map(|to| (name, PatchEdit::ReplaceEverywhere { from: from.to_owned(), to })));
        }
    }
}

impl PatchEdit {
    /// The diff after this step.
    pub(super) fn applied(&self, patch: &Patch) -> Patch {
        let mut patch = patch.clone();
        match self {
            Self::DropLine(place) => drop(patch.lines_mut(*place).remove(place.line)),
            Self::DuplicateLine(place) => {
                let text = patch.lines_mut(*place)[place.line].text.clone();
                patch.lines_mut(*place).insert(place.line, Line::added(text));
            }
            Self::KeepLine(place) => keep(&mut patch, *place),
            Self::DropHunk { file, hunk } => {
                // Not taken out but emptied, so that a file without hunks is told from one that never had any.
                patch.files[*file].hunks[*hunk].lines.clear();
            }
            Self::DuplicateHunk { file, hunk } => {
                let hunks = &mut patch.files[*file].hunks;
                hunks.insert(*hunk, hunks[*hunk].clone());
            }
            Self::DuplicateFile(file) => patch.files.insert(*file, patch.files[*file].clone()),
            Self::DropFile(file) => drop(patch.files.remove(*file)),
            Self::AddFile(file) => patch.add(file.clone()),
            Self::Insert(place, text) => insert(&mut patch, *place, text),
            Self::Replace(place, text) => patch.lines_mut(*place)[place.line].text.clone_from(text),
            Self::ReplaceEverywhere { from, to } => replace_everywhere(&mut patch, from, to),
            Self::DropLastField(place) => drop_last_field(&mut patch, *place),
        }
        patch
    }
}

fn keep(patch: &mut Patch, place: Place) {
    patch.files[place.file].stay();
    let lines = patch.lines_mut(place);
    if lines[place.line].is_cut {
        // It ended the old file without a newline; what follows it now must begin on a line of its own.
        let is_last = !lines[place.line + 1..].iter().any(|line| line.kind == Kind::Added);
        let copy = Line { is_cut: is_last, ..Line::added(lines[place.line].text.clone()) };
        lines.insert(place.line + 1, copy);
    } else {
        lines[place.line].kind = Kind::Context;
    }
}

/// Before the place; a line that ends its file without a newline stays the last.
fn insert(patch: &mut Patch, place: Place, text: &str) {
    patch.files[place.file].stay();
    let lines = patch.lines_mut(place);
    let last = lines.iter().position(|line| line.is_cut && line.kind != Kind::Removed).unwrap_or(lines.len());
    lines.insert(place.line.min(last), Line::added(text));
}

fn replace_everywhere(patch: &mut Patch, from: &str, to: &str) {
    let lines = patch.files.iter_mut().flat_map(|file| &mut file.hunks).flat_map(|hunk| &mut hunk.lines);
    for line in lines.filter(|line| line.kind == Kind::Added) {
        for part in tokens::versions(&line.text).into_iter().rev() {
            if &line.text[part.clone()] == from {
                line.text = tokens::replaced(&line.text, &part, to);
            }
        }
    }
}

fn drop_last_field(patch: &mut Patch, place: Place) {
    let lines = patch.lines_mut(place);
    let is_closed_next = lines[place.line + 1..]
        .iter()
        .find(|line| line.kind != Kind::Removed)
        .is_some_and(|line| line.text.trim_start().starts_with(['}', ']']));
    lines.remove(place.line);
    let before = lines[..place.line].iter().rposition(|line| line.kind != Kind::Removed);
    if let Some(before) = before.filter(|_| is_closed_next)
        && let Some(text) = lines[before].text.strip_suffix(',')
    {
        let without = Line::added(text);
        if lines[before].kind == Kind::Added {
            lines[before] = without;
        } else {
            lines[before].kind = Kind::Removed;
            lines.insert(before + 1, without);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "\
--- a/package.json
+++ b/package.json
@@ -1,4 +1,5 @@
 {
-  \"ws\": \"7.5.9\"
+  \"ws\": \"7.5.10\",
+  \"integrity\": \"sha512-x\"
 }
 end
--- a/note.md
+++ b/note.md
@@ -1 +1 @@
-old
\\ No newline at end of file
+see https://a.example/x
\\ No newline at end of file
";

    fn mutants(mutator: &str) -> Vec<String> {
        mutants_of(DIFF, mutator, &[])
    }

    fn mutants_of(diff: &str, mutator: &str, input: &Input<'_>) -> Vec<String> {
        let patch = Patch::parse(diff).expect("a diff");
        let edits = patch_edits(&patch, &[], input).into_iter().filter(|(name, _)| *name == mutator);
        let texts: Vec<_> = edits.map(|(_, edit)| edit.applied(&patch).text()).collect();
        for text in texts.iter().filter(|text| !text.is_empty()) {
            assert_eq!(Patch::parse(text).expect("a mutant is a diff").text(), *text);
            assert_ne!(text, diff);
        }
        texts
    }

    #[track_caller]
    fn has(mutator: &str, part: &str) {
        let mutants = mutants(mutator);
        assert!(mutants.iter().any(|text| text.contains(part)), "{part} in {mutants:#?}");
    }

    #[test]
    fn lines_are_dropped_duplicated_and_kept_with_right_counts() {
        has("drop-added-line", "@@ -1,4 +1,4 @@\n {\n-  \"ws\": \"7.5.9\"\n+  \"ws\": \"7.5.10\",\n }\n");
        has("duplicate-added-line", "@@ -1,4 +1,6 @@\n");
        has("keep-removed-line", "@@ -1,4 +1,6 @@\n {\n   \"ws\": \"7.5.9\"\n+  \"ws\": \"7.5.10\",\n");
        assert_eq!(mutants("drop-added-line").len(), 3);
    }

    #[test]
    fn a_file_that_ends_without_a_newline_still_does() {
        let cut = "\\ No newline at end of file\n";
        has("keep-removed-line", &format!("@@ -1 +1,2 @@\n-old\n{cut}+old\n+see https://a.example/x\n{cut}"));
        has("duplicate-added-line", &format!("+see https://a.example/x\n+see https://a.example/x\n{cut}"));
        has("drop-added-line", &format!("@@ -1 +0,0 @@\n-old\n{cut}"));
    }

    #[test]
    fn hunks_and_files_go_and_come_twice() {
        assert_eq!((mutants("duplicate-file").len(), mutants("duplicate-hunk").len()), (2, 2));
        has("duplicate-hunk", "+see https://a.example/x\n\\ No newline at end of file\n@@ -1 +1 @@\n-old\n");
        has("duplicate-file", " end\n--- a/package.json\n+++ b/package.json\n@@ -1,4 +1,5 @@\n {\n");
        assert_eq!(mutants("drop-file").len(), 2);
        let first = DIFF.split("--- a/note.md").next().expect("a beginning");
        assert_eq!(mutants("drop-hunk")[1], first);
        let shrinks = "--- a/x\n+++ b/x\n@@ -1,3 +0,0 @@\n-a\n-b\n-c\n";
        assert_eq!(mutants_of(shrinks, "duplicate-hunk", &[]), [format!("{shrinks}@@ -1,3 +0,0 @@\n-a\n-b\n-c\n")]);
        assert_eq!(mutants_of(first, "drop-hunk", &[]), [""]);
        assert_eq!(mutants_of(first, "drop-file", &[]).len(), 0, "its only hunk is dropped already");
    }

    #[test]
    fn versions_move_in_one_place_and_in_all() {
        has("version-up", "+  \"ws\": \"7.5.11\",\n");
        has("version-down", "+  \"ws\": \"7.5.9\",\n");
        let twice = "--- a/x\n+++ b/x\n@@ -0,0 +1,2 @@\n+1.2.3 1.2.3\n+1.2.3.4\n";
        assert_eq!(mutants_of(twice, "version-up", &[]).len(), 3);
        let everywhere = mutants_of(twice, "version-down-everywhere", &[]);
        assert!(everywhere[0].ends_with("+1.2.2 1.2.2\n+1.2.3.4\n"), "{everywhere:?}");
    }

    #[test]
    fn a_checksum_goes_with_the_comma_that_would_dangle() {
        has("drop-checksum", "+  \"ws\": \"7.5.10\"\n }\n");
        let context = "--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n \"a\": 1,\n+\"integrity\": \"x\"\n }\n";
        assert!(mutants_of(context, "drop-checksum", &[])[0].ends_with("@@ -1,2 +1,2 @@\n-\"a\": 1,\n+\"a\": 1\n }\n"));
    }

    #[test]
    fn a_source_becomes_another() {
        has("other-host", "+see https://mirror.invalid/x\n");
        has("git-fork", "+see git+https://git.invalid/fork.git#0");
    }

    #[test]
    fn files_that_the_diff_leaves_alone_change_too() {
        let diff = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b";
        let input = [("x", "a\n"), ("t/y", "one\ntwo")];
        let added = |mutator| mutants_of(diff, mutator, &input);
        let begin = format!("{diff}\n");
        assert_eq!(added("add-file"), [format!("{begin}--- /dev/null\n+++ b/stray.txt\n@@ -0,0 +1 @@\n+stray\n")]);
        assert_eq!(added("touch-other-file"), [format!("{begin}--- a/t/y\n+++ b/t/y\n@@ -0,0 +1 @@\n+\n")]);
        let dropped = [
            format!("{begin}--- a/t/y\n+++ b/t/y\n@@ -1 +0,0 @@\n-one\n"),
            format!("{begin}--- a/t/y\n+++ b/t/y\n@@ -2 +1,0 @@\n-two\n\\ No newline at end of file\n"),
        ];
        assert_eq!(added("drop-line-of-other-file"), dropped);
        assert_eq!(mutants_of(diff, "add-file", &[("elsewhere", "")]).len(), 0, "the diff is not about the input");
        let long = "line\n".repeat(1000);
        assert_eq!(mutants_of(diff, "drop-line-of-other-file", &[("x", ""), ("y", &long)]).len(), 40);
    }

    #[test]
    fn stray_lines_go_by_the_kind_of_file() {
        has("stray-line", "+# stray\n {\n");
        has("stray-line", " end\n+# stray\n");
        has("stray-line", "+<<<<<<< stray\n+see");
        let gone = "diff --git a/x.py b/x.py\ndeleted file mode 100644\n--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
        assert!(mutants_of(gone, "stray-line", &[])[0].ends_with("+++ b/x.py\n@@ -1 +1 @@\n+stray stray (\n-a\n"));
    }
}
