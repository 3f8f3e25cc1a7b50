//! A journal as it was found: which cases are done, and what was lost.

use std::collections::BTreeMap;
use std::path::Path;

use super::writer::{Header, JournalError, Line, SCHEMA_VERSION};
use crate::answers::StoredAnswer;
use crate::live::agent::GroupIdentity;
use eval_model::ids::{CaseId, Digest};
use eval_model::json;
use eval_model::money::Usd;

/// A case that had been started when its process died. What it spent, nobody knows: what it had reserved is charged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InFlight {
    pub(crate) case_id: CaseId,
    pub(crate) charged: Usd,
    /// The agent, and the boot of the machine that it ran in, if it came that far.
    pub(crate) agent: Option<(String, GroupIdentity)>,
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
    /// Up to the end of the last whole line.
    pub(super) whole_bytes: u64,
}

impl JournalContents {
    /// Reads a journal. A torn last line is as good as not written; `None` is a journal that was torn in its first line, of
    /// a run that had not begun.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Option<Self>, JournalError> {
        let lines: Vec<_> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let mut reading = Reading::default();
        let mut whole_bytes = 0;
        for (index, line) in lines.iter().enumerate() {
            let parsed = parse_line(line).and_then(|line| reading.take(line));
            match parsed {
                Ok(()) => whole_bytes += line.len() as u64,
                Err(_) if index + 1 == lines.len() => break,
                Err(message) => {
                    return Err(JournalError::Malformed { path: path.to_owned(), line: index + 1, message });
                }
            }
        }
        Ok(reading.end(whole_bytes))
    }

    /// All that the run has spent and lost until now.
    pub(crate) fn charged(&self) -> Vec<Usd> {
        let finished = self.finished.values().filter_map(|answer| Usd::from_dollars(answer.cost_usd()));
        finished.chain(self.lost.iter().map(|lost| lost.charged)).collect()
    }
}

fn parse_line(line: &[u8]) -> Result<Line, String> {
    let text = line.strip_suffix(b"\n").ok_or("it is not whole")?;
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8 text")?;
    json::parse(text).map_err(|error| error.to_string())
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
}

impl Reading {
    fn take(&mut self, line: Line) -> Result<(), String> {
        match (line, &self.header) {
            (Line::Run(header), None) if header.schema_version == SCHEMA_VERSION => self.header = Some(header),
            (Line::Run(header), None) => return Err(format!("it has format version {}", header.schema_version)),
            (Line::Run(_), Some(_)) => return Err("a second run begins".to_owned()),
            (_, None) => return Err("it does not say which run it belongs to".to_owned()),
            (Line::Process { boot_id }, _) => {
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

    fn end(mut self, whole_bytes: u64) -> Option<JournalContents> {
        self.lose_what_is_in_flight();
        Some(JournalContents {
            header: self.header?,
            finished: self.finished,
            case_digests: self.case_digests,
            lost: self.lost,
            whole_bytes,
        })
    }
}
