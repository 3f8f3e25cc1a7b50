//! How fast a long chain is verified, from the start of the process to its exit.

use std::fs;

use eval_host_tests::{Bound, Figures, Usage, Workbench};

pub(crate) fn measure(figures: Figures, grown: &Workbench) {
    let verify = || Usage::of(grown.eval(["verify"]).into_command()).expect("the chain is whole");
    let usage = (0..figures.size(5, 1)).fold(Usage::NOTHING, |usage, _| usage.and(verify()));
    let records = fs::read_dir(grown.store().join("runs")).expect("records").count() as f64;
    let verify = format!("verify of {records} records");
    figures.figure(&verify, usage.seconds, "s");
    figures.figure(&format!("{verify}: CPU time per record"), usage.cpu_seconds * 1e6 / records, "µs");
    figures.figure(&format!("{verify}: most memory"), usage.peak_bytes / 1e6, "MB");
    let per_second = records / usage.seconds;
    figures.required(&format!("{verify}: speed"), per_second, "per second", Bound::AtLeast(5_000.0));
}
