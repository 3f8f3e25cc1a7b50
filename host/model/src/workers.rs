//! One pool of workers: the items of a list on some threads, the results in the order of the list whatever the threads do.
//!
//! It knows nothing of cases. A run and a replay both use it, so order and failure mean the same in both.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// Does `work` for every item, on at most so many threads, and hands the results to `take` in the order of the items, as soon
/// as all before it are there. After a failure no further item is begun; the failure that `worse` prefers is returned.
pub fn in_order<T: Sync, R: Send, E: Send>(
    threads: NonZeroUsize,
    items: &[T],
    work: impl Fn(usize, &T) -> Result<R, E> + Sync,
    worse: impl Fn(&E, &E) -> bool + Sync,
    mut take: impl FnMut(R),
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let failure: Mutex<Option<E>> = Mutex::new(None);
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..threads.get().min(items.len()) {
            let (sender, next, failure, work, worse) = (sender.clone(), &next, &failure, &work, &worse);
            scope.spawn(move || {
                while let Some((index, item)) = claim(next, items) {
                    match work(index, item) {
                        // The receiver outlives every worker.
                        Ok(result) => drop(sender.send((index, result))),
                        Err(error) => {
                            next.store(items.len(), Ordering::Relaxed);
                            let mut first = failure.lock().expect("no worker panics while it holds the lock");
                            if first.as_ref().is_none_or(|first| worse(&error, first)) {
                                *first = Some(error);
                            }
                        }
                    }
                }
            });
        }
        drop(sender);
        let mut early = BTreeMap::new();
        let mut due = 0;
        for (index, result) in receiver {
            early.insert(index, result);
            while let Some(result) = early.remove(&due) {
                take(result);
                due += 1;
            }
        }
    });
    match failure.into_inner().expect("no worker panicked") {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn claim<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    items.get(index).map(|item| (index, item))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    const THREADS: NonZeroUsize = NonZeroUsize::new(4).expect("four is not zero");

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..200).collect();
        let mut results = Vec::new();
        let doubled = |_, item: &u32| Ok::<_, Infallible>(item * 2);
        in_order(THREADS, &items, doubled, |_, _| false, |result| results.push(result)).expect("nothing fails");
        assert_eq!(results, items.iter().map(|item| item * 2).collect::<Vec<_>>());
    }

    #[test]
    fn after_a_failure_nothing_is_begun_and_the_worst_failure_is_told() {
        let begun = AtomicUsize::new(0);
        let items: Vec<u32> = (0..1_000).collect();
        let work = |_, item: &u32| {
            begun.fetch_add(1, Ordering::SeqCst);
            if *item == 0 { Err("first") } else { Ok(()) }
        };
        let one = NonZeroUsize::MIN;
        assert_eq!(in_order(one, &items, work, |_, _| true, |()| ()), Err("first"));
        assert_eq!(begun.load(Ordering::SeqCst), 1);
    }
}
