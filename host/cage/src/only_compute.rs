//! Leaves a process nothing but to compute: for one that takes apart what a stranger made.

use std::path::Path;

use rustix::thread::set_no_new_privs;

use crate::become_agent::give_up_capabilities;
use crate::{CageError, calls, failed, rules};

/// Takes from this process, which has no second thread, every capability, every file but those in `folder` and those that are
/// open, the network, and the way to other programs. It stays so. Where the kernel has no Landlock, the files stay in reach; all
/// else holds everywhere.
pub fn only_compute(folder: &Path) -> Result<(), CageError> {
    give_up_capabilities().map_err(failed("the capabilities cannot be given up"))?;
    set_no_new_privs(true).map_err(failed("new privileges cannot be renounced"))?;
    rules::enforce_as_far_as_possible(folder)?;
    calls::forbid_reaching_out()
}
