//! One sandbox, one case, and the three questions that every hostile guest is asked.

use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, OnceLock};

use eval_host_tests::guests;
use eval_model::contract::{
    BenchCase, CaseFiles, Difficulty, Disposition, Meter, RawScore, RubricFault, RubricRunner, ScoreRequest, Scored,
    Source, TrapKind,
};
use eval_model::ids::Digest;
use eval_model::limits::{Limits, RawLimits};
use eval_sandbox::{Backend, CompileCache, CompileLimits, Compiler, PreparedRubric, Sandbox, SandboxConfig};

pub(crate) const WORKERS: u32 = 4;

pub(crate) const METER: Meter = Meter { cost_usd: 0.25, duration_seconds: 1.5 };

/// What two guests at a time may make of this process: their memories, their scratch directories with room to grow, the
/// compiler, and the tests themselves.
const PEAK_BYTES_MAX: u64 = 1_536 << 20;

/// The compiler of the host under test. Compiled guests are shared between tests, beside the binary, as they are between an
/// operator's runs.
pub(crate) fn config(backend: Backend) -> SandboxConfig {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_eval-host-under-test"));
    SandboxConfig {
        backend,
        workers: NonZeroU32::new(WORKERS).expect("not zero"),
        compile_cache: CompileCache::Kept(program.with_file_name("test-cache").join("eval-host")),
        compiler: Compiler { program, limits: CompileLimits::default() },
    }
}

pub(crate) fn sandbox_on(backend: Backend) -> Sandbox {
    Sandbox::new(&config(backend)).expect("wasmtime works here")
}

/// The sandbox that all tests of this process share, as all cases of a run do.
pub(crate) fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| sandbox_on(Backend::Native))
}

pub(crate) fn limits(raw: RawLimits) -> Limits {
    Limits::within_maxima(raw).expect("within the maxima")
}

/// Little fuel, for guests that spend it on host calls, which an unoptimised host makes slowly.
pub(crate) fn little_fuel() -> Limits {
    limits(RawLimits { fuel: Some(50_000_000), ..RawLimits::default() })
}

pub(crate) fn prepare(component: &[u8], limits: Limits) -> PreparedRubric {
    sandbox().load(component).expect("the guest loads").prepare(limits)
}

/// A case of this name with two input files and a fact.
pub(crate) struct Case {
    case: BenchCase,
    digest: Digest,
    files: Arc<CaseFiles>,
}

impl Case {
    pub(crate) fn named(name: &str) -> Self {
        let file = |path: &str, bytes: &[u8]| (Arc::from(path), Arc::from(bytes));
        let files = [
            file("input/a.txt", b"alpha"),
            file("input/nested/b.txt", b"beta"),
            file("expected/fact.txt", b"the fact"),
        ];
        Self {
            case: BenchCase {
                case_id: name.parse().expect("a slug"),
                task_class: "hostile".parse().expect("a slug"),
                disposition: Disposition::Positive,
                difficulty: Difficulty::Easy,
                source: Source::Curated,
                added_at: jiff::civil::date(2026, 11, 16),
            },
            digest: Digest::of(name.as_bytes()),
            files: Arc::new(CaseFiles::from(files)),
        }
    }

