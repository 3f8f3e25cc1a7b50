//! One call of a rubric: a fresh store from a prepared component, every limit armed before its first instruction, and one
//! plain answer whatever happens.

use std::fmt;
use std::sync::Arc;

use wasmtime::{CallHook, Store, StoreContextMut, Trap};

use super::backtrace::{Backtrace, Function};
use super::bindings::eval_host::rubric::types as wit;
use super::bindings::{Rubric as Instance, RubricPre};
use super::fault::{self, Stage};
use super::guest::Guest;
use super::permits::Permits;
use super::scratch::{Scratch, ScratchTree};
use super::ticker::Ticker;
use eval_model::contract::{
    Difficulty, Disposition, RawScore, RubricFault, RubricRunner, RunnerError, ScoreRequest, Scored, Source,
};
use eval_model::ids::Digest;
use eval_model::limits::Limits;

/// The most bytes that a guest can hand over in one call or in its result.
pub(super) const RESULT_BYTES_MAX: usize = 1 << 20;

/// The most handles of every kind that a guest can hold, its own resources included.
const HANDLES_MAX: usize = 16_384;

/// A rubric that is ready to score cases, each in an instance of its own.
pub struct PreparedRubric {
    pub(super) instance: RubricPre<Guest>,
    /// Whether it has several memories, as a rubric that is composed of components has.
    pub(super) is_composed: bool,
    pub(super) digest: Digest,
    pub(super) limits: Limits,
    pub(super) permits: Arc<Permits>,
    pub(super) ticker: Arc<Ticker>,
}

/// What a call left behind that is no part of a score: for the rubric's author alone.
#[derive(Debug)]
pub struct Leavings {
    scratch: Scratch,
    /// Where the guest was when it was ended; empty when it returned.
    pub backtrace: Backtrace,
}

impl Leavings {
    /// What the scratch directory held at the end.
    pub fn scratch(&self) -> ScratchTree {
        self.scratch.export()
    }
}

/// A call that wasmtime ended.
struct Failure {
    error: wasmtime::Error,
    reached: Reached,
}

/// How far a failed call had come, as far as its own store can tell.
enum Reached {
    Stage(Stage),
    /// All code that was entered has returned, and the last entry was this one: the `score` whose result could not be read, or the
    /// allocator whose address could not be used.
    Returned {
        entry: u64,
        allocator: Function,
    },
}

impl fmt::Debug for PreparedRubric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PreparedRubric")
            .field("digest", &self.digest)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl RubricRunner for PreparedRubric {
    fn score(&self, request: &ScoreRequest<'_>) -> Result<Scored, RunnerError> {
        self.run(request).map(|(scored, _)| scored)
    }
}

impl PreparedRubric {
    pub fn digest(&self) -> Digest {
        self.digest
    }

    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Scores a case and hands back what the call left, for the rubric's author.
    pub fn score_for_author(&self, request: &ScoreRequest<'_>) -> Result<(Scored, Leavings), RunnerError> {
        self.run(request)
    }

    fn run(&self, request: &ScoreRequest<'_>) -> Result<(Scored, Leavings), RunnerError> {
        let _permit = self.permits.take();
        let mut store = self.store(request);
        let called = self.call(&mut store, request);
        let fuel_left = fuel_left(&store);
        // The instance goes before another one may be needed: the pool has room for one per permit.
        let guest = store.into_data();
        let (result, backtrace) = match called {
            Ok(answer) => (answer, Backtrace::default()),
            Err(Failure { error, reached }) => match self.fault(&error, reached, request) {
                Some(fault) => (Err(fault), Backtrace::of(&error)),
                None => return Err(RunnerError::new(error)),
            },
        };
        let is_repeatable = result.as_ref().err().is_none_or(RubricFault::is_repeatable);
        let fuel_used = self.fuel_used(&result, fuel_left);
        let scored = Scored {
            result,
            fuel_used: is_repeatable.then_some(fuel_used),
            peak_memory_bytes: is_repeatable.then(|| guest.memory.peak_bytes()),
            stdout: guest.stdout.into_stream(),
            stderr: guest.stderr.into_stream(),
        };
        Ok((scored, Leavings { scratch: guest.scratch, backtrace }))
    }

