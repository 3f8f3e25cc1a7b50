//! `wasi:clocks`: the virtual clock, and waits on it.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::clocks::{monotonic_clock, wall_clock};
use wasmtime_wasi::p2::bindings::sync::io::poll::Pollable;

use crate::clock::{Readiness, TICK_NANOSECONDS, WallTime};
use crate::guest::Guest;

impl From<WallTime> for wall_clock::Datetime {
    fn from(time: WallTime) -> Self {
        Self { seconds: time.seconds, nanoseconds: time.nanoseconds }
    }
}

impl wall_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        self.note_call(0);
        Ok(self.clock.wall()?.into())
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        self.note_call(0);
        Ok(wall_clock::Datetime { seconds: 0, nanoseconds: u32::try_from(TICK_NANOSECONDS)? })
    }
}

impl monotonic_clock::Host for Guest {
    fn now(&mut self) -> wasmtime::Result<monotonic_clock::Instant> {
        self.note_call(0);
        Ok(self.clock.monotonic()?)
    }

    fn resolution(&mut self) -> wasmtime::Result<monotonic_clock::Duration> {
        self.note_call(0);
        Ok(TICK_NANOSECONDS)
    }

    fn subscribe_instant(&mut self, when: monotonic_clock::Instant) -> wasmtime::Result<Resource<Pollable>> {
        self.note_call(0);
        Ok(super::push(&mut self.table, Readiness::At(when))?)
    }

    fn subscribe_duration(&mut self, when: monotonic_clock::Duration) -> wasmtime::Result<Resource<Pollable>> {
        self.note_call(0);
        let readiness = self.clock.after(when);
        Ok(super::push(&mut self.table, readiness)?)
    }
}
