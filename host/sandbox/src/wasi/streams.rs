//! `wasi:io/streams`: over files in memory and over captured output. Every stream is always ready.

use wasmtime::component::Resource;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;
use wasmtime_wasi::p2::bindings::sync::io::poll::Pollable;
use wasmtime_wasi::p2::bindings::sync::io::streams::{
    self, HostInputStream, HostOutputStream, InputStream, OutputStream,
};
use wasmtime_wasi_io::streams::{StreamError, StreamResult};

use super::filesystem::{error_code, unreadable, unwritable};
use crate::clock::Readiness;
use crate::fault::HostFault;
use crate::guest::Guest;
use crate::scratch::{At, Inode};

/// The most that one read gives and one write takes, so that no single call is long.
pub(super) const CHUNK_MAX: u64 = 64 << 10;

/// What WASI allows in one write that also flushes.
const BLOCKING_WRITE_MAX: u64 = 4_096;

/// A stream that a guest reads.
#[derive(Debug, Clone, Copy)]
pub(super) enum Input {
    File {
        inode: Inode,
        offset: u64,
        readable: bool,
        /// A stream that has failed or met the end of its file stays closed.
        closed: bool,
    },
    AtEnd,
}

/// A stream that a guest writes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Output {
    File { inode: Inode, at: At, writable: bool, closed: bool },
    Stdout,
    Stderr,
}

/// What a guest holds after `last-operation-failed`, to ask for its code.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamFailure(pub(super) ErrorCode);

fn failed(code: ErrorCode) -> StreamError {
    StreamError::LastOperationFailed(code.into())
}

fn forbidden() -> StreamError {
    StreamError::Trap(HostFault::BadArgument.into())
}

impl Guest {
    fn input(&mut self, stream: &Resource<InputStream>) -> Result<&mut Input, StreamError> {
        Ok(super::entry_mut(&mut self.table, stream)?)
    }

    fn output(&mut self, stream: &Resource<OutputStream>) -> Result<&mut Output, StreamError> {
        Ok(super::entry_mut(&mut self.table, stream)?)
    }

    fn read_stream(&mut self, stream: &Resource<InputStream>, len: u64) -> StreamResult<Vec<u8>> {
        self.note_call(0);
        let Input::File { inode, offset, readable, closed: false } = *self.input(stream)? else {
            return Err(StreamError::Closed);
        };
        if len == 0 {
            return Ok(Vec::new());
        }
        let read = match unreadable(readable, offset) {
            Some(code) => Err(code),
            None => self.scratch.read(inode, offset, len.min(CHUNK_MAX)).map(<[u8]>::to_vec).map_err(error_code),
        };
        self.after_read(stream, read)
    }

    fn after_read(
        &mut self,
        stream: &Resource<InputStream>,
        read: Result<Vec<u8>, ErrorCode>,
    ) -> StreamResult<Vec<u8>> {
        let Input::File { offset, closed, .. } = self.input(stream)? else { return Err(StreamError::Closed) };
        match read {
            Ok(bytes) if bytes.is_empty() => {
                *closed = true;
                Err(StreamError::Closed)
            }
            Ok(bytes) => {
                *offset += bytes.len() as u64;
                Ok(bytes)
            }
            Err(code) => {
                *closed = true;
                Err(failed(code))
            }
        }
    }

    fn check_open(&mut self, stream: &Resource<OutputStream>) -> StreamResult<()> {
        match self.output(stream)? {
            Output::File { closed: true, .. } => Err(StreamError::Closed),
            _ => Ok(()),
        }
    }

    fn write_stream(&mut self, stream: &Resource<OutputStream>, bytes: &[u8]) -> StreamResult<()> {
        self.note_call(bytes.len());
        self.check_open(stream)?;
        match *self.output(stream)? {
            Output::Stdout => self.stdout.write(bytes),
            Output::Stderr => self.stderr.write(bytes),
            Output::File { inode, at, writable, .. } => {
                let written = match unwritable(writable, at) {
                    Some(code) => Err(code),
                    None => self.scratch.write(inode, at, bytes).map_err(error_code),
                };
                return self.after_write(stream, written.map(|()| bytes.len() as u64));
            }
        }
        Ok(())
    }

    fn after_write(&mut self, stream: &Resource<OutputStream>, written: Result<u64, ErrorCode>) -> StreamResult<()> {
        let Output::File { at, closed, .. } = self.output(stream)? else { return Ok(()) };
        match (written, at) {
            (Ok(len), At::Offset(offset)) => *offset += len,
            (Ok(_), At::End) => {}
            (Err(code), _) => {
                *closed = true;
                return Err(failed(code));
            }
        }
        Ok(())
    }

    fn write_zeroes_to(&mut self, stream: &Resource<OutputStream>, len: u64, max: u64) -> StreamResult<()> {
        self.note_call(0);
        if len > max {
            return Err(forbidden());
        }
        let zeroes = [0; 4_096];
        let mut left = len;
        while left > 0 {
            let chunk = left.min(zeroes.len() as u64);
            let end = usize::try_from(chunk).map_err(|_| forbidden())?;
            self.write_stream(stream, &zeroes[..end])?;
            left -= chunk;
        }
        Ok(())
    }

