//! Where an answer comes from: replayed from a cassette, or made by a live system under test. Both give an [`Answer`].

mod answer;
mod cassette;
mod stored;

pub(crate) use answer::{Answer, CassetteOrigin, ObtainedAnswer, SutName};
pub(crate) use cassette::{
    Cassette, CassetteError, CassetteKind, RecordError, Recording, read_cassette, record_cassette,
};
pub(crate) use stored::StoredAnswer;
