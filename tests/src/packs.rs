//! Packs of objects, read and written by `docs/record-format.md` alone: for tests that look into a store, or forge one.

use std::fs;
use std::path::{Path, PathBuf};

const FIRST_LINE: &str = "eval-host/pack/v1\n";

/// What an object is called, and what it is.
pub type Object = (String, Vec<u8>);

/// Every object of a pack, in its order.
pub fn objects_of(pack: &[u8]) -> Vec<Object> {
    let mut rest = pack.strip_prefix(FIRST_LINE.as_bytes()).expect("a pack");
    let mut objects = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n').expect("a header");
        let header = str::from_utf8(&rest[..end]).expect("text");
        let (digest, length) = header.split_once(' ').expect("a digest and a length");
        let length: usize = length.parse().expect("a number");
        let content = &rest[end + 1..];
        objects.push((digest.to_owned(), content[..length].to_vec()));
        rest = content[length..].strip_prefix(b"\n").expect("a newline behind the content");
    }
    objects
}

/// A pack of these objects: its name, and its bytes.
pub fn pack_of(objects: &[Object]) -> (String, Vec<u8>) {
    let mut lines = blake3::Hasher::new();
    lines.update(FIRST_LINE.as_bytes());
    let mut pack = FIRST_LINE.as_bytes().to_vec();
    for (digest, content) in objects {
        let line = format!("{digest} {}\n", content.len());
        lines.update(line.as_bytes());
        pack.extend([line.as_bytes(), content, b"\n"].concat());
    }
    (format!("{}.pack", lines.finalize().to_hex()), pack)
}

/// The packs of a store, sorted.
pub fn packs(store: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(store.join("packs")).expect("a folder of packs");
    let mut packs: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    packs.retain(|path| path.extension().is_some_and(|extension| extension == "pack"));
    packs.sort();
    packs
}

/// Every object of a store.
pub fn objects(store: &Path) -> Vec<Object> {
    packs(store).iter().flat_map(|pack| objects_of(&fs::read(pack).expect("a pack"))).collect()
}

/// The content of an object of a store.
pub fn object(store: &Path, digest: &str) -> Vec<u8> {
    objects(store).into_iter().find(|(name, _)| name == digest).expect("an object of this name").1
}

/// Puts an object into a store, in a pack of its own.
pub fn add_object(store: &Path, content: &[u8]) -> String {
    let digest = blake3::hash(content).to_hex().to_string();
    let (name, pack) = pack_of(&[(digest.clone(), content.to_vec())]);
    fs::write(store.join("packs").join(name), pack).expect("written");
    digest
}

/// Takes an object out of a store, whose other objects are in one pack then.
pub fn remove_object(store: &Path, digest: &str) {
    let mut left = objects(store);
    left.retain(|(name, _)| name != digest);
    packs(store).iter().for_each(|pack| fs::remove_file(pack).expect("removed"));
    let (name, pack) = pack_of(&left);
    fs::write(store.join("packs").join(name), pack).expect("written");
}
