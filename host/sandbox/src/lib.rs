//! The sandbox: the only module that names wasmtime.
//!
//! It turns the bytes of a component into a [`Rubric`], a rubric and its [`Limits`] into a [`PreparedRubric`], and that into
//! one [`Scored`](eval_model::contract::Scored) per case, through the seam [`RubricRunner`](eval_model::contract::RubricRunner). Nothing
//! that a rubric does may reach the host, another case, the network or the clock, and nothing it is shown may differ between
//! two machines. What comes out is what the guest claimed: judging it is not done here.
//!
//! Where to read on: [`inspect`] decides what is loaded, [`compiler`] has it compiled elsewhere, [`engine`] is what runs it,
//! [`guest`] what a call has, [`wasi`] what a guest can ask for, [`scratch`] where its files are, [`fault`] what its end is called.

mod backtrace;
mod cache;
mod capture;
mod clock;
mod compiler;
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
mod weight;

use std::error::Error;
use std::fmt;
use std::io;
use std::num::NonZeroU32;
use std::sync::Arc;

use wasmtime::Engine;
use wasmtime::component::{Component, Linker};

use self::bindings::RubricPre;
use self::cache::CodeCache;
use self::compiler::Answer;
use self::engine::Room;
use self::guest::Guest;
use self::permits::Permits;
use self::ticker::Ticker;
use eval_model::advice::Advice;
use eval_model::contract::{RubricLoader, RubricRunner};
use eval_model::ids::Digest;
use eval_model::limits::Limits;

pub use self::backtrace::Backtrace;
pub use self::cache::{CacheError, CompileCache};
pub use self::compiler::{COMPILE, CompileLimits, Compiler, CompilerError, Job, Stop, Stopped};
pub use self::engine::Backend;
pub use self::grants::{Grant, RUBRIC_WORLD, Refusal, Version};
pub use self::inspect::{BinaryKind, Import, Inspection, MOST_COMPONENT_BYTES, NotARubric, inspect};
pub use self::prices::PRICE_LIST_VERSION;
pub use self::runner::{Leavings, PreparedRubric};
pub use self::scratch::{ScratchEntry, ScratchTree};
pub use self::weight::{Makeup, TooHeavy};

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
    pub compile_cache: CompileCache,
    pub compiler: Compiler,
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
    #[error("failed to have the component compiled")]
    Compiler(#[source] CompilerError),
}

impl Advice for LoadRubricError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Compiler(error) => Some(error.hint().to_owned()),
            Self::NotARubric(_) => None,
        }
    }
}

/// The engine of a process, and what every rubric is granted.
pub struct Sandbox {
    engine: Engine,
    linker: Linker<Guest>,
    code: CodeCache,
    compiler: Compiler,
    compiled_for: (Backend, Room),
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
        let code = CodeCache::open(&config.compile_cache).map_err(SandboxError::Cache)?;
        let workers = config.workers.get();
        let (engine, room) =
            engine::engine(config.backend, workers, &code.cache).map_err(|error| SandboxError::Engine(error.into()))?;
        let ticker = Ticker::start(&engine).map_err(SandboxError::Ticker)?;
        let linker = linker(&engine).map_err(|error| SandboxError::Engine(error.into()))?;
        let permits = Arc::new(Permits::new(workers));
        let compiled_for = (config.backend, room);
        Ok(Self { engine, linker, code, compiler: config.compiler.clone(), compiled_for, permits, ticker })
    }

    /// Loads a component. What was compiled before is taken from the cache; else another process checks and compiles it.
    pub fn load(&self, bytes: &[u8]) -> Result<Rubric, LoadRubricError> {
        if let Some(refusal) = inspect::by_kind(bytes) {
            return Err(refusal.into());
        }
        if let Ok(component) = self.compiled(bytes) {
            return Ok(self.link(&component, bytes)?);
        }
        match self.read_and_compile(bytes).map_err(LoadRubricError::Compiler)?.refusal {
            Some(refusal) => Err(refusal.into()),
            None => {
                let unusable = |error: wasmtime::Error| CompilerError::Unusable(error.into());
                let component = self.compiled(bytes).map_err(unusable).map_err(LoadRubricError::Compiler)?;
                Ok(self.link(&component, bytes)?)
            }
        }
    }

    /// Says what a component is, and whether it loads.
    pub fn inspect(&self, bytes: &[u8]) -> Result<Inspection, LoadRubricError> {
        if let Some(refusal) = inspect::by_kind(bytes) {
            return Ok(Inspection::refused(bytes, refusal));
        }
        let inspection = match self.compiled(bytes) {
            Ok(_) => self.read(bytes),
            Err(_) => self.read_and_compile(bytes),
        };
        let mut inspection = inspection.map_err(LoadRubricError::Compiler)?;
        if inspection.refusal.is_none() {
            inspection.refusal = match self.load(bytes) {
                Ok(_) => None,
                Err(LoadRubricError::NotARubric(refusal)) => Some(refusal),
                Err(error) => return Err(error),
            };
        }
        Ok(inspection)
    }

    /// The component as it was compiled before. The engine has no compiler, so there is no other way to one.
    fn compiled(&self, bytes: &[u8]) -> wasmtime::Result<Component> {
        Component::from_binary(&self.engine, bytes)
    }

    fn read(&self, bytes: &[u8]) -> Result<Inspection, CompilerError> {
        let folder = self.code.folder_for_one().map_err(CompilerError::Keep)?;
        Ok(inspection(bytes, self.compiler.read(bytes, folder.path())?))
    }

    fn read_and_compile(&self, bytes: &[u8]) -> Result<Inspection, CompilerError> {
        let folder = self.code.folder_for_one().map_err(CompilerError::Keep)?;
        let answer = self.compiler.read_and_compile(bytes, self.compiled_for, folder.path())?;
        let inspection = inspection(bytes, answer);
        if inspection.refusal.is_none()
            && !self.code.keep(folder.path(), &self.engine, bytes).map_err(CompilerError::Keep)?
        {
            return Err(CompilerError::NothingKept);
        }
        Ok(inspection)
    }

    fn link(&self, component: &Component, bytes: &[u8]) -> Result<Rubric, NotARubric> {
        let other_types = |error| NotARubric::OtherTypes { reason: compiler::reason(&error) };
        let instance = self.linker.instantiate_pre(component).and_then(RubricPre::new).map_err(other_types)?;
        Ok(Rubric { instance, digest: Digest::of(bytes), permits: self.permits.clone(), ticker: self.ticker.clone() })
    }
}

/// What a compiler found out about these bytes.
fn inspection(bytes: &[u8], answer: Answer) -> Inspection {
    match answer {
        Answer::Read(facts) => Inspection::of(bytes, Ok(facts)),
        Answer::DoesNotCompile(facts, reason) => {
            let read = Inspection::of(bytes, Ok(facts));
            Inspection { refusal: Some(NotARubric::DoesNotCompile { reason }), ..read }
        }
        Answer::Defect(defect) => Inspection::refused(bytes, defect.into()),
        Answer::Stopped(stopped) => Inspection::refused(bytes, NotARubric::Stopped(stopped)),
    }
}

impl Rubric {
    /// The BLAKE3 of the component's bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The rubric under these limits.
    pub fn prepare(&self, limits: Limits) -> PreparedRubric {
        let resources = self.instance.instance_pre().component().resources_required();
        PreparedRubric {
            instance: self.instance.clone(),
            is_composed: resources.is_none_or(|resources| resources.num_memories > 1),
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
