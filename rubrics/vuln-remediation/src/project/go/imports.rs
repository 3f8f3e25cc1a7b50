//! Whether every import is provided by a module that is selected. `go build` refuses the rest.

use std::collections::{BTreeMap, BTreeSet};

use super::super::Project;
use super::gomod::GoMod;
use crate::tree::Tree;
use crate::version::Version;

pub(super) fn check(go_mod: &GoMod, selected: &BTreeMap<String, Version>, tree: &Tree, project: &mut Project) {
    let sources = tree.texts().filter(|(path, _)| path.ends_with(".go"));
    let imported: BTreeSet<&str> = sources.flat_map(|(_, text)| imports(text)).collect();
    let within = |import: &str, module: &str| {
        import.strip_prefix(module).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    for import in imported.into_iter().filter(|import| is_external(import) && !within(import, &go_mod.module)) {
        if !selected.keys().any(|module| within(import, module)) {
            project.invalid(format!("no required module provides `{import}`"));
        }
    }
}

/// The first element of the path of a module that is not in the standard library has a dot in it.
fn is_external(import: &str) -> bool {
    import.split('/').next().is_some_and(|first| first.contains('.'))
}

/// The import paths of a source file. Imports come before any other declaration, so the first one ends the search.
fn imports(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut in_block = false;
    for line in text.lines().map(str::trim) {
        if in_block && line.starts_with(')') {
            in_block = false;
        } else if in_block {
            found.extend(quoted(line));
        } else if let Some(rest) = line.strip_prefix("import") {
            in_block = rest.trim_start().starts_with('(');
            found.extend(quoted(rest));
        } else if ["func ", "var ", "const ", "type "].iter().any(|start| line.starts_with(start)) {
            break;
        }
    }
    found
}

fn quoted(line: &str) -> Option<&str> {
    let line = line.split("//").next().filter(|before| before.contains('"')).unwrap_or_default();
    let (_, rest) = line.split_once('"')?;
    rest.split_once('"').map(|(path, _)| path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_found_in_all_their_forms() {
        let source = "package a\n\nimport \"fmt\"\nimport x \"a.com/x\"\nimport (\n\t// b\n\t\"a.com/y/z\"\n\t_ \"a.com/w\" // side\n)\n\
                      func f() { g(\"a.com/not\") }\n";
        assert_eq!(imports(source), ["fmt", "a.com/x", "a.com/y/z", "a.com/w"]);
    }

    #[test]
    fn the_standard_library_is_not_external() {
        assert!(!is_external("net/http"));
        assert!(is_external("golang.org/x/net/http2"));
    }
}
