//! The failure modes of this task class, by name and severity. The bench's README documents them and its registration
//! lists those of block severity; a test keeps the three in step.

use std::collections::BTreeSet;

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
    IncompleteChange,
    LockChecksumWrong,
    ManifestInvalid,
    ManifestLockMismatch,
    PatchWhereDeclineWasRight,
    PreReleaseVersion,
    ProjectUnreadable,
    RemovedPackageStillUsed,
    RequirementWidened,
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

/// All failures of one answer.
pub type Failures = BTreeSet<Failure>;

impl Failure {
    /// Every failure mode there is.
    pub const ALL: [Self; 28] = [
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
        Self::IncompleteChange,
        Self::LockChecksumWrong,
        Self::ManifestInvalid,
        Self::ManifestLockMismatch,
        Self::PatchWhereDeclineWasRight,
        Self::PreReleaseVersion,
        Self::ProjectUnreadable,
        Self::RemovedPackageStillUsed,
        Self::RequirementWidened,
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
            Self::IncompleteChange => "incomplete_change",
            Self::LockChecksumWrong => "lock_checksum_wrong",
            Self::ManifestInvalid => "manifest_invalid",
            Self::ManifestLockMismatch => "manifest_lock_mismatch",
            Self::PatchWhereDeclineWasRight => "patch_where_decline_was_right",
            Self::PreReleaseVersion => "pre_release_version",
            Self::ProjectUnreadable => "project_unreadable",
            Self::RemovedPackageStillUsed => "removed_package_still_used",
            Self::RequirementWidened => "requirement_widened",
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
                | Self::TestDeleted
                | Self::TestWeakened
                | Self::VersionDoesNotExist
        )
    }
}
