//! Returns a score that breaks the contract, in the way that is asked for.

use eval_host_test_guests::{Answer, BenchCase, BenchScore, HarnessOutput, RubricError, asked, perfect, rubric};

rubric!(score);

fn scored(output: &HarnessOutput, score: f64) -> BenchScore {
    BenchScore { score, ..perfect(output) }
}

fn with_keys(output: &HarnessOutput, keys: &[&str]) -> BenchScore {
    BenchScore { breakdown: keys.iter().map(|key| ((*key).to_owned(), 1.0)).collect(), ..perfect(output) }
}

fn with_modes(output: &HarnessOutput, passed: bool, modes: &[&str]) -> BenchScore {
    let failure_modes = modes.iter().map(|mode| (*mode).to_owned()).collect();
    BenchScore { passed, failure_modes, ..perfect(output) }
}

fn lie(output: &HarnessOutput) -> BenchScore {
    let overlong = "k".repeat(65);
    match asked(output) {
        "nan" => scored(output, f64::NAN),
        "infinity" => scored(output, f64::INFINITY),
        "negative-infinity" => scored(output, f64::NEG_INFINITY),
        "negative-zero" => scored(output, -0.0),
        "just-above-one" => scored(output, 1.000_000_000_000_000_2),
        "one-and-a-half" => scored(output, 1.5),
        "negative" => scored(output, -0.1),
        "duplicate-keys" => with_keys(output, &["twice", "twice"]),
        "empty-key" => with_keys(output, &[""]),
        "banned-key" => with_keys(output, &["confidence"]),
        "overlong-key" => with_keys(output, &[&overlong]),
        "other-alphabet-key" => with_keys(output, &["schlüssel"]),
        "many-keys" => BenchScore { breakdown: vec![("k".to_owned(), 0.0); 65], ..perfect(output) },
        "host-mode" => with_modes(output, false, &["rubric_fuel_exhausted"]),
        "control-mode" => with_modes(output, false, &["mode\u{1b}[2J"]),
        "blocked-and-passed" => with_modes(output, true, &["cve_still_present"]),
        "other-cost" => BenchScore { cost_usd: output.cost_usd + 1.0, ..perfect(output) },
        "other-duration" => BenchScore { duration_seconds: output.duration_seconds + 1.0, ..perfect(output) },
        other => panic!("no such lie: {other}"),
    }
}

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    match asked(output) {
        "malformed-output" => Err(RubricError::MalformedOutput("no field `patch`".to_owned())),
        "malformed-case" => Err(RubricError::MalformedCase("no file `expected/diff`".to_owned())),
        "internal" => Err(RubricError::Internal("gave up\u{1b}[2J".to_owned())),
        _ => Ok(lie(output)),
    }
}
