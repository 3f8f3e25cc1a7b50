//! Descriptors that whoever started eval-host left open: every process below inherits them, and the agent would be one.
//!
//! No rule holds for what is open already. A pipe or a terminal leads to no file, so build tools that hand such on are let be;
//! files, folders, disks and connections are not. They cannot be closed by their numbers alone without `unsafe`, so nothing is
//! started while there are any.

#![expect(clippy::disallowed_methods, reason = "the kernel tells of descriptors in files of its own")]

use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;

use crate::{CageError, failed};

/// The last of the three streams that every process has.
const LAST_STREAM: u32 = 2;

/// The flag of a descriptor that ends with the program, as the kernel writes it.
const CLOSES: u32 = 0o2_000_000;

/// Fails if the program that this process becomes would inherit anything that leads to files.
pub(crate) fn refuse() -> Result<(), CageError> {
    let entries = fs::read_dir("/proc/self/fdinfo").map_err(failed("the descriptors cannot be listed"))?;
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    match numbers.filter(|number| *number > LAST_STREAM).find(|number| is_handed_on(*number) && leads_to_files(*number))
    {
        Some(number) => Err(CageError::new(
            format!("descriptor {number} was open when eval-host was started, and the agent would inherit it"),
            io::Error::other(format!("close it there, such as by `{number}<&-` in a shell")),
        )),
        None => Ok(()),
    }
}

/// One that is gone when it is looked at was the listing's own.
fn is_handed_on(number: u32) -> bool {
    fs::read_to_string(format!("/proc/self/fdinfo/{number}")).is_ok_and(|text| !closes(&text))
}

fn closes(text: &str) -> bool {
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok()).is_some_and(|flags| flags & CLOSES != 0)
}

fn leads_to_files(number: u32) -> bool {
    // What cannot be looked at may be anything.
    fs::metadata(format!("/proc/self/fd/{number}"))
        .map_or(true, |file| !file.file_type().is_fifo() && !file.file_type().is_char_device())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_that_ends_with_the_program_is_told_from_one_that_is_handed_on() {
        assert!(closes("pos:\t0\nflags:\t02100000\nmnt_id:\t29\n"));
        assert!(!closes("pos:\t0\nflags:\t0100000\nmnt_id:\t29\n"));
        assert!(!closes("pos:\t0\n"));
    }
}
