//! Answers that are made to break the rubric rather than to remediate anything. Whoever answers must not be able to turn
//! a wrong answer into a fault of the rubric: no panic, no deep recursion, no work without end.

#![expect(clippy::unwrap_used, reason = "a test that cannot read its input must stop")]

use std::fmt::Write as _;
use std::path::PathBuf;

use eval_rubric::golden::{self, Fault, GoldenCase, Outcome};
use serde_json::json;
use vuln_remediation::VulnRemediation;

fn case(id: &str) -> GoldenCase {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/vuln-remediation");
    golden::load(&folder).unwrap().into_iter().find(|golden| golden.case.case_id.starts_with(id)).unwrap()
}

/// The answer that replaces a file of the input by another text.
fn replacing(golden: &GoldenCase, path: &str, new: &str) -> Outcome {
    let diff = diff_of(golden, path, new);
    golden::run::<VulnRemediation>(golden, &json!({"action": "patch", "diff": diff}))
}

fn diff_of(golden: &GoldenCase, path: &str, new: &str) -> String {
    let old = golden.files.read_text(&format!("input/{path}")).unwrap();
    let (before, after) = (old.lines().count(), new.lines().count());
    let mut diff = format!("--- a/{path}\n+++ b/{path}\n@@ -1,{before} +1,{after} @@\n");
    old.lines().for_each(|line| writeln!(diff, "-{line}").unwrap());
    new.lines().for_each(|line| writeln!(diff, "+{line}").unwrap());
    diff
}

#[track_caller]
fn assert_judged_and_failed(outcome: &Outcome) {
    assert!(matches!(outcome, Outcome::Score { passed: false, .. }), "{outcome:?}");
}

