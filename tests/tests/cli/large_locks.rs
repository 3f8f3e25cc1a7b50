//! A lock file of thousands of packages is judged with fuel to spare.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use eval_host_tests::Workbench;
use serde_json::Value;

use crate::BINARY;

const CASE: &str = "bench/vuln-remediation/cases/044-follow-redirects-large-tree";

/// How many packages the lock file is grown to.
const PACKAGES: usize = 5_000;

#[test]
fn a_lock_file_of_5000_packages_takes_less_than_half_of_the_fuel() {
    let workbench = Workbench::with_bench(BINARY, "vuln-remediation");
    let case = workbench.path().join(CASE);
    grow(&case.join("input"));
    let cassette: Value = serde_json::from_str(&text(&case.join("cassette.json"))).expect("JSON");
    fs::write(workbench.path().join("output.json"), cassette["output"].to_string()).expect("an output");
    let scored = workbench.eval(["rubric", "score", "--case", CASE, "--output=output.json"]).run().expect_code(0);
    let line = scored.line("case");
    assert_eq!(line["score"]["passed"], true, "{line}");
    let [used, limit] = ["fuel_used", "fuel_limit"].map(|key| line[key].as_u64().expect("a number"));
    assert!(used * 2 < limit, "{used} of {limit}");
}

/// Adds packages at the end of the lock file, after what the solved example changes. The one that was the last now asks for
/// the first of them, and each of them for two more, so that none serves nobody.
fn grow(input: &Path) {
    let path = input.join("package-lock.json");
    let lock = text(&path);
    let known: Value = serde_json::from_str(&lock).expect("JSON");
    let known = known["packages"].as_object().expect("packages").len() - 1;
    assert!(known < PACKAGES, "{known}");
    let added = PACKAGES - known;
    let head = lock.strip_suffix("\n      }\n    }\n  }\n}\n").expect("a last package that asks for others");
    let mut grown = format!("{head},\n{}\n      }}\n    }}", ask(0));
    for number in 0..added {
        grown.push_str(&package(number, added));
    }
    grown.push_str("\n  }\n}\n");
    fs::write(path, grown).expect("a lock file");
}

fn package(number: usize, of: usize) -> String {
    let (name, version) = (name(number), version(number));
    let mut entry = format!(
        ",\n    \"node_modules/{name}\": {{\n      \"version\": \"{version}\",\n      \
         \"resolved\": \"https://registry.npmjs.org/{name}/-/{name}-{version}.tgz\",\n      \
         \"integrity\": \"sha512-{number:086}==\",\n      \"license\": \"MIT\""
    );
    let needs: Vec<String> = [2 * number + 1, 2 * number + 2].into_iter().filter(|need| *need < of).map(ask).collect();
    if !needs.is_empty() {
        write!(entry, ",\n      \"dependencies\": {{\n{}\n      }}", needs.join(",\n")).expect("a text");
    }
    entry + ",\n      \"engines\": {\n        \"node\": \">=10\"\n      }\n    }"
}

fn ask(number: usize) -> String {
    format!("        \"{}\": \"^{}\"", name(number), version(number))
}

fn name(number: usize) -> String {
    const WORDS: [&str; 7] = ["array", "buffer", "parse", "stream", "glob", "json", "util"];
    format!("zz-{}-{}-{number}", WORDS[number % 7], WORDS[number / 7 % 7])
}

fn version(number: usize) -> String {
    format!("{}.{}.{}", 1 + number % 5, number % 20, number % 9)
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a file of the case")
}
