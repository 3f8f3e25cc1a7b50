//! Tests of the tree that need no guest: quotas, sharing, lifetimes, and what must never panic.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::node::{Content, Kind};
use super::*;
use eval_model::contract::CaseFiles;

const READ: Open =
    Open { follow: true, create: false, exclusive: false, truncate: false, directory: false, write: false };
const CREATE: Open = Open { create: true, write: true, ..READ };

fn case_files() -> CaseFiles {
    let file = |path: &str, bytes: &[u8]| (Arc::from(path), Arc::from(bytes));
    CaseFiles::from([file("input/a/one", b"one"), file("input/two", b"two!"), file("expected/fact", b"fact")])
}

fn scratch() -> Scratch {
    Scratch::new(&case_files(), 100, 8)
}

fn create(scratch: &mut Scratch, path: &str) -> Inode {
    scratch.open(scratch.root(), path, CREATE).expect("there is room")
}

fn find(scratch: &mut Scratch, path: &str) -> Result<Inode, Errno> {
    scratch.open(scratch.root(), path, READ)
}

fn names(scratch: &Scratch, directory: Inode) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    while let Some((name, _)) = scratch.next_entry(directory, names.last().map(String::as_str)).expect("a directory") {
        names.push(name);
    }
    names
}

#[test]
fn a_case_is_shown_as_a_tree() {
    let mut scratch = scratch();
    assert_eq!(names(&scratch, scratch.root()), ["expected", "input"]);
    let input = find(&mut scratch, "input").expect("a folder of the case");
    assert_eq!(names(&scratch, input), ["a", "two"]);
    let one = find(&mut scratch, "input/a/one").expect("a file of the case");
    assert_eq!(scratch.read(one, 1, 100), Ok(&b"ne"[..]));
}

#[test]
fn a_cases_bytes_are_shared_until_a_guest_writes_to_them() {
    let files = case_files();
    let shared = || Arc::strong_count(&files["input/two"]);
    let mut scratch = Scratch::new(&files, 100, 8);
    assert_eq!(shared(), 2, "the tree refers to the case's bytes and has no copy");
    let two = find(&mut scratch, "input/two").expect("a file of the case");
    scratch.write(two, At::Offset(1), b"W").expect("there is room");
    assert_eq!(scratch.read(two, 0, 10), Ok(&b"tWo!"[..]));
    assert_eq!(shared(), 1);
    assert_eq!(&*files["input/two"], b"two!");
    assert_eq!(scratch.quota.used(), (4, 0), "the copy is the guest's, the name is not");
}

#[test]
fn the_byte_quota_is_exact_and_a_write_that_does_not_fit_leaves_nothing() {
    let mut scratch = scratch();
    let file = create(&mut scratch, "f");
    scratch.write(file, At::End, &[1; 100]).expect("exactly the quota");
    assert_eq!(scratch.write(file, At::End, &[1]), Err(Errno::InsufficientSpace));
    assert_eq!(scratch.set_size(file, 101), Err(Errno::InsufficientSpace));
    assert_eq!(scratch.write(file, At::Offset(u64::from(u32::MAX)), &[1]), Err(Errno::InsufficientSpace));
    assert_eq!(scratch.stat(file).size, 100);
    scratch.set_size(file, 40).expect("less is always possible");
    assert_eq!(scratch.quota.used(), (40, 1));
    scratch.write(file, At::Offset(99), &[1]).expect("a gap up to the quota");
    assert_eq!(scratch.read(file, 39, 2), Ok(&[1, 0][..]), "a gap reads as zeros");
    assert_eq!(scratch.quota.used(), (100, 1));
}

#[test]
fn the_entry_quota_is_exact_and_comes_back() {
    let mut scratch = scratch();
    let root = scratch.root();
    for index in 0..8 {
        create(&mut scratch, &format!("f{index}"));
    }
    assert_eq!(scratch.open(root, "f8", CREATE), Err(Errno::InsufficientSpace));
    assert_eq!(scratch.create_directory(root, "d"), Err(Errno::InsufficientSpace));
    assert_eq!(scratch.symlink(root, "f0", "s"), Err(Errno::InsufficientSpace));
    assert_eq!(scratch.link(root, "f0", root, "l"), Err(Errno::InsufficientSpace));
    scratch.unlink(root, "f0").expect("it is there");
    scratch.symlink(root, "f1", "s").expect("a name is free again");
    assert_eq!(scratch.quota.used(), (2, 8), "a link's target counts as bytes");
}

