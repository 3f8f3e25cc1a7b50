//! How many instances live at a time: as many as the pool has room for. Whoever comes next waits here, before any clock of the
//! guest's runs, because a full pool does not wait but fails.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug)]
pub(super) struct Permits {
    count: Mutex<Count>,
    freed: Condvar,
}

#[derive(Debug)]
struct Count {
    free: u32,
    /// How many threads wait. Waking costs a call of the kernel even where nobody sleeps, and a permit is given back per case.
    waiting: u32,
}

/// The right to one instance, given back when it is dropped.
#[derive(Debug)]
pub(super) struct Permit<'a>(&'a Permits);

impl Permits {
    pub(super) fn new(count: u32) -> Self {
        Self { count: Mutex::new(Count { free: count, waiting: 0 }), freed: Condvar::new() }
    }

    pub(super) fn take(&self) -> Permit<'_> {
        let mut count = self.lock();
        while count.free == 0 {
            count.waiting += 1;
            count = self.freed.wait(count).unwrap_or_else(PoisonError::into_inner);
            count.waiting -= 1;
        }
        count.free -= 1;
        Permit(self)
    }

    /// A count is whole after every step, so a panic elsewhere leaves nothing broken behind the lock.
    fn lock(&self) -> MutexGuard<'_, Count> {
        self.count.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut count = self.0.lock();
        count.free += 1;
        let is_awaited = count.waiting > 0;
        drop(count);
        if is_awaited {
            self.0.freed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn whoever_waits_gets_a_permit_and_no_more_are_out_than_there_are() {
        let permits = Permits::new(2);
        let (out, taken) = (AtomicU32::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..1_000 {
                        let permit = permits.take();
                        assert!(out.fetch_add(1, Ordering::SeqCst) < 2);
                        taken.fetch_add(1, Ordering::SeqCst);
                        out.fetch_sub(1, Ordering::SeqCst);
                        drop(permit);
                    }
                });
            }
        });
        assert_eq!(taken.into_inner(), 8_000);
        let count = permits.lock();
        assert_eq!((count.free, count.waiting), (2, 0));
    }
}
