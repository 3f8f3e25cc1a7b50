//! Everything that one call of a rubric has of the host's: made for the call, and dropped with it.
//!
//! Nothing here refers to another call, to a descriptor of the host, to its clock or to its environment; whatever a guest can
//! observe is a function of the rubric, the case and the output.

use std::fmt;

use wasmtime::ResourceLimiter;
use wasmtime::component::ResourceTable;

use super::capture::Capture;
use super::clock::VirtualClock;
use super::fault::HostFault;
use super::prices;
use super::random::SeededRandom;
use super::scratch::{Scratch, Work};
use eval_model::contract::ScoreRequest;
use eval_model::ids::Digest;
use eval_model::limits::Limits;

/// How many descriptors, streams, pollables and errors a guest may hold at a time.
const RESOURCES_MAX: usize = 4_096;

pub(super) struct Guest {
    pub(super) table: ResourceTable,
    pub(super) scratch: Scratch,
    pub(super) clock: VirtualClock,
    pub(super) random: SeededRandom,
    pub(super) stdout: Capture,
    pub(super) stderr: Capture,
    pub(super) memory: MemoryLimiter,
    /// How often code of the guest was entered from outside, since it was instantiated or, before that, since the start.
    pub(super) entries: u64,
    /// The entry that is given no fuel, so that it ends before its first instruction.
    pub(super) stopped_entry: Option<u64>,
    /// Whether it is made of components that pass texts from one memory to another.
    is_composed: bool,
    /// Fuel that host calls have cost and that the store has not been charged yet.
    unpaid_fuel: u64,
}

impl Guest {
    pub(super) fn new(rubric: &Digest, request: &ScoreRequest<'_>, limits: &Limits, is_composed: bool) -> Self {
        let mut table = ResourceTable::new();
        table.set_max_capacity(RESOURCES_MAX);
        Self {
            table,
            scratch: Scratch::new(request.files, limits.scratch_bytes(), limits.scratch_entries()),
            clock: VirtualClock::starting_at(request.case.added_at),
            random: SeededRandom::new(rubric, &request.case_digest),
            stdout: Capture::keeping(limits.output_bytes()),
            stderr: Capture::keeping(limits.output_bytes()),
            memory: MemoryLimiter::new(limits.memory_bytes()),
            entries: 0,
            stopped_entry: None,
            is_composed,
            unpaid_fuel: 0,
        }
    }

    /// Notes a host call that moves `bytes` between host and guest.
    pub(super) fn note_call(&mut self, bytes: usize) {
        let price = (bytes as u64).saturating_mul(prices::PER_BYTE).saturating_add(prices::PER_HOST_CALL);
        self.unpaid_fuel = self.unpaid_fuel.saturating_add(price);
    }

    /// The fuel that host calls have cost since this was last asked, and the way back from the host.
    pub(super) fn take_unpaid_fuel(&mut self) -> u64 {
        let Work { names, path_parts, bytes } = self.scratch.take_work();
        // A granted call costs something. Without one it was wasmtime itself, which may have copied as much as a memory holds.
        let was_copying = self.is_composed && self.unpaid_fuel == 0;
        if was_copying {
            self.unpaid_fuel = self.memory.bytes as u64 / prices::MEMORY_BYTES_PER_FUEL;
        }
        let work = [(names, prices::PER_NAME), (path_parts, prices::PER_PATH_PART), (bytes, prices::PER_BYTE)];
        let unpaid = std::mem::take(&mut self.unpaid_fuel).saturating_add(prices::PER_CROSSING);
        work.into_iter().fold(unpaid, |unpaid, (count, price)| unpaid.saturating_add(count.saturating_mul(price)))
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").finish_non_exhaustive()
    }
}

/// Counts what the guest's memories and tables hold. What goes over a limit ends the guest with a fault of its own, at once:
/// a refused `memory.grow` would only come back as some trap or other.
#[derive(Debug)]
pub(super) struct MemoryLimiter {
    bytes: usize,
    bytes_max: usize,
    peak_bytes: usize,
    table_elements: usize,
}

impl MemoryLimiter {
    const TABLE_ELEMENTS_MAX: usize = super::engine::TABLE_ELEMENTS_MAX;

    fn new(bytes_max: u64) -> Self {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Self { bytes: 0, bytes_max, peak_bytes: 0, table_elements: 0 }
    }

    pub(super) fn peak_bytes(&self) -> u64 {
        self.peak_bytes as u64
    }
}

/// What a total is after one part of it has grown, unless that is too much.
fn grown(total: usize, current: usize, desired: usize, maximum: usize) -> Result<usize, HostFault> {
    let after = total.saturating_sub(current).saturating_add(desired);
    if after > maximum { Err(HostFault::MemoryExhausted) } else { Ok(after) }
}

/// Whether a guest asks for more than it declared, which is refused as WebAssembly says. Our own limit is looked at before
/// this: `maximum` also holds what the instance pool can give, which a guest must not see.
fn exceeds(desired: usize, maximum: Option<usize>) -> bool {
    maximum.is_some_and(|maximum| desired > maximum)
}

impl ResourceLimiter for MemoryLimiter {
    fn memory_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let bytes = grown(self.bytes, current, desired, self.bytes_max)?;
        if exceeds(desired, maximum) {
            return Ok(false);
        }
        self.bytes = bytes;
        self.peak_bytes = self.peak_bytes.max(bytes);
        Ok(true)
    }

    /// The host could not give what the limit allows. That depends on the machine, so the guest must not see it.
    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(error.context(HostFault::NoMemory))
    }

    fn table_growing(&mut self, current: usize, desired: usize, maximum: Option<usize>) -> wasmtime::Result<bool> {
        let elements = grown(self.table_elements, current, desired, Self::TABLE_ELEMENTS_MAX)?;
        if exceeds(desired, maximum) {
            return Ok(false);
        }
        self.table_elements = elements;
        Ok(true)
    }

    fn table_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        Err(error.context(HostFault::NoMemory))
    }

    fn instances(&self) -> usize {
        super::engine::CORE_INSTANCES_MAX as usize
    }

    fn tables(&self) -> usize {
        super::engine::TABLES_MAX as usize
    }

    fn memories(&self) -> usize {
        super::engine::MEMORIES_MAX as usize
    }
}
