//! The one engine of a process: what wasm it accepts, what makes it deterministic, and the pool its instances live in.
//!
//! There are two of a kind: [`engine`] runs rubrics and has no compiler, so that no component can make the process that holds it
//! compile; [`compiling_engine`] compiles for it, in a [process of its own](super::compiler), and runs nothing.

use std::num::NonZeroUsize;

use wasmtime::{
    Cache, Config, Enabled, Engine, InstanceAllocationStrategy, ModuleVersionStrategy, OptLevel,
    PoolingAllocationConfig, WasmFeatures,
};

use super::backtrace::FRAMES_MAX;
use super::prices;
use eval_model::limits::Limits;

/// How many core instances one component may be made of. A Rust component has 3, one of Python's has 40.
pub(super) const CORE_INSTANCES_MAX: u32 = 64;
/// A composed component has one for each of its parts.
pub(super) const MEMORIES_MAX: u32 = 8;
pub(super) const TABLES_MAX: u32 = 8;
pub(super) const TABLE_ELEMENTS_MAX: usize = 65_536;

/// What all instances of a component may take besides memories and tables: their functions, globals and imports.
const INSTANCE_BYTES_MAX: usize = 4 << 20;

/// The stack of a guest, well below what a thread of the host has.
const STACK_BYTES: usize = 512 << 10;

/// What an instance leaves mapped for the next one: with these, and a scan of which pages were touched, two threads score
/// about three times as many cases per second as with the defaults.
const MEMORY_KEPT_RESIDENT: usize = 4 << 20;
const TABLE_KEPT_RESIDENT: usize = 64 << 10;

/// What executes a rubric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backend {
    /// Machine code for this host.
    Native,
    /// Wasmtime's portable interpreter: slow, and a second architecture to compare scores with.
    #[cfg(feature = "pulley")]
    Interpreter,
}

/// The proposals that a rubric may use: what compilers emit for `wasm32-wasip2`, and SIMD, which is deterministic without its
/// relaxed part. Everything else is more surface for nothing.
pub(super) fn rubric_features() -> WasmFeatures {
    WasmFeatures::MUTABLE_GLOBAL
        | WasmFeatures::SATURATING_FLOAT_TO_INT
        | WasmFeatures::SIGN_EXTENSION
        | WasmFeatures::REFERENCE_TYPES
        | WasmFeatures::MULTI_VALUE
        | WasmFeatures::BULK_MEMORY
        | WasmFeatures::SIMD
        | WasmFeatures::FLOATS
        | WasmFeatures::EXTENDED_CONST
        | WasmFeatures::COMPONENT_MODEL
}

/// What the engine accepts beyond that, because its own adapters between the parts of a composed component use it. A rubric that
/// does is refused before.
fn engine_features() -> WasmFeatures {
    rubric_features() | WasmFeatures::MULTI_MEMORY
}

/// How much address space the memory of an instance takes. Code is compiled for one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// A place in the pool, so wide that most accesses need no check.
    Pool,
    /// No more than the largest that a memory can become.
    Small,
}

/// An engine for `workers` instances at a time. Where the address space is too small for the pool, instances are allocated
/// one by one: slower, with the same results. It has no compiler, and loads what `cache` has.
pub(super) fn engine(backend: Backend, workers: u32, cache: &Cache) -> wasmtime::Result<(Engine, Room)> {
    let with = |room, strategy| {
        let mut config = config(backend, room, cache.clone())?;
        config.enable_compiler(false).allocation_strategy(strategy);
        Ok((Engine::new(&config)?, room))
    };
    let pool = InstanceAllocationStrategy::Pooling(pool(workers));
    with(Room::Pool, pool).or_else(|_: wasmtime::Error| with(Room::Small, InstanceAllocationStrategy::OnDemand))
}

/// An engine that compiles for one of the others. It refuses what the pool of instances would refuse, also where there is none:
/// an empty pool takes no address space and knows the same limits.
pub(super) fn compiling_engine(backend: Backend, room: Room, cache: Cache) -> wasmtime::Result<Engine> {
    let mut config = config(backend, room, cache)?;
    let mut pool = pool(1);
    pool.total_memories(0);
    config
        .cranelift_nan_canonicalization(true)
        .cranelift_opt_level(OptLevel::Speed)
        .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    Engine::new(&config)
}

/// Code that is kept is used again only under the same name. It says what an engine without a compiler does not know of itself:
/// how the code was compiled, and by which rules a component was let through. Raise the last number when one of them changes.
fn code_version() -> String {
    format!("{}-{}-1", super::WASMTIME_VERSION, env!("CARGO_PKG_VERSION"))
}

fn config(backend: Backend, room: Room, cache: Cache) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    match backend {
        Backend::Native => {}
        #[cfg(feature = "pulley")]
        Backend::Interpreter => {
            config.target("pulley64")?;
        }
    }
    if room == Room::Small {
        config.memory_reservation(Limits::MAX_MEMORY_BYTES).memory_guard_size(64 << 10);
    }
    config
        .wasm_features(WasmFeatures::all().difference(engine_features()), false)
        .wasm_features(engine_features(), true)
        .consume_fuel(true)
        .operator_cost(prices::operators())
        .epoch_interruption(true)
        .max_wasm_stack(STACK_BYTES)
        .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES_MAX))
        // A trap is told by its functions: nobody asks for offsets in the component, and the answer takes memory.
        .generate_address_map(false)
        .module_version(ModuleVersionStrategy::Custom(code_version()))?
        .cache(Some(cache));
    Ok(config)
}

fn pool(workers: u32) -> PoolingAllocationConfig {
    let mut pool = PoolingAllocationConfig::new();
    pool.total_component_instances(workers)
        .total_core_instances(workers * CORE_INSTANCES_MAX)
        .total_memories(workers * MEMORIES_MAX)
        .total_tables(workers * TABLES_MAX)
        .total_stacks(workers)
        .max_core_instances_per_component(CORE_INSTANCES_MAX)
        .max_memories_per_component(MEMORIES_MAX)
        .max_tables_per_component(TABLES_MAX)
        .max_memories_per_module(MEMORIES_MAX)
        .max_tables_per_module(TABLES_MAX)
        .table_elements(TABLE_ELEMENTS_MAX)
        .max_core_instance_size(INSTANCE_BYTES_MAX)
        .max_component_instance_size(INSTANCE_BYTES_MAX)
        .max_memory_size(usize::try_from(Limits::MAX_MEMORY_BYTES).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(MEMORY_KEPT_RESIDENT)
        .table_keep_resident(TABLE_KEPT_RESIDENT)
        .pagemap_scan(Enabled::Auto);
    pool
}
