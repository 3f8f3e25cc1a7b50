//! The launchers of this process, and what comes to it when one of them is killed: the kernel gives this process every orphan that
//! is born below it, and none of them outlives its case.
//!
//! A launcher ends its agent itself; this is for the day on which somebody ends the launcher. Adopting is for programs that have
//! no other children, and not for whoever uses this as a library.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use eval_cage::{end_children, has_children};
use rustix::process::{Pid, getpid, set_child_subreaper};

/// Which launchers there are, and whether orphans come to us.
#[derive(Debug, Default)]
pub(crate) struct Family {
    adopts: bool,
    launchers: Mutex<BTreeSet<i32>>,
}

impl Family {
    /// From here on, every child of this process is a launcher or what one of them left. Where the kernel knows no adoption, or
    /// this process was given children by whoever became it, which are not ours to end, launchers are all that there is.
    pub(crate) fn adopting() -> Self {
        Self { adopts: !has_children() && set_child_subreaper(Some(getpid())).is_ok(), ..Self::default() }
    }

    /// Starts a launcher. Nobody looks for orphans meanwhile.
    pub(super) fn start<C>(&self, spawn: impl FnOnce() -> io::Result<(C, Pid)>) -> io::Result<(C, Pid)> {
        let mut launchers = self.launchers();
        let (child, pid) = spawn()?;
        launchers.insert(pid.as_raw_nonzero().get());
        Ok((child, pid))
    }

    /// Says that a launcher may be there until this is dropped.
    pub(super) fn member(&self, launcher: Pid) -> Member<'_> {
        Member { family: self, launcher: launcher.as_raw_nonzero().get() }
    }

    fn launchers(&self) -> MutexGuard<'_, BTreeSet<i32>> {
        self.launchers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A launcher that may be there.
#[derive(Debug)]
pub(super) struct Member<'a> {
    family: &'a Family,
    launcher: i32,
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        // Held to the end, so that no launcher is started meanwhile.
        let mut launchers = self.family.launchers();
        launchers.remove(&self.launcher);
        if self.family.adopts {
            end_children(&launchers);
        }
    }
}
