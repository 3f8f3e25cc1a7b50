//! Which keys are trusted, and for what.
//!
//! A keys file has a line per key. One that is retired is trusted for what its last checkpoint covers and for nothing later, so
//! that whoever finds the key afterwards can sign no new past. A rotation note, signed by the old key, brings the new one in.
//! Nothing here reads a file: the caller hands over texts, and says what a line names.

use std::io;

use super::checkpoint::{Checkpoint, OpenCheckpointError};
use super::note::{self, KeyError, NoteError, NoteSigner, NoteVerifier};

const KEY_ORIGIN: &str = "eval-host/key/v1";

/// The word between a key and its last checkpoint.
pub const RETIRED: &str = "retired";

/// The keys that are trusted.
#[derive(Debug, Clone, Default)]
pub struct TrustedKeys {
    keys: Vec<TrustedKey>,
    rotations: Vec<RotationNote>,
}

#[derive(Debug, Clone)]
struct TrustedKey {
    verifier: NoteVerifier,
    trust: Trust,
}

#[derive(Debug, Clone)]
enum Trust {
    Active,
    /// Its last checkpoint of each store that it signed for.
    Retired(Vec<Checkpoint>),
}

impl Trust {
    /// Whether the key may have signed what `is_covered` says of a last checkpoint.
    fn allows(&self, is_covered: impl Fn(&Checkpoint) -> bool) -> bool {
        match self {
            Self::Active => true,
            Self::Retired(last) => last.iter().any(is_covered),
        }
    }
}

/// How a key stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStanding {
    Unknown,
    Trusted,
    Retired,
}

/// A note by which one key brings in the next, and the name of its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RotationNote {
    pub name: String,
    pub text: String,
}

impl RotationNote {
    /// The note by which whoever trusts `old` trusts `new`.
    pub fn new(old: &NoteSigner, new: &NoteVerifier) -> Result<Self, NoteError> {
        Ok(Self { name: Self::name_for(new), text: old.sign(&format!("{KEY_ORIGIN}\n{new}\n"))? })
    }

    /// Whether a file's name is one of a rotation note.
    pub fn has_name(name: &str) -> bool {
        name.starts_with("rotation-") && name.ends_with(".txt")
    }

    fn name_for(new: &NoteVerifier) -> String {
        format!("rotation-{}.txt", new.id())
    }

    /// The key that it brings in, if one of the known keys says so.
    fn successor(&self, known: &[NoteVerifier]) -> Result<Option<NoteVerifier>, RotationError> {
        let text = match note::open(&self.text, known) {
            Ok(text) => text,
            Err(NoteError::Unsigned) => return Ok(None),
            Err(error) => return Err(RotationError::Note(error)),
        };
        let line = text.strip_prefix(KEY_ORIGIN).and_then(|rest| rest.strip_prefix('\n')?.strip_suffix('\n'));
        let new: NoteVerifier = line.ok_or(RotationError::Text)?.parse().map_err(RotationError::Key)?;
        let expected = Self::name_for(&new);
        if self.name == expected { Ok(Some(new)) } else { Err(RotationError::Name { expected }) }
    }
}

/// Why a keys file is refused.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    #[error("line {line} does not name a key to trust")]
    Line { line: usize, source: KeyLineError },
    #[error("the rotation note `{}` is refused", name.escape_default())]
    Rotation { name: String, source: RotationError },
}

/// What is wrong with a line of a keys file.
#[derive(Debug, thiserror::Error)]
pub enum KeyLineError {
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("behind a key there may only be `retired` and the file name of its last checkpoint")]
    Shape,
    #[error("`{}` is not the name of a file in the same folder", name.escape_default())]
    Name { name: String },
    #[error("its last checkpoint `{}` cannot be read", name.escape_default())]
    Read { name: String, source: io::Error },
    #[error("its last checkpoint `{}` is refused", name.escape_default())]
    Checkpoint { name: String, source: OpenCheckpointError },
    #[error("another line has the same key, and only one of them says that it is retired")]
    Both,
}

