//! One call of a rubric: a fresh store from a prepared component, every limit armed before its first instruction, and one
//! plain answer whatever happens.

use std::fmt;
use std::sync::Arc;

use wasmtime::{CallHook, Store, StoreContextMut, Trap};

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
    pub(super) digest: Digest,
    pub(super) limits: Limits,
    pub(super) permits: Arc<Permits>,
    pub(super) ticker: Arc<Ticker>,
}

/// A call that wasmtime ended.
struct Failure {
    error: wasmtime::Error,
    stage: Stage,
    fuel_left: u64,
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

    /// Scores a case and hands back what its scratch directory held at the end, for the rubric's author.
    pub fn score_keeping_scratch(&self, request: &ScoreRequest<'_>) -> Result<(Scored, ScratchTree), RunnerError> {
        self.run(request).map(|(scored, scratch)| (scored, scratch.export()))
    }

    fn run(&self, request: &ScoreRequest<'_>) -> Result<(Scored, Scratch), RunnerError> {
        let _permit = self.permits.take();
        let mut store = self.store(request);
        let (result, fuel_left) = match self.call(&mut store, request) {
            Ok(answer) => (answer, fuel_left(&store)),
            Err(Failure { error, stage, fuel_left }) => match fault::classify(&error, stage) {
                Some(fault) => (Err(fault), fuel_left),
                None => return Err(RunnerError::new(error)),
            },
        };
        let is_repeatable = result.as_ref().err().is_none_or(RubricFault::is_repeatable);
        let fuel_used = self.fuel_used(&result, fuel_left);
        let guest = store.into_data();
        let scored = Scored {
            result,
            fuel_used: is_repeatable.then_some(fuel_used),
            peak_memory_bytes: is_repeatable.then(|| guest.memory.peak_bytes()),
            stdout: guest.stdout.into_stream(),
            stderr: guest.stderr.into_stream(),
        };
        Ok((scored, guest.scratch))
    }

    /// A store with every limit armed, the clock last.
    fn store(&self, request: &ScoreRequest<'_>) -> Store<Guest> {
        let guest = Guest::new(&self.digest, request, &self.limits);
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
        let instance = match self.instance.instantiate(&mut *store) {
            Ok(instance) => instance,
            Err(error) => {
                let stage = if store.data().was_entered { Stage::Running } else { Stage::Allocating };
                return Err(Failure { error, stage, fuel_left: fuel_left(store) });
            }
        };
        match call_score(&instance, store, request) {
            Ok(answer) => Ok(answer.map(raw_score).map_err(rubric_error)),
            Err(error) => {
                let fuel_left = fuel_left(store);
                Err(Failure { error, stage: stage(&instance, store, request), fuel_left })
            }
        }
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
fn on_crossing(mut store: StoreContextMut<'_, Guest>, hook: CallHook) -> wasmtime::Result<()> {
    match hook {
        CallHook::CallingWasm => {
            store.data_mut().was_entered = true;
            Ok(())
        }
        CallHook::ReturningFromHost => charge_host_call(store),
        CallHook::CallingHost | CallHook::ReturningFromWasm => Ok(()),
    }
}

/// Charges a host call to the guest's fuel before the guest runs on. Only there is the counter both written back by the
/// guest's code and read again by it.
fn charge_host_call(mut store: StoreContextMut<'_, Guest>) -> wasmtime::Result<()> {
    let unpaid = store.data_mut().take_unpaid_fuel();
    if unpaid == 0 {
        return Ok(());
    }
    match store.get_fuel()?.checked_sub(unpaid) {
        Some(left) => store.set_fuel(left),
        None => Err(Trap::OutOfFuel.into()),
    }
}

/// Whether a failed call had returned already. Wasmtime has no type for a result that it could not read, but it knows: an
/// instance whose code was ended cannot be entered again, and one that returned can. It is asked without fuel, so that no
/// instruction of the guest runs.
fn stage(instance: &Instance, store: &mut Store<Guest>, request: &ScoreRequest<'_>) -> Stage {
    store.set_fuel(0).expect("our engines count fuel");
    let entered = call_score(instance, store, request).err();
    match entered.as_ref().and_then(|error| error.downcast_ref::<Trap>()) {
        Some(Trap::OutOfFuel) => Stage::Returned,
        _ => Stage::Running,
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
