//! The architecture's borders: which crate may depend on what, which room of the program may use which, and what the crates
//! below the program never name.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use eval_host_tests::project_root;

use crate::metadata::Metadata;
use crate::sources::{line_of, names_after, names_at, occurrences, product_code, rust_files, without_comments};

/// All that the model may be built from. `schemars` is optional, for a test.
const OF_THE_MODEL: [&str; 9] =
    ["blake3", "jiff", "libm", "schemars", "serde", "serde_json", "sha2", "smol_str", "thiserror"];

/// What an auditor of the evidence need not read.
const NEVER_IN_EVIDENCE: [&str; 4] = ["clap", "tokio", "toml", "wasmtime"];

/// The rooms of the program, each above those that it may use.
const ROOMS: [&str; 7] = ["answers", "bench", "description", "live", "run", "output", "cli"];

#[test]
fn the_model_depends_on_nothing_of_ours_and_on_little_else() {
    let metadata = Metadata::load();
    let direct = metadata.direct("eval-model");
    let others: Vec<_> = direct.iter().filter(|name| !OF_THE_MODEL.contains(name)).collect();
    assert!(others.is_empty(), "{others:?}");
    assert!(direct.contains("blake3"), "cargo named the dependencies");
}

#[test]
fn evidence_is_judged_without_a_sandbox_a_runtime_or_a_parser_of_benches() {
    let metadata = Metadata::load();
    let all = metadata.all("eval-evidence");
    let banned: Vec<_> = NEVER_IN_EVIDENCE.iter().filter(|name| all.contains(**name)).collect();
    assert!(banned.is_empty(), "{banned:?}");
    assert!(metadata.direct("eval-evidence").contains("eval-model"));
    assert!(!all.contains("eval-host") && !all.contains("eval-sandbox"), "{all:?}");
    assert!(metadata.all("eval-host").contains("wasmtime"), "the walk reaches what is deep");
}

#[test]
fn the_sandbox_knows_nothing_of_evidence_and_alone_names_wasmtime() {
    let metadata = Metadata::load();
    assert!(metadata.direct("eval-sandbox").contains("eval-model"));
    assert!(!metadata.all("eval-sandbox").contains("eval-evidence"));
    let names_wasmtime =
        |name: &&str| metadata.direct(name).iter().any(|dependency| dependency.starts_with("wasmtime"));
    let namers: BTreeSet<_> = metadata.own().filter(names_wasmtime).filter(|name| *name != "eval-host-tests").collect();
    assert_eq!(namers, BTreeSet::from(["eval-sandbox"]));
}

#[test]
fn the_cage_knows_only_the_model_and_alone_names_landlock() {
    let metadata = Metadata::load();
    let own: BTreeSet<_> = metadata.own().collect();
    let ours: BTreeSet<_> = metadata.all("eval-cage").intersection(&own).copied().collect();
    assert_eq!(ours, BTreeSet::from(["eval-cage", "eval-model"]));
    let namers: BTreeSet<_> = metadata.own().filter(|name| metadata.direct(name).contains("landlock")).collect();
    assert_eq!(namers, BTreeSet::from(["eval-cage"]));
}

#[test]
fn a_room_uses_only_itself_and_the_rooms_below_it() {
    let root = project_root().join("host/src");
    let mut violations = Vec::new();
    for path in rust_files(&root) {
        let within = path.strip_prefix(&root).expect("below the root");
        let text = fs::read_to_string(&path).expect("a source");
        violations.extend(upward_uses(within, &text));
    }
    assert!(violations.is_empty(), "{} uses go the wrong way:\n{}", violations.len(), violations.join("\n"));
}

