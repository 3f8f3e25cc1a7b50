//! Random histories of a store, beside a model of it that knows nothing of files: what `verify` says must be what the model
//! expects. proptest prints the history that fails, made as short as it can, and keeps its seed.

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::{Hand, PATIENCE, State, append_by, class, open, signer, user};
use crate::chain::Link;
use crate::store::StoreReader;
use crate::verify::{Checks, FirstUse, LastSeenFile, Verification, verify_store};

const CLASSES: [&str; 2] = ["a", "b"];

/// What happens to a store. Indices are taken modulo what is there.
#[derive(Debug, Clone)]
enum Step {
    Append {
        class: usize,
    },
    /// An append that dies before its record has its name.
    Crash {
        class: usize,
        is_whole: bool,
    },
    Verify,
    Edit {
        class: usize,
        record: usize,
    },
    Delete {
        class: usize,
        record: usize,
    },
}

fn step() -> impl Strategy<Value = Step> {
    let class = || 0..CLASSES.len();
    prop_oneof![
        4 => class().prop_map(|class| Step::Append { class }),
        2 => (class(), any::<bool>()).prop_map(|(class, is_whole)| Step::Crash { class, is_whole }),
        3 => Just(Step::Verify),
        1 => (class(), 0..8_usize).prop_map(|(class, record)| Step::Edit { class, record }),
        1 => (class(), 0..8_usize).prop_map(|(class, record)| Step::Delete { class, record }),
    ]
}

/// One record, or where one was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Whole(u32),
    Edited,
    Gone,
}

/// A record that never got its name: what it would follow, and whether all of it is there.
#[derive(Debug, Clone, Copy)]
struct Draft {
    class: usize,
    after: usize,
    parent: Option<Slot>,
    label: u32,
    is_whole: bool,
}

/// What a store is, and nothing of how.
#[derive(Debug, Clone, Default)]
struct Model {
    chains: [Vec<Slot>; 2],
    draft: Option<Draft>,
    /// How long each chain was when it was last found to hold, and what it ended with.
    seen: [Option<(usize, Slot)>; 2],
}

impl Model {
    /// A tail that is gone leaves nothing behind that a chain could show.
    fn forget_tails(&mut self) {
        for chain in &mut self.chains {
            while chain.last() == Some(&Slot::Gone) {
                chain.pop();
            }
        }
    }

    fn is_broken(&self) -> bool {
        self.chains.iter().flatten().any(|slot| !matches!(slot, Slot::Whole(_)))
    }

    fn is_rolled_back(&self) -> bool {
        let differs = |(chain, seen): (&Vec<Slot>, &Option<(usize, Slot)>)| {
            seen.is_some_and(|(length, last)| chain.get(length - 1) != Some(&last))
        };
        self.chains.iter().zip(&self.seen).any(differs)
    }

    fn state(&self) -> State {
        match (self.is_broken() || self.is_rolled_back(), self.draft) {
            (true, _) => State::Tampered,
            (false, Some(_)) => State::Incomplete,
            (false, None) => State::Ok,
        }
    }

    /// What a run does first: a draft becomes a record if it is whole and its place is free.
    fn finish(&mut self) {
        let Some(draft) = self.draft.take() else { return };
        let chain = &mut self.chains[draft.class];
        if draft.is_whole && chain.len() == draft.after && chain.last().copied() == draft.parent {
            chain.push(Slot::Whole(draft.label));
        }
    }

    fn remember(&mut self) {
        for (chain, seen) in self.chains.iter().zip(&mut self.seen) {
            if let Some(last) = chain.last() {
                *seen = Some((chain.len(), *last));
            }
        }
    }
}

/// A store on disk, and what it should be.
struct Scene {
    _temp: tempfile::TempDir,
    store: PathBuf,
    last_seen: LastSeenFile,
    model: Model,
    label: u32,
}

impl Scene {
    fn new() -> Self {
        let temp = tempfile::tempdir().expect("a temporary folder");
        let store = temp.path().join("store");
        open(&store);
        let last_seen = LastSeenFile::open(&temp.path().join("state"), &store, PATIENCE).expect("it opens");
        Self { _temp: temp, store, last_seen, model: Model::default(), label: 0 }
    }