    /// A case as it lies in a bench of this repository.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        let text = fs::read_to_string(folder.join("case.toml")).expect("a case has one");
        let fields: toml::Table = toml::from_str(&text).expect("it is TOML");
        let field = |name: &str| fields[name].as_str().expect("a text").to_owned();
        let mut files = CaseFiles::new();
        for below in ["input", "expected"] {
            read_below(folder, below, &mut files);
        }
        Self {
            case: BenchCase {
                case_id: field("case_id").parse().expect("a slug"),
                task_class: field("task_class").parse().expect("a slug"),
                disposition: fields["disposition"].clone().try_into().expect("a disposition"),
                difficulty: fields["difficulty"].clone().try_into().expect("a difficulty"),
                source: fields["source"].clone().try_into().expect("a source"),
                added_at: field("added_at").parse().expect("a date"),
            },
            digest: Digest::of(text.as_bytes()),
            files: Arc::new(files),
        }
    }

    pub(crate) fn files(&self) -> &CaseFiles {
        &self.files
    }

    pub(crate) fn score(&self, rubric: &PreparedRubric, asked: &str) -> Scored {
        self.score_output(rubric, &format!(r#"{{"do":"{asked}"}}"#))
    }

    pub(crate) fn score_output(&self, rubric: &PreparedRubric, output_json: &str) -> Scored {
        let request =
            ScoreRequest { case: &self.case, case_digest: self.digest, files: &self.files, output_json, meter: METER };
        rubric.score(&request).expect("this machine can run rubrics")
    }
}

fn read_below(folder: &Path, below: &str, files: &mut CaseFiles) {
    let Ok(entries) = fs::read_dir(folder.join(below)) else { return };
    for entry in entries {
        let entry = entry.expect("a directory entry");
        let path = format!("{below}/{}", entry.file_name().to_str().expect("a plain name"));
        if entry.file_type().expect("its kind").is_dir() {
            read_below(folder, &path, files);
        } else {
            files.insert(path.into(), fs::read(entry.path()).expect("a readable file").into());
        }
    }
}

/// Scores one case with a guest and asks: is it the same again, does the next case still score, is the host still small?
#[track_caller]
pub(crate) fn ends_under(component: &[u8], asked: &str, limits: Limits) -> Scored {
    let rubric = prepare(component, limits);
    let case = Case::named("hostile");
    let scored = case.score(&rubric, asked);
    let again = case.score(&rubric, asked);
    assert_eq!(exactly(&again), exactly(&scored), "the same guest, case and output gave something else");
    the_next_case_scores();
    the_host_stays_small();
    scored
}

/// Everything about an answer, with the bits of its score: `NaN` is not equal to itself.
fn exactly(scored: &Scored) -> (String, Option<u64>) {
    (format!("{scored:?}"), scored.result.as_ref().ok().map(|score| score.score.to_bits()))
}

#[track_caller]
pub(crate) fn ends(component: &[u8], asked: &str) -> Scored {
    ends_under(component, asked, Limits::default())
}

#[track_caller]
pub(crate) fn the_next_case_scores() {
    static HONEST: OnceLock<PreparedRubric> = OnceLock::new();
    let honest = HONEST.get_or_init(|| prepare(guests::HONEST, Limits::default()));
    let scored = Case::named("next").score(honest, "");
    let breakdown = vec![("fact_bytes".to_owned(), 8.0), ("input_files".to_owned(), 2.0)];
    assert_eq!(scored.result, Ok(RawScore { breakdown, ..perfect() }));
    assert_eq!(scored.stdout.kept, b"scored next\n");
}

/// The most memory that this process has ever had, which no guest can have kept from being counted.
#[track_caller]
pub(crate) fn the_host_stays_small() {
    let status = fs::read_to_string("/proc/self/status").expect("Linux says");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("Linux says");
    let kibibytes: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    assert!(kibibytes << 10 <= PEAK_BYTES_MAX, "this process has had {kibibytes} KiB");
}

/// The number of a CPU that this process may use, to pin another to.
pub(crate) fn first_allowed_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").expect("Linux says");
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).expect("Linux says");
    allowed.trim().split([',', '-']).next().expect("at least one").to_owned()
}

/// The bytes that this process has caused to be written to disks.
pub(crate) fn bytes_written_to_disk() -> u64 {
    let io = fs::read_to_string("/proc/self/io").expect("Linux says");
    let written = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")).expect("Linux says");
    written.parse().expect("a number")
}

/// Runs one test of this program again, in a process of its own that `around` puts it into.
#[track_caller]
pub(crate) fn again_in_a_process(test: &str, around: impl FnOnce(&Path) -> Command) -> String {
    let program = std::env::current_exe().expect("a test is a program");
    let output = around(&program).args(["--exact", test, "--nocapture"]).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}{complained}");
    said
}

pub(crate) fn perfect() -> RawScore {
    RawScore {
        passed: true,
        score: 1.0,
        breakdown: Vec::new(),
        failure_modes: Vec::new(),
        cost_usd: METER.cost_usd,
        duration_seconds: METER.duration_seconds,
    }
}

pub(crate) fn trap(kind: TrapKind) -> Result<RawScore, RubricFault> {
    Err(RubricFault::Trap(kind))
}

/// What the guest reported under `key`.
#[track_caller]
pub(crate) fn seen(scored: &Scored, key: &str) -> f64 {
    let score = scored.result.as_ref().expect("the guest returned");
    score.breakdown.iter().find(|(name, _)| name == key).expect("the guest reports it").1
}

/// The texts that the guest reported.
#[track_caller]
pub(crate) fn reported(scored: &Scored) -> &[String] {
    &scored.result.as_ref().expect("the guest returned").failure_modes
}
