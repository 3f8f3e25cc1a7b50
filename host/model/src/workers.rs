//! One pool of workers: the items of a list on some threads, the results in the order of the list whatever the threads do.
//!
//! It knows nothing of cases. A run and a replay both use it, so order and failure mean the same in both.
//!
//! To wake a thread for every small item would cost as much as the item. So whoever takes the results is woken for the first one, and
//! after that for many at once or after a moment, whichever comes first: when a result is told may depend on the machine, and what
//! is told never does. What is far ahead of an item that takes long is not begun, so results do not pile up.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, LockResult, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// How far items that are begun may be ahead of the first whose result was not taken.
const MOST_AHEAD: usize = 1024;

/// Results that are worth waking somebody for who was awake a moment ago.
const MANY: usize = 64;

/// How long results lie while they are not many.
const MOMENT: Duration = Duration::from_millis(20);

/// What is handed to whoever takes results.
#[derive(Debug, PartialEq, Eq)]
pub enum Taken<R> {
    /// The result of the next item.
    Result(R),
    /// No more are ready: a good time to write out what was held back.
    AllForNow,
}

impl<R> Taken<R> {
    pub fn result(self) -> Option<R> {
        match self {
            Self::Result(result) => Some(result),
            Self::AllForNow => None,
        }
    }
}

