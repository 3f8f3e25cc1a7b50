//! The file beside a large pack that leads to its objects without reading it whole: per object the first 8 bytes of its digest
//! and the place of its header as 8 bytes, both big-endian, sorted.
//!
//! It is made from the pack, can be made again, and proves nothing: it needs no fsync, and whoever follows it reads at the place a
//! header with the whole digest, and content that must hash to it.

use super::catalog::Place;

pub(super) const SUFFIX: &str = ".index";

/// How many bytes an object has in an index.
const ENTRY: usize = 16;

/// From how many objects on a pack has an index. Fewer are found as fast by reading the pack.
pub(crate) const FEWEST: usize = 1024;

/// The fewest bytes that an object takes in a pack: a header, and two newlines around nothing.
const LEAST_OBJECT: u64 = 64 + 1 + 1 + 1 + 1;

/// Most bytes that the index of a pack of this size can have.
pub(crate) const fn most_bytes(pack: u64) -> u64 {
    pack / LEAST_OBJECT * ENTRY as u64
}

/// The bytes of the index of a pack.
pub(crate) fn encode(places: &[Place]) -> Vec<u8> {
    let mut sorted: Vec<_> = places.iter().map(|place| (place.prefix, place.offset)).collect();
    sorted.sort_unstable();
    sorted.iter().flat_map(|(prefix, offset)| [prefix.to_be_bytes(), offset.to_be_bytes()].concat()).collect()
}

/// What an index says of the pack with this number, if it can be one.
pub(crate) fn decode(bytes: &[u8], pack: u32) -> Option<Vec<Place>> {
    let (entries, rest) = bytes.as_chunks::<ENTRY>();
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes);
    let place = |entry: &[u8; ENTRY]| {
        let (prefix, offset) = entry.split_at(ENTRY / 2);
        Some(Place { prefix: number(prefix).ok()?, pack, offset: number(offset).ok()? })
    };
    let places = entries.iter().map(place).collect::<Option<Vec<_>>>()?;
    (rest.is_empty() && places.is_sorted()).then_some(places)
}
