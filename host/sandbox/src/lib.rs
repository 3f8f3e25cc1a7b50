//! The sandbox: the only module that names wasmtime.
//!
//! It turns the bytes of a component into a [`Rubric`], a rubric and its [`Limits`] into a [`PreparedRubric`], and that into
//! one [`Scored`](eval_model::contract::Scored) per case, through the seam [`RubricRunner`](eval_model::contract::RubricRunner). Nothing
//! that a rubric does may reach the host, another case, the network or the clock, and nothing it is shown may differ between
//! two machines. What comes out is what the guest claimed: judging it is not done here.
//!
//! Where to read on: [`inspect`] decides what is loaded, [`engine`] what runs it, [`guest`] what a call has, [`wasi`] what a
//! guest can ask for, [`scratch`] where its files are, [`fault`] what its end is called.

#![cfg_attr(test, expect(clippy::disallowed_methods, reason = "tests make and break files of their own"))]

mod backtrace;
mod cache;
mod capture;
mod clock;
mod compile_cost;
mod engine;
mod fault;
mod grants;
mod guest;
mod inspect;
mod permits;
mod prices;
mod random;
mod runner;
mod score_type;
mod scratch;
mod ticker;
mod wasi;

use std::error::Error;
use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use self::bindings::RubricPre;
use self::guest::Guest;
use self::permits::Permits;
use self::ticker::Ticker;
use eval_model::advice::Advice;
use eval_model::contract::{RubricLoader, RubricRunner};
use eval_model::ids::Digest;
use eval_model::limits::Limits;

pub use self::backtrace::Backtrace;
pub use self::cache::CacheError;
pub use self::engine::Backend;
pub use self::grants::{Grant, RUBRIC_WORLD, Refusal, Version};
pub use self::inspect::{BinaryKind, Import, Inspection, MOST_COMPONENT_BYTES, NotARubric, inspect};

pub use self::compile_cost::TooCostly;
pub use self::prices::PRICE_LIST_VERSION;
pub use self::runner::{Leavings, PreparedRubric};
pub use self::scratch::{ScratchEntry, ScratchTree};

/// What wasmtime makes of `wit/rubric.wit`. These types stay in this module.
mod bindings {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "rubric",
        ownership: Borrowing { duplicate_if_necessary: false },
    });
}

/// The wasmtime that this host is built with. Fuel means the same only under the same one, so records name it.
pub const WASMTIME_VERSION: &str = "48.0.8";

/// How a process runs rubrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxConfig {
    pub backend: Backend,
    /// How many cases are scored at a time at most.
    pub workers: NonZeroU32,
    /// Where compiled code is kept; without it every load compiles.
    pub compile_cache: Option<PathBuf>,
}

/// Why there is no sandbox.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    #[error("failed to open the compile cache")]
    Cache(#[source] CacheError),
    #[error("failed to set up wasmtime on this machine")]
    Engine(#[source] Box<dyn Error + Send + Sync>),
    #[error("failed to start the thread that stops rubrics at their deadline")]
    Ticker(#[source] io::Error),
}

impl Advice for SandboxError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Cache(_) => None,
            _ => Some("the machine may lack memory or threads; see its limits with `ulimit -a`".to_owned()),
        }
    }
}

/// Why bytes are not loaded as a rubric.
#[derive(Debug, thiserror::Error)]
pub enum LoadRubricError {
    #[error(transparent)]
    NotARubric(#[from] NotARubric),
    #[error("the component does not compile: it needs more than this host gives a rubric, or wasmtime cannot take it")]
    Compile(#[source] Box<dyn Error + Send + Sync>),
    #[error(
        "the component's imports have other types than `eval-host:rubric@0.1.0` and WASI 0.2 say: build \
         it against this host's `wit/rubric.wit`"
    )]
    Types(#[source] Box<dyn Error + Send + Sync>),
}

impl Advice for LoadRubricError {}

/// The engine of a process, and what every rubric is granted.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<Guest>,
    permits: Arc<Permits>,
    ticker: Arc<Ticker>,
}

/// A component that is a rubric: compiled, linked, and known by the digest of its bytes.
pub struct Rubric {
    instance: RubricPre<Guest>,
    digest: Digest,
    permits: Arc<Permits>,
    ticker: Arc<Ticker>,
}

impl Sandbox {
    /// Sets up the engine. A process needs one, and should have no other.
    pub fn new(config: &SandboxConfig) -> Result<Self, SandboxError> {
        let cache = config.compile_cache.as_deref().map(cache::open).transpose().map_err(SandboxError::Cache)?;
        let workers = config.workers.get();
        let engine =
            engine::engine(config.backend, workers, cache).map_err(|error| SandboxError::Engine(error.into()))?;
        let ticker = Ticker::start(&engine).map_err(SandboxError::Ticker)?;
        let linker = linker(&engine).map_err(|error| SandboxError::Engine(error.into()))?;
        Ok(Self { engine, linker, permits: Arc::new(Permits::new(workers)), ticker })
    }

    /// Checks, compiles and links a component.
    pub fn load(&self, bytes: &[u8]) -> Result<Rubric, LoadRubricError> {
        let inspection = inspect(bytes);
        if let Some(refusal) = inspection.refusal.clone() {
            return Err(refusal.into());
        }
        let component =
            Component::from_binary(&self.engine, bytes).map_err(|error| LoadRubricError::Compile(error.into()))?;
        let instance = self
            .linker
            .instantiate_pre(&component)
            .and_then(RubricPre::new)
            .map_err(|error| LoadRubricError::Types(error.into()))?;
        Ok(Rubric { instance, digest: inspection.digest, permits: self.permits.clone(), ticker: self.ticker.clone() })
    }
}

impl Rubric {
    /// The BLAKE3 of the component's bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The rubric under these limits.
    pub fn prepare(&self, limits: Limits) -> PreparedRubric {
        PreparedRubric {
            instance: self.instance.clone(),
            digest: self.digest,
            limits,
            permits: self.permits.clone(),
            ticker: self.ticker.clone(),
        }
    }
}

impl RubricLoader for Sandbox {
    fn load(
        &self,
        component: &[u8],
        world: &str,
        limits: Limits,
    ) -> Result<Box<dyn RubricRunner>, Box<dyn Error + Send + Sync>> {
        if world != RUBRIC_WORLD {
            return Err(format!("it implements the world `{world}`, and this host runs `{RUBRIC_WORLD}`").into());
        }
        Ok(Box::new(Self::load(self, component)?.prepare(limits)))
    }
}

impl fmt::Debug for Sandbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sandbox").finish_non_exhaustive()
    }
}

impl fmt::Debug for Rubric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rubric").field("digest", &self.digest).finish_non_exhaustive()
    }
}

/// Everything a rubric can import: WASI in our form, and the contract's types, which hold no function.
fn linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    wasi::add_to_linker(&mut linker)?;
    linker.instance(grants::TYPES)?;
    Ok(linker)
}
