//! Rust sources as the tests of borders need them: which names a file uses, and on which lines.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Every Rust file below a folder, sorted.
pub(crate) fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The files below a folder that are compiled into the product, with their code.
pub(crate) fn product_code(folder: &Path) -> Vec<(PathBuf, String)> {
    let files = rust_files(folder);
    let texts: Vec<_> = files.iter().map(|path| fs::read_to_string(path).expect("a source")).collect();
    let tests: BTreeSet<PathBuf> = files.iter().zip(&texts).flat_map(|(path, text)| test_modules(path, text)).collect();
    let is_test = |path: &Path| path.ancestors().any(|part| tests.contains(&part.with_extension("")));
    let code = |text: &str| without_tests(&without_comments(text));
    files.into_iter().zip(&texts).filter(|(path, _)| !is_test(path)).map(|(path, text)| (path, code(text))).collect()
}

/// The paths, without `.rs`, of the modules that a file declares for tests only.
fn test_modules(path: &Path, text: &str) -> Vec<PathBuf> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = match stem {
        "mod" | "lib" | "main" => path.with_file_name(""),
        _ => path.with_extension(""),
    };
    let lines: Vec<&str> = text.lines().collect();
    let for_tests = lines.windows(2).filter(|pair| pair[0].trim() == "#[cfg(test)]").map(|pair| pair[1]);
    let name = |line: &str| line.split_once("mod ")?.1.strip_suffix(';').map(str::to_owned);
    for_tests.filter_map(name).map(|name| folder.join(name)).collect()
}

/// The text with every line that is a comment emptied, so that lines keep their numbers.
pub(crate) fn without_comments(text: &str) -> String {
    text.lines()
        .map(|line| if line.trim_start().starts_with("//") { "" } else { line })
        .flat_map(|l| [l, "\n"])
        .collect()
}

/// The same for modules of tests within a file, which begin and end on lines without indentation.
fn without_tests(text: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    let mut last = "";
    for line in text.lines() {
        inside |= last == "#[cfg(test)]" && line.ends_with('{');
        kept.push_str(if inside { "" } else { line });
        kept.push('\n');
        inside &= line != "}";
        last = line;
    }
    kept
}

/// Where a whole word or path stands in a text, by offsets. `std::fs` does not stand in `cap_std::fs`.
pub(crate) fn occurrences<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = usize> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let is_whole = move |at: &usize| {
        let goes_on_before = text[..*at].ends_with(is_part);
        let goes_on_behind = word.ends_with(is_part) && text[at + word.len()..].starts_with(is_part);
        !goes_on_before && !goes_on_behind
    };
    text.match_indices(word).map(|(at, _)| at).filter(is_whole)
}

/// The names that follow a path such as `crate::`, with their offsets: one, or those of a group in braces.
pub(crate) fn names_after<'t>(text: &'t str, path: &str) -> Vec<(usize, &'t str)> {
    let starts: Vec<usize> = occurrences(text, path).map(|at| at + path.len()).collect();
    starts.into_iter().flat_map(|start| names_at(text, start)).collect()
}

pub(crate) fn names_at(text: &str, start: usize) -> Vec<(usize, &str)> {
    let Some(group) = text[start..].strip_prefix('{') else {
        return vec![(start, first_name(&text[start..]))];
    };
    let mut names = Vec::new();
    let mut depth = 0_usize;
    let mut expects_name = true;
    for (at, character) in group.char_indices() {
        match character {
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            '{' => depth += 1,
            ',' if depth == 0 => expects_name = true,
            c if expects_name && !c.is_whitespace() => {
                names.push((start + 1 + at, first_name(&group[at..])));
                expects_name = false;
            }
            _ => {}
        }
    }
    names
}

fn first_name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

/// Counted from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

#[test]
fn names_are_found_alone_and_in_groups() {
    let text = "use crate::live::x;\nuse crate::{\n    bench::{self, y},\n    run,\n};\nlet z = crate::cli::main;\nmycrate::no;\n";
    let found: Vec<_> = names_after(text, "crate::").into_iter().map(|(at, name)| (line_of(text, at), name)).collect();
    assert_eq!(found, [(1, "live"), (3, "bench"), (4, "run"), (6, "cli")]);
}

#[test]
fn only_whole_words_count() {
    assert_eq!(occurrences("cap_std::fs std::fs std::fsx a_std::fs", "std::fs").collect::<Vec<_>>(), [12]);
    assert_eq!(occurrences("println!(); eprintln!()", "println!").collect::<Vec<_>>(), [0]);
}

#[test]
fn comments_and_tests_are_no_code_and_lines_keep_their_numbers() {
    let text = "a\n// std::fs\n#[cfg(test)]\nmod tests {\n    std::fs\n}\nb\n";
    assert_eq!(without_tests(&without_comments(text)), "a\n\n#[cfg(test)]\n\n\n\nb\n");
    let modules = test_modules(Path::new("src/store/mod.rs"), "#[cfg(test)]\nmod faults;\nmod dir;\n");
    assert_eq!(modules, [Path::new("src/store/faults")]);
    assert_eq!(test_modules(Path::new("src/gate.rs"), "#[cfg(test)]\nmod tests;\n"), [Path::new("src/gate/tests")]);
}
