//! What evidence costs: `cargo bench --workspace --bench evidence`, with `-- --table` for a script.
//!
//! A chain grows by real appends, beside a loop that makes the same files durable and does nothing else; then it is verified whole.
//! And objects are hashed, beside BLAKE3 itself.

mod append;
mod chain;
mod hashing;

use eval_host_tests::Figures;

const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");

fn main() {
    let figures = Figures::asked_for();
    hashing::measure(figures);
    let grown = append::measure(figures);
    chain::measure(figures, &grown);
}
