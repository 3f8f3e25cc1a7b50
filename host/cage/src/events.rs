//! What can happen while a process stands by: its children end, or whoever started it goes away.

use std::io::{self, Read};
use std::sync::mpsc::Sender;
use std::thread;

use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};

/// The first of these decides how an agent's work ends.
#[derive(Debug)]
pub(crate) enum Event {
    /// The child that matters has ended.
    Ended(WaitStatus),
    /// Whoever holds the other end of our standard input is gone, or has had enough.
    Released,
    /// The agent met a limit.
    TooMuch(String),
}

/// Reaps every child, born or adopted, and tells of the one that matters.
pub(crate) fn reap(child: Pid, events: Sender<Event>) {
    thread::spawn(move || {
        loop {
            match wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid == child => {
                    // Nobody listens any more once the end is decided.
                    let _ = events.send(Event::Ended(status));
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    });
}

/// Tells when a stream ends. Nothing is ever written to it; that it cannot be read says the same as its end.
pub(crate) fn await_release(mut control: impl Read + Send + 'static, events: Sender<Event>) {
    thread::spawn(move || {
        let _ = io::copy(&mut control, &mut io::sink());
        let _ = events.send(Event::Released);
    });
}
