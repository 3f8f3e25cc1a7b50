//! Tests of what can be done to a journal, and of what a crash does to it.

use std::fs;

use super::super::writer::tests::{answer, header, hold_remembering, id, usd};
use super::super::writer::{Header, Journal};
use super::*;
use eval_evidence::files::Dir;
use eval_model::advice::{Advice as _, Exit};

/// A store with the journal of a run that was killed: seven lines, of which two are answers, all of them remembered.
struct Scene {
    temp: tempfile::TempDir,
    header: Header,
}

impl Scene {
    fn new() -> Self {
        let scene = Self { temp: tempfile::tempdir().expect("a folder"), header: header() };
        let journal = scene.begin();
        for case in ["001-a", "002-b"] {
            journal.reserved(&id(case), Digest::of(b"case"), usd(0.5)).expect("written");
            journal.finished(answer(case)).expect("written");
        }
        journal.reserved(&id("003-c"), Digest::of(b"case"), usd(0.5)).expect("written");
        scene
    }

    fn begin(&self) -> Journal {
        self.place().create(self.header.clone(), "boot-1".to_owned()).expect("a journal")
    }

    fn place(&self) -> JournalPlace {
        self.place_of("state", FirstUse::Trust)
    }

    /// The journal as it is seen by whoever has this state directory.
    fn place_of(&self, state: &str, first_use: FirstUse) -> JournalPlace {
        hold_remembering(self.temp.path(), Some(&self.temp.path().join(state)), first_use).expect("it is nobody's")
    }

    fn lines(&self) -> Vec<String> {
        let text = fs::read_to_string(&self.place().path).expect("a journal");
        text.split_inclusive('\n').map(str::to_owned).collect()
    }

    fn write(&self, lines: &[String]) {
        fs::write(&self.place().path, lines.concat()).expect("written");
    }

    /// Replaces the journal by these lines, with every hash made anew.
    fn write_chained(&self, lines: &[String]) {
        let mut before: Option<Digest> = None;
        let mut chained = Vec::new();
        for line in lines {
            let line = match (before, line.split_once("\",")) {
                (Some(before), Some((_, rest))) => format!("{{\"prev\":\"{before}\",{rest}"),
                _ => line.clone(),
            };
            before = Some(Digest::of(line.as_bytes()));
            chained.push(line);
        }
        self.write(&chained);
    }

    fn find(&self) -> FoundJournal {
        self.place().find(|_| false).expect("it can be read")
    }

    #[track_caller]
    fn basis(&self) -> Basis {
        match self.find() {
            FoundJournal::Whole(contents) => contents.basis(),
            other => panic!("{other:?}"),
        }
    }

