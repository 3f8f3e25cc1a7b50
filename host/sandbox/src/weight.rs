//! What a component is made of, counted in one pass over its bytes, and the few counts that are bounded before it is validated.
//!
//! This is read in a process that is limited itself, so nothing here guesses what compiling costs. What is bounded is what
//! makes reading cost more than its bytes (components nested in each other are validated in quadratic time), what comes back
//! to the host (names), and what an instance is given, so that it is refused in the same words on every machine. The engine
//! that compiles holds the rest of what an instance is given, by the same numbers: see [`super::engine`].
//!
//! Nothing here may depend on the machine.

use std::fmt;

use serde::{Deserialize, Serialize};
use wasmparser::{
    CanonicalFunction, CanonicalOption, ComponentInstance, ComponentType, CompositeInnerType, ElementItems,
    ElementSectionReader, FunctionBody, Instance, Payload, SectionLimited, TypeSectionReader,
};

use super::engine::{MEMORIES_MAX, TABLE_ELEMENTS_MAX, TABLES_MAX};
use eval_model::limits::Limits;

/// A bound that a component breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{what}: {found}, above the maximum of {maximum}")]
pub struct TooHeavy {
    pub what: String,
    pub found: u64,
    pub maximum: u64,
}

/// What is counted, in the words of an error, with the most that is let through.
type Bound = (&'static str, u64);

/// Composed components have 2 or 3. Each is validated once for every component around it.
const DEPTH: Bound = ("components nested in each other", 16);
/// They come back to the host, which shows them.
const NAMES: Bound = ("bytes in the names of imports and exports", 1 << 20);
const MEMORIES: Bound = ("memories", MEMORIES_MAX as u64);
const PAGES: Bound = ("pages of memory at the start", Limits::MAX_MEMORY_BYTES >> 16);
const TABLES: Bound = ("tables", TABLES_MAX as u64);
const ELEMENTS: Bound = ("elements of a table at the start", TABLE_ELEMENTS_MAX as u64);
/// Each is a part of every instance.
const GLOBALS: Bound = ("globals", 32_768);

/// What a component is made of, for whoever has to make it smaller.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Makeup {
    pub bytes: u64,
    pub modules: u64,
    pub components: u64,
    pub instances: u64,
    pub functions: u64,
    pub code_bytes: u64,
    pub largest_function_bytes: u64,
    pub most_locals: u64,
    /// Parameters and results of one type.
    pub widest_type: u64,
    pub memories: u64,
    pub tables: u64,
    pub globals: u64,
    pub data_segments: u64,
    pub element_segments: u64,
    pub elements: u64,
    pub name_bytes: u64,
}

impl fmt::Display for Makeup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, modules, components, functions, code_bytes, largest_function_bytes, .. } = self;
        let Self { most_locals, widest_type, globals, data_segments, element_segments, elements, instances, .. } = self;
        write!(
            f,
            "{bytes} bytes; modules: {modules}; components in it: {components}; instances: {instances}; functions: \
             {functions} with {code_bytes} bytes of code, the largest of {largest_function_bytes} bytes, at most \
             {most_locals} locals and {widest_type} parameters and results; globals: {globals}; data segments: \
             {data_segments}; element segments: {element_segments} with {elements} elements"
        )
    }
}

/// Why a component is refused from what it is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unfit {
    TooHeavy(TooHeavy),
    /// It is made for the asynchronous form of the component model.
    Async,
}

impl Makeup {
    /// Adds a part of a component, `depth` components and modules below the outermost.
    pub(super) fn add(&mut self, payload: &Payload<'_>, depth: u64) -> wasmparser::Result<Result<(), Unfit>> {
        if is_async(payload)? {
            return Ok(Err(Unfit::Async));
        }
        match payload {
            Payload::CodeSectionEntry(body) => self.add_function(body)?,
            Payload::InstanceSection(section) => {
                self.instances += count(section, |instance| matches!(instance, Instance::Instantiate { .. }))?;
            }
            Payload::ComponentInstanceSection(section) => {
                self.instances += count(section, |instance| matches!(instance, ComponentInstance::Instantiate { .. }))?;
            }
            Payload::GlobalSection(section) => self.globals += u64::from(section.count()),
            Payload::DataSection(section) => self.data_segments += u64::from(section.count()),
            Payload::ElementSection(section) => self.add_elements(section)?,
            Payload::TypeSection(section) => self.widest_type = self.widest_type.max(widest(section)?),
            Payload::ModuleSection { .. } => self.modules += 1,
            Payload::ComponentSection { .. } => self.components += 1,
            _ => {}
        }
        Ok(self.bounded(payload, depth)?.map_err(Unfit::TooHeavy))
    }

