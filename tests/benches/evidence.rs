//! How long `verify` takes, and `verify --replay`, as a store grows. Prints figures; there is nothing to pass or fail.
//!
//! The store is grown from one real record: each copy gets the next number, the hash of the one before it and the name that
//! its bytes give it. This is also how little work it is to forge a chain, and why a chain alone proves so little.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use eval_host_tests::Workbench;
use sha2::{Digest as _, Sha256};

const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A store with this many records of the whole vuln-remediation bench, or of its first cases.
fn grown(records: usize, cases: &str) -> Workbench {
    let workbench = Workbench::with_bench(BINARY, "vuln-remediation");
    let ended = workbench.eval(["run", "--task-class=vuln-remediation", cases]).run();
    let first = ended.record_path(workbench.path());
    let text = fs::read_to_string(&first).expect("a record");
    let (stem, _) =
        first.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.rsplit_once('-')).expect("a name");
    let mut previous = hash(text.as_bytes());
    for seq in 2..=records {
        let next = text.replacen("\"seq\":1,", &format!("\"seq\":{seq},"), 1).replacen(&"0".repeat(64), &previous, 1);
        previous = hash(next.as_bytes());
        fs::write(first.with_file_name(format!("{stem}-{}.json", &previous[..8])), next).expect("written");
    }
    workbench
}

fn verify(workbench: &Workbench, args: &[&str]) -> (Duration, u64) {
    let start = Instant::now();
    let ended = workbench.eval(["verify"]).args(args).run().expect_code(0);
    let replayed = ended.line("verification")["replay"]["replayed"].as_u64().unwrap_or(0);
    (start.elapsed(), replayed)
}

fn size_of(folder: &Path) -> u64 {
    fs::read_dir(folder)
        .expect("listed")
        .map(|entry| entry.expect("an entry").metadata().expect("it is there").len())
        .sum()
}

#[expect(clippy::print_stdout, reason = "a benchmark's figures are its output")]
fn main() {
    println!("verify, records of 9 cases:");
    for records in [1_000_usize, 3_000, 10_000] {
        let workbench = grown(records, "--cases=00*");
        let megabytes = size_of(&workbench.path().join(".codegenie/eval/runs")) >> 20;
        let (time, _) = verify(&workbench, &[]);
        println!(
            "  {records:>6} records, {megabytes:>4} MB: {time:>8.2?}, {:.2?} per record",
            time / u32::try_from(records).unwrap_or(u32::MAX)
        );
    }
    println!("verify --replay, records of the whole bench:");
    for records in [24, 81, 244] {
        let workbench = grown(records, "--cases=*");
        let (time, replayed) = verify(&workbench, &["--replay"]);
        let each = time / u32::try_from(replayed.max(1)).unwrap_or(u32::MAX);
        println!("  {replayed:>6} cases: {time:>8.2?}, {each:.2?} per case");
    }
}
