//! Tests of the journal: what a crash may leave of it, and what is read back.

use std::fs;
use std::time::Duration;

use super::super::contents::InFlight;
use super::*;
use crate::answers::{Answer, ObtainedAnswer};
use crate::description::tests::description;
use eval_cage::Identity;
use eval_evidence::verify::{FirstUse, LastSeenFile};
use eval_model::contract::{CapturedStream, Meter};
use eval_model::outcome::NoOutput;

fn place() -> (tempfile::TempDir, JournalPlace) {
    let store = tempfile::tempdir().expect("a folder");
    let place = hold(store.path(), None).expect("nobody else is there");
    (store, place)
}

fn hold(store: &Path, shard: Option<&str>) -> Result<JournalPlace, JournalError> {
    let shard = shard.map(|shard| shard.parse().expect("a shard"));
    let mut run = description();
    run.shard = shard;
    JournalPlace::hold(store, &run, "process 41", &memory(store, Some(&store.join("state")), FirstUse::Trust))
}

fn memory(store: &Path, state: Option<&Path>, first_use: FirstUse) -> StoreMemory {
    let open = |state| LastSeenFile::open(state, store, Duration::from_secs(60)).expect("it opens");
    StoreMemory { last_seen: state.map(open), first_use, user: rustix::process::geteuid().as_raw() }
}

/// The journal of a whole run, and what is remembered of it in `state`.
pub(in crate::live::journal) fn hold_remembering(
    store: &Path,
    state: Option<&Path>,
    first_use: FirstUse,
) -> Result<JournalPlace, JournalError> {
    JournalPlace::hold(store, &description(), "process 41", &memory(store, state, first_use))
}

pub(in crate::live::journal) fn header() -> Header {
    Header::new(description(), RunMark::new().expect("randomness"), Digest::of(b"marker"))
}

pub(in crate::live::journal) fn id(text: &str) -> CaseId {
    text.parse().expect("a case id")
}

pub(in crate::live::journal) fn usd(dollars: f64) -> Usd {
    Usd::from_dollars(dollars).expect("an amount")
}

pub(in crate::live::journal) fn answer(case_id: &str) -> StoredAnswer {
    let obtained = ObtainedAnswer {
        answer: Answer {
            output: Ok("{ \"verbatim\":1 }".to_owned()),
            meter: Meter { cost_usd: 0.25, duration_seconds: 1.0 },
            cost_is_estimate: false,
            budget_usd: Some(0.5),
            agent: None,
            stderr: CapturedStream::default(),
        },
        cassette: None,
        warnings: Vec::new(),
    };
    StoredAnswer::new(&id(case_id), Digest::of(case_id.as_bytes()), &obtained)
}

fn group(number: i32) -> Identity {
    Identity { group: number, leader_started: Some(7) }
}

#[test]
fn a_journal_tells_what_is_done_from_what_was_lost() {
    let (_store, place) = place();
    assert!(place.read().expect("nothing to read").is_none());
    let header = header();
    let journal = place.create(header.clone(), "boot-1".to_owned()).expect("a journal");
    for case in ["001-a", "002-b", "003-c"] {
        journal.reserved(&id(case), Digest::of(b"case"), usd(0.5)).expect("written");
    }
    journal.running(&id("001-a"), &group(41)).expect("written");
    journal.running(&id("002-b"), &group(42)).expect("written");
    journal.finished(answer("001-a")).expect("written");
    drop(journal);

    let contents = place.read().expect("it reads").expect("an unfinished run");
    assert_eq!(contents.header, header);
    assert_eq!(contents.finished.into_iter().collect::<Vec<_>>(), [(id("001-a"), answer("001-a"))]);
    assert_eq!(
        contents.lost,
        [
            InFlight { case_id: id("002-b"), charged: usd(0.5), agent: Some(("boot-1".to_owned(), group(42))) },
            InFlight { case_id: id("003-c"), charged: usd(0.5), agent: None },
        ]
    );
}

