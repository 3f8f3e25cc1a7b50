//! Beats once a while.

use std::time::Duration;

/// How long to wait before the next beat: longer after each failure, up to a minute.
pub fn backoff(failures: u32) -> Duration {
    Duration::from_secs(2_u64.saturating_pow(failures).min(60))
}

/// Waits for the next beat.
pub async fn beat(failures: u32) {
    tokio::time::sleep(backoff(failures)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_grows_up_to_a_minute() {
        assert_eq!([0, 3, 9].map(|failures| backoff(failures).as_secs()), [1, 8, 60]);
    }
}
