//! A journal as it was found: which cases are done, and what was lost.

use std::collections::BTreeMap;
use std::path::Path;

use super::found::Basis;
use super::writer::{Header, JournalError, Line, SCHEMA_VERSION, Written, chained};
use crate::answers::StoredAnswer;
use eval_cage::Identity;
use eval_model::ids::{CaseId, Digest};
use eval_model::json;
use eval_model::money::Usd;

/// A case that had been started when its process died. What it spent, nobody knows: what it had reserved is charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub(crate) case_id: CaseId,
    pub(crate) charged: Usd,
    /// The agent, and the boot of the machine that it ran in, if it came that far.
    pub(crate) agent: Option<(String, Identity)>,
}

/// What a journal says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JournalContents {
    pub(crate) header: Header,
    pub(crate) finished: BTreeMap<CaseId, StoredAnswer>,
    /// Every case that money was set aside for, as it was then.
    pub(crate) case_digests: BTreeMap<CaseId, Digest>,
    /// Every start that came to nothing, in order; a case may be there more than once.
    pub(crate) lost: Vec<InFlight>,
    /// Every cap that the run went on under after its first, in order.
    later_caps: Vec<Usd>,
    /// It says itself that lines of it were once taken on trust.
    says_on_trust: bool,
    /// Why it is believed now.
    pub(super) basis: Basis,
    /// Up to the end of the last whole line.
    pub(super) whole_bytes: u64,
    pub(super) lines: Written,
    /// The BLAKE3 of every whole line.
    line_digests: Vec<Digest>,
}

impl JournalContents {
    /// Reads a journal. A torn last line is as good as not written; `None` is a journal that was torn in its first line, of
    /// a run that had not begun.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Option<Self>, JournalError> {
        let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let mut reading = Reading::default();
        for (index, line) in lines.iter().enumerate() {
            if index + 1 == lines.len() && is_torn(line) {
                break;
            }
            reading.read(path, line)?;
        }
        Ok(reading.end())
    }

    /// Whether nobody can tell, or could not at an earlier time, if lines were removed from it.
    pub(crate) fn is_on_trust(&self) -> bool {
        self.says_on_trust || self.basis == Basis::Trust
    }

    /// Why it is believed now.
    pub(crate) fn basis(&self) -> Basis {
        self.basis
    }

    /// The BLAKE3 of a line, counted from 1.
    pub(super) fn digest_of_line(&self, line: u64) -> Option<Digest> {
        let index = usize::try_from(line.checked_sub(1)?).ok()?;
        self.line_digests.get(index).copied()
    }

    /// The caps that have held, in order.
    pub(crate) fn caps(&self) -> impl Iterator<Item = Usd> {
        let first = self.header.run.live.as_ref().map_or(Usd::ZERO, |live| live.cap);
        std::iter::once(first).chain(self.later_caps.iter().copied())
    }

    /// The cap that held last.
    pub(crate) fn cap(&self) -> Usd {
        self.caps().last().unwrap_or(Usd::ZERO)
    }

    /// The run goes on under this cap.
    pub(crate) fn goes_on_under(&mut self, cap: Usd) {
        if cap != self.cap() {
            self.later_caps.push(cap);
        }
    }

    /// Whether a case was attempted that has its answer here, so that there is something to record.
    pub(crate) fn has_result(&self) -> bool {
        self.finished.values().any(StoredAnswer::was_attempted)
    }

    /// What was charged for starts that came to nothing.
    pub(crate) fn lost_usd(&self) -> Usd {
        self.lost.iter().fold(Usd::ZERO, |sum, lost| sum.saturating_add(lost.charged))
    }

    /// All that was paid for answers until now.
    pub(crate) fn paid(&self) -> impl Iterator<Item = Usd> {
        self.finished.values().filter_map(|answer| Usd::from_dollars(answer.cost_usd()))
    }

    /// All that the run has spent and lost until now.
    pub(crate) fn charged(&self) -> Vec<Usd> {
        self.paid().chain(self.lost.iter().map(|lost| lost.charged)).collect()
    }
}