#[test]
fn what_was_lost_stays_lost_when_the_case_is_run_again() {
    let (_store, place) = place();
    let journal = place.create(header(), "boot-1".to_owned()).expect("a journal");
    journal.reserved(&id("001-a"), Digest::of(b"case"), usd(0.5)).expect("written");
    let contents = place.read().expect("it reads").expect("an unfinished run");
    let journal = place.go_on(&contents, "boot-2".to_owned(), contents.cap()).expect("it goes on");
    journal.reserved(&id("001-a"), Digest::of(b"case"), usd(0.5)).expect("written");
    journal.finished(answer("001-a")).expect("written");
    let contents = place.read().expect("it reads").expect("an unfinished run");
    assert_eq!(contents.lost.len(), 1);
    assert_eq!(contents.charged(), [usd(0.25), usd(0.5)]);
}

#[test]
fn a_case_that_the_cap_ended_is_nothing_to_record() {
    let (_store, place) = place();
    let journal = place.create(header(), "boot-1".to_owned()).expect("a journal");
    let has_result = || place.read().expect("it reads").expect("an unfinished run").has_result();
    assert!(!has_result());
    let ended = ObtainedAnswer { answer: Answer::none(NoOutput::SkippedCostCap), cassette: None, warnings: Vec::new() };
    journal.finished(StoredAnswer::new(&id("001-a"), Digest::of(b"case"), &ended)).expect("written");
    assert!(!has_result());
    journal.finished(answer("002-b")).expect("written");
    assert!(has_result());
}

#[test]
fn a_journal_says_under_which_caps_its_run_went_on() {
    let (_store, place) = place();
    let journal = place.create(header(), "boot-1".to_owned()).expect("a journal");
    let caps = || place.read().expect("it reads").expect("an unfinished run").caps().collect::<Vec<_>>();
    drop(journal);
    for (cap, expected) in [(5.0, &[5.0][..]), (7.5, &[5.0, 7.5]), (7.5, &[5.0, 7.5]), (20.0, &[5.0, 7.5, 20.0])] {
        let mut contents = place.read().expect("it reads").expect("an unfinished run");
        drop(place.go_on(&contents, "boot-2".to_owned(), usd(cap)).expect("it goes on"));
        let expected: Vec<_> = expected.iter().copied().map(usd).collect();
        assert_eq!(caps(), expected);
        contents.goes_on_under(usd(cap));
        assert_eq!((contents.caps().collect::<Vec<_>>(), contents.cap()), (expected, usd(cap)));
    }
}

#[test]
fn a_journal_that_is_cut_anywhere_reads_as_a_shorter_one_and_can_be_continued() {
    let (_store, place) = place();
    let journal = place.create(header(), "boot-1".to_owned()).expect("a journal");
    for case in ["001-a", "002-b"] {
        journal.reserved(&id(case), Digest::of(b"case"), usd(0.5)).expect("written");
        journal.finished(answer(case)).expect("written");
    }
    let whole = fs::read(&place.path).expect("a journal");
    let first_line = whole.iter().position(|byte| *byte == b'\n').expect("a line");
    for length in 0..=whole.len() {
        let contents = JournalContents::parse(&place.path, &whole[..length]).expect("a torn tail is no error");
        assert_eq!(contents.is_none(), length <= first_line, "{length}");
        // Every length is read; continuing takes a disk, so it is tried at the ends of lines and around them.
        let is_near_an_end = whole[length.saturating_sub(1)..whole.len().min(length + 2)].contains(&b'\n');
        if let (Some(contents), true) = (contents, is_near_an_end) {
            fs::write(&place.path, &whole[..length]).expect("cut");
            drop(place.go_on(&contents, "boot-2".to_owned(), contents.cap()).expect("it goes on"));
            let again = place.read().expect("it reads").expect("an unfinished run");
            assert_eq!((&again.finished, &again.lost), (&contents.finished, &contents.lost), "{length}");
        }
    }
}

