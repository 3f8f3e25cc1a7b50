//! Stores that somebody prepared for us: no hang, no panic, bounded memory, and a clear word.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{State, StoreReader, append, records_in, state_of, store_with};
use crate::verify::{Checks, FirstUse, verify_store};
use eval_model::text::is_harmless;

const NAME: &str = "20261116T093000.120Z-ba7816bf.json";

#[track_caller]
fn tampered(findings: &(State, Vec<String>), expected: &str) {
    assert_eq!(findings.0, State::Tampered, "{findings:?}");
    assert!(findings.1.iter().any(|finding| finding.contains(expected)), "{findings:?}");
}

#[test]
fn what_is_no_file_is_no_record_and_nobody_waits_for_it() {
    let (_temp, path) = store_with(1);
    let record = path.join("runs").join(NAME);
    mknodat(CWD, &record, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    tampered(&state_of(&path), "is a FIFO, not a file");
    fs::remove_file(&record).expect("removed");
    symlink("/dev/zero", &record).expect("a link");
    tampered(&state_of(&path), "is a symbolic link, not a file");
    fs::remove_file(&record).expect("removed");
    fs::create_dir(&record).expect("a directory");
    tampered(&state_of(&path), "is a directory, not a file");
    fs::remove_dir(&record).expect("removed");
    let socket = std::os::unix::net::UnixListener::bind(&record).expect("a socket");
    tampered(&state_of(&path), "not a file");
    drop(socket);
}

#[test]
fn a_record_of_a_gigabyte_is_refused_unread() {
    let (_temp, path) = store_with(1);
    let file = fs::File::create(path.join("runs").join(NAME)).expect("a file");
    file.set_len(1 << 30).expect("sparse");
    tampered(&state_of(&path), "has 1073741824 bytes, more than the 67108864");
}

#[test]
fn names_that_would_fool_a_terminal_are_printed_harmlessly() {
    let (_temp, path) = store_with(1);
    for name in [&b"\x1b[2J.json"[..], b"\xff\xfe", b"a\nOK", b"(conflicted copy).json"] {
        fs::write(path.join("runs").join(OsStr::from_bytes(name)), "{}").expect("a file");
    }
    let found = state_of(&path);
    tampered(
        &found,
        r"`runs/\x1b[2J.json`: only records and their signatures belong in this folder, and this is the name of neither",
    );
    tampered(
        &found,
        r"`runs/\xff\xfe`: only records and their signatures belong in this folder, and this is the name of neither",
    );
    tampered(
        &found,
        r"`runs/a\nOK`: only records and their signatures belong in this folder, and this is the name of neither",
    );
    assert!(found.1.iter().all(|finding| !finding.contains(char::is_control)), "{found:?}");
    assert!(append(&path, "a", 2).is_err());
}

#[test]
fn keys_that_would_fool_a_terminal_are_printed_harmlessly() {
    let (_temp, path) = store_with(1);
    let record = path.join("runs").join(&records_in(&path)[0]);
    let text = fs::read_to_string(&record).expect("text");
    let hostile = text.replacen("\"seq\":1", r#""seq":1,"\r\u001b[2KOK\u202e\n":1"#, 1);
    assert_ne!(hostile, text);
    fs::write(&record, &hostile).expect("written");
    let found = state_of(&path);
    tampered(&found, r"unknown field `\r\u{1b}[2KOK\u{202e}\n`");
    assert!(found.1.iter().all(|finding| finding.chars().all(is_harmless)), "{found:?}");
    let twice = text.replacen("\"seq\":1", r#""\u001b[2K":1,"\u001b[2K":1,"seq":1"#, 1);
    fs::write(&record, &twice).expect("written");
    tampered(&state_of(&path), r"the key `\u{1b}[2K` occurs twice");
    // What a run says that finds such a store.
    let refused = append(&path, "a", 2).expect_err("a broken chain is not continued");
    let why = std::error::Error::source(&refused).expect("a cause").to_string();
    assert!(why.contains("occurs twice") && why.chars().all(is_harmless), "{why}");
}

#[test]
fn what_file_managers_leave_everywhere_is_no_finding() {
    let (_temp, path) = store_with(1);
    for area in ["runs", "started", "packs"] {
        for name in [".DS_Store", "Thumbs.db"] {
            fs::write(path.join(area).join(name), "x").expect("a file");
        }
    }
    assert_eq!(state_of(&path), (State::Ok, Vec::new()));
    assert_eq!(StoreReader::open(&path, super::PATIENCE).expect("a store").started().expect("listed").1.len(), 0);
    append(&path, "a", 2).expect("committed");
}

#[test]
fn anything_else_beside_the_records_is_foreign() {
    let (_temp, path) = store_with(1);
    let record = records_in(&path).remove(0);
    let left_by_editors = [format!("{record}~"), format!(".{record}.swp"), format!("#{record}#")];
    let others = ["notes.txt~", ".notes.swp", "~", ".DS_Store~"].map(str::to_owned);
    for name in left_by_editors.into_iter().chain(others) {
        fs::write(path.join("runs").join(&name), "an older text").expect("a file");
        tampered(
            &state_of(&path),
            &format!(
                "`runs/{name}`: only records and their signatures belong in this folder, and this is the name of neither"
            ),
        );
        append(&path, "a", 2).expect_err("it is not continued");
        fs::remove_file(path.join("runs").join(name)).expect("removed");
    }
    append(&path, "a", 2).expect("committed");
}

#[test]
fn what_is_no_file_is_no_signature_and_nobody_waits_for_it() {
    let (_temp, path) = store_with(1);
    let note = path.join("runs").join(&records_in(&path)[0]).with_extension("note");
    mknodat(CWD, &note, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a FIFO");
    tampered(&state_of(&path), "the note beside it is not its signature: it cannot be read");
    tampered(&state_of(&path), "is a FIFO, not a file");
    fs::remove_file(&note).expect("removed");
    symlink("/dev/zero", &note).expect("a link");
    tampered(&state_of(&path), "is a symbolic link, not a file");
    fs::remove_file(&note).expect("removed");
    fs::File::create(&note).and_then(|file| file.set_len(1 << 30)).expect("sparse");
    tampered(&state_of(&path), "has 1073741824 bytes, more than the 16384");
    let hostile = "\u{1b}[2K\n\n\u{2014} \u{202e}OK AAAAAAA=\n";
    fs::write(&note, hostile).expect("written");
    let found = state_of(&path);
    tampered(&found, "record 1 of `a`");
    assert!(found.1.iter().all(|finding| finding.chars().all(is_harmless)), "{found:?}");
}

#[test]
fn a_store_that_others_own_or_may_read_is_verified_and_noted() {
    let (_temp, path) = store_with(2);
    let store = StoreReader::open(&path, super::PATIENCE).expect("a store");
    let notes = |user| -> Vec<String> {
        let checks = Checks { last_seen: None, first_use: FirstUse::Trust, user };
        let verification = verify_store(&store, checks, &mut |_, _| {}).expect("it can be read");
        assert_eq!(verification.state(), State::Ok, "{:?}", verification.findings);
        verification.notes.iter().skip(1).map(ToString::to_string).collect()
    };
    let me = super::user();
    assert_eq!(notes(me), [""; 0]);
    let owner = format!("`.` (and 7 more) belongs to user {me}, and you are user {}", me + 1);
    assert_eq!(notes(me + 1), [owner]);
    let record = path.join("runs").join(&records_in(&path)[1]);
    fs::set_permissions(&record, fs::Permissions::from_mode(0o644)).expect("opened");
    let file = format!("runs/{}", records_in(&path)[1]);
    assert_eq!(notes(me), [format!("others may read or write `{file}` (mode 0644)")]);
    fs::set_permissions(path.join("packs"), fs::Permissions::from_mode(0o777)).expect("opened");
    assert_eq!(notes(me), ["others may read or write `packs` (and 1 more) (mode 0777)"]);
}

#[test]
fn a_hundred_thousand_records_that_are_none_are_all_named() {
    let (_temp, path) = store_with(1);
    for number in 0..100_000_u32 {
        fs::File::create(path.join("runs").join(format!("20261116T093000.120Z-{number:08x}.json"))).expect("a file");
    }
    let (state, findings) = state_of(&path);
    assert_eq!((state, findings.len()), (State::Tampered, 100_000));
}

#[test]
fn a_store_or_a_part_of_it_that_is_a_link_is_not_followed() {
    let (temp, path) = store_with(1);
    let link = temp.path().join("link");
    symlink(&path, &link).expect("a link");
    let error = StoreReader::open(&link, super::PATIENCE).expect_err("a link").to_string();
    assert!(error.contains("symbolic link"), "{error}");
    fs::rename(path.join("runs"), temp.path().join("elsewhere")).expect("moved");
    symlink(temp.path().join("elsewhere"), path.join("runs")).expect("a link");
    StoreReader::open(&path, super::PATIENCE).expect_err("its runs are a link");
}

#[test]
fn a_read_only_store_is_verified_and_not_written() {
    let (_temp, path) = store_with(2);
    for entry in ["runs", "packs", "started", ""] {
        fs::set_permissions(path.join(entry), fs::Permissions::from_mode(0o500)).expect("closed");
    }
    assert_eq!(state_of(&path), (State::Ok, Vec::new()));
    for entry in ["", "runs", "packs", "started"] {
        fs::set_permissions(path.join(entry), fs::Permissions::from_mode(0o700)).expect("opened");
    }
}
