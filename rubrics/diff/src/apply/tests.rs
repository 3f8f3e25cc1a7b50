use super::*;
use crate::path::PathError;

fn tree() -> Tree {
    [("Dockerfile", "FROM a\nRUN b\nCMD c\n"), ("src/app.txt", "one\ntwo\nthree"), ("empty", "")].into_iter().collect()
}

#[track_caller]
fn applied(diff: &str) -> Applied {
    match apply(&tree(), diff) {
        Ok(applied) => applied,
        Err(error) => panic!("must apply, but {error}"),
    }
}

/// The problem and its line.
#[track_caller]
fn refused(diff: &str) -> (usize, Problem) {
    match apply(&tree(), diff) {
        Ok(applied) => panic!("must be refused, but changed {:?}", applied.changes),
        Err(DiffError { line, problem }) => (line, problem),
    }
}

fn mismatch(path: &str, at: usize) -> Problem {
    Problem::Mismatch { path: path.to_owned(), at }
}

#[test]
fn a_changed_file_has_its_new_lines_and_the_others_are_as_they_were() {
    let diff = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1,3 +1,3 @@\n-FROM a\n+FROM z\n RUN b\n CMD c\n";
    let applied = applied(diff);
    assert_eq!(applied.tree.text("Dockerfile"), Some("FROM z\nRUN b\nCMD c\n"));
    assert_eq!(applied.tree.text("src/app.txt"), tree().text("src/app.txt"));
    let [change] = &applied.changes[..] else { panic!("{:?}", applied.changes) };
    assert_eq!((change.line, &change.operation), (1, &Operation::Modify("Dockerfile".to_owned())));
    assert_eq!(change.removed().collect::<Vec<_>>(), ["FROM a\n"]);
    assert_eq!(change.added().collect::<Vec<_>>(), ["FROM z\n"]);
    assert!(!change.sets_mode);
}

#[test]
fn an_empty_diff_changes_nothing() {
    for diff in ["", "\n", "\n\n"] {
        assert_eq!(applied(diff), Applied { tree: tree(), changes: Vec::new() });
    }
}

#[test]
fn several_hunks_and_the_form_without_counts_apply() {
    let diff = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1 +1,2 @@\n-FROM a\n+FROM z\n+USER 1\n@@ -3 +4 @@ tail\n-CMD c\n+CMD d\n";
    assert_eq!(applied(diff).tree.text("Dockerfile"), Some("FROM z\nUSER 1\nRUN b\nCMD d\n"));
}

#[test]
fn a_range_of_no_lines_inserts_after_the_line_it_names() {
    let diff = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1,0 +2 @@\n+USER 1\n";
    assert_eq!(applied(diff).tree.text("Dockerfile"), Some("FROM a\nUSER 1\nRUN b\nCMD c\n"));
    let diff = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -3,0 +4 @@\n+USER 1\n";
    assert_eq!(applied(diff).tree.text("Dockerfile"), Some("FROM a\nRUN b\nCMD c\nUSER 1\n"));
}

#[test]
fn new_deleted_and_renamed_files_are_in_the_tree_and_in_the_list() {
    let diff = "\
diff --git a/new.txt b/new.txt
new file mode 100644
index 0000000..1111111
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+x
+y
diff --git a/Dockerfile b/Dockerfile
deleted file mode 100644
--- a/Dockerfile
+++ /dev/null
@@ -1,3 +0,0 @@
-FROM a
-RUN b
-CMD c
diff --git a/src/app.txt b/src/main.txt
similarity index 66%
rename from src/app.txt
rename to src/main.txt
--- a/src/app.txt
+++ b/src/main.txt
@@ -1,3 +1,3 @@
-one
+ONE
 two
 three
\\ No newline at end of file
diff --git a/empty b/also empty
similarity index 100%
rename from empty
rename to also empty
";
    let applied = applied(diff);
    let expected: Tree =
        [("new.txt", "x\ny\n"), ("src/main.txt", "ONE\ntwo\nthree"), ("also empty", "")].into_iter().collect();
    assert_eq!(applied.tree, expected);
    let paths: Vec<&str> = applied.changed_paths().into_iter().collect();
    assert_eq!(paths, ["Dockerfile", "also empty", "empty", "new.txt", "src/app.txt", "src/main.txt"]);
    let operation = |path: &str| applied.change(path).map(|change| change.operation.clone());
    assert_eq!(operation("Dockerfile"), Some(Operation::Delete("Dockerfile".to_owned())));
    let renamed = Operation::Rename { from: "src/app.txt".to_owned(), to: "src/main.txt".to_owned() };
    assert_eq!((operation("src/main.txt"), operation("src/app.txt")), (Some(renamed), None));
}

