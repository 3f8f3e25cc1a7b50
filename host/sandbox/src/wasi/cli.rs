//! `wasi:cli`: no environment, no arguments, no input, no terminal; output is captured, and `exit` is a fault.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::cli::{
    environment, exit, stderr, stdin, stdout, terminal_input, terminal_output, terminal_stderr, terminal_stdin,
    terminal_stdout,
};
use wasmtime_wasi::p2::bindings::sync::io::streams::{InputStream, OutputStream};

use super::streams::{Input, Output};
use crate::fault::HostFault;
use crate::guest::Guest;

impl environment::Host for Guest {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        self.note_call(0);
        Ok(Vec::new())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        self.note_call(0);
        Ok(Vec::new())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        self.note_call(0);
        Ok(None)
    }
}

impl exit::Host for Guest {
    fn exit(&mut self, _status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(HostFault::Exit.into())
    }

    fn exit_with_code(&mut self, _status_code: u8) -> wasmtime::Result<()> {
        Err(HostFault::Exit.into())
    }
}

impl stdin::Host for Guest {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<InputStream>> {
        self.note_call(0);
        Ok(super::push(&mut self.table, Input::AtEnd)?)
    }
}

impl stdout::Host for Guest {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<OutputStream>> {
        self.note_call(0);
        Ok(super::push(&mut self.table, Output::Stdout)?)
    }
}

impl stderr::Host for Guest {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<OutputStream>> {
        self.note_call(0);
        Ok(super::push(&mut self.table, Output::Stderr)?)
    }
}

/// A guest never gets a terminal, so it has none to drop.
impl terminal_input::HostTerminalInput for Guest {
    fn drop(&mut self, _terminal: Resource<terminal_input::TerminalInput>) -> wasmtime::Result<()> {
        Err(HostFault::BadArgument.into())
    }
}

impl terminal_output::HostTerminalOutput for Guest {
    fn drop(&mut self, _terminal: Resource<terminal_output::TerminalOutput>) -> wasmtime::Result<()> {
        Err(HostFault::BadArgument.into())
    }
}

impl terminal_input::Host for Guest {}

impl terminal_output::Host for Guest {}

impl terminal_stdin::Host for Guest {
    fn get_terminal_stdin(&mut self) -> wasmtime::Result<Option<Resource<terminal_input::TerminalInput>>> {
        self.note_call(0);
        Ok(None)
    }
}

impl terminal_stdout::Host for Guest {
    fn get_terminal_stdout(&mut self) -> wasmtime::Result<Option<Resource<terminal_output::TerminalOutput>>> {
        self.note_call(0);
        Ok(None)
    }
}

impl terminal_stderr::Host for Guest {
    fn get_terminal_stderr(&mut self) -> wasmtime::Result<Option<Resource<terminal_output::TerminalOutput>>> {
        self.note_call(0);
        Ok(None)
    }
}
