//! What a process of this machine took: for benchmarks, which look at it while it runs and once more when it has ended.
//!
//! Linux keeps the CPU time of a process that has ended until somebody asks how it ended, and its memory only while it runs. Nothing
//! here is of its children.

use std::fs;
use std::io;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long nobody looks. What memory a process takes in its last moment is missed.
const PAUSE: Duration = Duration::from_millis(2);

/// In how many parts of a second Linux tells the CPU time of a process.
const TICKS: f64 = 100.0;

/// What a process took from its start to its end.
#[derive(Debug, Clone, Copy)]
pub struct Usage {
    pub seconds: f64,
    /// CPU time, its own and in the kernel.
    pub cpu_seconds: f64,
    /// The most memory that was resident.
    pub peak_bytes: f64,
}

impl Usage {
    /// What the fastest of no processes took.
    pub const NOTHING: Self = Self { seconds: f64::INFINITY, cpu_seconds: f64::INFINITY, peak_bytes: 0.0 };

    /// What the same work took, done once more: the least time, which is that of a machine with nothing else to do, and the most
    /// memory.
    #[must_use]
    pub fn and(self, again: Self) -> Self {
        Self {
            seconds: self.seconds.min(again.seconds),
            cpu_seconds: self.cpu_seconds.min(again.cpu_seconds),
            peak_bytes: self.peak_bytes.max(again.peak_bytes),
        }
    }

    /// Runs a command to its end. What it prints is thrown away.
    ///
    /// # Errors
    ///
    /// If it does not start, or ends with another code than 0.
    pub fn of(mut command: Command) -> io::Result<Self> {
        let begin = Instant::now();
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let folder = format!("/proc/{}", child.id());
        let mut peak_bytes = 0.0_f64;
        let cpu_seconds = loop {
            let stat = fs::read_to_string(format!("{folder}/stat"))?;
            if let Some(cpu_seconds) = cpu_seconds_of_the_dead(&stat) {
                break cpu_seconds;
            }
            peak_bytes = peak_bytes.max(peak_bytes_in(&fs::read_to_string(format!("{folder}/status"))?));
            thread::sleep(PAUSE);
        };
        let seconds = begin.elapsed().as_secs_f64();
        let status = child.wait()?;
        if status.success() {
            Ok(Self { seconds, cpu_seconds, peak_bytes })
        } else {
            Err(io::Error::other(format!("{command:?} ended with {status}")))
        }
    }
}

/// The CPU time of a process that has ended and that nobody has waited for.
fn cpu_seconds_of_the_dead(stat: &str) -> Option<f64> {
    // The name in parentheses may have anything in it.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<f64>().ok();
    let is_dead = *fields.first()? == "Z";
    is_dead.then(|| Some((ticks(11)? + ticks(12)?) / TICKS))?
}

/// The most memory of a process that runs. One that has ended has none.
fn peak_bytes_in(status: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    kibibytes.unwrap_or_default() * 1024.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_took_is_known_when_it_has_ended() {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "n=0; while [ $n -lt 200000 ]; do n=$((n+1)); done"]);
        let usage = Usage::of(command).expect("it runs");
        assert!(usage.cpu_seconds > 0.0 && usage.seconds > 0.0 && usage.peak_bytes > 100e3, "{usage:?}");
    }

    #[test]
    fn a_command_that_fails_has_no_figures() {
        let error = Usage::of(Command::new("/bin/false")).expect_err("it fails");
        assert!(error.to_string().contains("/bin/false"), "{error}");
    }

    #[test]
    fn the_name_of_a_process_is_no_field_of_it() {
        let stat = "7 (a) Z (b) Z 1 7 7 0 -1 4 0 0 0 0 150 50 9 9 20 0";
        assert_eq!(cpu_seconds_of_the_dead(stat), Some(2.0));
        assert_eq!(cpu_seconds_of_the_dead(&stat.replace(" Z 1", " S 1")), None);
        assert_eq!(peak_bytes_in("Name:\tx\nVmHWM:\t    2048 kB\n"), 2_097_152.0);
        assert_eq!(peak_bytes_in("State:\tZ (zombie)\n"), 0.0);
    }
}