    /// Why the journal is not believed, without its path.
    #[track_caller]
    fn broken(&self) -> String {
        match self.find() {
            FoundJournal::Broken(error) => {
                assert_eq!(error.exit(), Exit::EvidenceBroken, "{error}");
                let hint = error.hint().expect("what to do");
                assert!(hint.contains("leave out --resume to start another run: this one stays counted"), "{hint}");
                error.to_string().replace(&format!(" `{}`", self.place().path.display()), "")
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_journal_that_was_left_alone_is_believed() {
    let scene = Scene::new();
    assert_eq!(scene.lines().len(), 7);
    assert_eq!(scene.basis(), Basis::Memory);
    // A torn line was never durable, so nobody remembers it.
    let mut lines = scene.lines();
    lines.push("{\"prev\":\"".to_owned());
    scene.write(&lines);
    assert_eq!(scene.basis(), Basis::Memory);
}

#[test]
fn every_line_but_the_first_carries_the_hash_of_the_one_before() {
    let lines = Scene::new().lines();
    assert!(lines[0].starts_with("{\"kind\":\"run\","), "{}", lines[0]);
    for pair in lines.windows(2) {
        let prev = format!("{{\"prev\":\"{}\",\"kind\":", blake3::hash(pair[0].as_bytes()).to_hex());
        assert!(pair[1].starts_with(&prev), "{}", pair[1]);
    }
}

#[test]
fn lines_that_were_dropped_are_noticed_by_the_chain_or_else_by_the_memory() {
    let scene = Scene::new();
    let whole = scene.lines();
    let without: Vec<_> = whole.iter().filter(|line| !line.contains("\"finished\"")).cloned().collect();
    scene.write(&without);
    let said =
        "line 4 of the journal does not follow line 3: one of them was changed, or lines between them were removed";
    assert_eq!(scene.broken(), said);
    scene.write_chained(&without);
    assert_eq!(scene.broken(), "line 6 of the journal is gone or damaged: this machine remembers 7 lines");
}

#[test]
fn an_answer_that_was_edited_is_noticed_by_the_chain_or_else_by_the_memory() {
    let scene = Scene::new();
    let mut lines = scene.lines();
    lines[3] = lines[3].replace("verbatim", "forged");
    scene.write(&lines);
    assert!(scene.broken().starts_with("line 5 of the journal does not follow line 4: "), "{}", scene.broken());
    scene.write_chained(&lines);
    let said = "line 7 of the journal is not the one that this machine remembers: it was changed, or one before it was";
    assert_eq!(scene.broken(), said);
    // Also if so much is added that it is longer than before.
    lines.extend(lines.clone().drain(5..));
    scene.write_chained(&lines);
    assert_eq!(scene.broken(), said);
}

#[test]
fn a_tail_that_was_cut_off_or_damaged_is_noticed_wherever_it_begins() {
    let scene = Scene::new();
    let whole = scene.lines();
    for left in 1..whole.len() {
        let said = format!("line {} of the journal is gone or damaged: this machine remembers 7 lines", left + 1);
        scene.write(&whole[..left]);
        assert_eq!(scene.broken(), said);
        // As a crash would leave it, if it had not been durable.
        let mut damaged = whole[..=left].to_vec();
        damaged[left].truncate(20);
        scene.write(&damaged);
        assert_eq!(scene.broken(), said);
    }
    scene.write(&[]);
    assert_eq!(scene.broken(), "line 1 of the journal is gone or damaged: this machine remembers 7 lines");
    fs::remove_file(&scene.place().path).expect("removed");
    assert_eq!(scene.broken(), "the journal is gone: this machine remembers 7 lines of it");
}

#[test]
fn a_last_line_that_no_crash_can_leave_so_is_not_taken_for_torn() {
    let scene = Scene::new();
    let mut lines = scene.lines();
    let last = lines.len() - 1;
    lines[last] = lines[last].replacen("prev", "before", 1);
    scene.write(&lines);
    assert!(scene.broken().starts_with("line 7 of the journal does not follow line 6: "), "{}", scene.broken());
    scene.write(&["{\"kind\":\"run\",\"schema_version\":2}\n".to_owned()]);
    assert!(scene.broken().starts_with("line 1 of the journal is not one of this program: "), "{}", scene.broken());
}

#[test]
fn a_journal_of_another_run_is_noticed() {
    let scene = Scene::new();
    let whole = scene.lines();
    let other = Scene {
        header: Header { started_marker: Digest::of(b"another marker"), ..scene.header.clone() },
        ..Scene::new()
    };
    fs::remove_file(&other.place().path).expect("removed");
    drop(other.begin());
    let mut lines = other.lines();
    lines.extend(whole[2..].iter().cloned());
    scene.write_chained(&lines);
    let said = "line 1 of the journal is not the one that this machine remembers: it was changed, or one before it was";
    assert_eq!(scene.broken(), said);
}

#[test]
fn what_is_not_remembered_is_taken_on_trust_and_says_so_for_good() {
    let scene = Scene::new();
    let found = |state: &str| match scene.place_of(state, FirstUse::Refuse).find(|_| false).expect("readable") {
        FoundJournal::Whole(contents) => *contents,
        other => panic!("{other:?}"),
    };
    let elsewhere = found("another state");
    assert_eq!((elsewhere.basis(), elsewhere.is_on_trust()), (Basis::Trust, true));
    let refused = scene.place_of("another state", FirstUse::Refuse).require_trust().expect_err("it must be said");
    assert_eq!(refused.exit(), Exit::EvidenceBroken);
    assert!(refused.hint().expect("what to do").starts_with("say --trust-on-first-use "), "{:?}", refused.hint());
    let place = scene.place_of("another state", FirstUse::Trust);
    drop(place.go_on(&elsewhere, "boot-2".to_owned(), elsewhere.cap()).expect("it goes on"));
    drop(place);
    let again = found("another state");
    assert_eq!((again.basis(), again.is_on_trust()), (Basis::Memory, true), "the journal says it itself now");
    let place = scene.place_of("another state", FirstUse::Trust);
    drop(place.go_on(&again, "boot-3".to_owned(), again.cap()).expect("it goes on"));
    drop(place);
    // The first machine does not remember what the other one wrote.
    assert_eq!(found("state").basis(), Basis::Trust);
}

#[test]
fn a_journal_is_one_line_ahead_after_a_crash_and_never_more() {
    let scene = Scene::new();
    for _ in 0..3 {
        let FoundJournal::Whole(contents) = scene.find() else { panic!("it is not believed") };
        assert_eq!(contents.basis(), Basis::Memory);
        let place = scene.place();
        let remembered = place.memory.recall().expect("readable");
        drop(place.go_on(&contents, "boot-2".to_owned(), contents.cap()).expect("it goes on"));
        // As if the process had died after its line and before it was remembered.
        let RecalledJournal::Seen(mut seen) = remembered else { panic!("{remembered:?}") };
        (seen.lines, seen.last_line) = (contents.lines.count, contents.digest_of_line(contents.lines.count));
        place.memory.remember(seen).expect("remembered");
    }
    assert_eq!(scene.lines().len(), 10);
    assert_eq!(scene.basis(), Basis::Memory);
}

#[test]
fn no_crash_at_the_beginning_or_at_the_end_of_a_journal_raises_an_alarm() {
    let scene = Scene::new();
    let is_nothing = || matches!(scene.find(), FoundJournal::Nothing);
    let place = scene.place();
    place.memory.leave().expect("remembered");
    drop(place);
    assert_eq!(scene.basis(), Basis::Memory, "it was about to be removed");
    fs::remove_file(&scene.place().path).expect("removed");
    assert!(is_nothing(), "it was removed and not forgotten yet");
    // Another begins: what is remembered of it, its empty file, its first line.
    let started_marker = Digest::of(b"another marker");
    let place = scene.place();
    place.memory.remember(SeenJournal { started_marker, lines: 0, last_line: None }).expect("remembered");
    drop(place);
    assert!(is_nothing());
    fs::write(&scene.place().path, "").expect("made");
    assert!(is_nothing());
    let other = Scene { header: Header { started_marker, ..scene.header.clone() }, ..Scene::new() };
    fs::remove_file(&other.place().path).expect("removed");
    drop(other.begin());
    scene.write(&other.lines()[..1]);
    assert_eq!(scene.basis(), Basis::Memory);
}

#[test]
fn what_is_remembered_of_a_run_that_is_over_says_nothing_about_another() {
    let scene = Scene::new();
    let marker = scene.header.started_marker;
    fs::remove_file(&scene.place().path).expect("removed");
    let found = scene.place().find(|run| run == marker).expect("readable");
    assert!(matches!(found, FoundJournal::Nothing), "{found:?}");
}

#[test]
fn a_damaged_memory_is_not_relied_on() {
    let scene = Scene::new();
    let folder = scene.temp.path().join("state/last-seen");
    for entry in fs::read_dir(folder).expect("listed") {
        fs::write(entry.expect("an entry").path(), "damaged").expect("written");
    }
    assert!(scene.broken().starts_with("what this machine remembers of the journal cannot be relied on: "));
}

#[test]
fn nothing_is_written_behind_a_line_that_could_not_be_remembered() {
    let scene = Scene::new();
    let FoundJournal::Whole(contents) = scene.find() else { panic!("it is not believed") };
    let place = scene.place();
    let journal = place.go_on(&contents, "boot-2".to_owned(), contents.cap()).expect("it goes on");
    let folder = scene.temp.path().join("state/last-seen");
    let name = fs::read_dir(&folder).expect("listed").next().expect("a file").expect("an entry").file_name();
    // Where the memory is to be written there is something that cannot be replaced.
    let in_the_way = format!(".tmp-{}", name.to_str().expect("UTF-8"));
    Dir::open_ambient(&folder).expect("it opens").child_or_new(&in_the_way).expect("a folder");
    let error = journal.finished(answer("003-c")).expect_err("it is not remembered");
    assert!(error.to_string().starts_with("eval-host could not remember how far the journal "), "{error}");
    assert_eq!(error.exit(), Exit::HarnessError);
    fs::remove_dir(folder.join(in_the_way)).expect("removed");
    journal.finished(answer("003-c")).expect_err("nothing is written behind it");
    drop((journal, place));
    assert_eq!((scene.lines().len(), scene.basis()), (9, Basis::Memory), "it is one line ahead");
}
