//! `eval-host run`: its flags, and what each way of running makes of them.

mod args;
mod command;
mod dry_run;
pub(super) mod error;
mod live;
mod reporters;

pub(super) use args::{OutputArgs, RunArgs};
pub(super) use command::run;
pub(super) use reporters::Reporters;
