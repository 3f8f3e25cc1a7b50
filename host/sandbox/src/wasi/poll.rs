//! `wasi:io/poll` and `wasi:io/error`: a pollable is a [`Readiness`], and waiting moves the clock.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::sync::io::poll::{self, Pollable};
use wasmtime_wasi_io::bindings::wasi::io::error::{self, Error};

use super::streams::StreamFailure;
use crate::clock::Readiness;
use crate::fault::HostFault;
use crate::guest::Guest;

impl Guest {
    fn readiness(&self, pollable: &Resource<Pollable>) -> wasmtime::Result<Readiness> {
        Ok(*super::entry::<Readiness, _>(&self.table, pollable)?)
    }
}

impl poll::Host for Guest {
    fn poll(&mut self, pollables: Vec<Resource<Pollable>>) -> wasmtime::Result<Vec<u32>> {
        self.note_call(pollables.len() * size_of::<Readiness>());
        if pollables.is_empty() {
            return Err(HostFault::BadArgument.into());
        }
        let waits =
            pollables.iter().map(|pollable| self.readiness(pollable)).collect::<wasmtime::Result<Vec<Readiness>>>()?;
        self.clock.wait(waits.iter().copied())?;
        let ready = (0..).zip(waits).filter(|(_, readiness)| self.clock.is_ready(*readiness));
        Ok(ready.map(|(index, _)| index).collect())
    }
}

impl poll::HostPollable for Guest {
    fn ready(&mut self, pollable: Resource<Pollable>) -> wasmtime::Result<bool> {
        self.note_call(0);
        Ok(self.clock.is_ready(self.readiness(&pollable)?))
    }

    fn block(&mut self, pollable: Resource<Pollable>) -> wasmtime::Result<()> {
        self.note_call(0);
        let readiness = self.readiness(&pollable)?;
        Ok(self.clock.wait(std::iter::once(readiness))?)
    }

    fn drop(&mut self, pollable: Resource<Pollable>) -> wasmtime::Result<()> {
        self.note_call(0);
        super::delete::<Readiness, _>(&mut self.table, &pollable)?;
        Ok(())
    }
}

impl error::Host for Guest {}

impl error::HostError for Guest {
    fn to_debug_string(&mut self, error: Resource<Error>) -> wasmtime::Result<String> {
        self.note_call(0);
        let StreamFailure(code) = super::entry(&self.table, &error)?;
        Ok(code.name().to_owned())
    }

    fn drop(&mut self, error: Resource<Error>) -> wasmtime::Result<()> {
        self.note_call(0);
        super::delete::<StreamFailure, _>(&mut self.table, &error)?;
        Ok(())
    }
}
