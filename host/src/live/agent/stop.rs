//! How running agents are told to stop, from any thread: one switch that is never switched back.

use std::future::pending;

use tokio::sync::watch;

/// A switch that agents listen to. Its clones are the same switch.
#[derive(Debug, Clone)]
pub(crate) struct Stop {
    switch: watch::Sender<bool>,
}

impl Stop {
    pub(crate) fn new() -> Self {
        Self { switch: watch::Sender::new(false) }
    }

    /// Every agent that runs now is ended, and every later one before it does anything.
    pub(crate) fn request(&self) {
        self.switch.send_replace(true);
    }

    #[cfg(test)]
    pub(crate) fn is_requested(&self) -> bool {
        *self.switch.borrow()
    }

    /// Ready once the switch is thrown.
    pub(super) async fn requested(&self) {
        if self.switch.subscribe().wait_for(|requested| *requested).await.is_err() {
            pending::<()>().await;
        }
    }
}