/// What is wrong with a rotation note that a trusted key may have signed.
#[derive(Debug, thiserror::Error)]
pub enum RotationError {
    #[error(transparent)]
    Note(NoteError),
    #[error("it is a signed note, but not one that names a key")]
    Text,
    #[error(transparent)]
    Key(KeyError),
    #[error("a note with this content is called `{expected}`")]
    Name { expected: String },
}

impl TrustedKeys {
    /// Reads a keys file. `checkpoint` gives the text of a file in its folder, and `rotations` are the rotation notes there.
    pub fn parse(
        text: &str,
        checkpoint: &dyn Fn(&str) -> io::Result<String>,
        rotations: Vec<RotationNote>,
    ) -> Result<Self, KeysError> {
        let mut keys = Self { keys: Vec::new(), rotations };
        for (index, line) in text.lines().enumerate() {
            if !line.is_empty() && !line.starts_with('#') {
                keys.add_line(line, checkpoint).map_err(|source| KeysError::Line { line: index + 1, source })?;
            }
        }
        keys.follow_rotations()?;
        Ok(keys)
    }

    fn add_line(&mut self, line: &str, checkpoint: &dyn Fn(&str) -> io::Result<String>) -> Result<(), KeyLineError> {
        let mut words = line.split(' ');
        let verifier: NoteVerifier = words.next().unwrap_or_default().parse()?;
        let trust = match (words.next(), words.next(), words.next()) {
            (None, ..) => Trust::Active,
            (Some(RETIRED), Some(name), None) => Trust::Retired(vec![last_checkpoint(name, &verifier, checkpoint)?]),
            _ => return Err(KeyLineError::Shape),
        };
        match (self.keys.iter_mut().find(|key| key.verifier == verifier).map(|key| &mut key.trust), trust) {
            (None, trust) => self.keys.push(TrustedKey { verifier, trust }),
            (Some(Trust::Active), Trust::Active) => {}
            (Some(Trust::Retired(there)), Trust::Retired(more)) => there.extend(more),
            (Some(_), _) => return Err(KeyLineError::Both),
        }
        Ok(())
    }

    /// Until there is nothing new: a key that was brought in may have brought in another. What a line says of a key counts more
    /// than how it came in.
    fn follow_rotations(&mut self) -> Result<(), KeysError> {
        let mut before = usize::MAX;
        while self.keys.len() != before {
            before = self.keys.len();
            for rotation in &self.rotations {
                let refused = |source| KeysError::Rotation { name: rotation.name.clone(), source };
                let new = rotation.successor(&verifiers(&self.keys)).map_err(refused)?;
                let is_new = |new: &NoteVerifier| self.keys.iter().all(|key| key.verifier != *new);
                self.keys.extend(new.filter(is_new).map(|verifier| TrustedKey { verifier, trust: Trust::Active }));
            }
        }
        Ok(())
    }

    /// Trusts one more key, whatever the keys file says of it, unless it is there already.
    pub fn trusting(mut self, verifier: &NoteVerifier) -> Result<Self, KeysError> {
        if self.standing(verifier) == KeyStanding::Unknown {
            self.keys.push(TrustedKey { verifier: verifier.clone(), trust: Trust::Active });
            self.follow_rotations()?;
        }
        Ok(self)
    }

    pub fn standing(&self, verifier: &NoteVerifier) -> KeyStanding {
        match self.trust(verifier) {
            None => KeyStanding::Unknown,
            Some(Trust::Active) => KeyStanding::Trusted,
            Some(Trust::Retired(_)) => KeyStanding::Retired,
        }
    }

    fn trust(&self, verifier: &NoteVerifier) -> Option<&Trust> {
        self.keys.iter().find(|key| key.verifier == *verifier).map(|key| &key.trust)
    }

    /// Reads a checkpoint that a trusted key has signed. A retired key is trusted up to its last one.
    pub fn open_checkpoint(&self, note: &str) -> Result<Checkpoint, OpenCheckpointError> {
        let known = verifiers(&self.keys);
        let (text, signers) = note::open_signed(note, &known)?;
        let checkpoint = Checkpoint::read(text)?;
        let first = *signers.first().ok_or(NoteError::Unsigned)?;
        match self.first_allowed(first, &signers, |last| checkpoint.is_within(last)) {
            Ok(_) => Ok(checkpoint),
            Err(retired) => Err(OpenCheckpointError::Retired(retired.name().to_owned())),
        }
    }

