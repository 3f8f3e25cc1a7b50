//! A guest's stdout and stderr: the first bytes are kept, the rest is counted, and a guest never sees an error.

use eval_model::contract::CapturedStream;

#[derive(Debug)]
pub(super) struct Capture {
    stream: CapturedStream,
    maximum: usize,
}

impl Capture {
    pub(super) fn keeping(maximum: u64) -> Self {
        Self { stream: CapturedStream::default(), maximum: usize::try_from(maximum).unwrap_or(usize::MAX) }
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        let room = self.maximum - self.stream.kept.len();
        let kept = &bytes[..bytes.len().min(room)];
        self.stream.kept.extend_from_slice(kept);
        self.stream.dropped_bytes += (bytes.len() - kept.len()) as u64;
    }

    pub(super) fn into_stream(self) -> CapturedStream {
        self.stream
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_bytes_are_kept_and_the_rest_is_counted() {
        let mut capture = Capture::keeping(5);
        capture.write(b"abc");
        capture.write(b"defg");
        capture.write(b"h");
        assert_eq!(capture.into_stream(), CapturedStream { kept: b"abcde".to_vec(), dropped_bytes: 3 });
    }
}
