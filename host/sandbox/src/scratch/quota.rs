//! What a guest may add to the tree: exact, charged before any change, given back when the last trace is gone.

use super::Errno;

#[derive(Debug)]
pub(super) struct Quota {
    bytes: Budget,
    entries: Budget,
}

#[derive(Debug)]
struct Budget {
    used: u64,
    maximum: u64,
}

impl Budget {
    fn charge(&mut self, amount: u64) -> Result<(), Errno> {
        match self.used.checked_add(amount) {
            Some(used) if used <= self.maximum => {
                self.used = used;
                Ok(())
            }
            _ => Err(Errno::InsufficientSpace),
        }
    }

    fn refund(&mut self, amount: u64) {
        self.used = self.used.checked_sub(amount).expect("only what was charged is given back");
    }
}

impl Quota {
    pub(super) fn new(bytes: u64, entries: u64) -> Self {
        Self { bytes: Budget { used: 0, maximum: bytes }, entries: Budget { used: 0, maximum: entries } }
    }

    pub(super) fn charge_bytes(&mut self, bytes: u64) -> Result<(), Errno> {
        self.bytes.charge(bytes)
    }

    pub(super) fn refund_bytes(&mut self, bytes: u64) {
        self.bytes.refund(bytes);
    }

    pub(super) fn charge_entry(&mut self) -> Result<(), Errno> {
        self.entries.charge(1)
    }

    pub(super) fn refund_entry(&mut self) {
        self.entries.refund(1);
    }

    #[cfg(test)]
    pub(super) fn used(&self) -> (u64, u64) {
        (self.bytes.used, self.entries.used)
    }
}
