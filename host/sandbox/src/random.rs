//! The guest's random numbers: BLAKE3's extendable output, keyed by the rubric and the case.
//!
//! The generator is named and frozen by its specification, so that a score can be re-derived years later; it must never be
//! replaced by one that a library may change. The three interfaces of `wasi:random` get streams of their own, so that what a
//! guest draws from one does not shift what it draws from another.

use blake3::OutputReader;

use eval_model::ids::Digest;

/// The most random bytes that one call gives.
pub(super) const RANDOM_BYTES_MAX: u64 = 64 << 10;

#[derive(Debug)]
pub(super) struct SeededRandom {
    pub(super) secure: RandomStream,
    pub(super) insecure: RandomStream,
    /// The answer to every call of `insecure-seed`.
    pub(super) seed: (u64, u64),
}

#[derive(Debug)]
pub(super) struct RandomStream(OutputReader);

impl SeededRandom {
    pub(super) fn new(rubric: &Digest, case: &Digest) -> Self {
        let stream = |context| {
            let mut hasher = blake3::Hasher::new_derive_key(context);
            hasher.update(rubric.as_bytes()).update(case.as_bytes());
            RandomStream(hasher.finalize_xof())
        };
        let mut seed = stream("eval-host 2026-11-16 wasi:random/insecure-seed v1");
        Self {
            secure: stream("eval-host 2026-11-16 wasi:random/random v1"),
            insecure: stream("eval-host 2026-11-16 wasi:random/insecure v1"),
            seed: (seed.next_u64(), seed.next_u64()),
        }
    }
}

impl RandomStream {
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
        assert_eq!(random.secure.next_u64(), 3_694_384_194_266_954_956);
        assert_eq!(random.insecure.next_u64(), 3_417_527_008_168_949_417);
        assert_eq!(random.seed, (4_166_783_530_472_018_677, 8_158_265_615_146_297_781));
    }

    #[test]
    fn another_case_or_rubric_draws_other_numbers() {
        let draw = |rubric: &[u8], case: &[u8]| {
            SeededRandom::new(&Digest::of(rubric), &Digest::of(case)).secure.next_bytes(32)
        };
        assert_eq!(draw(b"r", b"c"), draw(b"r", b"c"));
        assert_ne!(draw(b"r", b"c"), draw(b"r", b"d"));
        assert_ne!(draw(b"r", b"c"), draw(b"s", b"c"));
    }
}
