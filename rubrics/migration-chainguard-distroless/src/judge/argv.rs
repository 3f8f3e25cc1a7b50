//! Patterns for commands. The README of the bench documents them under "Commands".

use crate::expectation::Artifact;
use crate::filesystem::{Origin, absolute};
use crate::glob;
use crate::image::Image;
use crate::shell::file_name;

/// An image with the names that patterns can use.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) image: &'a Image,
    pub(super) artifacts: &'a [Artifact],
}

impl Scope<'_> {
    /// Whether a command fits one of the patterns.
    pub(super) fn fits_any(&self, patterns: &[Vec<String>], argv: &[String]) -> bool {
        patterns.iter().any(|pattern| self.fits(pattern, argv, true))
    }

    fn fits(&self, pattern: &[String], argv: &[String], first: bool) -> bool {
        match pattern.split_first() {
            None => argv.is_empty(),
            Some((any, rest)) if any == "..." => {
                (0..=argv.len()).any(|skip| self.fits(rest, &argv[skip..], first && skip == 0))
            }
            Some((word, rest)) => match argv.split_first() {
                Some((argument, others)) => self.fits_word(word, argument, first) && self.fits(rest, others, false),
                None => false,
            },
        }
    }

    fn fits_word(&self, pattern: &str, argument: &str, first: bool) -> bool {
        match pattern.split_once(':') {
            Some(("file", input)) => self.is_file(argument, input, first),
            Some(("artifact", name)) => self.is_artifact(argument, name, first),
            Some(("program", names)) => is_program(names, argument),
            Some(("contains", text)) => argument.contains(text),
            Some(("glob", pattern)) => glob::matches_text(pattern, argument),
            _ if first => is_program(pattern, argument),
            _ => pattern.split('|').any(|word| word == argument),
        }
    }

    /// Where a word of a command is in the image: the program as the system finds it, an argument from the working folder.
    fn place(&self, argument: &str, first: bool) -> Option<String> {
        if first {
            return self.image.resolve_program(argument);
        }
        // An option is no path, wherever the command is started.
        (!argument.starts_with('-')).then(|| absolute(&self.image.config.workdir, argument))
    }

    fn is_file(&self, argument: &str, input: &str, first: bool) -> bool {
        let node = self.place(argument, first).and_then(|path| self.image.files.get(&path).cloned());
        node.is_some_and(|node| matches!(&node.origin, Origin::Context(path) if path == input))
    }

    fn is_artifact(&self, argument: &str, name: &str, first: bool) -> bool {
        let Some(artifact) = self.artifacts.iter().find(|artifact| artifact.name == name) else { return false };
        let Some(path) = self.place(argument, first) else { return false };
        let makers = self.image.files.find(&path).map(|(_, node)| node.made_by.as_slice()).unwrap_or_default();
        makers.iter().any(|making| artifact.is_made_by(making))
    }
}

/// Whether a program has one of the names, which may be paths.
fn is_program(names: &str, program: &str) -> bool {
    names.split('|').any(|name| if name.contains('/') { name == program } else { name == file_name(program) })
}

#[cfg(test)]
mod tests {
    use super::is_program;

    #[test]
    fn a_program_is_known_by_its_name_or_by_its_path() {
        assert!(is_program("python|python3", "/usr/bin/python3"));
        assert!(!is_program("python", "/usr/bin/python3"));
        assert!(is_program("/usr/bin/python", "/usr/bin/python"));
        assert!(!is_program("/usr/bin/python", "python"));
    }
}
