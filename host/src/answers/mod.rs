//! Where an answer comes from: replayed from a cassette, or made by a live system under test. Both give an [`Answer`].

mod agent;
mod answer;
mod cassette;
mod stored;

pub(crate) use agent::{AgentClaim, AgentText};
pub(crate) use answer::{Answer, ObtainedAnswer};
pub(crate) use cassette::{CassetteError, RecordError, read_cassette, record_cassette};
pub(crate) use stored::StoredAnswer;
