//! The central operation: one answer to one case becomes a score that the host has checked, or a fault.
//!
//! A run, a replay, a golden test and `rubric score` all come through here, so none of them can judge by rules of its own.
//! Nothing is kept and nothing is compared: what becomes of a judgement is the caller's business.

use std::collections::BTreeSet;

use crate::case::ReadCase;
use crate::contract::{CapturedStream, Meter, RubricFault, RubricRunner, RunnerError, ScoreRequest, Scored, TrapKind};
use crate::outcome::{CaseFault, NoOutput, OutcomeClass};
use crate::score::BenchScore;

/// What came of judging one answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// 0 when there is a fault.
    pub score: BenchScore,
    /// Why there is no verdict.
    pub fault: Option<CaseFault>,
    /// Unknown when no rubric ran, or after a fault that is not repeatable.
    pub fuel_used: Option<u64>,
    pub peak_memory_bytes: Option<u64>,
    /// What the rubric wrote.
    pub stdout: CapturedStream,
    pub stderr: CapturedStream,
}

impl Judgement {
    pub fn outcome(&self) -> OutcomeClass {
        self.fault.as_ref().map_or(OutcomeClass::Scored, CaseFault::class)
    }

    /// The judgement of a case that no rubric was run for.
    pub fn without_output(reason: NoOutput, meter: Meter) -> Self {
        let fault = CaseFault::NoOutput(reason);
        let score = BenchScore::faulted(&fault, meter);
        Self {
            score,
            fault: Some(fault),
            fuel_used: None,
            peak_memory_bytes: None,
            stdout: CapturedStream::default(),
            stderr: CapturedStream::default(),
        }
    }

    /// What the rubric wrote, as one object, if it wrote anything. How much a guest wrote before its stack was full depends on
    /// the machine, and a replay would find other words.
    pub fn log_object(&self) -> Option<Vec<u8>> {
        match self.fault {
            Some(CaseFault::Rubric(RubricFault::Trap(TrapKind::StackOverflow))) => None,
            _ => streams_object(&[("stdout", &self.stdout), ("stderr", &self.stderr)]),
        }
    }
}

/// Runs the rubric on an answer and checks what it says. `block` are the failure modes of block severity.
pub fn judge(
    runner: &dyn RubricRunner,
    case: &ReadCase,
    output_json: &str,
    meter: Meter,
    block: &BTreeSet<String>,
) -> Result<Judgement, RunnerError> {
    let request =
        ScoreRequest { case: &case.case, case_digest: case.case_digest, files: &case.files, output_json, meter };
    let Scored { result, fuel_used, peak_memory_bytes, stdout, stderr } = runner.score(&request)?;
    let (score, fault) = match result.and_then(|claim| BenchScore::admit(claim, meter, block)) {
        Ok(score) => (score, None),
        Err(fault) => {
            let fault = CaseFault::Rubric(fault);
            (BenchScore::faulted(&fault, meter), Some(fault))
        }
    };
    Ok(Judgement { score, fault, fuel_used, peak_memory_bytes, stdout, stderr })
}

/// What the only stream of an object of [`streams_object`] holds, such as that of an agent.
pub fn only_stream(object: &[u8]) -> &[u8] {
    let header = object.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    &object[header..]
}

/// Captured streams as one object: a header per stream that says how much was kept and how much was cut off. `None` when
/// nothing was written.
pub fn streams_object(streams: &[(&str, &CapturedStream)]) -> Option<Vec<u8>> {
    if streams.iter().all(|(_, stream)| **stream == CapturedStream::default()) {
        return None;
    }
    let mut log = Vec::new();
    for (name, stream) in streams {
        let header = format!("{name}: {} bytes kept, {} cut off\n", stream.kept.len(), stream.dropped_bytes);
        log.extend_from_slice(header.as_bytes());
        log.extend_from_slice(&stream.kept);
        log.push(b'\n');
    }
    Some(log)
}

/// The stream that an object of [`streams_object`] holds, if it holds this one alone.
pub fn stream_of_object(name: &str, object: &[u8]) -> Option<CapturedStream> {
    let end = object.iter().position(|byte| *byte == b'\n')?;
    let (header, rest) = (str::from_utf8(&object[..end]).ok()?, &object[end + 1..]);
    let counts = header.strip_prefix(name)?.strip_prefix(": ")?;
    let (_, dropped) = counts.strip_suffix(" cut off")?.split_once(" bytes kept, ")?;
    let stream = CapturedStream { kept: rest.strip_suffix(b"\n")?.to_vec(), dropped_bytes: dropped.parse().ok()? };
    // The header counts the bytes, so what does not survive being written again is another object.
    (streams_object(&[(name, &stream)])? == object).then_some(stream)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_comes_back_from_its_object_byte_for_byte() {
        let stream = CapturedStream { kept: b"\xff\n\0log".to_vec(), dropped_bytes: 7 };
        let object = streams_object(&[("stderr", &stream)]).expect("an object");
        assert_eq!(stream_of_object("stderr", &object), Some(stream.clone()));
        assert_eq!(stream_of_object("stdout", &object), None);
        assert_eq!(stream_of_object("stderr", &object[..object.len() - 1]), None);
        let two = streams_object(&[("stderr", &stream), ("stdout", &stream)]).expect("an object");
        assert_eq!(stream_of_object("stderr", &two), None);
    }
}