/// Whether a crash can have left a line so. A disk that lost parts of it has no newline or no JSON there.
fn is_torn(line: &[u8]) -> bool {
    !line.ends_with(b"\n") || serde_json::from_slice::<serde::de::IgnoredAny>(line).is_err()
}

/// What is wrong with a line.
enum Wrong {
    Unchained,
    Malformed(String),
}

impl From<String> for Wrong {
    fn from(message: String) -> Self {
        Self::Malformed(message)
    }
}

impl Wrong {
    fn at(self, path: &Path, line: u64) -> JournalError {
        let path = path.to_owned();
        match self {
            Self::Unchained => JournalError::Unchained { path, line },
            Self::Malformed(message) => JournalError::Malformed { path, line, message },
        }
    }
}

/// Reads a line that follows the one with this digest.
fn parse_line(line: &[u8], before: Option<Digest>) -> Result<Line, Wrong> {
    let text = std::str::from_utf8(line).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let parse = |text: &str| json::parse(text).map_err(|error| Wrong::Malformed(error.to_string()));
    match before {
        None => parse(text),
        Some(before) => {
            let rest = text.strip_prefix(&chained(before)).ok_or(Wrong::Unchained)?;
            parse(&format!("{{{rest}"))
        }
    }
}

/// A journal while it is being read.
#[derive(Default)]
struct Reading {
    header: Option<Header>,
    boot_id: String,
    finished: BTreeMap<CaseId, StoredAnswer>,
    case_digests: BTreeMap<CaseId, Digest>,
    in_flight: BTreeMap<CaseId, InFlight>,
    lost: Vec<InFlight>,
    later_caps: Vec<Usd>,
    on_trust: bool,
    whole_bytes: u64,
    lines: Written,
    line_digests: Vec<Digest>,
}

impl Reading {
    /// Reads the next line.
    fn read(&mut self, path: &Path, line: &[u8]) -> Result<(), JournalError> {
        let parsed = parse_line(line, self.lines.last).and_then(|line| Ok(self.take(line)?));
        parsed.map_err(|wrong| wrong.at(path, self.lines.count + 1))?;
        self.whole_bytes += line.len() as u64;
        self.lines.add(line);
        self.line_digests.extend(self.lines.last);
        Ok(())
    }

    fn take(&mut self, line: Line) -> Result<(), String> {
        match (line, &self.header) {
            (Line::Run(header), None) if header.schema_version == SCHEMA_VERSION => self.header = Some(header),
            (Line::Run(header), None) => return Err(format!("it has format version {}", header.schema_version)),
            (Line::Run(_), Some(_)) => return Err("a second run begins".to_owned()),
            (_, None) => return Err("it does not say which run it belongs to".to_owned()),
            (Line::Process { boot_id, on_trust, cap_nano_usd }, _) => {
                self.on_trust |= on_trust;
                self.later_caps.extend(cap_nano_usd);
                self.lose_what_is_in_flight();
                self.boot_id = boot_id;
            }
            (Line::Reserved { case_id, case_digest, nano_usd }, _) => {
                self.case_digests.insert(case_id.clone(), case_digest);
                let started = InFlight { case_id: case_id.clone(), charged: nano_usd, agent: None };
                self.in_flight.insert(case_id, started);
            }
            (Line::Running { case_id, group }, _) => {
                let started = self.in_flight.get_mut(&case_id).ok_or("a case runs without a reservation")?;
                started.agent = Some((self.boot_id.clone(), group));
            }
            (Line::Finished(answer), _) => {
                answer.check()?;
                self.in_flight.remove(&answer.case_id);
                self.finished.insert(answer.case_id.clone(), answer);
            }
        }
        Ok(())
    }

    fn lose_what_is_in_flight(&mut self) {
        self.lost.extend(std::mem::take(&mut self.in_flight).into_values());
    }

    fn end(mut self) -> Option<JournalContents> {
        self.lose_what_is_in_flight();
        Some(JournalContents {
            header: self.header?,
            finished: self.finished,
            case_digests: self.case_digests,
            lost: self.lost,
            later_caps: self.later_caps,
            says_on_trust: self.on_trust,
            basis: Basis::Trust,
            whole_bytes: self.whole_bytes,
            lines: self.lines,
            line_digests: self.line_digests,
        })
    }
}