#[test]
fn a_plain_section_without_git_lines_creates_and_deletes_too() {
    let diff = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n--- a/Dockerfile\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-FROM a\n-RUN b\n-CMD c\n";
    let applied = applied(diff);
    assert_eq!(applied.tree.text("n"), Some("x\n"));
    assert!(!applied.tree.contains("Dockerfile"));
}

#[test]
fn empty_files_come_and_go_without_hunks() {
    let diff = "diff --git a/e2 b/e2\nnew file mode 100644\nindex 0..0\ndiff --git a/empty b/empty\ndeleted file mode 100644\n";
    let applied = applied(diff);
    assert_eq!(applied.tree.get("e2"), Some(&b""[..]));
    assert!(!applied.tree.contains("empty"));
    let refusal = refused("diff --git a/Dockerfile b/Dockerfile\ndeleted file mode 100644\n");
    assert_eq!(refusal, (1, Problem::DeleteLeavesLines("Dockerfile".to_owned())));
}

#[test]
fn a_mode_alone_counts_as_a_change() {
    let applied = applied("diff --git a/Dockerfile b/Dockerfile\nold mode 100644\nnew mode 100755\n");
    assert_eq!(applied.tree, tree());
    assert_eq!(applied.changes[0].operation, Operation::Modify("Dockerfile".to_owned()));
    assert!(applied.changes[0].sets_mode);
    for half in ["old mode 100644", "new mode 100755"] {
        let diff = format!("diff --git a/Dockerfile b/Dockerfile\n{half}\n");
        assert_eq!(refused(&diff), (1, Problem::Contradiction), "{half}");
    }
}

#[test]
fn the_end_of_a_file_is_exact_in_both_directions() {
    let adds = "--- a/src/app.txt\n+++ b/src/app.txt\n@@ -3 +3 @@\n-three\n\\ No newline at end of file\n+three\n";
    assert_eq!(applied(adds).tree.text("src/app.txt"), Some("one\ntwo\nthree\n"));
    let takes = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -3 +3 @@\n-CMD c\n+CMD c\n\\ No newline at end of file\n";
    assert_eq!(applied(takes).tree.text("Dockerfile"), Some("FROM a\nRUN b\nCMD c"));
    let unmarked = "--- a/src/app.txt\n+++ b/src/app.txt\n@@ -3 +3 @@\n-three\n+four\n";
    assert_eq!(refused(unmarked), (4, mismatch("src/app.txt", 3)));
    let inside = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1 +1 @@\n-FROM a\n+FROM z\n\\ No newline at end of file\n";
    assert_eq!(refused(inside).1, Problem::NewlineMissing("Dockerfile".to_owned()));
    let twice = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -3 +3 @@\n-CMD c\n+CMD d\n\\ No newline\n\\ No newline\n";
    assert_eq!(refused(twice), (7, Problem::HunkCount));
}

#[test]
fn appending_after_a_line_without_newline_is_refused() {
    let diff = "--- a/src/app.txt\n+++ b/src/app.txt\n@@ -3,0 +4 @@\n+four\n";
    assert_eq!(refused(diff).1, Problem::NewlineMissing("src/app.txt".to_owned()));
}

#[test]
fn an_empty_line_in_a_hunk_is_an_empty_line_of_context() {
    let tree: Tree = [("f", "a\n\nb\n")].into_iter().collect();
    let applied = apply(&tree, "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c");
    assert_eq!(applied.map(|applied| applied.tree), Ok([("f", "a\n\nc\n")].into_iter().collect()));
}

