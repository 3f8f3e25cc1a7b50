//! What compiling a component may cost, judged from its bytes before a compiler sees them.
//!
//! Fuel and the clock bound a guest that runs. Compiling comes before that, and it grows faster than what is compiled: a
//! megabyte of well-chosen code takes gigabytes and minutes, and 1 kilobyte of components that instantiate each other twice
//! takes for ever. What makes a function expensive is its length, its locals, the places where branches meet, and above all
//! the product of the last two. With these bounds the worst that we could build takes under a minute of one core and some
//! hundred megabytes. Real rubrics stay far below them; a test says how far.
//!
//! What an instance starts with is bounded here too, and not left to whatever allocates it: a component that does not fit the
//! instance pool must be refused just so where there is no pool.

use wasmparser::{ComponentInstance, FunctionBody, Instance, Operator, Payload};

use super::engine::{MEMORIES_MAX, TABLE_ELEMENTS_MAX, TABLES_MAX};
use eval_model::limits::Limits;

/// A bound that a component breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {found}, above the maximum of {maximum}")]
pub struct TooCostly {
    pub what: &'static str,
    pub found: u64,
    pub maximum: u64,
}

/// What is counted, in the words of an error, with the most that is let through.
type Bound = (&'static str, u64);

const FUNCTIONS: Bound = ("functions", 65_536);
const CODE_BYTES: Bound = ("bytes of code", 16 << 20);
const FUNCTION_BYTES: Bound = ("bytes of code in one function", 256 << 10);
const LOCALS: Bound = ("locals in one function", 4_096);
const BRANCHES: Bound = ("branches in one function", 32_768);
/// The compiler may have to carry every local through every branch.
const CROSSINGS: Bound = ("locals times branches in one function", 256 << 10);
const ALL_CROSSINGS: Bound = ("locals times branches, summed over all functions", 16 << 20);
/// Each is expanded wherever it is instantiated, so these two bound an exponential.
const DEPTH: Bound = ("components nested in each other", 4);
const INSTANCES: Bound = ("instances", 64);
const MEMORIES: Bound = ("memories", MEMORIES_MAX as u64);
const PAGES: Bound = ("pages of memory at the start", Limits::MAX_MEMORY_BYTES >> 16);
const TABLES: Bound = ("tables", TABLES_MAX as u64);
const ELEMENTS: Bound = ("elements of a table at the start", TABLE_ELEMENTS_MAX as u64);

/// What was read of a component until now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CompileCost {
    functions: u64,
    code_bytes: u64,
    crossings: u64,
    instances: u64,
    memories: u64,
    tables: u64,
}

/// What one function costs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct FunctionCost {
    bytes: u64,
    locals: u64,
    branches: u64,
}

impl CompileCost {
    /// Adds a part of a component, `depth` components below the outermost.
    pub(super) fn add(&mut self, payload: &Payload<'_>, depth: u64) -> wasmparser::Result<Result<(), TooCostly>> {
        Ok(match payload {
            Payload::CodeSectionEntry(body) => self.add_function(FunctionCost::of(body)?),
            Payload::InstanceSection(section) => {
                for instance in section.clone() {
                    self.instances += u64::from(matches!(instance?, Instance::Instantiate { .. }));
                }
                within(INSTANCES, self.instances)
            }
            Payload::ComponentInstanceSection(section) => {
                for instance in section.clone() {
                    self.instances += u64::from(matches!(instance?, ComponentInstance::Instantiate { .. }));
                }
                within(INSTANCES, self.instances)
            }
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
            Payload::ComponentSection { .. } => within(DEPTH, depth + 1),
            _ => Ok(()),
        })
    }

    fn add_function(&mut self, function: FunctionCost) -> Result<(), TooCostly> {
        let crossings = function.locals.saturating_mul(function.branches);
        self.functions += 1;
        self.code_bytes += function.bytes;
        self.crossings = self.crossings.saturating_add(crossings);
        within(FUNCTIONS, self.functions)
            .and(within(CODE_BYTES, self.code_bytes))
            .and(within(FUNCTION_BYTES, function.bytes))
            .and(within(LOCALS, function.locals))
            .and(within(BRANCHES, function.branches))
            .and(within(CROSSINGS, crossings))
            .and(within(ALL_CROSSINGS, self.crossings))
    }
}

fn largest(sizes: impl Iterator<Item = wasmparser::Result<u64>>) -> wasmparser::Result<u64> {
    sizes.into_iter().try_fold(0, |largest, size| Ok(size?.max(largest)))
}

fn within((what, maximum): Bound, found: u64) -> Result<(), TooCostly> {
    if found > maximum { Err(TooCostly { what, found, maximum }) } else { Ok(()) }
}

impl FunctionCost {
    fn of(body: &FunctionBody<'_>) -> wasmparser::Result<Self> {
        let mut weight = Self { bytes: body.range().len() as u64, ..Self::default() };
        for locals in body.get_locals_reader()? {
            weight.locals += u64::from(locals?.0);
        }
        for operator in body.get_operators_reader()? {
            weight.branches += match operator? {
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } | Operator::BrIf { .. } => 1,
                Operator::BrTable { targets } => u64::from(targets.len()) + 1,
                _ => 0,
            };
        }
        Ok(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn real_rubrics_are_far_below_every_bound() {
        let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench");
        for task_class in ["vuln-remediation", "migration-chainguard-distroless"] {
            let component = std::fs::read(bench.join(task_class).join("rubric.wasm")).expect("a rubric");
            let (mut all, mut largest) = (CompileCost::default(), FunctionCost::default());
            for payload in wasmparser::Parser::new(0).parse_all(&component) {
                let payload = payload.expect("a component");
                all.add(&payload, 0).expect("a component").expect("not too heavy");
                if let Payload::CodeSectionEntry(body) = &payload {
                    let function = FunctionCost::of(body).expect("a function");
                    largest.bytes = largest.bytes.max(function.bytes);
                    largest.locals = largest.locals.max(function.locals);
                    largest.branches = largest.branches.max(function.branches);
                }
            }
            for (found, (what, maximum)) in [
                (all.functions, FUNCTIONS),
                (all.code_bytes, CODE_BYTES),
                (all.crossings, ALL_CROSSINGS),
                (all.instances, INSTANCES),
                (largest.bytes, FUNCTION_BYTES),
                (largest.locals, LOCALS),
                (largest.branches, BRANCHES),
                (largest.locals * largest.branches, CROSSINGS),
            ] {
                assert!(found * 4 <= maximum, "{task_class}: {what}: {found} of {maximum}");
            }
        }
    }
}
