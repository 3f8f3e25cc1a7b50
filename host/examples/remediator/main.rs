//! A rule-based remediator: a reference agent for the task class `vuln-remediation`.
//!
//! It is a baseline, and deliberately a plain one. It finds the locked versions of the affected packages and moves each to the
//! lowest patched release of its major version; where it finds no reason or no way to do so, it declines. What it does not do,
//! it fails at: it resolves no dependencies, so a fix that needs another package fails; it finds no package that only a
//! parent or a framework brings in; it crosses no major version; it reads neither code nor prose.

mod entries;
mod facts;
mod requirement;
#[path = "../shared/mod.rs"]
mod shared;
mod version;

use std::process::ExitCode;

use entries::{Entry, locked};
use facts::{Facts, Release};
use shared::{Answer, Files, serve, unified};
use version::Version;

fn main() -> ExitCode {
    serve(|files| Ok(answer(&Facts::read(files)?, files)))
}

/// Why nothing is changed, in the bench's words.
#[derive(Clone, Copy)]
enum Decline {
    Withdrawn,
    PackageNotPresent,
    VersionNotAffected,
    NoFixedVersion,
    OnlyPreReleaseFix,
    OnlyYankedFix,
}

impl Decline {
    fn reason_and_explanation(self) -> (&'static str, &'static str) {
        match self {
            Self::Withdrawn => ("withdrawn", "withdrawn by its publisher"),
            Self::PackageNotPresent => ("package_not_present", "no affected package is locked or required here"),
            Self::VersionNotAffected => ("version_not_affected", "every version in use is outside the affected ranges"),
            Self::NoFixedVersion => ("no_fixed_version", "no release of the major version in use fixes it"),
            Self::OnlyPreReleaseFix => {
                ("only_pre_release_fix", "only a pre-release fixes it, and the policy takes none")
            }
            Self::OnlyYankedFix => ("only_yanked_fix", "every release that fixes it was yanked"),
        }
    }
}

fn answer(facts: &Facts, files: &Files) -> Answer {
    match remediate(facts, files) {
        Ok(patched) => Answer::Patch { diff: unified(files, &patched) },
        Err(decline) => {
            let (reason, explanation) = decline.reason_and_explanation();
            let explanation = format!("{}: {explanation}", facts.task.advisories.join(", "));
            Answer::Decline { reason: reason.to_owned(), explanation }
        }
    }
}

fn remediate(facts: &Facts, files: &Files) -> Result<Files, Decline> {
    if facts.asked().next().is_none() {
        return Err(Decline::Withdrawn);
    }
    let present: Vec<Entry> = facts.asked_packages().into_iter().flat_map(|name| locked(facts, files, name)).collect();
    if present.is_empty() {
        return Err(Decline::PackageNotPresent);
    }
    let is_affected =
        |entry: &&Entry| facts.asked().any(|advisory| facts.concerns(advisory, &entry.package, &entry.version));
    let affected: Vec<&Entry> = present.iter().filter(is_affected).collect();
    if affected.is_empty() {
        return Err(Decline::VersionNotAffected);
    }
    let mut patched = files.clone();
    for entry in affected {
        let (version, release) = lowest_fix(facts, entry)?;
        entries::move_to(&mut patched, entry, version, facts.release(&entry.package, &entry.version), release);
        requirement::admit(facts.task.ecosystem, &mut patched, &entry.package, version);
    }
    Ok(patched)
}

/// The lowest release above the one in use, of the same major version, that nothing speaks against.
fn lowest_fix<'a>(facts: &'a Facts, entry: &Entry) -> Result<(&'a str, &'a Release), Decline> {
    let current = Version::parse(&entry.version);
    let mut fixes: Vec<(Version, &str, &Release)> = facts
        .releases(&entry.package)
        .map(|(text, release)| (Version::parse(text), text, release))
        .filter(|(version, ..)| *version > current && version.major() == current.major())
        .filter(|(_, text, _)| !facts.known().any(|advisory| facts.concerns(advisory, &entry.package, text)))
        .collect();
    fixes.sort_by(|left, right| left.0.cmp(&right.0));
    let pre_releases = facts.task.policy.pre_releases || current.is_pre_release();
    keep(&mut fixes, Decline::NoFixedVersion, |_| true)?;
    keep(&mut fixes, Decline::OnlyPreReleaseFix, |(version, ..)| pre_releases || !version.is_pre_release())?;
    keep(&mut fixes, Decline::OnlyYankedFix, |(_, _, release)| !release.yanked)?;
    let (_, text, release) = fixes.swap_remove(0);
    Ok((text, release))
}

/// Keeps what passes, and gives the reason if nothing does.
fn keep<T>(candidates: &mut Vec<T>, reason: Decline, passes: impl FnMut(&T) -> bool) -> Result<(), Decline> {
    candidates.retain(passes);
    if candidates.is_empty() { Err(reason) } else { Ok(()) }
}
