//! A project as files in memory. All of them are text: what is not is refused when the case is read, and a diff brings in
//! text only.

pub use eval_diff::Tree;
use eval_rubric::{CaseFiles, RubricError};

/// Reads a folder of the case.
///
/// # Errors
///
/// [`RubricError::MalformedCase`] if a file cannot be read or is not text.
pub fn read(files: &CaseFiles, folder: &str) -> Result<Tree, RubricError> {
    let tree: Tree = files.read_tree(folder)?.into_iter().collect();
    if let Some(path) = tree.paths().find(|path| tree.text(path).is_none()) {
        return Err(RubricError::MalformedCase(format!("`{folder}/{path}` is not UTF-8 text")));
    }
    Ok(tree)
}

/// The name of a file without its folders.
pub fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
