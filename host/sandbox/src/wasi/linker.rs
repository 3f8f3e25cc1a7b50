//! What is granted, interface by interface, and what every implementation needs of the resource table.

use wasmtime::component::{HasSelf, Linker, Resource, ResourceTable, ResourceTableError};
use wasmtime_wasi::p2::bindings::sync::{filesystem as sync_filesystem, io as sync_io};
use wasmtime_wasi::p2::bindings::{
    cli as wasi_cli, clocks as wasi_clocks, filesystem as wasi_filesystem, random as wasi_random,
};
use wasmtime_wasi_io::bindings::wasi::io::error as wasi_io_error;

use crate::guest::Guest;

/// Grants a rubric its interfaces, and nothing else. [`crate::grants`] lists them by name for the check at load; a test keeps
/// the two alike.
pub(crate) fn add_to_linker(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    type Own = HasSelf<Guest>;

    wasi_io_error::add_to_linker::<_, Own>(linker, |guest| guest)?;
    sync_io::poll::add_to_linker::<_, Own>(linker, |guest| guest)?;
    sync_io::streams::add_to_linker::<_, Own>(linker, |guest| guest)?;

    wasi_clocks::monotonic_clock::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_clocks::wall_clock::add_to_linker::<_, Own>(linker, |guest| guest)?;

    wasi_random::random::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_random::insecure::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_random::insecure_seed::add_to_linker::<_, Own>(linker, |guest| guest)?;

    sync_filesystem::types::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_filesystem::preopens::add_to_linker::<_, Own>(linker, |guest| guest)?;

    wasi_cli::environment::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::exit::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::stdin::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::stdout::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::stderr::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::terminal_input::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::terminal_output::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::terminal_stdin::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::terminal_stdout::add_to_linker::<_, Own>(linker, |guest| guest)?;
    wasi_cli::terminal_stderr::add_to_linker::<_, Own>(linker, |guest| guest)?;
    Ok(())
}

/// Our own entry behind a handle of a generated type. A handle is a number with a label: the table knows what is really
/// there, so a wrong number is an error and never a confusion.
pub(super) fn entry<'a, Ours: 'static, Theirs: 'static>(
    table: &'a ResourceTable,
    handle: &Resource<Theirs>,
) -> Result<&'a Ours, ResourceTableError> {
    table.get(&Resource::<Ours>::new_borrow(handle.rep()))
}

pub(super) fn entry_mut<'a, Ours: 'static, Theirs: 'static>(
    table: &'a mut ResourceTable,
    handle: &Resource<Theirs>,
) -> Result<&'a mut Ours, ResourceTableError> {
    table.get_mut(&Resource::<Ours>::new_borrow(handle.rep()))
}

pub(super) fn push<Ours: Send + 'static, Theirs: 'static>(
    table: &mut ResourceTable,
    entry: Ours,
) -> Result<Resource<Theirs>, ResourceTableError> {
    Ok(Resource::new_own(table.push(entry)?.rep()))
}

pub(super) fn delete<Ours: 'static, Theirs: 'static>(
    table: &mut ResourceTable,
    handle: &Resource<Theirs>,
) -> Result<Ours, ResourceTableError> {
    table.delete(Resource::<Ours>::new_own(handle.rep()))
}
