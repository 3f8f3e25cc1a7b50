//! The eval-host binary. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    eval_host::main()
}