#[test]
fn a_name_of_the_case_is_free_and_removing_it_gives_no_credit() {
    let mut scratch = scratch();
    let root = scratch.root();
    scratch.unlink(root, "input/two").expect("a file of the case");
    assert_eq!(scratch.quota.used(), (0, 0));
    assert_eq!(find(&mut scratch, "input/two"), Err(Errno::NoEntry));
    scratch.rename(root, "expected", root, "moved").expect("a folder of the case");
    assert!(find(&mut scratch, "moved/fact").is_ok());
    assert_eq!(scratch.quota.used(), (0, 0));
}

#[test]
fn creating_and_deleting_for_ever_does_not_grow_the_host() {
    let mut scratch = scratch();
    let root = scratch.root();
    let before = scratch.nodes.capacity();
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..1_000 {
        assert!(seen.insert(create(&mut scratch, "f").identity()), "no two files ever have one identity");
        scratch.unlink(root, "f").expect("it was just made");
    }
    assert_eq!(scratch.nodes.capacity(), before + 1);
    assert_eq!(scratch.quota.used(), (0, 0));
}

#[test]
fn an_unlinked_file_lives_until_its_last_holder_lets_go() {
    let mut scratch = scratch();
    let root = scratch.root();
    let file = create(&mut scratch, "f");
    scratch.hold(file);
    scratch.write(file, At::End, b"still here").expect("there is room");
    scratch.unlink(root, "f").expect("it is there");
    assert_eq!(scratch.read(file, 0, 5), Ok(&b"still"[..]));
    assert_eq!(scratch.stat(file).links, 0);
    assert_eq!(scratch.quota.used(), (10, 0));
    scratch.release(file);
    assert_eq!(scratch.quota.used(), (0, 0));
}

#[test]
fn a_removed_directory_takes_nothing_new_even_when_its_parent_is_gone() {
    let mut scratch = scratch();
    let root = scratch.root();
    scratch.create_directory(root, "p").expect("there is room");
    scratch.create_directory(root, "p/d").expect("there is room");
    let directory = find(&mut scratch, "p/d").expect("it was just made");
    scratch.hold(directory);
    scratch.remove_directory(root, "p/d").expect("it is empty");
    scratch.remove_directory(root, "p").expect("it is empty");
    assert_eq!(scratch.open(directory, "f", CREATE), Err(Errno::NoEntry));
    assert_eq!(scratch.create_directory(directory, "d"), Err(Errno::NoEntry));
    assert_eq!(scratch.rename(root, "input", directory, "x"), Err(Errno::NoEntry));
    assert_eq!(scratch.link(root, "input/two", directory, "x"), Err(Errno::NoEntry));
    assert_eq!(scratch.resolve(directory, ".", true), Ok(directory));
    scratch.release(directory);
    assert_eq!(scratch.quota.used(), (0, 0));
}

#[test]
fn nothing_leads_out_of_the_directory_that_a_path_starts_from() {
    let mut scratch = scratch();
    let root = scratch.root();
    let input = find(&mut scratch, "input").expect("a folder of the case");
    scratch.symlink(root, "../../etc", "up").expect("a link may say anything relative");
    scratch.symlink(root, "input/../../etc", "sly").expect("a link may say anything relative");
    for path in ["..", "../..", "/", "/etc/passwd", "input/../..", "up", "up/", "up/passwd", "sly/passwd"] {
        assert_eq!(find(&mut scratch, path), Err(Errno::NotPermitted), "{path}");
    }
    assert_eq!(scratch.open(input, "../expected/fact", READ), Err(Errno::NotPermitted));
    assert_eq!(scratch.symlink(root, "/etc", "absolute"), Err(Errno::NotPermitted));
    assert!(find(&mut scratch, "input/../expected/fact").is_ok());
}

#[test]
fn links_in_a_circle_and_chains_of_more_than_forty_are_loops() {
    let mut scratch = Scratch::new(&case_files(), 10_000, 100);
    let root = scratch.root();
    scratch.symlink(root, "circle", "circle").expect("a link may name itself");
    assert_eq!(find(&mut scratch, "circle"), Err(Errno::Loop));
    scratch.symlink(root, "input/two", "l0").expect("there is room");
    for index in 0..40 {
        scratch.symlink(root, &format!("l{index}"), &format!("l{}", index + 1)).expect("there is room");
    }
    assert!(find(&mut scratch, "l39").is_ok());
    assert_eq!(find(&mut scratch, "l40"), Err(Errno::Loop));
}

