//! A project as files in memory: path to text.

use std::collections::BTreeMap;

use eval_rubric::{CaseFiles, RubricError};

/// All files of a project, by path with `/` between names.
pub type Tree = BTreeMap<String, String>;

/// Reads a folder of the case.
///
/// # Errors
///
/// [`RubricError::MalformedCase`] if a file cannot be read or is not text.
pub fn read(files: &CaseFiles, folder: &str) -> Result<Tree, RubricError> {
    let as_text = |(path, bytes): (String, Vec<u8>)| match String::from_utf8(bytes) {
        Ok(text) => Ok((path, text)),
        Err(_) => Err(RubricError::MalformedCase(format!("`{folder}/{path}` is not UTF-8 text"))),
    };
    files.read_tree(folder)?.into_iter().map(as_text).collect()
}

/// The name of a file without its folders.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
