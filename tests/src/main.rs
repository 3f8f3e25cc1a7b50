//! The eval-host binary, once more: cargo tells a test where a binary is only if the test's own package has it.

use std::process::ExitCode;

fn main() -> ExitCode {
    eval_host::main()
}
