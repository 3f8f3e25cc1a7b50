//! Everything that can be wrong with an answer, by name. The bench's README says what each means to a reader.

/// A part of the judgement, as the breakdown names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Answer,
    BaseImage,
    Build,
    Files,
    HealthCheck,
    Metadata,
    Network,
    Packages,
    Scope,
    Startup,
    User,
}

impl Part {
    /// What a migrated Dockerfile is judged by, and for how many points of 100.
    pub(crate) const POINTS: [(Self, u32); 10] = [
        (Self::BaseImage, 20),
        (Self::Startup, 20),
        (Self::User, 10),
        (Self::Build, 10),
        (Self::Packages, 10),
        (Self::Files, 10),
        (Self::Network, 5),
        (Self::HealthCheck, 5),
        (Self::Metadata, 5),
        (Self::Scope, 5),
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Answer => "answer",
            Self::BaseImage => "base_image",
            Self::Build => "build",
            Self::Files => "files",
            Self::HealthCheck => "health_check",
            Self::Metadata => "metadata",
            Self::Network => "network",
            Self::Packages => "packages",
            Self::Scope => "scope",
            Self::Startup => "startup",
            Self::User => "user",
        }
    }
}

/// What a wrong answer would do if somebody used it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// It could go unnoticed until it hurts: it builds, and is insecure, does not start, or lost something.
    Block,
    /// The build or the first look shows it.
    Fail,
}

macro_rules! modes {
    ($($mode:ident = $name:literal, $part:ident, $severity:ident;)*) => {
        /// What is wrong with an answer.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Mode { $($mode,)* }

        impl Mode {
            #[cfg(test)]
            pub(crate) const ALL: &'static [Self] = &[$(Self::$mode,)*];

            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$mode => $name,)* }
            }

            pub(crate) fn part(self) -> Part {
                match self { $(Self::$mode => Part::$part,)* }
            }

            pub(crate) fn severity(self) -> Severity {
                match self { $(Self::$mode => Severity::$severity,)* }
            }
        }
    };
}

modes! {
    EmptyDiff = "empty_diff", Answer, Fail;
    DiffDoesNotApply = "diff_does_not_apply", Answer, Fail;
    FalseDecline = "false_decline", Answer, Fail;
    DeclineUnexplained = "decline_unexplained", Answer, Fail;
    WrongDeclineReason = "wrong_decline_reason", Answer, Fail;
    PatchWhereDeclineWasRight = "patch_where_decline_was_right", Answer, Block;

    BaseImageNotAccepted = "base_image_not_accepted", BaseImage, Block;
    DevelopmentVariantKept = "development_variant_kept", BaseImage, Block;
    UnknownImage = "unknown_image", BaseImage, Fail;
    BuildStageNotMigrated = "build_stage_not_migrated", BaseImage, Fail;

    RunsAsRoot = "runs_as_root", User, Block;
    UnknownUser = "unknown_user", User, Fail;
    WrongUser = "wrong_user", User, Fail;

    ShellFormStartup = "shell_form_startup", Startup, Block;
    StartupNeedsShell = "startup_needs_shell", Startup, Block;
    ShellAdded = "shell_added", Startup, Block;
    EntrypointDoubled = "entrypoint_doubled", Startup, Block;
    WrongStartupCommand = "wrong_startup_command", Startup, Block;
    StartupProgramMissing = "startup_program_missing", Startup, Block;
    VariableNotExpanded = "variable_not_expanded", Startup, Block;
    DynamicBinaryOnStaticImage = "dynamic_binary_on_static_image", Startup, Block;
    LibcMismatch = "libc_mismatch", Startup, Block;
    DependenciesNotReachable = "dependencies_not_reachable", Startup, Block;

    PackageManagerMissing = "package_manager_missing", Packages, Fail;
    PackageInstallNotRoot = "package_install_not_root", Packages, Fail;
    UnknownPackage = "unknown_package", Packages, Fail;
    RequiredPackageMissing = "required_package_missing", Packages, Block;
    DevelopmentDependenciesAdded = "development_dependencies_added", Packages, Fail;

    DockerfileInvalid = "dockerfile_invalid", Build, Fail;
    RunWithoutShell = "run_without_shell", Build, Fail;
    BuildNotPermitted = "build_not_permitted", Build, Fail;
    UnknownStage = "unknown_stage", Build, Fail;
    CopySourceMissing = "copy_source_missing", Build, Fail;
    ArtifactMissing = "artifact_missing", Build, Block;
    UndeclaredArgument = "undeclared_argument", Build, Block;
    StageUnused = "stage_unused", Build, Fail;
    InstructionWithoutEffect = "instruction_without_effect", Build, Fail;

    FileMissing = "file_missing", Files, Block;
    NotWritable = "not_writable", Files, Block;
    ConfigNotAdapted = "config_not_adapted", Files, Block;
    FileInvalid = "file_invalid", Files, Block;

    PrivilegedPort = "privileged_port", Network, Block;
    PortsDiffer = "ports_differ", Network, Fail;

    HealthCheckBroken = "health_check_broken", HealthCheck, Block;
    HealthCheckMissing = "health_check_missing", HealthCheck, Fail;

    LabelLost = "label_lost", Metadata, Fail;
    EnvLost = "env_lost", Metadata, Fail;
    WorkdirChanged = "workdir_changed", Metadata, Fail;
    VolumesDiffer = "volumes_differ", Metadata, Fail;
    StopSignalLost = "stop_signal_lost", Metadata, Fail;

    EvidenceChanged = "evidence_changed", Scope, Block;
    UnrelatedChange = "unrelated_change", Scope, Block;
    TestChanged = "test_changed", Scope, Block;
    LinesDoubled = "lines_doubled", Scope, Fail;
}

/// One thing that is wrong, with a sentence for whoever reads the case's log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) mode: Mode,
    pub(crate) note: String,
}

impl Finding {
    pub(crate) fn new(mode: Mode, note: impl Into<String>) -> Self {
        Self { mode, note: note.into() }
    }
}
