//! Reports everything it can observe, so that two runs can be compared bit for bit.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use eval_host_test_guests::wasip2::cli::{
    environment, stderr, stdin, stdout, terminal_stderr, terminal_stdin, terminal_stdout,
};
use eval_host_test_guests::wasip2::clocks::{monotonic_clock, wall_clock};
use eval_host_test_guests::wasip2::filesystem::types::{Descriptor, PathFlags};
use eval_host_test_guests::wasip2::random::{insecure, insecure_seed, random};
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, create, observed, open_directory, root, rubric};

rubric!(score);

/// FNV-1a: all that is needed is that another observation gives another number.
struct Digest(u64);

impl Hasher for Digest {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// As much of a digest as a number of a breakdown holds exactly.
fn digest(observation: &str) -> f64 {
    let mut digest = Digest(0xcbf2_9ce4_8422_2325);
    digest.write(observation.as_bytes());
    (digest.finish() >> 11) as f64
}

fn tree(directory: &Descriptor, path: &str, seen: &mut String) {
    let listing = directory.read_directory().expect("a directory");
    while let Some(entry) = listing.read_directory_entry().expect("a listing") {
        let here = format!("{path}/{}", entry.name);
        let stat = directory.stat_at(PathFlags::empty(), &entry.name).expect("just listed");
        let hash = directory.metadata_hash_at(PathFlags::empty(), &entry.name).expect("just listed");
        seen.push_str(&format!("{here} {:?} {stat:?} {hash:?}\n", entry.type_));
        if let Ok(below) = open_directory(directory, &entry.name) {
            tree(&below, &here, seen);
        }
    }
}

fn files() -> String {
    let root = root();
    create(&root, "made").and_then(|file| file.write(b"made", 3)).expect("there is room");
    root.symlink_at("made", "link").expect("there is room");
    let mut seen = format!("{:?} {:?}\n", root.stat(), root.metadata_hash());
    tree(&root, "", &mut seen);
    seen
}

fn clocks() -> String {
    let mut seen = String::new();
    for _ in 0..3 {
        seen.push_str(&format!("{:?} {}\n", wall_clock::now(), monotonic_clock::now()));
        monotonic_clock::subscribe_duration(1_234_567).block();
    }
    format!("{seen}{:?} {}", wall_clock::resolution(), monotonic_clock::resolution())
}

fn randomness() -> String {
    let hashed = RandomState::new().hash_one(42);
    let order: Vec<u32> = (0..100).map(|key| (key, ())).collect::<HashMap<_, _>>().into_keys().collect();
    format!(
        "{:?} {} {:?} {} {:?} {hashed} {order:?}",
        random::get_random_bytes(33),
        random::get_random_u64(),
        insecure::get_insecure_random_bytes(33),
        insecure::get_insecure_random_u64(),
        insecure_seed::insecure_seed(),
    )
}

fn surroundings() -> String {
    let streams = (stdin::get_stdin(), stdout::get_stdout(), stderr::get_stderr());
    let terminals = (
        terminal_stdin::get_terminal_stdin().is_some(),
        terminal_stdout::get_terminal_stdout().is_some(),
        terminal_stderr::get_terminal_stderr().is_some(),
    );
    format!(
        "{:?} {:?} {:?} {terminals:?} {:?}",
        environment::get_environment(),
        environment::get_arguments(),
        environment::initial_cwd(),
        streams.0.blocking_read(10).is_err(),
    )
}

fn addresses() -> String {
    let local = 0_u8;
    let heap = Box::new(0_u8);
    format!("{:p} {:p} {:p} {}", &local, heap, addresses as fn() -> String, core::arch::wasm32::memory_size(0))
}

fn floats() -> String {
    let zero = std::hint::black_box(0.0_f64);
    let payload = std::hint::black_box(f64::from_bits(0x7ff8_0000_0000_1234));
    let single = std::hint::black_box(f32::from_bits(0x7fc0_1234));
    format!(
        "{:x} {:x} {:x} {:x} {:x} {:x}",
        (zero / zero).to_bits(),
        (payload + 1.0).to_bits(),
        (-(payload * 2.0)).to_bits(),
        (single + 1.0).to_bits(),
        f64::from(single).to_bits(),
        (zero.sqrt() - f64::INFINITY * zero).to_bits(),
    )
}

fn score(case: &BenchCase, output: &HarnessOutput) -> Answer {
    println!("{case:?}");
    let observations = [
        ("case", format!("{case:?}")),
        ("output", format!("{output:?}")),
        ("files", files()),
        ("clocks", clocks()),
        ("random", randomness()),
        ("surroundings", surroundings()),
        ("addresses", addresses()),
        ("floats", floats()),
    ];
    observed(output, &observations.each_ref().map(|(name, seen)| (*name, digest(seen))))
}
