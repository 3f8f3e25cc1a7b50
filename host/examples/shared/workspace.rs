//! The workspace as the agents see it: text files by their paths.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, anyhow};

/// Texts by their paths relative to the workspace, with `/` between the parts.
pub(crate) type Files = BTreeMap<String, String>;

/// A file without which there is nothing to do.
pub(crate) fn required<'a>(files: &'a Files, path: &str) -> anyhow::Result<&'a str> {
    files.get(path).map(String::as_str).with_context(|| format!("the workspace has no text file `{path}`"))
}

/// Reads everything below `workspace` that is UTF-8 text.
pub(super) fn read(workspace: &Path) -> anyhow::Result<Files> {
    let mut files = Files::new();
    read_folder(workspace, "", &mut files)?;
    Ok(files)
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Files) -> anyhow::Result<()> {
    let unreadable = || format!("`{}` cannot be read", folder.display());
    for entry in fs::read_dir(folder).with_context(unreadable)? {
        let entry = entry.with_context(unreadable)?;
        let name = entry.file_name().into_string().map_err(|name| anyhow!("{name:?} is not UTF-8"))?;
        let path = format!("{prefix}{name}");
        if entry.file_type().with_context(unreadable)?.is_dir() {
            read_folder(&entry.path(), &format!("{path}/"), files)?;
        } else if let Ok(text) = String::from_utf8(fs::read(entry.path()).with_context(unreadable)?) {
            files.insert(path, text);
        }
    }
    Ok(())
}