/// What a file of `host/src` uses of rooms that are not below its own. The two files at the root that are no room hold it all
/// together.
fn upward_uses(path: &Path, text: &str) -> Vec<String> {
    let parts: Vec<_> = path.iter().map(|part| part.to_str().expect("UTF-8").trim_end_matches(".rs")).collect();
    if matches!(parts[..], ["lib" | "main"]) {
        return Vec::new();
    }
    let Some(own) = rank(parts[0]) else {
        return vec![format!("{}: `{}` is not in the table of rooms", path.display(), parts[0])];
    };
    let text = without_comments(text);
    let depth = parts.iter().filter(|part| **part != "mod").count();
    let mut used = names_after(&text, "crate::");
    used.extend(names_above(&text, depth));
    used.sort_unstable();
    let is_upward = |name: &str| rank(name).is_none_or(|rank| rank > own);
    let upward = used.into_iter().filter(|(_, name)| is_upward(name));
    upward.map(|(at, name)| format!("{}:{}: {} uses {name}", path.display(), line_of(&text, at), parts[0])).collect()
}

fn rank(room: &str) -> Option<usize> {
    ROOMS.iter().position(|name| *name == room)
}

/// What `super::super::…` names at the root of the crate, from a module at that depth.
fn names_above(text: &str, depth: usize) -> Vec<(usize, &str)> {
    let begins = occurrences(text, "super::").filter(|at| !text[..*at].ends_with("::"));
    let reaches_the_root = |begin: usize| {
        let climb = text[begin..].split("super::").skip(1).take_while(|between| between.is_empty()).count() + 1;
        let end = begin + climb * "super::".len();
        (climb >= depth + inline_modules(text, begin)).then_some(end)
    };
    begins.filter_map(reaches_the_root).flat_map(|end| names_at(text, end)).collect()
}

/// How many modules written out in the file, such as one of tests, a place lies in. None of them nests.
fn inline_modules(text: &str, at: usize) -> usize {
    let is_indented = |line: &&str| line.is_empty() || line.starts_with(' ');
    let mut above = text[..at].split('\n').rev().skip_while(is_indented);
    usize::from(above.next().is_some_and(|line| line.contains("mod ") && line.ends_with('{')))
}

#[test]
fn a_use_of_a_room_above_is_noticed_however_it_is_written() {
    let text = "\
use crate::answers::a;
// use crate::cli::comment;
use crate::{bench::b, run::{c, d}};
fn f() { crate::output::e() }
use super::super::super::cli::g;
use super::super::h;
mod tests {
    use super::super::super::i;
    use super::super::super::super::live::j;
    use super::super::super::super::run::k;
}
";
    assert_eq!(
        upward_uses(Path::new("live/agent/process.rs"), text),
        [
            "live/agent/process.rs:3: live uses run",
            "live/agent/process.rs:4: live uses output",
            "live/agent/process.rs:5: live uses cli",
            "live/agent/process.rs:10: live uses run",
        ]
    );
    assert_eq!(upward_uses(Path::new("bench/mod.rs"), "use super::run::x;\n"), ["bench/mod.rs:1: bench uses run"]);
    assert_eq!(upward_uses(Path::new("bench/mod.rs"), "mod tests {\n    use super::x;\n}\n"), Vec::<String>::new());
    assert_eq!(
        upward_uses(Path::new("description.rs"), "use crate::live;\n"),
        ["description.rs:1: description uses live"]
    );
    assert_eq!(upward_uses(Path::new("cli/x.rs"), "use crate::utils::x;\n"), ["cli/x.rs:1: cli uses utils"]);
    assert_eq!(upward_uses(Path::new("utils.rs"), ""), ["utils.rs: `utils` is not in the table of rooms"]);
    assert_eq!(upward_uses(Path::new("lib.rs"), "use crate::cli;\n"), Vec::<String>::new());
}

/// What no crate below the program names: what varies between two machines or two moments, and what speaks to people.
const NEVER_BELOW: [&str; 5] = ["std::env", "std::fs", "SystemTime", "Timestamp::now", "println!"];

/// What the model, which only computes, does not name either.
const NEVER_IN_THE_MODEL: [&str; 3] = ["std::net", "std::process", "Instant"];

