//! The kernel's list of what is mounted where, as this process sees it.

#![expect(clippy::disallowed_methods, reason = "the kernel's own list has one name")]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its device, `major:minor`.
    pub device: String,
    /// What part of its file system is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// Such as `rw,noatime`.
    pub(crate) options: String,
}

impl Mount {
    pub fn all() -> io::Result<Vec<Self>> {
        fs::read("/proc/self/mountinfo").map(|list| Self::listed(&list))
    }

    /// The mounts of a list in the kernel's form.
    pub fn listed(list: &[u8]) -> Vec<Self> {
        list.split(|byte| *byte == b'\n').filter_map(Self::parse).collect()
    }

    /// `36 35 98:0 /root /point rw,noatime …`
    fn parse(line: &[u8]) -> Option<Self> {
        let mut columns = line.split(|byte| *byte == b' ').skip(2);
        let text = |column: &[u8]| String::from_utf8_lossy(column).into_owned();
        let device = text(columns.next()?);
        let (root, point) = (unescaped(columns.next()?), unescaped(columns.next()?));
        Some(Self { device, root, point, options: text(columns.next()?) })
    }
}

/// The kernel writes blanks, line ends and backslashes as three octal digits.
fn unescaped(column: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(column.len());
    let mut rest = column;
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_is_read_with_its_options_and_its_spaces() {
        let list = b"36 35 98:0 /mnt1 /a\\040b\\134040c rw,noatime master:1 - ext3 /dev/root rw\n36 35\n";
        let mount = |root: &str, point: &str, options: &str| Mount {
            device: "98:0".to_owned(),
            root: root.into(),
            point: point.into(),
            options: options.to_owned(),
        };
        assert_eq!(Mount::listed(list), [mount("/mnt1", "/a b\\040c", "rw,noatime")]);
        assert!(Mount::all().expect("the kernel's list").iter().any(|mount| mount.point == std::path::Path::new("/")));
    }
}
