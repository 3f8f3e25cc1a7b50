//! Where in the guest a call ended: for the eyes of the rubric's author, and for telling the guest's functions apart.
//!
//! A component names its functions as it likes, and wasmtime invents names where it does not. So a name decides nothing, and
//! none may reach a record or a JSON line.

use rustc_demangle::demangle;
use wasmtime::{FrameInfo, Module, WasmBacktrace};

/// How many of the innermost calls are kept: enough to see who called what, and little to take for every fault of a run.
pub(super) const FRAMES_MAX: usize = 32;

/// The longest name that is shown.
const NAME_CHARS_MAX: usize = 200;

/// The functions that a guest was in when it was ended, the innermost first. Their names are the guest's words: whoever shows
/// them escapes them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Backtrace {
    pub functions: Vec<String>,
}

/// A function of a guest.
pub(super) struct Function {
    module: Module,
    index: u32,
}

impl Backtrace {
    pub(super) fn of(error: &wasmtime::Error) -> Self {
        Self { functions: frames(error).iter().map(shown).collect() }
    }
}

impl Function {
    /// The innermost one in which a guest was ended.
    pub(super) fn ended_in(error: &wasmtime::Error) -> Option<Self> {
        let frame = frames(error).first()?;
        Some(Self { module: frame.module().clone(), index: frame.func_index() })
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        self.index == other.index && Module::same(&self.module, &other.module)
    }
}

fn frames(error: &wasmtime::Error) -> &[FrameInfo] {
    error.downcast_ref::<WasmBacktrace>().map_or(&[], WasmBacktrace::frames)
}

fn shown(frame: &FrameInfo) -> String {
    match frame.func_name() {
        Some(name) => format!("{:#}", demangle(name)).chars().take(NAME_CHARS_MAX).collect(),
        None => format!("function {}", frame.func_index()),
    }
}
