//! `eval-host compile-rubric`: the process that reads and compiles a component for a host. See `eval_sandbox::Job`; nothing is
//! decided here.

use std::error::Error;
use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use eval_cage::only_compute;
use eval_sandbox::Job;

use super::environment;

/// Does the job that these words say, with the component from standard input, in the working directory.
pub(super) fn run(words: &[OsString]) -> ExitCode {
    let Some(job) = Job::from_words(words) else {
        environment::tell("error: `compile-rubric` is for commands that load a rubric, which start it themselves");
        return ExitCode::from(2);
    };
    match compile(&job) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            environment::tell(&format!("{error}: {cause}"));
            ExitCode::FAILURE
        }
    }
}

fn compile(job: &Job) -> Result<(), Box<dyn Error>> {
    let folder = environment::working_directory()?;
    job.limit_this_process()?;
    only_compute(&folder)?;
    Ok(job.run(io::stdin(), &folder, io::stdout())?)
}
