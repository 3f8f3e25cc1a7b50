//! Where the parts of a git repository lie, found in its files.
//!
//! What lies there is protected from agents, so nothing here rests on git: it may be missing, or refuse to speak of somebody else's
//! repository.

#![expect(clippy::disallowed_methods, reason = "a repository's parts lie wherever its files say")]

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use eval_evidence::files::Dir;

/// Where the objects of the repositories lie that a folder is in: the folders of their work trees, those that work trees share, and
/// where they borrow objects from.
pub(super) fn directories(folder: &Dir) -> Vec<PathBuf> {
    let Ok(folder) = fs::canonicalize(folder.path()) else { return Vec::new() };
    let mut found: Vec<PathBuf> =
        folder.ancestors().map(|above| above.join(".git")).filter(|path| path.exists()).collect();
    let mut next = 0;
    while let Some(place) = found.get(next).cloned() {
        let more = leads_to(&place).into_iter().filter(|path| !found.contains(path)).collect::<Vec<_>>();
        found.extend(more);
        next += 1;
    }
    found
}

/// Where else a part of a repository lies, by what stands in its files.
fn leads_to(place: &Path) -> Vec<PathBuf> {
    let lines = |file: PathBuf| fs::read(file).unwrap_or_default();
    let named = |folder: &Path, line: &[u8]| {
        let path = folder.join(OsString::from_vec(line.trim_ascii_end().to_vec()));
        fs::canonicalize(&path).unwrap_or(path)
    };
    if place.is_file() {
        // `.git` of a work tree beside the repository, or of a submodule.
        let text = lines(place.to_owned());
        let target = text.strip_prefix(b"gitdir: ").zip(place.parent());
        return target.map(|(line, folder)| named(folder, line)).into_iter().collect();
    }
    let shared = lines(place.join("commondir"));
    let shared = (!shared.is_empty()).then(|| named(place, &shared));
    // A repository has its objects below it; one that lends them is named by its objects.
    let borrowed = [place.join("objects"), place.to_owned()].into_iter().flat_map(|objects| {
        let list = lines(objects.join("info/alternates"));
        let lines = list.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| named(&objects, line)).collect::<Vec<_>>()
    });
    shared.into_iter().chain(borrowed).collect()
}
