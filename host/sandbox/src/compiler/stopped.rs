//! How a compiler ended that did not finish, in words.

use std::fmt;
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use rustix::process::Signal;

use super::super::weight::Makeup;
use super::CompileLimits;

/// What ended a compiler.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// What it said is its last word: which allocation it was, or that it was the stack that had no more room.
    Memory {
        mib: u64,
        said: String,
    },
    Cpu {
        seconds: u64,
    },
    Time {
        seconds: u64,
    },
    /// Somebody killed it, or the kernel for want of memory.
    Killed {
        signal: i32,
    },
    /// It met something that the compiler was not made for.
    Crashed {
        said: String,
    },
}

/// A compiler that did not finish, and what it was at work on, as far as it said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped {
    pub stop: Stop,
    pub makeup: Option<Box<Makeup>>,
}

/// The exit code of a program whose thread panicked.
const PANICKED: i32 = 101;

/// Most characters of a complaint that are shown.
const GIST: usize = 300;

impl Stop {
    /// `None`: the process said itself that it cannot do its work, and why.
    pub(super) fn of(status: ExitStatus, complaint: &str, limits: CompileLimits) -> Option<Self> {
        let said = || gist(complaint);
        match (status.signal(), status.code()) {
            (Some(signal), _) if signal == Signal::XCPU.as_raw() => Some(Self::Cpu { seconds: limits.cpu_seconds }),
            // A program that gets no memory aborts.
            (Some(signal), _) if signal == Signal::ABORT.as_raw() => {
                Some(Self::Memory { mib: limits.memory_mib, said: said() })
            }
            (Some(signal), _) if signal == Signal::KILL.as_raw() => Some(Self::Killed { signal }),
            (Some(signal), _) if signal == Signal::TERM.as_raw() => Some(Self::Killed { signal }),
            (Some(signal), _) => Some(Self::Crashed { said: format!("signal {signal} {}", said()) }),
            (None, Some(PANICKED)) => Some(Self::Crashed { said: said() }),
            (None, _) => None,
        }
    }
}

/// The first words of a complaint, on one line.
pub(super) fn gist(complaint: &str) -> String {
    let words = complaint.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(GIST).collect()
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variable = match &self.stop {
            Stop::Memory { mib, said } => {
                write!(f, "compiling the component takes more than the {mib} MiB of memory that it may take")?;
                if !said.is_empty() {
                    write!(f, " ({said})")?;
                }
                Some(CompileLimits::MEMORY_VARIABLE)
            }
            Stop::Cpu { seconds } => {
                write!(f, "compiling the component takes more than the {seconds} CPU seconds that it may take")?;
                Some(CompileLimits::CPU_VARIABLE)
            }
            Stop::Time { seconds } => {
                write!(f, "compiling the component takes longer than the {seconds} seconds that it may take")?;
                Some(CompileLimits::TIME_VARIABLE)
            }
            Stop::Killed { signal } => {
                write!(f, "the process that compiled the component was killed (signal {signal})")?;
                None
            }
            Stop::Crashed { said } => {
                write!(f, "the compiler crashed on the component ({said})")?;
                None
            }
        };
        match &self.makeup {
            Some(makeup) => write!(f, "; it is made of {makeup}")?,
            None => f.write_str("; it was not read to its end")?,
        }
        match variable {
            Some(variable) => write!(f, ": build it smaller, or, if you trust it, raise {variable}"),
            None if matches!(self.stop, Stop::Killed { .. }) => {
                f.write_str(": try again, on a machine with more free memory if it was the kernel")
            }
            None => f.write_str(": build it without what is unusual in it"),
        }
    }
}
