//! Everything on disk that matters is reached through a [`Dir`]: benches and bundles that somebody else wrote, workspaces that
//! an agent had in its hands, and the stores, journals and memories that this program writes itself.
//!
//! A [`Dir`] is opened once, and whatever lies in it is reached through its descriptor, by one name at a time. So nobody can
//! swap what lies under a path between a check and its use, no name leads out of the directory, no link is followed, nothing
//! waits for a FIFO, and no more is read than was asked for. What is written is private whatever the umask, but for what says
//! that it is not. Every error is a [`FileError`], which names the path and what is wrong with it.
//!
//! cap-std holds the directories, and makes and removes what is in them. rustix does what cap-std does not (`stat`, renames that
//! replace nothing, `fsync`, `syncfs` and `flock`), and opens and lists what is there: a run does that some ten times per case, with one
//! system call each.
//!
//! This module must never decide what a file means, and never remove or replace what its caller did not name.

mod beneath;
mod dir;
mod draft;
mod error;
mod lock;
mod tree;

pub(crate) use dir::printable;
pub use dir::{Audience, Dir, Missing, open_ambient_file, read_ambient_file};
pub use draft::Draft;
pub use error::{FileError, FileProblem, Kind};
pub use lock::{Holder, Lock, LockError, Share};
pub use tree::MOST_FILE_BYTES;
