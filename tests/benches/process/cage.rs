//! What it costs to start an agent in its cage, against one that is not confined.

use eval_host_tests::{Figures, Workbench};

use crate::BINARY;

pub(crate) fn measure(figures: Figures) {
    let workbench = Workbench::with_bench(BINARY, "vuln-remediation");
    let [free, caged] = [&["--unconfined"][..], &[]].map(|flags| milliseconds_in_the_middle(&workbench, flags));
    figures.figure("an agent that answers at once, not confined", free, "ms");
    figures.figure("an agent that answers at once, in its cage", caged, "ms");
}

/// What the host metered for the agents of a run, one after the other.
fn milliseconds_in_the_middle(workbench: &Workbench, flags: &[&str]) -> f64 {
    let agent = r#"--sut=echo '{"output":{},"cost_usd":0}'"#;
    let live = ["run", "--task-class=vuln-remediation", "--live", "-j1", "--quiet", agent];
    let lines = workbench.eval(live).args(flags).run().lines("case");
    let mut times: Vec<f64> =
        lines.iter().filter_map(|line| line["score"]["duration_seconds"].as_f64()).map(|time| time * 1e3).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
