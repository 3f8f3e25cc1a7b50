//! Why a call ended early, by the type of the cause and never by its text.
//!
//! Host functions end a guest with a [`HostFault`]; wasmtime ends it with a `Trap` or, for values that it could not read from
//! the guest's memory, with an error that has no public type. Those last ones are told apart by where they arose. What this
//! machine could not give is no fault at all: it would be another one tomorrow, and evidence must not hold it.

use wasmtime::Trap;
use wasmtime::component::ResourceTableError;

use eval_model::contract::{RubricFault, TrapKind};

/// What a host function or the limiter ends a guest with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum HostFault {
    #[error("a poll that can never be ready")]
    Deadlock,
    #[error("more virtual time than a day")]
    TooMuchTime,
    #[error("the limit of linear memory or tables")]
    MemoryExhausted,
    #[error("this machine has not the memory that the limits allow a rubric")]
    NoMemory,
    #[error("a call to exit")]
    Exit,
    #[error("too many random bytes in one call")]
    RandomLimit,
    #[error("an argument that the interface forbids")]
    BadArgument,
}

/// How far a call had come when it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Before any code of the guest ran: its memories, tables and instances were being made.
    Allocating,
    /// While the guest ran, in its own code or in a host call; start functions run while instances are being made.
    Running,
    /// After `score` had returned, while its result was being read.
    Returned,
}

/// The fault that an error stands for; `None` when the machine failed and not the rubric.
pub(super) fn classify(error: &wasmtime::Error, stage: Stage) -> Option<RubricFault> {
    if let Some(fault) = error.downcast_ref::<HostFault>() {
        return from_host(*fault);
    }
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return Some(from_trap(*trap, stage));
    }
    if let Some(error) = error.downcast_ref::<ResourceTableError>() {
        return Some(RubricFault::Trap(match error {
            ResourceTableError::Full => TrapKind::ResourceLimit,
            _ => TrapKind::BadHandle,
        }));
    }
    match stage {
        // What a rubric may have is counted at load and by the limiter, whose refusals have a type.
        Stage::Allocating => None,
        Stage::Running => Some(RubricFault::Trap(TrapKind::BadArgument)),
        Stage::Returned => Some(unreadable_result()),
    }
}

fn from_host(fault: HostFault) -> Option<RubricFault> {
    let kind = match fault {
        HostFault::NoMemory => return None,
        HostFault::MemoryExhausted => return Some(RubricFault::MemoryExhausted),
        HostFault::Deadlock => TrapKind::Deadlock,
        HostFault::TooMuchTime => TrapKind::TooMuchTime,
        HostFault::Exit => TrapKind::Exit,
        HostFault::RandomLimit => TrapKind::RandomLimit,
        HostFault::BadArgument => TrapKind::BadArgument,
    };
    Some(RubricFault::Trap(kind))
}

fn from_trap(trap: Trap, stage: Stage) -> RubricFault {
    if stage == Stage::Returned {
        return unreadable_result();
    }
    RubricFault::Trap(match trap {
        Trap::OutOfFuel => return RubricFault::FuelExhausted,
        Trap::Interrupt => return RubricFault::Timeout,
        Trap::AllocationTooLarge => return RubricFault::MemoryExhausted,
        Trap::StackOverflow => TrapKind::StackOverflow,
        Trap::UnreachableCodeReached => TrapKind::Unreachable,
        Trap::MemoryOutOfBounds
        | Trap::TableOutOfBounds
        | Trap::ArrayOutOfBounds
        | Trap::StringOutOfBounds
        | Trap::ListOutOfBounds => TrapKind::OutOfBounds,
        _ => TrapKind::Other,
    })
}

fn unreadable_result() -> RubricFault {
    RubricFault::Malformed {
        field: "result",
        why: format!("not a value of its type, or larger than {} bytes", super::runner::RESULT_BYTES_MAX),
    }
}