/// Does `work` for every item, on at most so many threads, and hands the results to `take` in the order of the items, soon
/// after all before it are there. After a failure no further item is begun; the failure that `worse` prefers is returned.
pub fn in_order<T: Sync, R: Send, E: Send>(
    threads: NonZeroUsize,
    items: &[T],
    work: impl Fn(usize, &T) -> Result<R, E> + Sync,
    worse: impl Fn(&E, &E) -> bool + Sync,
    mut take: impl FnMut(Taken<R>),
) -> Result<(), E> {
    let threads = threads.get().min(items.len());
    let (next, desk) = (AtomicUsize::new(0), Desk::new(threads));
    let worker = || {
        let _leaves = OnDrop(|| desk.leave());
        while let Some((index, item)) = claim(&next, items).filter(|(index, _)| desk.has_room(*index)) {
            match work(index, item) {
                Ok(result) => desk.put(index, result),
                Err(error) => desk.fail(error, &worse),
            }
        }
    };
    thread::scope(|scope| {
        // Nobody waits for room that nobody makes any more.
        let _closes = OnDrop(|| desk.close());
        for _ in 0..threads {
            scope.spawn(worker);
        }
        while let Some(ready) = desk.wait_for_any() {
            hand_over(ready, &mut take);
            hand_over(desk.wait_for_many(), &mut take);
        }
    });
    match desk.into_failure() {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

fn claim<'a, T>(next: &AtomicUsize, items: &'a [T]) -> Option<(usize, &'a T)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    items.get(index).map(|item| (index, item))
}

fn hand_over<R>(ready: Vec<R>, take: &mut impl FnMut(Taken<R>)) {
    if !ready.is_empty() {
        ready.into_iter().for_each(|result| take(Taken::Result(result)));
        take(Taken::AllForNow);
    }
}

/// Where workers put their results, and one thread takes them.
struct Desk<R, E> {
    state: Mutex<State<R, E>>,
    /// For the one who takes.
    filled: Condvar,
    /// For workers that are too far ahead.
    emptied: Condvar,
}

struct State<R, E> {
    /// Results from the first that was not taken on, as far as they are there.
    results: VecDeque<Option<R>>,
    /// How many of these have none missing before them.
    ready: usize,
    taken: usize,
    workers: usize,
    /// How many must be ready for the one who takes to be woken.
    wakes_at: usize,
    /// Nothing more is begun.
    is_closed: bool,
    failure: Option<E>,
}

impl<R, E> State<R, E> {
    fn is_due(&self) -> bool {
        self.workers == 0 || self.ready >= self.wakes_at
    }

    fn take_ready(&mut self) -> Vec<R> {
        self.taken += self.ready;
        self.wakes_at = usize::MAX;
        self.results.drain(..std::mem::take(&mut self.ready)).flatten().collect()
    }
}

impl<R, E> Desk<R, E> {
    fn new(workers: usize) -> Self {
        let state = State {
            results: VecDeque::new(),
            ready: 0,
            taken: 0,
            workers,
            wakes_at: usize::MAX,
            is_closed: false,
            failure: None,
        };
        Self { state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<R, E>> {
        held(self.state.lock())
    }

    /// Waits until the result of an item has room; `false` if that item must not be begun any more.
    fn has_room(&self, index: usize) -> bool {
        let is_ahead = |state: &mut State<R, E>| !state.is_closed && index >= state.taken + MOST_AHEAD;
        !held(self.emptied.wait_while(self.state(), is_ahead)).is_closed
    }

    fn put(&self, index: usize, result: R) {
        let mut state = self.state();
        let place = index - state.taken;
        if state.results.len() <= place {
            state.results.resize_with(place + 1, || None);
        }
        state.results[place] = Some(result);
        while state.results.get(state.ready).is_some_and(Option::is_some) {
            state.ready += 1;
        }
        let is_due = state.is_due();
        drop(state);
        if is_due {
            self.filled.notify_one();
        }
    }

    fn fail(&self, error: E, worse: impl Fn(&E, &E) -> bool) {
        let mut state = self.state();
        if state.failure.as_ref().is_none_or(|first| worse(&error, first)) {
            state.failure = Some(error);
        }
        drop(state);
        self.close();
    }

    fn close(&self) {
        self.state().is_closed = true;
        self.emptied.notify_all();
    }

    /// A worker is done, or has panicked: then its result never comes, and nothing after it is taken.
    fn leave(&self) {
        if thread::panicking() {
            self.close();
        }
        self.state().workers -= 1;
        self.filled.notify_one();
    }

    /// What is ready as soon as anything is; `None` when there will be nothing more.
    fn wait_for_any(&self) -> Option<Vec<R>> {
        let mut state = self.state();
        state.wakes_at = 1;
        let mut state = held(self.filled.wait_while(state, |state| !state.is_due()));
        let ready = state.take_ready();
        drop(state);
        self.emptied.notify_all();
        (!ready.is_empty()).then_some(ready)
    }

    /// What is ready as soon as that is much, or after a moment.
    fn wait_for_many(&self) -> Vec<R> {
        let mut state = self.state();
        state.wakes_at = MANY;
        let (mut state, _) = held(self.filled.wait_timeout_while(state, MOMENT, |state| !state.is_due()));
        let ready = state.take_ready();
        drop(state);
        self.emptied.notify_all();
        ready
    }

    fn into_failure(self) -> Option<E> {
        held(self.state.into_inner()).failure
    }
}

fn held<T>(lock: LockResult<T>) -> T {
    lock.expect("nobody panics while holding the lock")
}

/// Does something when it is dropped, whatever the reason.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        self.0();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::mpsc;

    const ONE: NonZeroUsize = NonZeroUsize::MIN;
    const THREADS: NonZeroUsize = NonZeroUsize::new(4).expect("four is not zero");

    fn results<R>(into: &mut Vec<R>) -> impl FnMut(Taken<R>) {
        |taken| into.extend(taken.result())
    }

    #[test]
    fn results_come_in_the_order_of_the_items() {
        let items: Vec<u32> = (0..20_000).collect();
        for threads in [ONE, THREADS] {
            let mut taken = Vec::new();
            let doubled = |_, item: &u32| Ok::<_, Infallible>(item * 2);
            in_order(threads, &items, doubled, |_, _| false, results(&mut taken)).expect("nothing fails");
            assert_eq!(taken, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    fn nothing_to_do_is_done() {
        in_order(THREADS, &[(); 0], |_, ()| Ok::<_, Infallible>(()), |_, _| false, |_| ()).expect("nothing fails");
    }

    #[test]
    fn after_a_failure_nothing_is_begun_and_the_worst_failure_is_told() {
        let begun = AtomicUsize::new(0);
        let items: Vec<u32> = (0..1_000).collect();
        let work = |_, item: &u32| {
            begun.fetch_add(1, Ordering::SeqCst);
            if *item == 0 { Err("first") } else { Ok(()) }
        };
        assert_eq!(in_order(ONE, &items, work, |_, _| true, |_| ()), Err("first"));
        assert_eq!(begun.load(Ordering::SeqCst), 1);
    }

    #[test]
    fn a_result_is_handed_over_before_the_next_item_is_done() {
        let (sender, receiver) = mpsc::channel();
        let receiver = Mutex::new(receiver);
        let work = |index, _: &u32| {
            if index > 0 {
                held(receiver.lock()).recv().expect("the result before this one was taken");
            }
            Ok::<_, Infallible>(index)
        };
        let take = |taken| {
            if taken == Taken::AllForNow {
                sender.send(()).expect("the other end is there");
            }
        };
        in_order(ONE, &[0; 10], work, |_, _| false, take).expect("nothing fails");
    }

    #[test]
    fn what_is_far_ahead_of_an_item_that_takes_long_is_not_begun() {
        let (begun, first_may_end) = (AtomicUsize::new(0), Condvar::new());
        let is_enough = Mutex::new(false);
        let work = |index, _: &u32| {
            if index == 0 {
                drop(held(first_may_end.wait_while(held(is_enough.lock()), |enough| !*enough)));
            } else if begun.fetch_add(1, Ordering::SeqCst) + 1 == MOST_AHEAD - 1 {
                *held(is_enough.lock()) = true;
                first_may_end.notify_one();
            }
            Ok::<_, Infallible>((index, begun.load(Ordering::SeqCst)))
        };
        let mut taken = Vec::new();
        in_order(THREADS, &vec![0; 10 * MOST_AHEAD], work, |_, _| false, results(&mut taken)).expect("nothing fails");
        assert_eq!(taken[0], (0, MOST_AHEAD - 1), "nothing beyond was begun before the first was done");
        assert_eq!(taken.len(), 10 * MOST_AHEAD);
    }

    #[test]
    fn a_panic_of_a_worker_or_of_the_one_who_takes_ends_the_whole() {
        let items = vec![0; 10 * MOST_AHEAD];
        let dies = |index, _: &u32| if index == 5 { panic!("a worker") } else { Ok::<_, Infallible>(()) };
        let lives = |_, _: &u32| Ok::<_, Infallible>(());
        let worker = || in_order(THREADS, &items, dies, |_, _| false, |_| ());
        catch_unwind(AssertUnwindSafe(worker)).expect_err("the panic is told");
        let taker = || in_order(THREADS, &items, lives, |_, _| false, |_| panic!("the one who takes"));
        catch_unwind(AssertUnwindSafe(taker)).expect_err("the panic is told");
    }
}