    /// The text of a note, and the name of a key that is trusted for everything and signed it, if there is one. A retired key
    /// does not count: nobody can tell when it signed.
    pub fn signed_text<'a>(&self, note: &'a str) -> Result<(&'a str, Option<String>), NoteError> {
        let known = self.verifiers();
        let signed = note::read(note, &known)?;
        // No checkpoint covers a free text.
        let first = signed.known.first();
        let signer = first.and_then(|first| self.first_allowed(first, &signed.known, |_| false).ok());
        Ok((signed.text, signer.map(|signer| signer.name().to_owned())))
    }

    pub(super) fn verifiers(&self) -> Vec<NoteVerifier> {
        verifiers(&self.keys)
    }

    /// The first signer that may have signed this, or else the first one, which was retired before.
    pub(super) fn first_allowed<'k>(
        &self,
        first: &'k NoteVerifier,
        signers: &[&'k NoteVerifier],
        is_covered: impl Fn(&Checkpoint) -> bool,
    ) -> Result<&'k NoteVerifier, &'k NoteVerifier> {
        let may = |signer: &&&NoteVerifier| self.trust(signer).is_some_and(|trust| trust.allows(&is_covered));
        signers.iter().find(may).copied().ok_or(first)
    }
}

fn verifiers(keys: &[TrustedKey]) -> Vec<NoteVerifier> {
    keys.iter().map(|key| key.verifier.clone()).collect()
}

