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
    let asks = line.trim_start().starts_with(before);
    match requirement_in(line, before).filter(|requirement| asks && !admits(ecosystem, requirement, version)) {
        Some(requirement) => line.replacen(requirement, &format!("{}{version}", operator(requirement)), 1),
        None => line.to_owned(),
    }
}

/// The text of the requirement: the first string after the name, or the one that is called `version`.
fn requirement_in<'a>(line: &'a str, before: &str) -> Option<&'a str> {
    let (_, after) = line.split_once(before)?;
    let after = after.split_once("version = ").map_or(after, |(_, after)| after);
    after.trim_start_matches('"').split('"').next()
}

fn operator(requirement: &str) -> &str {
    &requirement[..requirement.find(|c: char| c.is_ascii_alphanumeric()).unwrap_or(0)]
}

/// Whether a requirement of one operator and one version admits a version. Anything more complicated is taken to.
fn admits(ecosystem: Ecosystem, requirement: &str, version: &str) -> bool {
    let bound = Version::parse(requirement.trim_start_matches(operator(requirement)));
    let version = Version::parse(version);
    let up_to =
        |places: usize| version >= bound && (0..places).all(|place| version.number(place) == bound.number(place));
    match operator(requirement).trim() {
        "" if ecosystem == Ecosystem::Npm => version == bound,
        "=" => version == bound,
        "~" => up_to(2),
        // The first number that is not zero must stay.
        "^" | "" => up_to(1 + (0..2).take_while(|place| bound.number(*place) == 0).count()),
        _ => true,
    }
}