/// The places that may name what others may not, each with its reason. One that does so no more is to be removed here.
const EXCEPTIONS: [(&str, &str, &str); 8] = [
    ("host/evidence/src/files/", "std::fs::File", "the place that opens files"),
    ("host/evidence/src/files/lock.rs", "std::fs::read_to_string", "asks the kernel who holds the lock"),
    ("host/evidence/src/bundle/archive.rs", "std::fs::File", "reads parts of an archive that was opened for it"),
    ("host/evidence/src/pack/", "std::fs::File", "reads and writes packs that were opened for it"),
    ("host/evidence/src/store/packs.rs", "std::fs::File", "locks drafts of packs that it opened through a `Dir`"),
    ("host/evidence/src/verify/last_seen.rs", "std::fs::canonicalize", "a store is one however its path is written"),
    ("host/sandbox/src/cache.rs", "std::fs;", "makes the folder of compiled code, which wasmtime wants by its path"),
    (
        "host/sandbox/src/compiler/mod.rs",
        "std::fs::File",
        "what passes between a host and its compiler is in memory alone",
    ),
];

#[test]
fn the_crates_below_the_program_name_no_clock_no_environment_and_no_files() {
    let mut violations = Vec::new();
    let mut used = BTreeSet::new();
    for (krate, words) in [
        ("host/model/src", [&NEVER_BELOW[..], &NEVER_IN_THE_MODEL].concat()),
        ("host/evidence/src", NEVER_BELOW.to_vec()),
        ("host/sandbox/src", NEVER_BELOW.to_vec()),
    ] {
        for (path, code) in product_code(&project_root().join(krate)) {
            let path = path.strip_prefix(project_root()).expect("below the root").to_str().expect("UTF-8").to_owned();
            for (at, found) in named(&code, &words) {
                match exception(&path, &code[at..]) {
                    Some(index) => used.extend([index]),
                    None => violations.push(format!("{path}:{}: {found}", line_of(&code, at))),
                }
            }
        }
    }
    assert!(violations.is_empty(), "{}", violations.join("\n"));
    // Files are opened by descriptors there today, so the first exception may stay unused.
    let unused: Vec<_> = (1..EXCEPTIONS.len()).filter(|index| !used.contains(index)).map(|i| EXCEPTIONS[i]).collect();
    assert!(unused.is_empty(), "exceptions that nothing needs: {unused:?}");
}

fn exception(path: &str, code: &str) -> Option<usize> {
    EXCEPTIONS.iter().position(|(place, text, _)| path.starts_with(place) && code.starts_with(text))
}

/// Where code names one of the words. A path below `std` is also found in a group: `use std::{env, io}`.
fn named<'w>(code: &str, words: &[&'w str]) -> Vec<(usize, &'w str)> {
    let mut found: Vec<_> =
        words.iter().flat_map(|word| occurrences(code, word).map(|at| (at, *word)).collect::<Vec<_>>()).collect();
    for (at, name) in names_after(code, "std::") {
        let in_a_group = !code[..at].ends_with("std::");
        let word = words.iter().find(|word| word.strip_prefix("std::") == Some(name)).filter(|_| in_a_group);
        found.extend(word.map(|word| (at, *word)));
    }
    found.sort_unstable();
    found
}

#[test]
fn a_forbidden_name_is_noticed_however_it_is_written() {
    let code = "use std::env;\nuse std::{io, fs::{self, File}};\nlet now = std::time::SystemTime::now();\ncap_std::fs::Dir;\n\
        println!();\njiff::Timestamp::now()\n";
    let found: Vec<_> = named(code, &NEVER_BELOW).into_iter().map(|(at, word)| (line_of(code, at), word)).collect();
    assert_eq!(found, [(1, "std::env"), (2, "std::fs"), (3, "SystemTime"), (5, "println!"), (6, "Timestamp::now")]);
    assert_eq!(named("Instant::now(); subscribe_instant();", &NEVER_IN_THE_MODEL), [(0, "Instant")]);
}

#[test]
fn an_exception_covers_its_place_and_its_name_only() {
    assert_eq!(exception("host/evidence/src/files/folder.rs", "std::fs::File::open"), Some(0));
    assert_eq!(exception("host/evidence/src/files/folder.rs", "std::fs::read(path)"), None);
    assert_eq!(exception("host/evidence/src/store/open.rs", "std::fs::File::open"), None);
}