    fn add_function(&mut self, body: &FunctionBody<'_>) -> wasmparser::Result<()> {
        let bytes = body.range().len() as u64;
        let mut locals = 0_u64;
        for group in body.get_locals_reader()? {
            locals += u64::from(group?.0);
        }
        self.functions += 1;
        self.code_bytes += bytes;
        self.largest_function_bytes = self.largest_function_bytes.max(bytes);
        self.most_locals = self.most_locals.max(locals);
        Ok(())
    }

    fn add_elements(&mut self, section: &ElementSectionReader<'_>) -> wasmparser::Result<()> {
        for segment in section.clone() {
            self.element_segments += 1;
            self.elements += u64::from(match segment?.items {
                ElementItems::Functions(items) => items.count(),
                ElementItems::Expressions(_, items) => items.count(),
            });
        }
        Ok(())
    }

    /// Counts what is bounded, and holds it to its bound.
    fn bounded(&mut self, payload: &Payload<'_>, depth: u64) -> wasmparser::Result<Result<(), TooHeavy>> {
        Ok(match payload {
            Payload::MemorySection(section) => {
                self.memories += u64::from(section.count());
                let pages = section.clone().into_iter().map(|memory| Ok(memory?.initial));
                within(MEMORIES, self.memories).and(within(PAGES, largest(pages)?))
            }
            Payload::TableSection(section) => {
                self.tables += u64::from(section.count());
                let elements = section.clone().into_iter().map(|table| Ok(table?.ty.initial));
                within(TABLES, self.tables).and(within(ELEMENTS, largest(elements)?))
            }
            Payload::GlobalSection(_) => within(GLOBALS, self.globals),
            Payload::ComponentSection { .. } => within(DEPTH, depth + 1),
            Payload::ComponentImportSection(section) if depth == 0 => {
                for import in section.clone() {
                    self.name_bytes += import?.name.name.len() as u64;
                }
                within(NAMES, self.name_bytes)
            }
            Payload::ComponentExportSection(section) if depth == 0 => {
                for export in section.clone() {
                    self.name_bytes += export?.name.name.len() as u64;
                }
                within(NAMES, self.name_bytes)
            }
            _ => Ok(()),
        })
    }
}

fn widest(section: &TypeSectionReader<'_>) -> wasmparser::Result<u64> {
    let mut widest = 0;
    for group in section.clone() {
        let group = group?;
        let functions = group.types().filter_map(|ty| match &ty.composite_type.inner {
            CompositeInnerType::Func(function) => Some(function),
            _ => None,
        });
        let widths = functions.map(|function| (function.params().len() + function.results().len()) as u64);
        widest = widths.fold(widest, u64::max);
    }
    Ok(widest)
}

fn count<'a, T: wasmparser::FromReader<'a>>(
    section: &SectionLimited<'a, T>,
    counts: impl Fn(&T) -> bool,
) -> wasmparser::Result<u64> {
    let mut found = 0;
    for item in section.clone() {
        found += u64::from(counts(&item?));
    }
    Ok(found)
}

fn largest(sizes: impl Iterator<Item = wasmparser::Result<u64>>) -> wasmparser::Result<u64> {
    sizes.into_iter().try_fold(0, |largest, size| Ok(size?.max(largest)))
}

fn within((what, maximum): Bound, found: u64) -> Result<(), TooHeavy> {
    if found > maximum { Err(TooHeavy { what: what.to_owned(), found, maximum }) } else { Ok(()) }
}

/// Whether a part of a component is there for the asynchronous form of the component model.
fn is_async(payload: &Payload<'_>) -> wasmparser::Result<bool> {
    Ok(match payload {
        Payload::ComponentTypeSection(section) => {
            count(section, |ty| matches!(ty, ComponentType::Func(function) if function.async_))? > 0
        }
        Payload::ComponentCanonicalSection(section) => count(section, is_async_function)? > 0,
        _ => false,
    })
}

fn is_async_function(function: &CanonicalFunction) -> bool {
    let waits = |options: &[CanonicalOption]| {
        options.iter().any(|option| matches!(option, CanonicalOption::Async | CanonicalOption::Callback(_)))
    };
    match function {
        CanonicalFunction::Lift { options, .. } | CanonicalFunction::Lower { options, .. } => waits(options),
        CanonicalFunction::TaskReturn { .. }
        | CanonicalFunction::TaskCancel
        | CanonicalFunction::SubtaskDrop
        | CanonicalFunction::StreamNew { .. }
        | CanonicalFunction::FutureNew { .. }
        | CanonicalFunction::WaitableSetNew => true,
        _ => false,
    }
}