#[test]
fn names_have_the_limits_of_linux() {
    let mut scratch = scratch();
    create(&mut scratch, &"n".repeat(255));
    let root = scratch.root();
    assert_eq!(scratch.open(root, &"n".repeat(256), CREATE), Err(Errno::NameTooLong));
    assert_eq!(scratch.open(root, &"a/".repeat(2_048), CREATE), Err(Errno::NameTooLong));
    assert_eq!(scratch.open(root, "a\0b", CREATE), Err(Errno::Invalid));
    assert_eq!(scratch.open(root, "", CREATE), Err(Errno::NoEntry));
}

#[test]
fn a_rename_never_makes_a_circle() {
    let mut scratch = scratch();
    let root = scratch.root();
    assert_eq!(scratch.rename(root, "input", root, "input/a/x"), Err(Errno::Invalid));
    assert_eq!(scratch.rename(root, "input/a/one", root, "input"), Err(Errno::NotEmpty));
    assert_eq!(scratch.rename(root, "input", root, "."), Err(Errno::Busy));
    assert_eq!(scratch.rename(root, "input", root, "input"), Ok(()));
    assert_eq!(scratch.rename(root, "input/two/", root, "x"), Err(Errno::NotDirectory));
}

#[test]
fn the_final_tree_is_exported_by_path() {
    let mut scratch = scratch();
    let root = scratch.root();
    scratch.create_directory(root, "out").expect("there is room");
    scratch.symlink(root, "input/two", "out/link").expect("there is room");
    scratch.unlink(root, "expected/fact").expect("it is there");
    let exported = scratch.export().entries;
    assert_eq!(exported["out/link"], ScratchEntry::Symlink("input/two".to_owned()));
    assert_eq!(exported["input/two"], ScratchEntry::File(b"two!".to_vec()));
    assert_eq!(exported["expected"], ScratchEntry::Directory);
    assert_eq!(exported.len(), 7);
}

#[test]
fn a_file_with_many_names_is_exported_once_and_a_path_that_no_disk_takes_is_left_out() {
    let mut scratch = Scratch::new(&CaseFiles::new(), 1_000, 100);
    let root = scratch.root();
    let file = scratch.open(root, "a", CREATE).expect("there is room");
    scratch.write(file, At::End, b"two!").expect("there is room");
    scratch.link(root, "a", root, "b").expect("there is room");
    let mut here = root;
    for _ in 0..10 {
        let name = "d".repeat(255);
        scratch.create_directory(here, &name).expect("there is room");
        here = scratch.resolve(here, &name, false).expect("just made");
    }
    let tree = scratch.export();
    assert_eq!(tree.entries["a"], ScratchEntry::File(b"two!".to_vec()));
    assert_eq!(tree.entries["b"], ScratchEntry::HardLink("a".to_owned()));
    assert_eq!(tree.left_out, 1, "nothing is looked for below it");
}

#[test]
fn the_quota_bounds_what_the_host_holds_and_not_only_what_is_seen() {
    let mut scratch = Scratch::new(&CaseFiles::new(), 64 << 20, 10);
    let root = scratch.root();
    let file = scratch.open(root, "file", CREATE).expect("there is room");
    let capacity = |scratch: &Scratch| match &scratch.nodes.get(file).kind {
        Kind::File(Content::Own(bytes)) => bytes.capacity(),
        other => panic!("{other:?}"),
    };
    for _ in 0..(16 << 20) / (1 << 16) {
        scratch.write(file, At::End, &[7; 1 << 16]).expect("there is room");
    }
    assert!(capacity(&scratch) < 19 << 20, "{}", capacity(&scratch));
    scratch.set_size(file, 64 << 20).expect("there is room");
    scratch.set_size(file, 1).expect("less is always possible");
    assert!(capacity(&scratch) <= 8_192, "{}", capacity(&scratch));
}

