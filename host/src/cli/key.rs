//! The key that a record is signed with: from a flag, or from the file that a variable names.

use std::path::PathBuf;

use clap::Args;

use super::environment;
use super::error::ArgumentError;
use super::keys::read_signer;
use eval_evidence::anchor::NoteSigner;

#[derive(Debug, Args)]
pub(super) struct KeyArgs {
    /// Sign the record, or the answer set of a shard, with this secret key, which `eval-host keygen` made [default: the file that EVAL_HOST_KEY names].
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
}

impl KeyArgs {
    /// Reads the key, if there is one. Called before anything is run: whoever wants a signature must not learn at the end of a
    /// paid run that there is none.
    pub(super) fn signer(&self) -> Result<Option<NoteSigner>, ArgumentError> {
        self.path().map(|path| read_signer(&path)).transpose()
    }

    /// The file that the key is in.
    pub(super) fn path(&self) -> Option<PathBuf> {
        self.key.clone().or_else(environment::signing_key)
    }
}