#[test]
fn a_lock_file_that_is_one_long_chain_is_judged() {
    let mut packages = String::from(r#""": {"dependencies": {"ws": "^7.4.6"}}"#);
    packages.push_str(r#", "node_modules/ws": {"version": "7.5.10", "dependencies": {"p0": "1"}}"#);
    for n in 0..400 {
        write!(
            packages,
            ",\n\"node_modules/p{n}\": {{\"version\": \"1.0.0\", \"dependencies\": {{\"p{}\": \"1\"}}}}",
            n + 1
        )
        .unwrap();
    }
    let lock = format!("{{\"lockfileVersion\": 3, \"packages\": {{{packages}}}}}\n");
    assert_judged_and_failed(&replacing(&case("001"), "package-lock.json", &lock));
}

/// A package that is there a thousand times, and as deep as packages can be.
#[test]
fn a_lock_file_of_one_package_over_and_over_is_judged() {
    let mut packages = String::from(r#""": {"dependencies": {"ws": "^7.4.6"}}"#);
    packages.push_str(r#", "node_modules/ws": {"version": "7.5.10", "dependencies": {"p0": "1"}}"#);
    for n in 0..1_000 {
        let next = format!("\"a\": \"1\", \"p{}\": \"1\"", n + 1);
        for place in [format!("p{n}"), format!("p{n}/node_modules/a")] {
            let entry = format!("\"node_modules/{place}\": {{\"version\": \"1.0.0\", \"dependencies\": {{{next}}}}}");
            packages.extend([",\n", &entry]);
        }
    }
    for depth in [30, 2_000] {
        let deep = format!("\"node_modules/ws{}\": {{\"version\": \"1.0.0\"}}", "/node_modules/a".repeat(depth));
        let lock = format!("{{\"lockfileVersion\": 3, \"packages\": {{{packages},\n{deep}}}}}\n");
        assert_judged_and_failed(&replacing(&case("001"), "package-lock.json", &lock));
    }
}

/// Every package of one row depends on both packages of the next, and every left one has an override of its own: there
/// is a combination of overrides for every way through the rows.
#[test]
fn overrides_that_combine_in_every_way_are_judged() {
    let mut packages = String::from(r#""": {"dependencies": {"ws": "^7.4.6"}}"#);
    packages.push_str(r#", "node_modules/ws": {"version": "7.5.10", "dependencies": {"l0": "1", "r0": "1"}}"#);
    let mut overrides = Vec::new();
    for n in 0..40 {
        for side in ["l", "r"] {
            let next = format!("\"l{}\": \"1\", \"r{}\": \"1\"", n + 1, n + 1);
            write!(packages, ",\n\"node_modules/{side}{n}\": {{\"version\": \"1.0.0\", \"dependencies\": {{{next}}}}}")
                .unwrap();
        }
        overrides.push(format!("\"l{n}\": {{\"z\": \"1\"}}"));
    }
    let golden = case("001");
    let lock = format!("{{\"lockfileVersion\": 3, \"packages\": {{{packages}}}}}\n");
    let manifest = golden.files.read_text("input/package.json").unwrap();
    let manifest = manifest.replacen('{', &format!("{{\"overrides\": {{{}}},", overrides.join(",")), 1);
    let diff =
        format!("{}{}", diff_of(&golden, "package.json", &manifest), diff_of(&golden, "package-lock.json", &lock));
    assert_judged_and_failed(&golden::run::<VulnRemediation>(&golden, &json!({"action": "patch", "diff": diff})));
}

#[test]
fn a_cargo_lock_that_is_one_long_chain_is_judged() {
    let mut lock = String::from("version = 4\n");
    for n in 0..250 {
        let next = if n < 249 { format!("dependencies = [\"p{}\"]\n", n + 1) } else { String::new() };
        write!(lock, "[[package]]\nname = \"p{n}\"\nversion = \"1.0.0\"\nsource = \"registry\"\n{next}").unwrap();
    }
    lock.push_str("[[package]]\nname = \"grepd\"\nversion = \"0.3.1\"\ndependencies = [\"p0\"]\n");
    assert_judged_and_failed(&replacing(&case("003"), "Cargo.lock", &lock));
}

#[test]
fn deep_nesting_cannot_be_read_and_is_no_fault() {
    assert_judged_and_failed(&replacing(&case("036"), "pom.xml", &"<a>\n".repeat(6_000)));
    assert_judged_and_failed(&replacing(&case("001"), "package.json", &"[".repeat(30_000)));
    assert_judged_and_failed(&replacing(&case("003"), "Cargo.toml", &format!("a = {}", "[".repeat(30_000))));
}

#[test]
fn properties_and_replacements_that_go_in_circles_end() {
    let pom = "<project><groupId>a</groupId><artifactId>b</artifactId><version>1</version>\n\
        <properties><x>${y}</x><y>${x}${x}${x}</y></properties>\n\
        <dependencies><dependency><groupId>g</groupId><artifactId>a</artifactId><version>${x}</version></dependency></dependencies></project>\n";
    assert_judged_and_failed(&replacing(&case("036"), "pom.xml", pom));
    let go_mod =
        "module m\nrequire a.com/x v1.0.0\nreplace a.com/x => a.com/y v1.0.0\nreplace a.com/y => a.com/x v1.0.0\n";
    assert_judged_and_failed(&replacing(&case("029"), "go.mod", go_mod));
}

#[test]
fn texts_that_are_no_versions_are_judged() {
    for version in [
        "",
        "x",
        "${",
        "99999999999999999999999",
        "^18446744073709551615.18446744073709551615.1",
        "18446744073709551615",
        "1.0.0-",
        "\u{202e}1",
        "1e9",
        "=",
        "^",
        "||",
        "*",
    ] {
        assert_judged_and_failed(&replacing(
            &case("002"),
            "requirements.txt",
            &format!("requests=={version}\nclick==8.1.7\n"),
        ));
        let manifest =
            format!("{{\"name\":\"live-board\",\"version\":\"1.4.0\",\"dependencies\":{{\"ws\":\"{version}\"}}}}\n");
        assert_judged_and_failed(&replacing(&case("001"), "package.json", &manifest));
        assert_judged_and_failed(&replacing(
            &case("029"),
            "go.mod",
            &format!("module m\nrequire golang.org/x/net {version}\n"),
        ));
    }
}

#[test]
fn hunks_with_absurd_numbers_do_not_apply() {
    for header in
        ["@@ -18446744073709551615,1 +1 @@", "@@ -1,18446744073709551615 +1 @@", "@@ -99999999999999999999 +1 @@"]
    {
        let diff = format!("--- a/README.md\n+++ b/README.md\n{header}\n-a\n+b\n");
        let outcome = golden::run::<VulnRemediation>(&case("001"), &json!({"action": "patch", "diff": diff}));
        assert_judged_and_failed(&outcome);
    }
}

#[test]
fn a_diff_that_is_too_long_is_refused() {
    let diff = "+x\n".repeat(100_000);
    let outcome = golden::run::<VulnRemediation>(&case("001"), &json!({"action": "patch", "diff": diff}));
    assert_eq!(outcome, Outcome::Fault { fault: Fault::OutputMalformed });
}
