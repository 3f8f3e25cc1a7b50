//! One file with everything that a reviewer needs to check one record: the record, those before it, and every object it names.
//!
//! A bundle is a tar archive that any tool can list, and unpacked it is a store. It has one form: the same evidence gives
//! the same bytes, and whatever differs from that form by a single bit is refused: a file that its record does not name, too. It
//! says itself what it leaves out ([`crate::store::Excerpt`]), so that nobody takes that for missing. Nothing in it is trusted because it is in
//! a bundle: it is verified as a store is.

mod archive;
mod contents;

pub use archive::ArchiveError;
pub use contents::{Bundle, ExportError, OpenBundleError, export};
