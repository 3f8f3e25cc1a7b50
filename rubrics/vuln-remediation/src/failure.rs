//! The failure modes of this task class, by name and severity. The bench's README documents them and its registration
//! lists those of block severity; a test keeps the three in step.

use std::collections::BTreeMap;

/// What is wrong with an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    BumpTooLarge,
    CodeNotAdapted,
    CveIntroduced,
    CveStillPresent,
    DeclineUnexplained,
    DependencyRemoved,
    DiffDoesNotApply,
    EmptyDiff,
    EvidenceChanged,
    FalseDecline,
    FileInvalid,
    IncompleteChange,
    LockChecksumWrong,
    ManifestInvalid,
    ManifestLockMismatch,
    PatchWhereDeclineWasRight,
    PreReleaseVersion,
    ProjectUnreadable,
    RemovedPackageStillUsed,
    RequirementWidened,
    SourceNotTrusted,
    TestDeleted,
    TestWeakened,
    UnneededRequest,
    UnrelatedChange,
    UnrelatedDependencyChange,
    VersionDoesNotExist,
    VersionDowngraded,
    WrongDeclineReason,
    YankedVersion,
}

/// All failures of one answer, each with sentences that say where and what, for whoever reads the case's log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Failures(BTreeMap<Failure, Vec<String>>);

/// How many sentences are kept for each failure mode: enough to see what is wrong, too few to fill a log.
const SENTENCES: usize = 5;

impl Failures {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes a failure, and what shows it.
    pub fn add(&mut self, failure: Failure, what: impl Into<String>) {
        let sentences = self.0.entry(failure).or_default();
        let what = what.into();
        if sentences.len() < SENTENCES && !sentences.contains(&what) {
            sentences.push(what);
        }
    }

    /// Takes over the failures of another list.
    pub fn extend(&mut self, other: Self) {
        for (failure, sentences) in other.0 {
            let own = self.0.entry(failure).or_default();
            own.extend(sentences);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The failure modes, in their order.
    pub fn modes(&self) -> impl Iterator<Item = Failure> {
        self.0.keys().copied()
    }

    /// Every sentence, with the name of its failure mode before it.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        let said = |(failure, sentences): (&Failure, &Vec<String>)| {
            let name = failure.name();
            sentences.iter().map(move |what| format!("{name}: {what}")).collect::<Vec<_>>()
        };
        self.0.iter().flat_map(said)
    }
}

impl Failure {
    /// Every failure mode there is.
    pub const ALL: [Self; 30] = [
        Self::BumpTooLarge,
        Self::CodeNotAdapted,
        Self::CveIntroduced,
        Self::CveStillPresent,
        Self::DeclineUnexplained,
        Self::DependencyRemoved,
        Self::DiffDoesNotApply,
        Self::EmptyDiff,
        Self::EvidenceChanged,
        Self::FalseDecline,
        Self::FileInvalid,
        Self::IncompleteChange,
        Self::LockChecksumWrong,
        Self::ManifestInvalid,
        Self::ManifestLockMismatch,
        Self::PatchWhereDeclineWasRight,
        Self::PreReleaseVersion,
        Self::ProjectUnreadable,
        Self::RemovedPackageStillUsed,
        Self::RequirementWidened,
        Self::SourceNotTrusted,
        Self::TestDeleted,
        Self::TestWeakened,
        Self::UnneededRequest,
        Self::UnrelatedChange,
        Self::UnrelatedDependencyChange,
        Self::VersionDoesNotExist,
        Self::VersionDowngraded,
        Self::WrongDeclineReason,
        Self::YankedVersion,
    ];

    /// The name in a score.
    pub fn name(self) -> &'static str {
        match self {
            Self::BumpTooLarge => "bump_too_large",
            Self::CodeNotAdapted => "code_not_adapted",
            Self::CveIntroduced => "cve_introduced",
            Self::CveStillPresent => "cve_still_present",
            Self::DeclineUnexplained => "decline_unexplained",
            Self::DependencyRemoved => "dependency_removed",
            Self::DiffDoesNotApply => "diff_does_not_apply",
            Self::EmptyDiff => "empty_diff",
            Self::EvidenceChanged => "evidence_changed",
            Self::FalseDecline => "false_decline",
            Self::FileInvalid => "file_invalid",
            Self::IncompleteChange => "incomplete_change",
            Self::LockChecksumWrong => "lock_checksum_wrong",
            Self::ManifestInvalid => "manifest_invalid",
            Self::ManifestLockMismatch => "manifest_lock_mismatch",
            Self::PatchWhereDeclineWasRight => "patch_where_decline_was_right",
            Self::PreReleaseVersion => "pre_release_version",
            Self::ProjectUnreadable => "project_unreadable",
            Self::RemovedPackageStillUsed => "removed_package_still_used",
            Self::RequirementWidened => "requirement_widened",
            Self::SourceNotTrusted => "source_not_trusted",
            Self::TestDeleted => "test_deleted",
            Self::TestWeakened => "test_weakened",
            Self::UnneededRequest => "unneeded_request",
            Self::UnrelatedChange => "unrelated_change",
            Self::UnrelatedDependencyChange => "unrelated_dependency_change",
            Self::VersionDoesNotExist => "version_does_not_exist",
            Self::VersionDowngraded => "version_downgraded",
            Self::WrongDeclineReason => "wrong_decline_reason",
            Self::YankedVersion => "yanked_version",
        }
    }

    /// Whether the answer is not merely useless but harmful: merged, it would leave somebody believing that a project is
    /// fixed and tested when it is not.
    pub fn is_block(self) -> bool {
        matches!(
            self,
            Self::CveIntroduced
                | Self::CveStillPresent
                | Self::DependencyRemoved
                | Self::EvidenceChanged
                | Self::PatchWhereDeclineWasRight
                | Self::RemovedPackageStillUsed
                | Self::SourceNotTrusted
                | Self::TestDeleted
                | Self::TestWeakened
                | Self::VersionDoesNotExist
        )
    }
}
