//! `go.sum`: checksums of module versions and of their go.mod files.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Project, ProjectError};

/// Checksums by module and version; the version of a go.mod file ends with `/go.mod`.
#[derive(Debug, Default)]
pub(super) struct GoSum(BTreeMap<(String, String), BTreeSet<String>>);

impl GoSum {
    pub(super) fn parse(path: &str, text: &str) -> Result<Self, ProjectError> {
        let mut sums = Self::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let [module, version, sum] = line.split_whitespace().collect::<Vec<_>>()[..] else {
                return Err(ProjectError::unreadable(path, format!("line {} has not three words", number + 1)));
            };
            let key = (module.to_owned(), version.to_owned());
            sums.0.entry(key).or_default().insert(sum.to_owned());
        }
        Ok(sums)
    }

    /// The checksums of a module version and of its go.mod file, as far as they are there.
    pub(super) fn of(&self, module: &str, version: &str) -> Vec<String> {
        let keys = [version.to_owned(), format!("{version}/go.mod")];
        let sums = keys.into_iter().filter_map(|version| self.0.get(&(module.to_owned(), version)));
        sums.flatten().cloned().collect()
    }

    pub(super) fn keep_remainder(self, path: &str, project: &mut Project) {
        for ((module, version), sums) in self.0 {
            project.remainder.insert(format!("{path}#{module}@{version}"), format!("{sums:?}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_version_has_two_sums() {
        let sums = GoSum::parse("go.sum", "a.com/x v1.0.0 h1:a=\na.com/x v1.0.0/go.mod h1:b=\n").unwrap();
        assert_eq!(sums.of("a.com/x", "v1.0.0"), ["h1:a=", "h1:b="]);
        assert!(sums.of("a.com/x", "v1.0.1").is_empty());
    }

    #[test]
    fn a_line_that_is_no_sum_cannot_be_read() {
        assert!(GoSum::parse("go.sum", "a.com/x v1.0.0\n").is_err());
    }
}