    fn verified(&self) -> Verification {
        let store = StoreReader::open(&self.store, PATIENCE).expect("a store");
        let checks = Checks { last_seen: Some(&self.last_seen), first_use: FirstUse::Trust, user: user() };
        let mut verification = verify_store(&store, checks, &mut |_, _| {}).expect("it can be read");
        verification
            .check_signatures(&crate::anchor::TrustedKeys::default().trusting(signer().verifier()).expect("a key"));
        verification
    }

    fn path_of(&self, link: &Link) -> PathBuf {
        self.store.join("runs").join(link.file_name().as_str())
    }

    fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Append { class } => self.append(class).map(drop),
            Step::Crash { class, is_whole } => self.crash(class, is_whole),
            Step::Verify => self.verify(),
            Step::Edit { class, record } => self.change(class, record, Slot::Edited, &edit),
            Step::Delete { class, record } => self.change(class, record, Slot::Gone, &delete),
        }
    }

    /// A broken chain is not continued; any other is. (That a tail is gone, a run asks the last-seen head.)
    fn append(&mut self, index: usize) -> Result<Option<PathBuf>, TestCaseError> {
        self.label += 1;
        let hand = if self.label.is_multiple_of(2) { Hand::Signing } else { Hand::Plain };
        let appended = append_by(hand, &self.store, CLASSES[index], self.label);
        prop_assert_eq!(appended.is_err(), self.model.is_broken());
        let Ok(receipt) = appended else { return Ok(None) };
        self.model.finish();
        self.model.chains[index].push(Slot::Whole(self.label));
        prop_assert_eq!(receipt.link.position.seq, self.model.chains[index].len() as u64);
        Ok(Some(receipt.path))
    }

    fn crash(&mut self, index: usize, is_whole: bool) -> Result<(), TestCaseError> {
        let Some(path) = self.append(index)? else { return Ok(()) };
        let chain = &mut self.model.chains[index];
        chain.pop();
        let (after, parent) = (chain.len(), chain.last().copied());
        self.model.draft = Some(Draft { class: index, after, parent, label: self.label, is_whole });
        let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8");
        let draft = path.with_file_name(format!(".tmp-{name}"));
        fs::rename(&path, &draft).expect("back to a draft");
        if !is_whole {
            let bytes = fs::read(&draft).expect("readable");
            fs::write(&draft, &bytes[..bytes.len() / 2]).expect("cut");
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), TestCaseError> {
        let verification = self.verified();
        prop_assert_eq!(verification.state(), self.model.state(), "{:?}: {:?}", self.model, verification.findings);
        if verification.is_sound() {
            let started = verification.marker_heads();
            self.last_seen.advance(verification.store_id, verification.heads(), &started, None).expect("remembered");
            self.model.remember();
        }
        Ok(())
    }

    /// Does something to a record that is whole, if there is one.
    fn change(&mut self, index: usize, record: usize, slot: Slot, change: &dyn Fn(&Path)) -> Result<(), TestCaseError> {
        let links = self.verified().links;
        let of_class = links.values().filter(|link| link.position.task_class == class(CLASSES[index]));
        let of_class: Vec<_> = of_class.collect();
        if of_class.is_empty() {
            return Ok(());
        }
        let link = of_class[record % of_class.len()];
        change(&self.path_of(link));
        let place = usize::try_from(link.position.seq).expect("a few") - 1;
        self.model.chains[index][place] = slot;
        self.model.forget_tails();
        Ok(())
    }
}

fn edit(path: &Path) {
    let text = fs::read_to_string(path).expect("text");
    fs::write(path, text.replacen("\"agent\"", "\"agenT\"", 1)).expect("written");
}

/// With its signature: alone that would tell.
fn delete(path: &Path) {
    fs::remove_file(path).expect("removed");
    let note = path.with_extension("note");
    if note.exists() {
        fs::remove_file(note).expect("removed");
    }
}

/// A few, unless somebody asks for more: every append waits for the disk.
fn histories() -> u32 {
    std::env::var_os("PROPTEST_CASES").map_or(40, |_| ProptestConfig::default().cases)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: histories(), ..ProptestConfig::default() })]
    #[test]
    fn whatever_happens_to_a_store_verify_says_what_the_model_expects(steps in prop::collection::vec(step(), 1..14)) {
        let mut scene = Scene::new();
        for step in steps.iter().chain([&Step::Verify]) {
            scene.take(step)?;
        }
    }
}
