//! What every test guest shares: the contract's types, a macro that makes a rubric of one function, and ways to say what was
//! seen.

wit_bindgen::generate!({
    path: "../../wit",
    world: "rubric",
    pub_export_macro: true,
    export_macro_name: "export_rubric",
});

pub use eval_host::rubric::types::{
    BenchCase, BenchScore, Difficulty, Disposition, HarnessOutput, RubricError, Source,
};
pub use exports::eval_host::rubric::scoring::Guest;
pub use wasip2;

use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

pub type Answer = Result<BenchScore, RubricError>;

/// Exports `score`, a function of the case and the output, as the rubric.
#[macro_export]
macro_rules! rubric {
    ($score:path) => {
        struct Rubric;

        impl $crate::Guest for Rubric {
            fn score(case: $crate::BenchCase, output: $crate::HarnessOutput) -> $crate::Answer {
                $score(&case, &output)
            }
        }

        $crate::export_rubric!(Rubric with_types_in $crate);
    };
}

/// A perfect score, with the meter passed through.
pub fn perfect(output: &HarnessOutput) -> BenchScore {
    BenchScore {
        passed: true,
        score: 1.0,
        breakdown: Vec::new(),
        failure_modes: Vec::new(),
        cost_usd: output.cost_usd,
        duration_seconds: output.duration_seconds,
    }
}

/// A perfect score that says what the guest saw in its breakdown.
pub fn observed(output: &HarnessOutput, seen: &[(&str, f64)]) -> Answer {
    let breakdown = seen.iter().map(|(key, value)| ((*key).to_owned(), *value)).collect();
    Ok(BenchScore { breakdown, ..perfect(output) })
}

/// A perfect score that says what the guest saw in its failure modes, which are free text before the host admits them.
pub fn reported(output: &HarnessOutput, seen: Vec<String>) -> Answer {
    Ok(BenchScore { failure_modes: seen, ..perfect(output) })
}

/// The variant that a test asks for: the value in an output like `{"do":"value"}`.
pub fn asked(output: &HarnessOutput) -> &str {
    output.json.split('"').nth(3).unwrap_or("")
}

/// The scratch directory.
pub fn root() -> Descriptor {
    get_directories().remove(0).0
}

/// Creates and opens a file for writing.
pub fn create(root: &Descriptor, path: &str) -> Result<Descriptor, ErrorCode> {
    root.open_at(PathFlags::empty(), path, OpenFlags::CREATE, DescriptorFlags::WRITE | DescriptorFlags::READ)
}

/// Opens a directory below another.
pub fn open_directory(base: &Descriptor, path: &str) -> Result<Descriptor, ErrorCode> {
    base.open_at(PathFlags::empty(), path, OpenFlags::DIRECTORY, DescriptorFlags::READ)
}

/// `ok`, or the name of the error code.
pub fn outcome<T>(result: Result<T, ErrorCode>) -> String {
    match result {
        Ok(_) => "ok".to_owned(),
        Err(code) => code.name().to_owned(),
    }
}
