//! How many instances live at a time: as many as the pool has room for. Whoever comes next waits here, before any clock of the
//! guest's runs, because a full pool does not wait but fails.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Permits {
    free: Mutex<u32>,
    freed: Condvar,
}

/// The right to one instance, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'a>(&'a Permits);

impl Permits {
    pub(super) fn new(count: u32) -> Self {
        Self { free: Mutex::new(count), freed: Condvar::new() }
    }

    pub(super) fn take(&self) -> Permit<'_> {
        let free = self.lock();
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit(self)
    }

    /// A count is whole after every step, so a panic elsewhere leaves nothing broken behind the lock.
    fn lock(&self) -> MutexGuard<'_, u32> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.freed.notify_one();
    }
}
