//! Where the objects of some packs are.
//!
//! It keeps the first bytes of each digest, which lead to a header that has all of it: a hundred thousand cases have some four
//! hundred thousand objects, and nobody needs their whole names in memory.

use eval_model::ids::Digest;

/// Where a header is that may be of some object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// The first bytes of the object's digest.
    pub(crate) prefix: u64,
    /// Which pack it is in, by a number of the catalog's owner.
    pub(crate) pack: u32,
    pub(crate) offset: u64,
}

/// The places of all objects, sorted.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    places: Vec<Place>,
}

/// The first bytes of a digest.
pub(super) fn prefix_of(digest: Digest) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

impl Place {
    pub(crate) fn new(digest: Digest, pack: u32, offset: u64) -> Self {
        Self { prefix: prefix_of(digest), pack, offset }
    }
}

impl Catalog {
    pub(crate) fn add(&mut self, places: impl IntoIterator<Item = Place>) {
        self.places.extend(places);
        self.places.sort_unstable();
        self.places.dedup();
    }

    /// Forgets what was said of some packs.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(u32) -> bool) {
        self.places.retain(|place| !is_forgotten(place.pack));
    }

    /// The places where an object may be.
    pub(crate) fn of(&self, digest: Digest) -> &[Place] {
        let prefix = prefix_of(digest);
        let first = self.places.partition_point(|place| place.prefix < prefix);
        let count = self.places[first..].iter().take_while(|place| place.prefix == prefix).count();
        &self.places[first..first + count]
    }
}
