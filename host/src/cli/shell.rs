//! Completions and the man page, made from the definition of the command line, so that they cannot differ from it.

use std::io::{self, Write as _};

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::Cli;
use super::error::{ArgumentError, HostError};
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
        command = command.find_subcommand(name).ok_or_else(|| ArgumentError::NoSuchCommand { name: name.clone() })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut page).map_err(HostError::Stdout)?;
    print(&page)
}

fn print(bytes: &[u8]) -> Result<Exit, Failure> {
    let mut out = io::stdout();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(HostError::Stdout)?;
    Ok(Exit::Ok)
}
