//! Image references: `name[:tag][@digest]`.

use std::fmt;

/// A reference to an image, with the tag that a builder would take if none is written.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Reference {
    pub(crate) name: String,
    pub(crate) tag: String,
    pub(crate) digest: Option<String>,
}

impl Reference {
    pub(crate) fn parse(text: &str) -> Self {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.to_owned())),
            None => (text, None),
        };
        // A colon before the last slash is the port of a registry.
        let path = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[path..].rfind(':') {
            Some(colon) => (&rest[..path + colon], &rest[path + colon + 1..]),
            None => (rest, "latest"),
        };
        Self { name: canonical(name).to_owned(), tag: tag.to_owned(), digest }
    }

    /// `name:tag`, as lists of accepted images write it.
    pub(crate) fn tagged(&self) -> String {
        format!("{}:{}", self.name, self.tag)
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.tag)
    }
}

/// The default registry can be left out or written in several ways.
fn canonical(name: &str) -> &str {
    let name = name.strip_prefix("index.docker.io/").or_else(|| name.strip_prefix("docker.io/")).unwrap_or(name);
    name.strip_prefix("library/").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_has_a_name_a_tag_and_perhaps_a_digest() {
        let parse = |text: &str| {
            let reference = Reference::parse(text);
            (reference.tagged(), reference.digest)
        };
        assert_eq!(parse("python"), ("python:latest".to_owned(), None));
        assert_eq!(parse("docker.io/library/python:3.12"), ("python:3.12".to_owned(), None));
        assert_eq!(parse("localhost:5000/a/b"), ("localhost:5000/a/b:latest".to_owned(), None));
        let pinned = parse("cgr.dev/chainguard/static:latest@sha256:0a");
        assert_eq!(pinned, ("cgr.dev/chainguard/static:latest".to_owned(), Some("sha256:0a".to_owned())));
    }
}
