//! How fast objects are taken in and read back, which is hashing them, beside BLAKE3 itself on the same bytes.

use std::hint::black_box;
use std::time::Instant;

use eval_evidence::store::StoreWriter;
use eval_host_tests::Figures;
use eval_model::ids::Digest;

use crate::append::{PATIENCE, user};

const OBJECT_BYTES: usize = 1 << 20;

pub(crate) fn measure(figures: Figures) {
    let rounds: u64 = figures.size(60, 5);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = StoreWriter::open(&folder.path().join("store"), user(), PATIENCE).expect("a store");
    let incoming = store.incoming().expect("a pack begins");
    let mut object: Vec<u8> = (0_u32..).flat_map(u32::to_le_bytes).take(OBJECT_BYTES).collect();
    let [mut blake3, mut digest, mut kept] = [f64::INFINITY; 3];
    for round in 0..rounds {
        object[..size_of::<u64>()].copy_from_slice(&round.to_le_bytes());
        blake3 = blake3.min(seconds(|| _ = black_box(blake3::hash(black_box(&object)))));
        digest = digest.min(seconds(|| _ = black_box(Digest::of(black_box(&object)))));
        kept = kept.min(seconds(|| _ = incoming.keep(&object).expect("there is room")));
    }
    let pace = |seconds: f64| OBJECT_BYTES as f64 / 1e6 / seconds;
    figures.figure("BLAKE3 itself, 1 MiB", pace(blake3), "MB per second");
    figures.figure("digest of an object of 1 MiB", pace(digest), "MB per second");
    figures.figure("object of 1 MiB into a pack, hashed and written", pace(kept), "MB per second");
    figures.figure("digest of an object of 1 MiB to BLAKE3 itself", digest / blake3, "times");
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}
