//! Completions and the man page, made from the definition of the command line, so that they cannot differ from it.

use std::io::{self, Write as _};

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;
use super::failure::Failure;
use eval_model::advice::Exit;

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell.
    shell: Shell,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "eval-host", &mut script);
    print(&script)
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The command, such as `run` or `rubric score`.
    command: Vec<String>,
}

pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut root = Cli::command();
    root.build();
    let mut command = &root;
    for name in &args.command {
        command = command.find_subcommand(name).ok_or_else(|| {
            Failure::new(Exit::UsageOrCap, format!("there is no command `{name}`"))
                .hint("`eval-host --help` lists them")
        })?;
    }
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(command.clone()).render(&mut page);
    rendered.map_err(not_written).and_then(|()| print(&page))
}

fn print(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut out = io::stdout();
    out.write_all(bytes).and_then(|()| out.flush()).map(|()| Exit::Ok).map_err(not_written)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what `map_err` gives")]
fn not_written(error: io::Error) -> Failure {
    Failure::new(Exit::HarnessError, "the result could not be written to stdout").caused_by(&error)
}
