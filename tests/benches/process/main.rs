//! What a process of eval-host costs: `cargo bench --workspace --bench process`, with `-- --table` for a script.
//!
//! The processes of an operator, from their start to their exit: one that does nothing, the benches of this repository, the fence, a
//! verdict, an agent in its cage, and runs of very many small cases with what they leave in the store.

mod cage;
mod many_cases;
mod start;

use eval_host_tests::Figures;

const BINARY: &str = env!("CARGO_BIN_EXE_eval-host-under-test");

fn main() {
    let figures = Figures::asked_for();
    start::measure(figures);
    cage::measure(figures);
    many_cases::measure(figures);
}