#[test]
fn a_journal_that_is_broken_before_its_end_is_refused() {
    let (_store, place) = place();
    drop(place.create(header(), "boot-1".to_owned()).expect("a journal"));
    let mut text = fs::read_to_string(&place.path).expect("a journal");
    text = text.replacen("boot_id", "boot-id", 1) + "{\"kind\":\"process\",\"boot_id\":\"x\"}\n";
    fs::write(&place.path, text).expect("a file");
    let error = place.read().expect_err("it is broken").to_string();
    assert!(error.starts_with("line 2 of the journal "), "{error}");
}

#[test]
fn a_journal_is_private_and_is_kept_or_removed_as_asked() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_store, place) = place();
    let journal = place.create(header(), String::new()).expect("a journal");
    assert_eq!(fs::metadata(&place.path).expect("a file").permissions().mode() & 0o777, 0o600);
    assert!(place.create(header(), String::new()).is_err(), "a journal is never overwritten");
    let aside = place.set_aside("20261116").expect("set aside");
    assert!(aside.exists() && place.read().expect("gone").is_none());
    drop(journal);
    place.create(header(), String::new()).expect("a journal").remove().expect("removed");
    assert!(place.read().expect("gone").is_none());
}

#[test]
fn nothing_is_written_behind_a_torn_line() {
    // A pipe takes what fits of a long line, and cannot be cut.
    let (mut reader, writer) = io::pipe().expect("a pipe");
    rustix::io::ioctl_fionbio(&writer, true).expect("it does not wait");
    let mut lines = Lines::new(File::from(std::os::fd::OwnedFd::from(writer)));
    assert_eq!(lines.append(&[b'x'; 1 << 20]).expect_err("a full pipe").kind(), io::ErrorKind::WouldBlock);
    rustix::io::ioctl_fionbio(&reader, true).expect("it does not wait");
    let mut torn = Vec::new();
    let _ = io::Read::read_to_end(&mut reader, &mut torn);
    assert!(!torn.is_empty() && torn.len() < 1 << 20, "a part was written: {}", torn.len());
    lines.append(b"next\n").expect_err("a line is torn");
    let nothing = io::Read::read(&mut reader, &mut [0]);
    assert_eq!(nothing.expect_err("an empty pipe").kind(), io::ErrorKind::WouldBlock);
}

#[test]
fn a_journal_belongs_to_one_at_a_time_and_says_to_whom() {
    let (store, place) = place();
    let journal = place.create(header(), String::new()).expect("a journal");
    drop(place);
    let error = hold(store.path(), None).expect_err("its run goes on").to_string();
    assert!(error.ends_with("/journals/vuln-remediation.jsonl` (process 41)"), "{error}");
    let shard = hold(store.path(), Some("1/2")).expect("a shard has a journal of its own");
    assert!(shard.read().expect("nothing to read").is_none());
    hold(store.path(), Some("2/2")).expect("and so has another");
    drop(journal);
    hold(store.path(), None).expect("its run is over");
}

#[test]
fn a_journal_that_was_torn_in_its_first_line_makes_way() {
    let (_store, place) = place();
    fs::write(&place.path, "{\"kind\":\"run\"").expect("a torn journal");
    drop(place.create(header(), String::new()).expect("a journal"));
    assert!(place.read().expect("it reads").is_some());
}

#[test]
fn what_is_no_regular_file_is_neither_followed_nor_waited_for() {
    let (store, place) = place();
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &place.path, fifo, rustix::fs::Mode::RWXU, 0).expect("a FIFO");
    let refused = |place: &JournalPlace| {
        let read = place.read().expect_err("it is no file");
        place.create(header(), String::new()).expect_err("nothing is put in its place");
        read.to_string()
    };
    let journal = place.path.display();
    assert_eq!(refused(&place), format!("the journal `{journal}` is a FIFO, not a file: move it away"));
    fs::remove_file(&place.path).expect("it is moved away");
    let target = store.path().join("elsewhere");
    std::os::unix::fs::symlink(&target, &place.path).expect("a link");
    assert_eq!(refused(&place), format!("the journal `{journal}` is a symbolic link, not a file: move it away"));
    assert!(!target.exists(), "nothing is written through a link");
}