/// One operation on a few names, so that operations meet each other.
#[derive(Debug, Clone)]
enum Operation {
    Open { path: String, how: Open, hold: bool },
    Write { path: String, offset: u64, len: u8 },
    SetSize { path: String, size: u64 },
    MakeDirectory { path: String },
    Symlink { target: String, path: String },
    Link { old: String, new: String },
    Rename { old: String, new: String },
    Unlink { path: String },
    RemoveDirectory { path: String },
    Release,
}

fn path() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["a", "b", "input", "two", "..", ".", ""]);
    prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
}

fn operation() -> impl Strategy<Value = Operation> {
    let how = any::<[bool; 4]>().prop_map(|[follow, create, exclusive, truncate]| Open {
        follow,
        create,
        exclusive,
        truncate,
        directory: false,
        write: create,
    });
    prop_oneof![
        (path(), how, any::<bool>()).prop_map(|(path, how, hold)| Operation::Open { path, how, hold }),
        (path(), 0..200_u64, any::<u8>()).prop_map(|(path, offset, len)| Operation::Write { path, offset, len }),
        (path(), 0..200_u64).prop_map(|(path, size)| Operation::SetSize { path, size }),
        path().prop_map(|path| Operation::MakeDirectory { path }),
        (path(), path()).prop_map(|(target, path)| Operation::Symlink { target, path }),
        (path(), path()).prop_map(|(old, new)| Operation::Link { old, new }),
        (path(), path()).prop_map(|(old, new)| Operation::Rename { old, new }),
        path().prop_map(|path| Operation::Unlink { path }),
        path().prop_map(|path| Operation::RemoveDirectory { path }),
        Just(Operation::Release),
    ]
}

/// Applies an operation from the tree's root or from something held. Whether it works is compared elsewhere.
fn apply(scratch: &mut Scratch, held: &mut Vec<Inode>, operation: Operation) -> Result<(), Errno> {
    let base = *held.iter().find(|inode| scratch.file_type(**inode) == FileType::Directory).unwrap_or(&scratch.root());
    match operation {
        Operation::Open { path, how, hold } => {
            let inode = scratch.open(base, &path, how)?;
            if hold {
                scratch.hold(inode);
                held.push(inode);
            }
            Ok(())
        }
        Operation::Write { path, offset, len } => {
            let inode = scratch.resolve(base, &path, true)?;
            scratch.write(inode, At::Offset(offset), &vec![7; usize::from(len)])
        }
        Operation::SetSize { path, size } => {
            let inode = scratch.resolve(base, &path, true)?;
            scratch.set_size(inode, size)
        }
        Operation::MakeDirectory { path } => scratch.create_directory(base, &path),
        Operation::Symlink { target, path } => scratch.symlink(base, &target, &path),
        Operation::Link { old, new } => scratch.link(base, &old, scratch.root(), &new),
        Operation::Rename { old, new } => scratch.rename(base, &old, scratch.root(), &new),
        Operation::Unlink { path } => scratch.unlink(base, &path),
        Operation::RemoveDirectory { path } => scratch.remove_directory(base, &path),
        Operation::Release => {
            if let Some(inode) = held.pop() {
                scratch.release(inode);
            }
            Ok(())
        }
    }
}

/// What the quota must say, counted from what can be reached.
fn reachable(scratch: &Scratch) -> (u64, u64) {
    let mut files = BTreeMap::new();
    let mut entries = 0;
    let mut pending = vec![scratch.root()];
    while let Some(inode) = pending.pop() {
        let node = scratch.nodes.get(inode);
        files.insert(inode.identity(), node.charged_bytes());
        if let Kind::Directory(directory) = &node.kind {
            entries += directory.entries.values().filter(|entry| entry.charged).count() as u64;
            pending.extend(directory.entries.values().map(|entry| entry.node));
        }
    }
    (files.values().sum(), entries)
}

proptest! {
    #[test]
    fn the_quota_is_what_can_be_reached_whatever_a_guest_does(
        operations in prop::collection::vec(operation(), 1..60)
    ) {
        let mut scratch = Scratch::new(&case_files(), 1_000, 12);
        let mut held = Vec::new();
        for operation in operations {
            let before = scratch.quota.used();
            if let Err(errno) = apply(&mut scratch, &mut held, operation.clone()) {
                prop_assert_eq!(scratch.quota.used(), before, "{:?} failed with {:?}", operation, errno);
            }
        }
        for inode in held {
            scratch.release(inode);
        }
        prop_assert_eq!(scratch.quota.used(), reachable(&scratch));
    }
}
