//! How long calls take. Subjects that are compared take turns, and each is as fast as its fastest batch.

use std::fs;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use eval_model::limits::Limits;

use super::fixture::sandbox;

/// How often everybody has a turn.
const ROUNDS: u32 = 60;

/// How many cases a thread scores in one turn.
const CASES: u32 = 300;

/// How often each number of threads has all of its turns.
const PACES: u32 = 5;

const LOADS: u32 = 10;

/// What is measured, and how many calls a turn has: enough to read a clock without counting.
pub(crate) struct Subject<'a> {
    pub(crate) batch: u32,
    pub(crate) call: &'a dyn Fn(),
}

impl Subject<'_> {
    fn turn(&self) -> f64 {
        micros(timed(|| (0..self.batch).for_each(|_| (self.call)()))) / f64::from(self.batch)
    }
}

/// The microseconds of one call of each.
pub(crate) fn measure<const COUNT: usize>(subjects: &[Subject<'_>; COUNT]) -> [f64; COUNT] {
    let mut least = [f64::INFINITY; COUNT];
    for _ in 0..ROUNDS {
        for (least, subject) in least.iter_mut().zip(subjects) {
            *least = least.min(subject.turn());
        }
    }
    least
}

/// What a case costs where so many threads score at a time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    pub(crate) cases_per_second: f64,
    /// The CPU time of one case. Whatever else the machine does, other processes are no part of it.
    pub(crate) cpu_micros: f64,
}

/// Scores on so many threads, in turns that all threads begin together and that are too short for many to be disturbed.
pub(crate) fn pace<const COUNT: usize>(call: &(dyn Fn() + Sync), threads: [u32; COUNT]) -> [Pace; COUNT] {
    let mut paces = threads.map(|_| Pace { cases_per_second: 0.0, cpu_micros: f64::INFINITY });
    for _ in 0..PACES {
        for (pace, threads) in paces.iter_mut().zip(threads) {
            let now = pace_of(call, threads);
            pace.cases_per_second = pace.cases_per_second.max(now.cases_per_second);
            pace.cpu_micros = pace.cpu_micros.min(now.cpu_micros);
        }
    }
    paces
}

/// When a turn of a thread began, and when it ended.
type Turn = (Instant, Instant);

fn pace_of(call: &(dyn Fn() + Sync), threads: u32) -> Pace {
    let together = Barrier::new(threads as usize);
    let turn = || {
        together.wait();
        let start = Instant::now();
        (0..CASES).for_each(|_| call());
        (start, Instant::now())
    };
    let work = || {
        let before = cpu_micros();
        let turns: Vec<Turn> = (0..ROUNDS).map(|_| turn()).collect();
        (turns, cpu_micros() - before)
    };
    let worked: Vec<(Vec<Turn>, f64)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers.into_iter().map(|worker| worker.join().expect("it works")).collect()
    });
    // From the first start to the last end: a thread that had to wait for a core has not been fast.
    let round = |round: usize| {
        let turns = || worked.iter().map(|(turns, _)| turns[round]);
        let (first, last) = (turns().map(|(start, _)| start).min(), turns().map(|(_, end)| end).max());
        last.zip(first).map(|(last, first)| last - first)
    };
    let fastest = (0..ROUNDS as usize).filter_map(round).min().unwrap_or(Duration::MAX);
    let cpu_micros: f64 = worked.iter().map(|(_, cpu_micros)| cpu_micros).sum();
    Pace {
        cases_per_second: f64::from(threads * CASES) / fastest.as_secs_f64(),
        cpu_micros: cpu_micros / f64::from(threads * CASES * ROUNDS),
    }
}

/// The CPU time of this thread. The kernel counts it every few milliseconds.
fn cpu_micros() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux says");
    let nanoseconds: f64 = text.split(' ').next().expect("a field").parse().expect("a number");
    nanoseconds / 1e3
}

/// The microseconds of one load that compiles and of one that finds it compiled, with the limits that make a runner of it.
pub(crate) fn loads(component: &[u8]) -> (f64, f64) {
    let (mut cold, mut warm) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..LOADS {
        let sandbox = sandbox();
        let load = || micros(timed(|| drop(sandbox.load(component).expect("it loads").prepare(Limits::default()))));
        cold = cold.min(load());
        warm = (0..LOADS).map(|_| load()).fold(warm, f64::min);
    }
    (cold, warm)
}

fn timed(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}