    fn splice_stream(
        &mut self,
        to: &Resource<OutputStream>,
        from: &Resource<InputStream>,
        len: u64,
    ) -> StreamResult<u64> {
        self.note_call(0);
        self.check_open(to)?;
        if len == 0 {
            return Ok(0);
        }
        let bytes = self.read_stream(from, len)?;
        self.write_stream(to, &bytes)?;
        Ok(bytes.len() as u64)
    }

    fn always_ready(&mut self) -> wasmtime::Result<Resource<Pollable>> {
        self.note_call(0);
        Ok(super::push(&mut self.table, Readiness::Now)?)
    }
}

impl streams::Host for Guest {
    fn convert_stream_error(&mut self, error: StreamError) -> wasmtime::Result<streams::StreamError> {
        match error {
            StreamError::Closed => Ok(streams::StreamError::Closed),
            StreamError::LastOperationFailed(error) => {
                let failure = StreamFailure(error.downcast::<ErrorCode>()?);
                Ok(streams::StreamError::LastOperationFailed(super::push(&mut self.table, failure)?))
            }
            StreamError::Trap(error) => Err(error),
        }
    }
}

impl HostInputStream for Guest {
    fn read(&mut self, stream: Resource<InputStream>, len: u64) -> StreamResult<Vec<u8>> {
        self.read_stream(&stream, len)
    }

    fn blocking_read(&mut self, stream: Resource<InputStream>, len: u64) -> StreamResult<Vec<u8>> {
        self.read_stream(&stream, len)
    }

    fn skip(&mut self, stream: Resource<InputStream>, len: u64) -> StreamResult<u64> {
        Ok(self.read_stream(&stream, len)?.len() as u64)
    }

    fn blocking_skip(&mut self, stream: Resource<InputStream>, len: u64) -> StreamResult<u64> {
        Ok(self.read_stream(&stream, len)?.len() as u64)
    }

    fn subscribe(&mut self, _stream: Resource<InputStream>) -> wasmtime::Result<Resource<Pollable>> {
        self.always_ready()
    }

    fn drop(&mut self, stream: Resource<InputStream>) -> wasmtime::Result<()> {
        self.note_call(0);
        if let Input::File { inode, .. } = super::delete(&mut self.table, &stream)? {
            self.scratch.release(inode);
        }
        Ok(())
    }
}

impl HostOutputStream for Guest {
    fn check_write(&mut self, stream: Resource<OutputStream>) -> StreamResult<u64> {
        self.note_call(0);
        self.check_open(&stream)?;
        Ok(CHUNK_MAX)
    }

    fn write(&mut self, stream: Resource<OutputStream>, contents: Vec<u8>) -> StreamResult<()> {
        if contents.len() as u64 > CHUNK_MAX {
            return Err(forbidden());
        }
        self.write_stream(&stream, &contents)
    }

    fn blocking_write_and_flush(&mut self, stream: Resource<OutputStream>, contents: Vec<u8>) -> StreamResult<()> {
        if contents.len() as u64 > BLOCKING_WRITE_MAX {
            return Err(forbidden());
        }
        self.write_stream(&stream, &contents)
    }

    fn flush(&mut self, stream: Resource<OutputStream>) -> StreamResult<()> {
        self.note_call(0);
        self.check_open(&stream)
    }

    fn blocking_flush(&mut self, stream: Resource<OutputStream>) -> StreamResult<()> {
        self.note_call(0);
        self.check_open(&stream)
    }

    fn subscribe(&mut self, _stream: Resource<OutputStream>) -> wasmtime::Result<Resource<Pollable>> {
        self.always_ready()
    }

    fn write_zeroes(&mut self, stream: Resource<OutputStream>, len: u64) -> StreamResult<()> {
        self.write_zeroes_to(&stream, len, CHUNK_MAX)
    }

    fn blocking_write_zeroes_and_flush(&mut self, stream: Resource<OutputStream>, len: u64) -> StreamResult<()> {
        self.write_zeroes_to(&stream, len, BLOCKING_WRITE_MAX)
    }

    fn splice(&mut self, stream: Resource<OutputStream>, source: Resource<InputStream>, len: u64) -> StreamResult<u64> {
        self.splice_stream(&stream, &source, len)
    }

    fn blocking_splice(
        &mut self,
        stream: Resource<OutputStream>,
        source: Resource<InputStream>,
        len: u64,
    ) -> StreamResult<u64> {
        self.splice_stream(&stream, &source, len)
    }

    fn drop(&mut self, stream: Resource<OutputStream>) -> wasmtime::Result<()> {
        self.note_call(0);
        if let Output::File { inode, .. } = super::delete(&mut self.table, &stream)? {
            self.scratch.release(inode);
        }
        Ok(())
    }
}