    /// A store with every limit armed, the clock last.
    fn store(&self, request: &ScoreRequest<'_>) -> Store<Guest> {
        let guest = Guest::new(&self.digest, request, &self.limits, self.is_composed);
        let mut store = Store::new(self.instance.engine(), guest);
        store.limiter(|guest| &mut guest.memory);
        store.set_hostcall_fuel(RESULT_BYTES_MAX);
        store.set_max_component_handles(HANDLES_MAX);
        store.call_hook(on_crossing);
        store.set_fuel(self.limits.fuel()).expect("our engines count fuel");
        store.epoch_deadline_trap();
        store.set_epoch_deadline(self.ticker.ticks(self.limits.wall_clock()));
        store
    }

    fn call(
        &self,
        store: &mut Store<Guest>,
        request: &ScoreRequest<'_>,
    ) -> Result<Result<RawScore, RubricFault>, Failure> {
        let instance = self.instance.instantiate(&mut *store).map_err(|error| {
            let stage = if store.data().entries > 0 { Stage::Running } else { Stage::Allocating };
            Failure { error, reached: Reached::Stage(stage) }
        })?;
        store.data_mut().entries = 0;
        match call_score(&instance, store, request) {
            Ok(answer) => Ok(answer.map(raw_score).map_err(rubric_error)),
            Err(error) => Err(Failure { reached: reached(&instance, store, request), error }),
        }
    }

    /// The fault that a failure stands for; `None` when the machine failed and not the rubric.
    fn fault(&self, error: &wasmtime::Error, reached: Reached, request: &ScoreRequest<'_>) -> Option<RubricFault> {
        let stage = match reached {
            Reached::Stage(stage) => stage,
            Reached::Returned { entry, allocator } => {
                let stopped = self.stopped_at(entry, request)?;
                match Function::ended_in(&stopped) {
                    Some(last) if last.is(&allocator) => Stage::Running,
                    Some(_) => Stage::Returned,
                    None => return fault::classify(&stopped, Stage::Running),
                }
            }
        };
        fault::classify(error, stage)
    }

    /// How the same call ends when one of its entries is given no fuel: in the function that was to be entered, unless the clock of
    /// this machine came first.
    fn stopped_at(&self, entry: u64, request: &ScoreRequest<'_>) -> Option<wasmtime::Error> {
        let mut store = self.store(request);
        let called = self.instance.instantiate(&mut store).and_then(|instance| {
            store.data_mut().entries = 0;
            store.data_mut().stopped_entry = Some(entry);
            call_score(&instance, &mut store, request)
        });
        called.err()
    }

    fn fuel_used(&self, result: &Result<RawScore, RubricFault>, fuel_left: u64) -> u64 {
        match result {
            Err(RubricFault::FuelExhausted) => self.limits.fuel(),
            _ => self.limits.fuel() - fuel_left,
        }
    }
}

fn fuel_left(store: &Store<Guest>) -> u64 {
    store.get_fuel().expect("our engines count fuel")
}

fn call_score(
    instance: &Instance,
    store: &mut Store<Guest>,
    request: &ScoreRequest<'_>,
) -> wasmtime::Result<Result<wit::BenchScore, wit::RubricError>> {
    let case = wit::BenchCase {
        case_id: request.case.case_id.as_str(),
        task_class: request.case.task_class.as_str(),
        disposition: disposition(request.case.disposition),
        difficulty: difficulty(request.case.difficulty),
        source: source(request.case.source),
    };
    let output = wit::HarnessOutput {
        json: request.output_json,
        cost_usd: request.meter.cost_usd,
        duration_seconds: request.meter.duration_seconds,
    };
    instance.eval_host_rubric_scoring().call_score(store, case, output)
}

