//! All that agents leave running when they are gone, also what has left their groups and wiped the mark from its environment:
//! the kernel gives this process every orphan that is born below it, and none of them outlives the run.
//!
//! While other agents run nobody can tell whose an orphan is, but for those that still work in their case's folder. So it is
//! when none runs that every child which is left is ended. That must never happen in a process that has other children:
//! adopting is for programs, and not for whoever uses this as a library.

use std::sync::{Mutex, PoisonError};

use rustix::process::{Pid, getpid, set_child_subreaper};

use super::processes::end_children;

/// Who is running, and whether orphans come to us.
#[derive(Debug, Default)]
pub(crate) struct Family {
    adopts: bool,
    /// A child that is neither.
    spared: Option<Pid>,
    running: Mutex<usize>,
}

impl Family {
    /// From here on, every child of this process is an agent or what agents left, but for the one that is spared. Where the
    /// kernel knows no adoption, only groups and marks are ended.
    pub(crate) fn adopting(spared: Option<Pid>) -> Self {
        Self { adopts: set_child_subreaper(Some(getpid())).is_ok(), spared, running: Mutex::new(0) }
    }

    /// Counts an agent in, from before it is started until this is dropped.
    pub(super) fn enter(&self) -> Member<'_> {
        *self.running.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        Member { family: self }
    }
}

/// An agent that may be running.
#[derive(Debug)]
pub(super) struct Member<'a> {
    family: &'a Family,
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        // Held to the end, so that no agent is started meanwhile.
        let mut running = self.family.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running -= 1;
        if self.family.adopts && *running == 0 {
            end_children(self.family.spared);
        }
    }
}
