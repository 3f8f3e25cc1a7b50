//! The build context: the files that `COPY` can see, which is the tree without what `.dockerignore` leaves out.

use crate::glob;
use eval_diff::Tree;

/// Paths of the build context, relative to its root and sorted.
#[derive(Clone, Debug)]
pub(crate) struct Context<'a> {
    tree: &'a Tree,
    paths: Vec<&'a str>,
}

impl<'a> Context<'a> {
    /// The context of a build with the Dockerfile at `dockerfile`.
    pub(crate) fn new(tree: &'a Tree, dockerfile: &str) -> Self {
        let own = format!("{dockerfile}.dockerignore");
        let rules = tree.text(&own).or_else(|| tree.text(".dockerignore")).unwrap_or_default();
        let rules: Vec<Rule<'_>> = rules.lines().filter_map(rule).collect();
        let paths = tree.paths().filter(|path| !is_ignored(&rules, path)).collect();
        Self { tree, paths }
    }

    /// The text of a file that the build can see.
    pub(crate) fn text(&self, path: &str) -> Option<&'a str> {
        self.tree.text(path)
    }

    /// How many files there are.
    pub(crate) fn size(&self) -> usize {
        self.paths.len()
    }

    /// The files that a source of `COPY` means, each with its path relative to the source's folder: what is below a folder,
    /// a file under its own name, or whatever fits a pattern.
    pub(crate) fn select(&self, source: &str) -> Vec<Selected<'a>> {
        let source = normal(source);
        self.paths.iter().filter_map(|path| selected(&source, path)).collect()
    }
}

/// A file of the context that a source selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selected<'a> {
    pub(crate) path: &'a str,
    /// Where the file goes below the destination.
    pub(crate) below: &'a str,
    /// Whether the source is a folder whose content is copied, rather than a file.
    pub(crate) folder: bool,
}

/// The lines of an ignore file that say something.
pub(crate) fn rules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(str::trim).filter(|line| rule(line).is_some())
}

/// Whether a line of an ignore file is about a path.
pub(crate) fn fits_rule(line: &str, path: &str) -> bool {
    rule(line).is_some_and(|rule| parents(path).any(|part| glob::matches_path(rule.pattern, part)))
}

struct Rule<'a> {
    pattern: &'a str,
    keeps: bool,
}

fn rule(line: &str) -> Option<Rule<'_>> {
    let line = line.trim();
    let (keeps, pattern) = line.strip_prefix('!').map_or((false, line), |pattern| (true, pattern));
    let pattern = pattern.trim_start_matches("./").trim_matches('/');
    (!pattern.is_empty() && !line.starts_with('#')).then_some(Rule { pattern, keeps })
}

/// The last rule that fits the path, or a folder that it is in, decides.
fn is_ignored(rules: &[Rule<'_>], path: &str) -> bool {
    let last = rules.iter().rev().find(|rule| parents(path).any(|part| glob::matches_path(rule.pattern, part)));
    last.is_some_and(|rule| !rule.keeps)
}

/// The path and every folder that it is in.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(end, _)| &path[..end]).chain([path])
}

fn normal(source: &str) -> String {
    let parts: Vec<&str> = source.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    parts.join("/")
}

fn selected<'a>(source: &str, path: &'a str) -> Option<Selected<'a>> {
    if source.is_empty() {
        return Some(Selected { path, below: path, folder: true });
    }
    let part = parents(path).find(|part| glob::matches_path(source, part))?;
    let folder = part.len() < path.len();
    let below = if folder { &path[part.len() + 1..] } else { path.rsplit('/').next().unwrap_or(path) };
    Some(Selected { path, below, folder })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(ignore: &str) -> Tree {
        let files = ["app.py", "src/a.py", "src/deep/b.py", "tests/t.py", "node_modules/x/i.js", "README.md"];
        let mut tree: Tree = files.iter().map(|path| (*path, *path)).collect();
        tree.insert(".dockerignore", ignore);
        tree
    }

    fn seen(ignore: &str, source: &str) -> Vec<String> {
        let tree = tree(ignore);
        let context = Context::new(&tree, "Dockerfile");
        context.select(source).iter().map(|file| format!("{}>{}", file.path, file.below)).collect()
    }

    #[test]
    fn a_folder_gives_its_content_and_a_file_its_name() {
        assert_eq!(seen("", "src"), ["src/a.py>a.py", "src/deep/b.py>deep/b.py"]);
        assert_eq!(seen("", "./src/a.py"), ["src/a.py>a.py"]);
        assert_eq!(seen("", "*.py"), ["app.py>app.py"]);
        assert_eq!(seen("", "nothing"), Vec::<String>::new());
        assert_eq!(seen("", ".").len(), 7);
    }

    #[test]
    fn ignored_files_are_not_there_and_later_rules_win() {
        assert_eq!(seen("tests\nnode_modules/\n**/*.md\n.dockerignore\n", ".").len(), 3);
        assert_eq!(seen("*\n!src\n", "."), ["src/a.py>src/a.py", "src/deep/b.py>src/deep/b.py"]);
        assert_eq!(seen("# src\n/src/deep\n", "src"), ["src/a.py>a.py"]);
    }

    #[test]
    fn a_dockerfile_can_have_rules_of_its_own() {
        let mut tree = tree("src");
        tree.insert("build/Dockerfile.dockerignore", "app.py");
        assert!(!Context::new(&tree, "build/Dockerfile").select("src").is_empty());
        assert!(Context::new(&tree, "build/Dockerfile").select("app.py").is_empty());
    }
}
