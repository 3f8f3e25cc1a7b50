//! The lexical half of path resolution: how a path is cut into a parent and a last name, without looking at any tree.
//!
//! Every rule here is one that wasmtime-wasi applies before it asks the kernel, so that a guest gets the same error code
//! from both; none of it may depend on the host's own idea of a path.

/// The longest name of one directory entry, as on Linux.
pub(super) const NAME_MAX: usize = 255;

/// The longest path, without a terminating NUL, as on Linux.
pub(super) const PATH_MAX: usize = 4_095;

/// The name that stands for the directory itself.
pub(super) const DOT: &str = ".";

/// A path cut in two: where to look, and the last name, which is never `..` but may be `.`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Split<'a> {
    /// Empty for the directory that the path starts from.
    pub(super) parent: &'a str,
    pub(super) name: &'a str,
}

/// Cuts off the last name. A path that can only mean a directory (`a/`, `a/.`, `a/..`) is all parent, and its name is `.`.
/// `None` for the empty path.
pub(super) fn split(path: &str) -> Option<Split<'_>> {
    if path.is_empty() {
        return None;
    }
    if path.ends_with('/') || path.ends_with("/.") {
        return Some(Split { parent: path, name: DOT });
    }
    let (parent, name) = match path.rfind('/') {
        None => ("", path),
        Some(slash) => (trim_end(&path[..=slash]), &path[slash + 1..]),
    };
    Some(if name == ".." { Split { parent: path, name: DOT } } else { Split { parent, name } })
}

/// Takes slashes and dots off the end that mean the same place, which matters only for how long a path is.
fn trim_end(path: &str) -> &str {
    let mut rest = path;
    loop {
        let shorter = strip_trailing_slashes(rest);
        let shorter = match shorter.strip_suffix("/.") {
            Some("") => "/",
            Some(shorter) => shorter,
            None => shorter,
        };
        if shorter.len() == rest.len() {
            return rest;
        }
        rest = shorter;
    }
}

/// `mkdir` and `rename` take `a/` for `a`. `/` stays what it is, so that it is still refused.
pub(super) fn strip_trailing_slashes(path: &str) -> &str {
    let stripped = path.trim_end_matches('/');
    if stripped.is_empty() && !path.is_empty() { "/" } else { stripped }
}

/// The name, if the path is one plain name and nothing but slashes and dots that mean the same place after it. Such a path
/// is looked up without following even where a trailing slash would otherwise ask for it.
pub(super) fn single_name(path: &str) -> Option<&str> {
    let rest = trim_end(path);
    let plain = !rest.is_empty() && !rest.contains('/') && rest != "." && rest != "..";
    plain.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_cut_at_its_last_name() {
        for (path, parent, name) in [
            ("foo", "", "foo"),
            ("foo/bar", "foo", "bar"),
            ("foo//bar", "foo", "bar"),
            ("foo/.//./bar", "foo", "bar"),
            ("./bar", ".", "bar"),
            ("../foo", "..", "foo"),
            ("/foo", "/", "foo"),
            ("/./foo", "/", "foo"),
            (".", "", "."),
        ] {
            assert_eq!(split(path), Some(Split { parent, name }), "{path}");
        }
    }

    #[test]
    fn a_path_that_can_only_be_a_directory_is_all_parent() {
        for path in ["foo/", "foo/.", "..", "foo/..", "/", "/foo/", "foo//"] {
            assert_eq!(split(path), Some(Split { parent: path, name: "." }), "{path}");
        }
        assert_eq!(split(""), None);
    }

    #[test]
    fn only_a_plain_name_is_single() {
        for (path, name) in [("f", "f"), ("f/", "f"), ("f//", "f"), ("f/.", "f"), ("f/./", "f"), ("f/.//./", "f")] {
            assert_eq!(single_name(path), Some(name), "{path}");
        }
        for path in ["", ".", "..", "/", "./f", "a/b", "/f", "../f", "./"] {
            assert_eq!(single_name(path), None, "{path}");
        }
    }

    #[test]
    fn stripping_leaves_the_root() {
        assert_eq!(strip_trailing_slashes("a//"), "a");
        assert_eq!(strip_trailing_slashes("//"), "/");
        assert_eq!(strip_trailing_slashes("a/."), "a/.");
        assert_eq!(strip_trailing_slashes(""), "");
    }
}
