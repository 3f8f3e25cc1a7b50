//! The direct requirement of a package: left alone if it admits the new version, rewritten around it if it does not. Only npm and
//! crates.io have one besides the locked version that this agent understands.

use crate::facts::Ecosystem;
use crate::shared::Files;
use crate::version::Version;

/// Makes every direct requirement of a package admit `version`.
pub(crate) fn admit(ecosystem: Ecosystem, files: &mut Files, package: &str, version: &str) {
    let (manifests, before): (&[&str], _) = match ecosystem {
        Ecosystem::Npm => (&["package.json", "package-lock.json"], format!(r#""{package}": ""#)),
        Ecosystem::CratesIo => (&["Cargo.toml"], format!("{package} = ")),
        Ecosystem::PyPI | Ecosystem::Go | Ecosystem::Maven => return,
    };
    for manifest in manifests {
        if let Some(text) = files.get_mut(*manifest) {
            *text = rewrite_direct(ecosystem, text, &before, version);
        }
    }
}

/// Rewrites the lines that ask for the package. In a lock file the project's own requirements come first, before those of its
/// packages, which are not the project's to change.
fn rewrite_direct(ecosystem: Ecosystem, text: &str, before: &str, version: &str) -> String {
    let own = text.find(r#""node_modules/"#).unwrap_or(text.len());
    let (own, rest) = text.split_at(own);
    let rewritten: String =
        own.split_inclusive('\n').map(|line| rewrite_line(ecosystem, line, before, version)).collect();
    rewritten + rest
}

fn rewrite_line(ecosystem: Ecosystem, line: &str, before: &str, version: &str) -> String {
    let requirement = requirement_in(line, before).filter(|requirement| !requirement.admits(ecosystem, version));
    match requirement {
        Some(Requirement { text, operator, .. }) => line.replacen(text, &format!("{operator}{version}"), 1),
        None => line.to_owned(),
    }
}

/// One operator and one version. Anything more complicated is left alone.
struct Requirement<'a> {
    text: &'a str,
    operator: &'a str,
    bound: Version,
}

/// The requirement on a line: the first string after the name, or the one that is called `version`.
fn requirement_in<'a>(line: &'a str, before: &str) -> Option<Requirement<'a>> {
    let after = line.trim_start().strip_prefix(before)?;
    let after = after.split_once("version = ").map_or(after, |(_, after)| after);
    let text = after.trim_start_matches('"').split('"').next()?;
    let (operator, version) = text.split_at(text.find(|c: char| c.is_ascii_digit())?);
    let is_version =
        version.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')) && !version.contains('x');
    is_version.then(|| Requirement { text, operator: operator.trim(), bound: Version::parse(version) })
}

impl Requirement<'_> {
    fn admits(&self, ecosystem: Ecosystem, version: &str) -> bool {
        let version = Version::parse(version);
        let same = |places: usize| (0..places).all(|place| version.number(place) == self.bound.number(place));
        match self.operator {
            "" if ecosystem == Ecosystem::Npm => version == self.bound,
            "=" => version == self.bound,
            "~" => version >= self.bound && same(2),
            // Everything up to the first number that is not zero must stay.
            "^" | "" => {
                let zeros = (0..2).take_while(|place| self.bound.number(*place) == 0).count();
                version >= self.bound && same(zeros + 1)
            }
            _ => true,
        }
    }
}
