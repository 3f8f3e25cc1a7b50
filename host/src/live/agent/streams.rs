//! Collecting what an agent writes without letting it decide how much memory that takes.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use eval_model::contract::CapturedStream;

/// Where the bytes of a stream go.
pub(super) trait Bucket: Send + 'static {
    /// Takes a piece; `false` says that more would be of no use.
    fn take(&mut self, piece: &[u8]) -> bool;
}

/// The first bytes of a stream. It notices when there are more than it may keep.
#[derive(Debug, Default)]
pub(super) struct Head {
    most: usize,
    kept: Vec<u8>,
    full: bool,
}

impl Head {
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.kept
    }
}

impl Bucket for Head {
    fn take(&mut self, piece: &[u8]) -> bool {
        let room = self.most - self.kept.len();
        self.kept.extend_from_slice(&piece[..piece.len().min(room)]);
        self.full = piece.len() > room;
        !self.full
    }
}

/// The last bytes of a stream, and how many were dropped before them.
#[derive(Debug, Default)]
pub(super) struct Tail {
    most: usize,
    kept: VecDeque<u8>,
    dropped: u64,
}

impl Tail {
    pub(super) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    pub(super) fn into_stream(self) -> CapturedStream {
        CapturedStream { kept: self.kept.into(), dropped_bytes: self.dropped }
    }
}

impl Bucket for Tail {
    fn take(&mut self, piece: &[u8]) -> bool {
        self.kept.extend(piece);
        let over = self.kept.len().saturating_sub(self.most);
        self.kept.drain(..over);
        self.dropped += over as u64;
        true
    }
}

/// A stream that is being read in the background.
pub(super) struct Collected<B> {
    bucket: Arc<Mutex<B>>,
    reader: JoinHandle<()>,
    overflowed: watch::Receiver<bool>,
}

impl<B: Bucket + Default> Collected<B> {
    pub(super) fn new<R: AsyncRead + Unpin + Send + 'static>(stream: Option<R>, bucket: B) -> Self {
        let bucket = Arc::new(Mutex::new(bucket));
        let (overflow, overflowed) = watch::channel(false);
        let reader = tokio::spawn(read_into(stream, Arc::clone(&bucket), overflow));
        Self { bucket, reader, overflowed }
    }

    /// Ready once the stream has more than its bucket holds, and never otherwise.
    pub(super) async fn overflow(&mut self) {
        if self.overflowed.wait_for(|overflowed| *overflowed).await.is_err() {
            pending::<()>().await;
        }
    }

    /// What was read by the end of the stream, or by the end of `patience` if somebody still holds it open.
    pub(super) async fn finish(mut self, patience: Duration) -> B {
        if timeout(patience, &mut self.reader).await.is_err() {
            self.reader.abort();
        }
        std::mem::take(&mut *self.bucket.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

async fn read_into<R: AsyncRead + Unpin, B: Bucket>(
    stream: Option<R>,
    bucket: Arc<Mutex<B>>,
    overflow: watch::Sender<bool>,
) {
    let Some(mut stream) = stream else { return };
    let mut piece = vec![0; 64 << 10];
    // A pipe that cannot be read has ended as far as anybody can tell.
    while let Ok(length @ 1..) = stream.read(&mut piece).await {
        if !bucket.lock().unwrap_or_else(PoisonError::into_inner).take(&piece[..length]) {
            overflow.send_replace(true);
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_keeps_the_first_bytes_and_notices_one_too_many() {
        let mut head = Head::new(4);
        assert!(head.take(b"ab"));
        assert!(head.take(b"cd"));
        assert!(!head.is_full());
        assert!(!head.take(b"e"));
        assert!(head.is_full());
        assert_eq!(head.into_bytes(), b"abcd");
    }

    #[test]
    fn a_tail_keeps_the_last_bytes_and_counts_the_others() {
        let mut tail = Tail::new(4);
        for piece in [&b"ab"[..], b"cdefg", b"h"] {
            assert!(tail.take(piece));
        }
        assert_eq!(tail.into_stream(), CapturedStream { kept: b"efgh".to_vec(), dropped_bytes: 4 });
    }
}