/// The checkpoint that a retired key may have signed last. It must have signed that one itself.
fn last_checkpoint(
    name: &str,
    verifier: &NoteVerifier,
    checkpoint: &dyn Fn(&str) -> io::Result<String>,
) -> Result<Checkpoint, KeyLineError> {
    let name = name.to_owned();
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\0']) {
        return Err(KeyLineError::Name { name });
    }
    match checkpoint(&name) {
        Ok(note) => Checkpoint::open(&note, std::slice::from_ref(verifier))
            .map_err(|source| KeyLineError::Checkpoint { name, source }),
        Err(source) => Err(KeyLineError::Read { name, source }),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::error::Error as _;

    use super::super::checkpoint::{ClassHeads, MarkerHead};
    use super::super::record_note::{RecordNote, RecordSignature, judge_record_note};
    use super::*;
    use crate::chain::{Head, Link, Position, StoreId, hash_of};
    use eval_model::ids::{Digest, RecordHash};

    const STORE: StoreId = StoreId::from_bytes([3; 16]);

    fn key(name: &str) -> NoteSigner {
        NoteSigner::generate(name).expect("a key")
    }

    /// A checkpoint of a store with so many records and markers of `a`.
    fn checkpoint_of(store_id: StoreId, records: u64, markers: u64) -> Checkpoint {
        let record = (records > 0).then(|| Head { seq: records, hash: hash_of(format!("a{records}").as_bytes()) });
        let marker =
            (markers > 0).then(|| MarkerHead { seq: markers, digest: Digest::of(format!("m{markers}").as_bytes()) });
        let class = ("a".parse().expect("a class"), ClassHeads { record, marker });
        Checkpoint::new(store_id, "2026-11-16T09:30:00.120Z".parse().expect("a time"), [class])
    }

    fn note(signer: &NoteSigner, records: u64, markers: u64) -> String {
        checkpoint_of(STORE, records, markers).sign(signer).expect("signed")
    }

    fn record(seq: u64) -> Link {
        Link {
            position: Position {
                store_id: STORE,
                task_class: "a".parse().expect("a class"),
                seq,
                prev_hash: RecordHash::GENESIS,
            },
            finished_at: "2026-11-16T09:30:00.120Z".parse().expect("a time"),
            hash: hash_of(format!("a{seq}").as_bytes()),
        }
    }

    fn parse_with(text: &str, files: &[(&str, String)], rotations: &[RotationNote]) -> Result<TrustedKeys, KeysError> {
        let files: BTreeMap<_, _> = files.iter().cloned().collect();
        let read = |name: &str| files.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into());
        TrustedKeys::parse(text, &read, rotations.to_vec())
    }

    fn parse(text: &str) -> Result<TrustedKeys, KeysError> {
        parse_with(text, &[], &[])
    }

    #[test]
    fn a_free_text_is_signed_by_an_active_key_and_not_by_a_retired_one() {
        let [active, retired, stranger] = ["active", "retired", "stranger"].map(key);
        let last = [("last.txt", note(&retired, 1, 0))];
        let lines = format!("{}\n{} retired last.txt\n", active.verifier(), retired.verifier());
        let keys = parse_with(&lines, &last, &[]).expect("a keys file");
        let signed = |signer: &NoteSigner| signer.sign("a text\n").expect("signed");
        assert_eq!(keys.signed_text(&signed(&active)), Ok(("a text\n", Some("active".to_owned()))));
        for other in [&retired, &stranger] {
            assert_eq!(keys.signed_text(&signed(other)), Ok(("a text\n", None)));
        }
        let changed = signed(&active).replacen("a text", "A text", 1);
        assert_eq!(keys.signed_text(&changed), Err(NoteError::BadSignature("active".to_owned())));
    }

    #[test]
    fn comments_and_empty_lines_are_passed_over_and_an_error_names_the_line() {
        let signer = key("k");
        let verifier = signer.verifier();
        let keys = parse(&format!("# trusted\n\n{verifier}\n{verifier}\n")).expect("a keys file");
        assert_eq!(keys.standing(verifier), KeyStanding::Trusted);
        assert_eq!(keys.standing(key("k").verifier()), KeyStanding::Unknown);
        let last = [("last.txt", note(&signer, 1, 0)), ("other.txt", note(&key("other"), 1, 0))];
        for (line, why) in [
            ("hello".to_owned(), "it is not a key: it must look like `<name>+<8 hexadecimal digits>+<base64>`"),
            (
                format!("{verifier} "),
                "behind a key there may only be `retired` and the file name of its last checkpoint",
            ),
            (format!("{verifier} retired"), "behind a key there may only be"),
            (format!("{verifier} retired last.txt x"), "behind a key there may only be"),
            (format!("{verifier} retired ../last.txt"), "`../last.txt` is not the name of a file in the same folder"),
            (format!("{verifier} retired none.txt"), "its last checkpoint `none.txt` cannot be read"),
            (format!("{verifier} retired other.txt"), "its last checkpoint `other.txt` is refused"),
            (format!("{verifier} retired last.txt\n{verifier}"), "another line has the same key"),
        ] {
            let error = parse_with(&format!("# trusted\n{line}\n"), &last, &[]).expect_err("refused");
            let number = 1 + line.lines().count();
            assert_eq!(error.to_string(), format!("line {number} does not name a key to trust"));
            let source = error.source().expect("a cause").to_string();
            assert!(source.starts_with(why), "{source}");
        }
    }

    #[test]
    fn a_retired_key_has_signed_what_its_last_checkpoint_covers_and_nothing_else() {
        let signer = key("old");
        let text = format!("{} retired last.txt\n", signer.verifier());
        let keys = parse_with(&text, &[("last.txt", note(&signer, 3, 2))], &[]).expect("a keys file");
        assert_eq!(keys.standing(signer.verifier()), KeyStanding::Retired);
        let opens = |records, markers| keys.open_checkpoint(&note(&signer, records, markers)).map(drop);
        let refused = Err(OpenCheckpointError::Retired("old".to_owned()));
        assert_eq!([opens(3, 2), opens(2, 0), opens(1, 1)], [Ok(()), Ok(()), Ok(())]);
        assert_eq!([opens(4, 2), opens(3, 3)], [refused.clone(), refused.clone()]);
        let elsewhere = checkpoint_of(StoreId::from_bytes([4; 16]), 1, 1).sign(&signer).expect("signed");
        assert_eq!(keys.open_checkpoint(&elsewhere).map(drop), refused, "another store");

        let judged = |link: &Link| {
            let note = RecordNote::of(link).sign(&signer).expect("signed");
            judge_record_note(note.as_bytes(), link, &keys).expect("it is the record's")
        };
        assert_eq!(judged(&record(3)), RecordSignature::Trusted { key: signer.verifier().clone() });
        assert_eq!(judged(&record(4)), RecordSignature::RetiredKey { key: signer.verifier().clone() });
        let another_third = Link { hash: hash_of(b"another"), ..record(3) };
        assert_eq!(
            judged(&another_third),
            RecordSignature::RetiredKey { key: signer.verifier().clone() },
            "not the one it anchored"
        );
    }

    #[test]
    fn a_checkpoint_that_a_retired_key_and_a_trusted_one_signed_is_believed() {
        let (old, new) = (key("old"), key("new"));
        let text = format!("{} retired last.txt\n{}\n", old.verifier(), new.verifier());
        let keys = parse_with(&text, &[("last.txt", note(&old, 1, 0))], &[]).expect("a keys file");
        let theirs = note(&new, 2, 0);
        let both = format!("{}{}\n", note(&old, 2, 0), theirs.lines().last().expect("a signature"));
        assert_eq!(keys.open_checkpoint(&both), Ok(checkpoint_of(STORE, 2, 0)));
    }

    #[test]
    fn whoever_trusts_the_old_key_trusts_what_it_was_rotated_to() {
        let keys = [key("first"), key("second"), key("third")];
        let rotation = |old: &NoteSigner, new: &NoteSigner| RotationNote::new(old, new.verifier()).expect("signed");
        // Not in their order.
        let rotations = [rotation(&keys[1], &keys[2]), rotation(&keys[0], &keys[1])];
        let last = [("last.txt", note(&keys[0], 1, 0))];
        let standings = |text: &str| {
            let trusted = parse_with(text, &last, &rotations).expect("a keys file");
            [0, 1, 2].map(|index| trusted.standing(keys[index].verifier()))
        };
        let (trusted, unknown) = (KeyStanding::Trusted, KeyStanding::Unknown);
        assert_eq!(standings(&format!("{}\n", keys[0].verifier())), [trusted; 3]);
        assert_eq!(standings(&format!("{}\n", keys[1].verifier())), [unknown, trusted, trusted]);
        assert_eq!(standings(""), [unknown; 3], "a rotation by an unknown key brings in nothing");
        let retired = format!("{} retired last.txt\n", keys[0].verifier());
        assert_eq!(standings(&retired), [KeyStanding::Retired, trusted, trusted]);
        let of_none = parse_with("", &[], &rotations).expect("a keys file").trusting(keys[1].verifier());
        assert_eq!(of_none.expect("trusted").standing(keys[2].verifier()), trusted);
    }

    #[test]
    fn a_rotated_key_that_is_retired_stays_so() {
        let (old, new) = (key("old"), key("new"));
        let rotation = RotationNote::new(&old, new.verifier()).expect("signed");
        let text = format!("{}\n{} retired last.txt\n", old.verifier(), new.verifier());
        let keys = parse_with(&text, &[("last.txt", note(&new, 1, 0))], &[rotation]).expect("a keys file");
        assert_eq!(keys.standing(new.verifier()), KeyStanding::Retired);
    }

    #[test]
    fn a_rotation_note_that_is_not_what_the_old_key_signed_is_refused_by_name() {
        let (old, new) = (key("old"), key("new"));
        let note = RotationNote::new(&old, new.verifier()).expect("signed");
        assert!(RotationNote::has_name(&note.name) && note.name == format!("rotation-{}.txt", new.verifier().id()));
        let text = format!("{}\n", old.verifier());
        let refused = |rotation: RotationNote| {
            let error = parse_with(&text, &[], &[rotation]).expect_err("refused");
            format!("{error}: {}", error.source().expect("a cause"))
        };
        let renamed = refused(RotationNote { name: "rotation-00000000.txt".to_owned(), ..note.clone() });
        assert!(renamed.starts_with("the rotation note `rotation-00000000.txt` is refused: a note with"), "{renamed}");
        let other = note.text.replace(&new.verifier().to_string(), &key("new").verifier().to_string());
        let changed = refused(RotationNote { text: other, ..note.clone() });
        assert!(changed.ends_with("the signature of `old` is not that of this text"), "{changed}");
        let no_key = RotationNote { text: old.sign("hello\n").expect("signed"), ..note };
        assert!(refused(no_key).ends_with("it is a signed note, but not one that names a key"));
    }
}
