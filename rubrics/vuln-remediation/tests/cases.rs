//! Every case agrees with itself: what the curator states is what the rubric finds in the input and in the references.

use std::path::PathBuf;

use eval_rubric::golden::{self, GoldenCase, Outcome};
use serde_json::Value;
use vuln_remediation::VulnRemediation;
use vuln_remediation::advisory::{Advisory, Affected};
use vuln_remediation::case::{Case, Delta};
use vuln_remediation::output::DeclineReason;
use vuln_remediation::version::Version;

fn bench() -> Vec<(GoldenCase, Case)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bench/vuln-remediation");
    let cases = golden::load(&folder).unwrap_or_else(|failure| panic!("{failure}"));
    let read = |golden: GoldenCase| {
        let case = Case::read(&golden.case, &golden.files);
        (case.unwrap_or_else(|error| panic!("{}: {error:?}", golden.case.case_id)), golden)
    };
    cases.into_iter().map(read).map(|(case, golden)| (golden, case)).collect()
}

#[test]
fn the_input_and_every_reference_hold_together() {
    for (golden, case) in bench() {
        let id = &golden.case.case_id;
        assert_eq!(case.before.problems, [], "{id}");
        for reference in &case.accepts.references {
            assert_eq!(reference.project.problems, [], "{id}");
        }
    }
}

#[test]
fn the_expected_delta_is_what_the_reference_does() {
    for (golden, case) in bench() {
        let id = &golden.case.case_id;
        for reference in &case.accepts.references {
            assert_eq!(case.delta(&reference.project), reference.delta, "{id}");
        }
        if case.accepts.references.is_empty() {
            let text = golden.files.read_text("expected/cve-delta.json").unwrap();
            let stated: Delta = serde_json::from_str(&text).unwrap();
            assert_eq!(case.delta(&case.before), stated, "{id}: nothing changes");
        }
    }
}

#[test]
fn the_reasons_for_declining_are_what_the_input_shows() {
    for (golden, case) in bench() {
        for reason in &case.accepts.decline_reasons {
            assert!(
                case.asked().all(|advisory| shows(&case, advisory, *reason)),
                "{}: {reason:?}",
                golden.case.case_id
            );
        }
    }
}

#[test]
fn the_solved_example_of_every_case_is_its_right_answer_and_passes() {
    for (golden, _) in bench() {
        let id = &golden.case.case_id;
        let cassette: Value = serde_json::from_str(&golden.files.read_text("cassette.json").unwrap()).unwrap();
        assert_eq!(cassette["output"], golden.tests["right"].output, "{id}");
        let outcome = golden::run::<VulnRemediation>(&golden, &cassette["output"]);
        assert_eq!(outcome, Outcome::Score { passed: true, score: 1.0, failure_modes: vec![] }, "{id}");
    }
}

#[test]
fn a_third_of_the_cases_is_negative_or_ambiguous_and_every_ecosystem_has_some() {
    let cases = bench();
    let declinable = cases.iter().filter(|(_, case)| !case.accepts.decline_reasons.is_empty()).count();
    assert!(declinable * 3 >= cases.len(), "{declinable} of {}", cases.len());
    for ecosystem in ["npm", "PyPI", "crates.io", "Go", "Maven"] {
        let own = |golden: &GoldenCase| {
            golden.files.read_text("input/task.json").unwrap().contains(&format!("\"ecosystem\": \"{ecosystem}\""))
        };
        assert!(cases.iter().filter(|(golden, _)| own(golden)).count() >= 4, "{ecosystem}");
    }
}

/// Whether the input bears a reason out, as far as it can be computed.
fn shows(case: &Case, advisory: &Advisory, reason: DeclineReason) -> bool {
    let concerned = case.concerning(&case.before).contains(&advisory.id);
    let in_range = installed(case, advisory).any(|(affected, version)| affected.includes(version));
    match reason {
        DeclineReason::Withdrawn => advisory.withdrawn.is_some(),
        DeclineReason::PackageNotPresent => installed(case, advisory).next().is_none(),
        DeclineReason::VersionNotAffected => installed(case, advisory).next().is_some() && !in_range,
        DeclineReason::FeatureNotEnabled => {
            in_range && !concerned && advisory.affected.iter().any(|a| !a.ecosystem_specific.features.is_empty())
        }
        DeclineReason::PlatformNotAffected => {
            in_range && !concerned && advisory.affected.iter().any(|a| !a.ecosystem_specific.os.is_empty())
        }
        DeclineReason::NotReachable => concerned,
        DeclineReason::NoFixedVersion => concerned && fixes(case, advisory).is_empty(),
        DeclineReason::OnlyPreReleaseFix => {
            concerned && !case.task.policy.pre_releases && fixes(case, advisory).iter().all(|(v, _)| v.is_pre_release())
        }
        DeclineReason::OnlyYankedFix => concerned && fixes(case, advisory).iter().all(|(_, yanked)| *yanked),
    }
}

/// The affected packages that the project has, with their versions.
fn installed<'a>(case: &'a Case, advisory: &'a Advisory) -> impl Iterator<Item = (&'a Affected, &'a Version)> {
    advisory.affected.iter().flat_map(move |affected| {
        let own = case.before.packages.iter().filter(move |package| package.name == affected.package.canonical_name());
        own.map(move |package| (affected, &package.version))
    })
}

/// Newer versions of the affected packages in use that are not affected, and whether they are yanked.
fn fixes(case: &Case, advisory: &Advisory) -> Vec<(Version, bool)> {
    let newer = |(affected, current): (&Affected, &Version)| -> Vec<(Version, bool)> {
        let known = case.registry.versions(&affected.package.canonical_name()).into_iter();
        let clean = known.filter(|(version, _)| version > current && !affected.includes(version));
        clean.map(|(version, release)| (version, release.yanked)).collect()
    };
    installed(case, advisory).flat_map(newer).collect()
}
