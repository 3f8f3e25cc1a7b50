//! Packs that tests make and break.

use std::fs;
use std::path::{Path, PathBuf};

use super::header::{FIRST_LINE, Header, Lines, PackName};
use super::scan::scan;
use super::span::Span;
use eval_model::ids::Digest;

/// What an object says that it is, and what it is.
pub(crate) type Packed = (Digest, Vec<u8>);

/// The files in a folder that are called packs.
pub(crate) fn packs_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let names = entries.map(|entry| entry.expect("an entry").path());
    let mut packs: Vec<_> = names
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().parse::<PackName>().is_ok()))
        .collect();
    packs.sort();
    packs
}

/// Every object of the packs in a folder, as far as they can be read.
pub(crate) fn objects_in(folder: &Path) -> Vec<Packed> {
    packs_in(folder).iter().flat_map(|path| objects_of(&fs::read(path).expect("readable"))).collect()
}

/// Every object of a pack.
pub(crate) fn objects_of(pack: &[u8]) -> Vec<Packed> {
    let mut file = tempfile::tempfile().expect("a file");
    std::io::Write::write_all(&mut file, pack).expect("written");
    let span = Span::new(file, 0, pack.len() as u64);
    let mut places = Vec::new();
    let _ = scan(&span, &mut |seen| places.push((seen.header.digest, seen.offset)));
    let content = |(digest, offset)| (digest, span.content_at(offset, digest).expect("readable").expect("a header"));
    places.into_iter().map(content).collect()
}

/// The bytes of a pack, and its name.
pub(crate) fn pack_of(objects: &[Packed]) -> (String, Vec<u8>) {
    let (mut lines, mut bytes) = (Lines::new(), FIRST_LINE.to_vec());
    for (digest, content) in objects {
        let line = Header { digest: *digest, length: content.len() as u64 }.line();
        lines.add(line.as_bytes());
        bytes.extend([line.as_bytes(), content, b"\n"].concat());
    }
    (lines.name().to_string(), bytes)
}

/// Writes a pack, unless there is nothing to be in it.
pub(crate) fn write_pack(folder: &Path, objects: &[Packed]) {
    let (name, bytes) = pack_of(objects);
    if !objects.is_empty() {
        fs::write(folder.join(name), bytes).expect("written");
    }
}

/// Makes one pack of all that a folder has, otherwise.
pub(crate) fn repack(folder: &Path, change: impl FnOnce(&mut Vec<Packed>)) {
    let mut objects = objects_in(folder);
    for pack in packs_in(folder) {
        fs::remove_file(pack).expect("removed");
    }
    change(&mut objects);
    write_pack(folder, &objects);
}

/// Takes an object away and gives what it was.
pub(crate) fn take_object(folder: &Path, digest: Digest) -> Option<Vec<u8>> {
    let mut taken = None;
    repack(folder, |objects| {
        let place = objects.iter().position(|(other, _)| *other == digest);
        taken = place.map(|place| objects.remove(place).1);
    });
    taken
}

/// Puts an object beside the others, which may be something else than it says.
pub(crate) fn put_object(folder: &Path, digest: Digest, content: &[u8]) {
    write_pack(folder, &[(digest, content.to_vec())]);
}
