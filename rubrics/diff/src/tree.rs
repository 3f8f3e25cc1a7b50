//! The files that a diff is applied to: paths relative to the tree's root, with `/` between their parts.

use std::collections::BTreeMap;
use std::rc::Rc;

/// Files by path. Directories exist only as parts of paths, as in git.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree(BTreeMap<String, Content>);

/// A file's content, shared between copies of a tree. Whether it is text is asked once.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Content {
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
}

impl Content {
    fn of(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self::Text(text.into()),
            Err(error) => Self::Bytes(error.into_bytes().into()),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Bytes(_) => None,
        }
    }
}

impl Tree {
    /// An empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file into the tree, in place of what was at `path`.
    pub fn insert(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.0.insert(path.into(), Content::of(content.into()));
    }

    /// Takes a file out of the tree.
    pub(crate) fn remove(&mut self, path: &str) {
        self.0.remove(path);
    }

    /// The file at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.0.get(path).map(Content::bytes)
    }

    /// The file at `path`, if there is one and it is UTF-8.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).and_then(Content::text)
    }

    /// Whether there is a file at `path`.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// The paths of all files, sorted by their bytes.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// All files with their content, sorted by the bytes of their paths.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(path, content)| (path.as_str(), content.bytes()))
    }

    /// The files that are UTF-8, with their text, sorted by the bytes of their paths.
    pub fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(path, content)| Some((path.as_str(), content.text()?)))
    }

    /// A path that is a file and at the same time the directory of another, which no filesystem can hold.
    pub(crate) fn file_used_as_directory(&self) -> Option<&str> {
        self.0.keys().find_map(|path| {
            path.match_indices('/').map(|(end, _)| &path[..end]).find(|parent| self.0.contains_key(*parent))
        })
    }
}

impl<P: Into<String>, C: Into<Vec<u8>>> FromIterator<(P, C)> for Tree {
    fn from_iter<I: IntoIterator<Item = (P, C)>>(files: I) -> Self {
        Self(files.into_iter().map(|(path, content)| (path.into(), Content::of(content.into()))).collect())
    }
}

impl<P: Into<String>, C: Into<Vec<u8>>, const N: usize> From<[(P, C); N]> for Tree {
    fn from(files: [(P, C); N]) -> Self {
        files.into_iter().collect()
    }
}
