//! How many instances live at a time: as many as the pool holds. Whoever comes next waits here, before any clock of the
//! guest's runs, because a full pool does not wait but fails.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Slots {
    free: Mutex<u32>,
    freed: Condvar,
}

/// The right to one instance, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Slot<'a>(&'a Slots);

impl Slots {
    pub(super) fn new(count: u32) -> Self {
        Self { free: Mutex::new(count), freed: Condvar::new() }
    }

    pub(super) fn take(&self) -> Slot<'_> {
        let free = self.lock();
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Slot(self)
    }

    /// A count is whole after every step, so a panic elsewhere leaves nothing broken behind the lock.
    fn lock(&self) -> MutexGuard<'_, u32> {
        self.free.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        *self.0.lock() += 1;
        self.0.freed.notify_one();
    }
}