/// What happens between host and guest.
fn on_crossing(store: StoreContextMut<'_, Guest>, hook: CallHook) -> wasmtime::Result<()> {
    match hook {
        CallHook::CallingWasm => enter(store),
        CallHook::ReturningFromHost => charge_crossing(store),
        CallHook::CallingHost | CallHook::ReturningFromWasm => Ok(()),
    }
}

/// Counts what is entered, and stops the entry that is to be stopped.
fn enter(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<()> {
    let guest = store.data_mut();
    guest.entries += 1;
    if guest.stopped_entry == Some(guest.entries) { store.set_fuel(0) } else { Ok(()) }
}

/// Charges a return from the host to the guest's fuel before the guest runs on. After a call, of a host function or of one of
/// wasmtime's that deals with handles, the guest's code has written its counter back before and reads it again now. An operator
/// that wasmtime implements by a function (`memory.grow`, say) comes through here too, and there what is charged is lost: the guest
/// goes on with its own counter, on which the operator's price is. That price is no smaller, so the counter that is read
/// here never shows less fuel than the guest has.
fn charge_crossing(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<()> {
    let unpaid = store.data_mut().take_unpaid_fuel();
    match store.get_fuel()?.checked_sub(unpaid) {
        Some(left) => store.set_fuel(left),
        None => Err(Trap::OutOfFuel.into()),
    }
}

/// How far a failed call had come. Wasmtime has no type for a result that it could not read, nor for an address that it was given
/// for an argument and could not use. But it knows that an instance whose code was ended cannot be entered again, and one whose
/// code returned can. It is asked without fuel, so that no instruction of the guest runs; what is entered first then is the
/// allocator, which places the case's id.
fn reached(instance: &Instance, store: &mut Store<Guest>, request: &ScoreRequest<'_>) -> Reached {
    let entry = store.data().entries;
    let fuel_left = fuel_left(store);
    store.set_fuel(0).expect("our engines count fuel");
    let entered = call_score(instance, store, request).err();
    store.set_fuel(fuel_left).expect("our engines count fuel");
    let out_of_fuel = entered.filter(|error| error.downcast_ref::<Trap>() == Some(&Trap::OutOfFuel));
    match out_of_fuel.as_ref().and_then(Function::ended_in) {
        Some(allocator) => Reached::Returned { entry, allocator },
        None => Reached::Stage(Stage::Running),
    }
}

fn disposition(disposition: Disposition) -> wit::Disposition {
    match disposition {
        Disposition::Positive => wit::Disposition::Positive,
        Disposition::Negative => wit::Disposition::Negative,
        Disposition::Ambiguous => wit::Disposition::Ambiguous,
    }
}

fn difficulty(difficulty: Difficulty) -> wit::Difficulty {
    match difficulty {
        Difficulty::Easy => wit::Difficulty::Easy,
        Difficulty::Medium => wit::Difficulty::Medium,
        Difficulty::Hard => wit::Difficulty::Hard,
    }
}

fn source(source: Source) -> wit::Source {
    match source {
        Source::Curated => wit::Source::Curated,
        Source::OutcomeLedgerDerived => wit::Source::OutcomeLedgerDerived,
        Source::RegressionConverted => wit::Source::RegressionConverted,
    }
}

fn raw_score(score: wit::BenchScore) -> RawScore {
    RawScore {
        passed: score.passed,
        score: score.score,
        breakdown: score.breakdown,
        failure_modes: score.failure_modes,
        cost_usd: score.cost_usd,
        duration_seconds: score.duration_seconds,
    }
}

fn rubric_error(error: wit::RubricError) -> RubricFault {
    match error {
        wit::RubricError::MalformedOutput(text) => RubricFault::OutputMalformed(text),
        wit::RubricError::MalformedCase(text) => RubricFault::Error(format!("malformed_case: {text}")),
        wit::RubricError::Internal(text) => RubricFault::Error(format!("internal: {text}")),
    }
}
