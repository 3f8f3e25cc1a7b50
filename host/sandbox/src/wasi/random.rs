//! `wasi:random`: three seeded streams, and a cap on what one call can ask for.

use wasmtime_wasi::p2::bindings::random::{insecure, insecure_seed, random};

use crate::fault::HostFault;
use crate::guest::Guest;
use crate::random::RANDOM_BYTES_MAX;

impl Guest {
    fn random_len(&mut self, len: u64) -> wasmtime::Result<usize> {
        if len > RANDOM_BYTES_MAX {
            return Err(HostFault::RandomLimit.into());
        }
        let len = usize::try_from(len)?;
        self.note_call(len);
        Ok(len)
    }
}

impl random::Host for Guest {
    fn get_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        let len = self.random_len(len)?;
        Ok(self.random.secure().next_bytes(len))
    }

    fn get_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.note_call(0);
        Ok(self.random.secure().next_u64())
    }
}

impl insecure::Host for Guest {
    fn get_insecure_random_bytes(&mut self, len: u64) -> wasmtime::Result<Vec<u8>> {
        let len = self.random_len(len)?;
        Ok(self.random.insecure().next_bytes(len))
    }

    fn get_insecure_random_u64(&mut self) -> wasmtime::Result<u64> {
        self.note_call(0);
        Ok(self.random.insecure().next_u64())
    }
}

impl insecure_seed::Host for Guest {
    fn insecure_seed(&mut self) -> wasmtime::Result<(u64, u64)> {
        self.note_call(0);
        Ok(self.random.seed())
    }
}
