//! From a [`Rubric`] to a component that exports `eval-host:rubric/scoring`.

use std::marker::PhantomData;

use crate::bindings::eval_host::rubric::types::HarnessOutput;
use crate::bindings::exports::eval_host::rubric::scoring::Guest;
use crate::{Answer, BenchCase, BenchScore, CaseFiles, RubricError, Verdict};

/// The judgement of one task class: a pure function of its arguments.
pub trait Rubric {
    /// Judges one answer to one case.
    ///
    /// # Errors
    ///
    /// [`RubricError`] if there can be no verdict; its variants say whose failure that is.
    fn judge(case: &BenchCase, answer: &Answer, files: &CaseFiles) -> Result<Verdict, RubricError>;
}

/// Implements the exported interface for a rubric.
#[derive(Debug)]
pub struct Component<R>(PhantomData<R>);

impl<R: Rubric> Guest for Component<R> {
    fn score(case: BenchCase, output: HarnessOutput) -> Result<BenchScore, RubricError> {
        let answer = Answer::new(output.json, output.cost_usd, output.duration_seconds);
        R::judge(&case, &answer, &CaseFiles::sandbox())?.into_score(&answer)
    }
}

/// Makes the crate a component whose rubric is the given type. Use it once, in the root of the crate.
///
/// A native build exports nothing: the names of a component's exports are no symbols that a native linker takes.
#[macro_export]
macro_rules! export {
    ($rubric:ty) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            type Exported = $crate::Component<$rubric>;
            $crate::bindings::export_component!(
                Exported with_types_in $crate::bindings
            );
        };
    };
}