#[test]
fn lines_that_look_like_headers_are_lines_inside_a_hunk() {
    let tree: Tree = [("f.sql", "-- a/x\nb\n")].into_iter().collect();
    let applied = apply(&tree, "--- a/f.sql\n+++ b/f.sql\n@@ -1,2 +1,2 @@\n--- a/x\n+++ b/x\n b\n");
    assert_eq!(applied.map(|applied| applied.tree), Ok([("f.sql", "++ b/x\nb\n")].into_iter().collect()));
}

#[test]
fn carriage_returns_are_part_of_the_line() {
    let tree: Tree = [("f", "a\r\nb\r\n")].into_iter().collect();
    let applied = apply(&tree, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\r\n+c\r\n b\r\n");
    assert_eq!(applied.map(|applied| applied.tree), Ok([("f", "c\r\nb\r\n")].into_iter().collect()));
    let without = apply(&tree, "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+c\n");
    assert_eq!(without.map_err(|error| error.problem), Err(mismatch("f", 1)));
}

#[test]
fn context_that_differs_or_is_somewhere_else_is_refused() {
    let other = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1,2 +1,2 @@\n-FROM a\n+FROM z\n RUN  b\n";
    assert_eq!(refused(other), (6, mismatch("Dockerfile", 2)));
    let shifted = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -2 +2 @@\n-FROM a\n+FROM z\n";
    assert_eq!(refused(shifted), (4, mismatch("Dockerfile", 2)));
    let beyond = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -9 +9 @@\n-x\n+y\n";
    assert_eq!(refused(beyond), (3, mismatch("Dockerfile", 9)));
    let huge = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -18446744073709551615 +1 @@\n-x\n+y\n";
    assert!(matches!(refused(huge).1, Problem::Mismatch { .. }));
}

#[test]
fn hunks_with_wrong_counts_are_refused() {
    let file = "--- a/Dockerfile\n+++ b/Dockerfile\n";
    let short = format!("{file}@@ -1,3 +1,3 @@\n-FROM a\n+FROM z\n RUN b\n");
    assert_eq!(refused(&short).1, Problem::HunkCount);
    let long = format!("{file}@@ -1,2 +1,2 @@\n-FROM a\n+FROM z\n RUN b\n CMD c\n");
    assert_eq!(refused(&long), (7, Problem::HunkCount));
    let surplus = format!("{file}@@ -1 +1 @@\n-FROM a\n+FROM z\n+USER 1\n");
    assert_eq!(refused(&surplus), (6, Problem::HunkCount));
    let kept = format!("{file}@@ -1,1 +1,2 @@\n FROM a\n RUN b\n");
    assert_eq!(refused(&kept), (5, Problem::HunkCount));
    let next = format!("{file}@@ -1,2 +1,2 @@\n-FROM a\n+FROM z\n@@ -3 +3 @@\n-CMD c\n+CMD d\n");
    assert_eq!(refused(&next), (6, Problem::HunkCount));
}

#[test]
fn hunks_out_of_order_or_overlapping_are_refused() {
    let file = "--- a/Dockerfile\n+++ b/Dockerfile\n";
    let order = format!("{file}@@ -3 +3 @@\n-CMD c\n+CMD d\n@@ -1 +1 @@\n-FROM a\n+FROM z\n");
    assert_eq!(refused(&order), (6, Problem::HunkOrder));
    let overlap = format!("{file}@@ -1,2 +1,2 @@\n-FROM a\n+FROM z\n RUN b\n@@ -2 +2 @@\n-RUN b\n+RUN c\n");
    assert_eq!(refused(&overlap), (7, Problem::HunkOrder));
}

#[test]
fn malformed_hunks_are_refused() {
    let file = "--- a/Dockerfile\n+++ b/Dockerfile\n";
    for header in ["@@ @@", "@@ -1 @@", "@@ -x +1 @@", "@@ -+1 +1 @@", "@@ -1,2,3 +1 @@", "@@ -0 +1 @@", "@@ -1 +1"] {
        let diff = format!("{file}{header}\n-FROM a\n+FROM z\n");
        assert_eq!(refused(&diff), (3, Problem::HunkHeader), "{header}");
    }
    assert_eq!(refused(file).1, Problem::HunkHeader);
    assert_eq!(refused(&format!("{file}@@ -1 +1 @@\n?FROM a\n")), (4, Problem::HunkLine));
    assert_eq!(refused(&format!("{file}@@ -1 +1 @@\n\\ No newline\n-FROM a\n+b\n")), (4, Problem::HunkLine));
}

#[test]
fn text_around_the_sections_is_refused() {
    let diff = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1 +1 @@\n-FROM a\n+FROM z\n";
    assert_eq!(refused(&format!("```diff\n{diff}```\n")), (1, Problem::NotASection));
    assert_eq!(refused(&format!("{diff}```\n")), (6, Problem::NotASection));
    assert_eq!(refused(&format!("Here it is:\n{diff}")), (1, Problem::NotASection));
    assert_eq!(refused("+++ b/Dockerfile\n"), (1, Problem::NotASection));
    assert_eq!(refused("--- a/Dockerfile\n"), (1, Problem::NoNewSide));
}

#[test]
fn paths_that_leave_the_tree_are_refused_wherever_they_stand() {
    let part = Problem::Path(PathError::Part);
    assert_eq!(refused("--- /dev/null\n+++ b/../x\n@@ -0,0 +1 @@\n+x\n"), (2, part.clone()));
    assert_eq!(refused("--- a/../x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n"), (2, part.clone()));
    let rename = "diff --git a/empty b/x\nrename from empty\nrename to ../x\n";
    assert_eq!(refused(rename), (3, part.clone()));
    assert_eq!(refused("diff --git a/../x b/../x\nnew file mode 100644\n"), (1, part));
    assert_eq!(refused("--- /dev/null\n+++ /etc/x\n@@ -0,0 +1 @@\n+x\n"), (2, Problem::Path(PathError::Part)));
}

#[test]
fn files_that_are_missing_or_in_the_way_are_refused() {
    let missing = "--- a/nope\n+++ b/nope\n@@ -1 +1 @@\n-x\n+y\n";
    assert_eq!(refused(missing), (1, Problem::NoSuchFile("nope".to_owned())));
    let exists = "--- /dev/null\n+++ b/Dockerfile\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(refused(exists), (1, Problem::Exists("Dockerfile".to_owned())));
    let rename = "diff --git a/empty b/Dockerfile\nrename from empty\nrename to Dockerfile\n";
    assert_eq!(refused(rename), (1, Problem::Exists("Dockerfile".to_owned())));
    let below = "--- /dev/null\n+++ b/Dockerfile/x\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(refused(below).1, Problem::FileAsDirectory("Dockerfile".to_owned()));
}

#[test]
fn a_file_may_occur_once_only() {
    let once = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1 +1 @@\n-FROM a\n+FROM z\n";
    assert_eq!(refused(&format!("{once}{once}")), (6, Problem::Twice("Dockerfile".to_owned())));
    let new = "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(refused(&format!("{new}{new}")), (5, Problem::Twice("n".to_owned())));
    let replaced =
        "diff --git a/empty b/empty\ndeleted file mode 100644\n--- /dev/null\n+++ b/empty\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(refused(replaced).1, Problem::Contradiction, "one section cannot do both");
    let apart = replaced.replace("--- ", "diff --git a/empty b/empty\nnew file mode 100644\n--- ");
    assert_eq!(refused(&apart), (3, Problem::Twice("empty".to_owned())));
}

#[test]
fn a_name_that_becomes_free_in_the_same_diff_can_be_used() {
    let diff = "diff --git a/empty b/old\nrename from empty\nrename to old\ndiff --git a/empty b/empty\nnew file mode 100644\n--- /dev/null\n+++ b/empty\n@@ -0,0 +1 @@\n+x\n";
    let applied = applied(diff);
    assert_eq!(applied.tree.text("empty"), Some("x\n"));
    assert_eq!(applied.tree.text("old"), Some(""));
}

#[test]
fn sections_that_contradict_themselves_are_refused() {
    let differ = "--- a/Dockerfile\n+++ b/empty\n@@ -1 +1 @@\n-FROM a\n+b\n";
    assert_eq!(refused(differ), (1, Problem::SidesDiffer));
    let neither = "--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n";
    assert_eq!(refused(neither), (1, Problem::NoSide));
    let half = "diff --git a/empty b/x\nrename from empty\n";
    assert_eq!(refused(half), (1, Problem::Contradiction));
    let both = "diff --git a/empty b/empty\nnew file mode 100644\ndeleted file mode 100644\n";
    assert_eq!(refused(both), (1, Problem::Contradiction));
    let wrong =
        "diff --git a/n b/n\nnew file mode 100644\n--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1 +1 @@\n-FROM a\n+b\n";
    assert_eq!(refused(wrong), (1, Problem::Contradiction));
    assert_eq!(refused("diff --git a/empty b/empty\nindex 1..2 100644\n"), (1, Problem::NoHunks));
}

#[test]
fn binary_patches_and_copies_are_refused() {
    let binary = "diff --git a/empty b/empty\nindex 1..2\nGIT binary patch\nliteral 0\n";
    assert_eq!(refused(binary), (3, Problem::Unsupported("GIT binary patch".to_owned())));
    let copy = "diff --git a/empty b/x\nsimilarity index 100%\ncopy from empty\ncopy to x\n";
    assert_eq!(refused(copy), (3, Problem::Unsupported("copy from".to_owned())));
}

#[test]
fn nothing_is_applied_when_a_later_section_fails() {
    let before = tree();
    let diff = "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1 +1 @@\n-FROM a\n+FROM z\n--- a/nope\n+++ b/nope\n@@ -1 +1 @@\n-x\n+y\n";
    assert!(apply(&before, diff).is_err());
    assert_eq!(before, tree());
}

#[test]
fn an_error_says_where_and_what() {
    let error = apply(&tree(), "--- a/Dockerfile\n+++ b/Dockerfile\n@@ -1 +1 @@\n-FROM b\n+FROM z\n")
        .map_err(|e| e.to_string());
    assert_eq!(
        error.err().as_deref(),
        Some("line 4 of the diff: file `Dockerfile` has not at line 1 what the hunk says")
    );
}

#[test]
fn a_diff_without_prefixes_applies() {
    let tree: Tree = [("a/x", "1\n"), ("y", "1\n")].into();
    let diff = "diff --git a/x a/x\nindex 1..2 100644\n--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+2\n\
                diff --git y y\n--- y\n+++ y\n@@ -1 +1 @@\n-1\n+2\n\
                diff --git b/z b/z\nnew file mode 100644\n--- /dev/null\n+++ b/z\n@@ -0,0 +1 @@\n+3\n";
    assert_eq!(apply(&tree, diff).unwrap().tree, [("a/x", "2\n"), ("y", "2\n"), ("b/z", "3\n")].into());
}

#[test]
fn a_patch_as_git_mails_it_applies() {
    let tree: Tree = [("x", "1\n")].into();
    let section = "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n";
    let head = "From 0123456789012345678901234567890123456789 Mon Sep 17 00:00:00 2001\nFrom: A <a@example.com>\n\
                Date: Tue, 1 Oct 2024 10:00:00 +0000\nSubject: [PATCH] Fix\n\nWhy.\n---\n x | 2 +-\n 1 file changed\n\n";
    for signature in ["-- \n2.43.0\n\n", "--\n2.43.0\n", ""] {
        assert_eq!(apply(&tree, &format!("{head}{section}{signature}")).unwrap().tree, [("x", "2\n")].into());
    }
    assert!(apply(&tree, &format!("{section}-- \n2.43.0\n")).is_err(), "a signature without a mail");
    assert!(apply(&tree, &format!("Fix it:\n{section}")).is_err(), "other text");
}
