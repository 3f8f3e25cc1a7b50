//! The one engine of a process: what wasm it accepts, what makes it deterministic, and the pool its instances live in.

use std::num::NonZeroUsize;

use wasmtime::{
    Cache, Config, Enabled, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, WasmFeatures,
};

use super::backtrace::FRAMES_MAX;
use super::prices;
use eval_model::limits::Limits;

/// How many core instances one component may be made of. A Rust component has 3.
pub(super) const CORE_INSTANCES_MAX: u32 = 32;
pub(super) const MEMORIES_MAX: u32 = 2;
pub(super) const TABLES_MAX: u32 = 8;
pub(super) const TABLE_ELEMENTS_MAX: usize = 65_536;

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
pub(super) fn features() -> WasmFeatures {
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

/// An engine for `workers` instances at a time. Where the address space is too small for the pool, instances are allocated
/// one by one: slower, with the same results.
pub(super) fn engine(backend: Backend, workers: u32, cache: Option<Cache>) -> wasmtime::Result<Engine> {
    let mut config = config(backend, cache)?;
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool(workers)));
    Engine::new(&config).or_else(|_| {
        config.allocation_strategy(InstanceAllocationStrategy::OnDemand);
        config.memory_reservation(256 << 20);
        config.memory_guard_size(64 << 10);
        Engine::new(&config)
    })
}

fn config(backend: Backend, cache: Option<Cache>) -> wasmtime::Result<Config> {
    let mut config = Config::new();
    match backend {
        Backend::Native => {}
        #[cfg(feature = "pulley")]
        Backend::Interpreter => {
            config.target("pulley64")?;
        }
    }
    config
        .wasm_features(WasmFeatures::all().difference(features()), false)
        .wasm_features(features(), true)
        .consume_fuel(true)
        .operator_cost(prices::operators())
        .epoch_interruption(true)
        .cranelift_nan_canonicalization(true)
        .cranelift_opt_level(OptLevel::Speed)
        .max_wasm_stack(STACK_BYTES)
        .wasm_backtrace_max_frames(NonZeroUsize::new(FRAMES_MAX))
        // A trap is told by its functions: nobody asks for offsets in the component, and the answer takes memory.
        .generate_address_map(false)
        .cache(cache);
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
        .max_memory_size(usize::try_from(Limits::MAX_MEMORY_BYTES).unwrap_or(usize::MAX))
        .linear_memory_keep_resident(MEMORY_KEPT_RESIDENT)
        .table_keep_resident(TABLE_KEPT_RESIDENT)
        .pagemap_scan(Enabled::Auto);
    pool
}
