//! The guest's random numbers: BLAKE3's extendable output, keyed by the rubric and the case.
//!
//! The generator is named and frozen by its specification, so that a score can be re-derived years later; it must never be
//! replaced by one that a library may change. The three interfaces of `wasi:random` get streams of their own, so that what a
//! guest draws from one does not shift what it draws from another.

use blake3::OutputReader;

use eval_model::ids::Digest;

/// The most random bytes that one call gives.
pub(super) const RANDOM_BYTES_MAX: u64 = 64 << 10;

/// The three interfaces of one call. Most guests draw from none of them or from one, so each is made when it is first asked.
#[derive(Debug)]
pub(super) struct SeededRandom {
    rubric: Digest,
    case: Digest,
    secure: Option<RandomStream>,
    insecure: Option<RandomStream>,
    seed: Option<(u64, u64)>,
}

/// Boxed, because it is large, and a guest that draws nothing is moved without it.
#[derive(Debug)]
pub(super) struct RandomStream(Box<OutputReader>);

impl SeededRandom {
    pub(super) fn new(rubric: &Digest, case: &Digest) -> Self {
        Self { rubric: *rubric, case: *case, secure: None, insecure: None, seed: None }
    }

    pub(super) fn secure(&mut self) -> &mut RandomStream {
        let Self { rubric, case, secure, .. } = self;
        secure.get_or_insert_with(|| RandomStream::new("eval-host 2026-11-16 wasi:random/random v1", rubric, case))
    }

    pub(super) fn insecure(&mut self) -> &mut RandomStream {
        let Self { rubric, case, insecure, .. } = self;
        insecure.get_or_insert_with(|| RandomStream::new("eval-host 2026-11-16 wasi:random/insecure v1", rubric, case))
    }

    /// The answer to every call of `insecure-seed`.
    pub(super) fn seed(&mut self) -> (u64, u64) {
        let Self { rubric, case, seed, .. } = self;
        *seed.get_or_insert_with(|| {
            let mut stream = RandomStream::new("eval-host 2026-11-16 wasi:random/insecure-seed v1", rubric, case);
            (stream.next_u64(), stream.next_u64())
        })
    }
}

impl RandomStream {
    fn new(context: &str, rubric: &Digest, case: &Digest) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(rubric.as_bytes()).update(case.as_bytes());
        Self(Box::new(hasher.finalize_xof()))
    }

    pub(super) fn next_u64(&mut self) -> u64 {
        let mut bytes = [0; 8];
        self.0.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    pub(super) fn next_bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.0.fill(&mut bytes);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_streams_are_frozen() {
        let mut random = SeededRandom::new(&Digest::of(b"rubric"), &Digest::of(b"case"));
        assert_eq!(random.secure().next_u64(), 3_694_384_194_266_954_956);
        assert_eq!(random.insecure().next_u64(), 3_417_527_008_168_949_417);
        assert_eq!(random.seed(), (4_166_783_530_472_018_677, 8_158_265_615_146_297_781));
    }

    #[test]
    fn another_case_or_rubric_draws_other_numbers() {
        let draw = |rubric: &[u8], case: &[u8]| {
            SeededRandom::new(&Digest::of(rubric), &Digest::of(case)).secure().next_bytes(32)
        };
        assert_eq!(draw(b"r", b"c"), draw(b"r", b"c"));
        assert_ne!(draw(b"r", b"c"), draw(b"r", b"d"));
        assert_ne!(draw(b"r", b"c"), draw(b"s", b"c"));
    }
}
