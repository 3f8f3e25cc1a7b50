//! Whether the code follows the dependencies: what a fix asks of call sites is done, and nothing that is gone is used.

use std::collections::BTreeSet;

use super::Patched;
use crate::case::CodeRule;
use crate::failure::{Failure, Failures};
use crate::project::Project;
use crate::syntax;
use crate::tree::{Tree, file_name};
use crate::version::Ecosystem;

/// How many of the reference's rules for code hold, of how many. None do if the code cannot work at all.
pub fn check(patched: &Patched<'_>, failures: &mut Failures) -> (usize, usize) {
    let rules = &patched.reference.rules.code;
    let kept = rules_that_hold(patched);
    if kept < rules.len() {
        for rule in rules.iter().filter(|rule| !holds(rule, &patched.applied.tree)) {
            failures.add(Failure::CodeNotAdapted, format!("`{}` does not do what the fix asks of it", rule.path));
        }
    }
    let (was, is) = (asked_for(&patched.case.before), asked_for(patched.project));
    let used = |package: &&&str| is_used(patched.case.task.ecosystem, package, &is, &patched.applied.tree);
    if let Some(package) = was.difference(&is).find(used) {
        failures.add(Failure::RemovedPackageStillUsed, format!("the code still imports `{package}`"));
        return (0, rules.len().max(1));
    }
    if !check_syntax(patched, failures) {
        return (0, rules.len().max(1));
    }
    if rules.is_empty() { (1, 1) } else { (kept, rules.len()) }
}

/// Whether every file that the patch touches is one that its language's tools could read, if it was before.
fn check_syntax(patched: &Patched<'_>, failures: &mut Failures) -> bool {
    let mut valid = true;
    for change in &patched.applied.changes {
        let path = change.path();
        // A dependency file was read strictly already, or there would be no project to judge.
        if patched.project.files.contains(path) {
            continue;
        }
        let was_valid = patched.case.input.text(path).is_none_or(|text| syntax::problem(path, text).is_none());
        let problem = patched.applied.tree.text(path).and_then(|text| syntax::problem(path, text));
        if let Some(what) = problem.filter(|_| was_valid) {
            failures.add(Failure::FileInvalid, format!("`{path}`: {what}"));
            valid = false;
        }
    }
    valid
}

/// How many of the reference's rules for code hold.
pub fn rules_that_hold(patched: &Patched<'_>) -> usize {
    patched.reference.rules.code.iter().filter(|rule| holds(rule, &patched.applied.tree)).count()
}

fn holds(rule: &CodeRule, tree: &Tree) -> bool {
    let text = tree.text(&rule.path).unwrap_or_default();
    let text = &squeezed(&syntax::without_comments(&rule.path, text));
    let missing = rule.must_contain.iter().any(|part| !text.contains(&squeezed(part)));
    let forbidden = rule.must_not_contain.iter().any(|part| text.contains(&squeezed(part)));
    !missing && !forbidden
}

/// With one blank for any number of blanks, so that another spelling is the same code.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn asked_for(project: &Project) -> BTreeSet<&str> {
    project.requests.values().map(|request| request.package.as_str()).collect()
}

/// Whether code still imports a package, by the plain forms of each language. Maven's artifacts do not name what they
/// contain, so nothing can be said there.
fn is_used(ecosystem: Ecosystem, package: &str, asked_for: &BTreeSet<&str>, tree: &Tree) -> bool {
    let (endings, forms): (&[&str], Vec<String>) = match ecosystem {
        Ecosystem::Npm => (
            &[".js", ".cjs", ".mjs", ".ts", ".jsx", ".tsx"],
            ["'", "\""].iter().flat_map(|q| [format!("{q}{package}{q}"), format!("{q}{package}/")]).collect(),
        ),
        Ecosystem::Go => (&[".go"], vec![format!("\"{package}\""), format!("\"{package}/")]),
        Ecosystem::CratesIo => {
            let name = package.replace('-', "_");
            (&[".rs"], vec![format!("{name}::"), format!("use {name};"), format!("extern crate {name};")])
        }
        Ecosystem::PyPi => {
            let name = package.replace('-', "_");
            (&[".py"], vec![format!("import {name}"), format!("from {name} "), format!("from {name}.")])
        }
        Ecosystem::Maven => (&[], Vec::new()),
    };
    let is_code = |path: &str| endings.iter().any(|ending| file_name(path).ends_with(ending));
    // In Go, a module's path may begin with that of another.
    let by_another = |line: &str| {
        let longer = asked_for.iter().filter(|other| other.len() > package.len());
        longer.clone().any(|other| line.contains(&format!("\"{other}\"")) || line.contains(&format!("\"{other}/")))
    };
    let uses = |text: &str| text.lines().any(|line| forms.iter().any(|form| imports(line, form)) && !by_another(line));
    tree.texts().any(|(path, text)| is_code(path) && uses(text))
}

/// Whether a line contains a form that is not part of a longer word.
fn imports(line: &str, form: &str) -> bool {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = |at: usize| !line[..at].ends_with(in_word);
    let ends = |at: usize| !form.ends_with(in_word) || !line[at + form.len()..].starts_with(in_word);
    line.match_indices(form).any(|(at, _)| starts(at) && ends(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(ecosystem: Ecosystem, package: &str, path: &str, text: &str) -> bool {
        is_used(ecosystem, package, &["example.com/x/v4"].into(), &[(path.to_owned(), text.to_owned())].into())
    }

    #[test]
    fn an_import_is_found_in_each_language() {
        assert!(used(Ecosystem::Npm, "request", "src/a.js", "const r = require('request');"));
        assert!(used(Ecosystem::Npm, "request", "src/a.ts", "import r from \"request/lib\";"));
        assert!(used(Ecosystem::Go, "gopkg.in/square/go-jose.v2", "a.go", "\t\"gopkg.in/square/go-jose.v2/jwt\""));
        assert!(used(Ecosystem::CratesIo, "ed25519-dalek", "src/a.rs", "use ed25519_dalek::Keypair;"));
        assert!(used(Ecosystem::PyPi, "requests", "a.py", "from requests.adapters import HTTPAdapter"));
    }

    #[test]
    fn a_longer_name_a_text_file_and_another_quote_are_no_import() {
        assert!(!used(Ecosystem::Npm, "request", "src/a.js", "require('@cypress/request');"));
        assert!(!used(Ecosystem::Npm, "request", "README.md", "require('request')"));
        assert!(!used(Ecosystem::CratesIo, "time", "src/a.rs", "use runtime::x;"));
        assert!(!used(Ecosystem::PyPi, "py", "a.py", "import pytest_x"));
        assert!(!used(Ecosystem::Go, "example.com/x", "a.go", "import \"example.com/x/v4/y\""));
    }

    #[test]
    fn a_rule_asks_for_what_is_there_and_what_is_not() {
        let tree: Tree = [("a.py".to_owned(), "decode(t, algorithms=ALGS)".to_owned())].into();
        let rule = |contain: &str, not: &str| CodeRule {
            path: "a.py".to_owned(),
            must_contain: vec![contain.to_owned()],
            must_not_contain: vec![not.to_owned()],
        };
        assert!(holds(&rule("algorithms=", "verify=False"), &tree));
        assert!(!holds(&rule("key=", "verify=False"), &tree));
        assert!(!holds(&rule("algorithms=", "decode"), &tree));
    }
}
