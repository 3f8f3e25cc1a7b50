//! C2SP signed notes with Ed25519: a text, an empty line, and a line per signature.
//!
//! The format is the one of `https://c2sp.org/signed-note`, with keys in the encoding of Go's `sumdb/note`, so that other
//! programs can check what this one signs. A note of which a known key's signature is wrong is refused as a whole; signatures
//! of unknown keys are passed over, and a note with nothing else is refused too.

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use eval_model::advice::{Advice, Exit};
use sha2::{Digest as _, Sha256};

/// The signature type of Ed25519.
const ED25519: u8 = 0x01;

const SIGNATURE_PREFIX: &str = "\u{2014} ";
const PRIVATE_PREFIX: &str = "PRIVATE+KEY+";

/// Most signatures that a note may have. The format asks for at least 16.
const MOST_SIGNATURES: usize = 100;

/// Why a text is no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("a key's name must not be empty, nor contain white space or `+`")]
    Name,
    #[error("it is not a key: it must look like `<name>+<8 hexadecimal digits>+<base64>`")]
    Shape,
    #[error("its digits are not those of its name and key: it was mistyped, or is another kind of key")]
    Id,
    #[error("it is not an Ed25519 key that signatures can be checked with")]
    Key,
    #[error("the operating system gave no random number")]
    Random,
}

impl Advice for KeyError {
    fn exit(&self) -> Exit {
        match self {
            Self::Random => Exit::HarnessError,
            _ => Exit::UsageOrCap,
        }
    }
}

/// Why a note is not believed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    #[error("it is not a signed note: {0}")]
    Malformed(&'static str),
    #[error("the signature of `{0}` is not that of this text")]
    BadSignature(String),
    #[error("none of its signatures is of a key that is trusted here")]
    Unsigned,
}

impl Advice for NoteError {
    fn exit(&self) -> Exit {
        Exit::EvidenceBroken
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|character: char| character.is_whitespace() || character == '+')
}

/// What tells keys apart before any signature is checked.
fn key_id(name: &str, key: &VerifyingKey) -> [u8; 4] {
    let hash = Sha256::new().chain_update(name).chain_update([b'\n', ED25519]).chain_update(key.as_bytes()).finalize();
    [hash[0], hash[1], hash[2], hash[3]]
}

fn encode(name: &str, id: [u8; 4], key: &[u8; 32]) -> String {
    let key = [&[ED25519], key.as_slice()].concat();
    format!("{name}+{:08x}+{}", u32::from_be_bytes(id), STANDARD.encode(key))
}

/// The name, the id and the 32 bytes of a key in its textual form.
fn decode(text: &str) -> Result<(&str, [u8; 4], [u8; 32]), KeyError> {
    let (name, rest) = text.split_once('+').ok_or(KeyError::Shape)?;
    let (id, key) = rest.split_once('+').ok_or(KeyError::Shape)?;
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    if id.len() != 8 || !id.bytes().all(is_digit) {
        return Err(KeyError::Shape);
    }
    let id = u32::from_str_radix(id, 16).map_err(|_| KeyError::Shape)?.to_be_bytes();
    let key = STANDARD.decode(key).map_err(|_| KeyError::Shape)?;
    match key.split_first() {
        Some((&ED25519, key)) if is_name(name) => Ok((name, id, key.try_into().map_err(|_| KeyError::Key)?)),
        _ => Err(KeyError::Shape),
    }
}

/// A key that signatures are checked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteVerifier {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl FromStr for NoteVerifier {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, id, key) = decode(text)?;
        let key = VerifyingKey::from_bytes(&key).map_err(|_| KeyError::Key)?;
        // With a key of small order everything is signed by everybody.
        if key.is_weak() {
            return Err(KeyError::Key);
        }
        if key_id(name, &key) != id {
            return Err(KeyError::Id);
        }
        Ok(Self { name: name.to_owned(), id, key })
    }
}

impl NoteVerifier {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The 8 digits that tell it apart from other keys of its name.
    pub fn id(&self) -> String {
        format!("{:08x}", u32::from_be_bytes(self.id))
    }
}

impl fmt::Display for NoteVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&encode(&self.name, self.id, self.key.as_bytes()))
    }
}

/// A key that notes are signed with.
pub struct NoteSigner {
    key: SigningKey,
    verifier: NoteVerifier,
}

impl fmt::Debug for NoteSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoteSigner").field("verifier", &self.verifier).finish_non_exhaustive()
    }
}

impl NoteSigner {
    /// Draws a new key.
    pub fn generate(name: &str) -> Result<Self, KeyError> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|_| KeyError::Random)?;
        Self::new(name, &secret)
    }

    fn new(name: &str, secret: &[u8; 32]) -> Result<Self, KeyError> {
        if !is_name(name) {
            return Err(KeyError::Name);
        }
        let key = SigningKey::from_bytes(secret);
        let public = key.verifying_key();
        let verifier = NoteVerifier { name: name.to_owned(), id: key_id(name, &public), key: public };
        Ok(Self { key, verifier })
    }

    /// The key that others need to check what this one signs.
    pub fn verifier(&self) -> &NoteVerifier {
        &self.verifier
    }

    /// The key as the text that is kept in a file. Whoever has it can sign.
    pub fn to_secret_text(&self) -> String {
        format!("{PRIVATE_PREFIX}{}", encode(&self.verifier.name, self.verifier.id, self.key.as_bytes()))
    }

    /// Signs a text, which must end with a newline.
    pub fn sign(&self, text: &str) -> Result<String, NoteError> {
        check_text(text)?;
        let signature = self.key.sign(text.as_bytes());
        let bytes = [self.verifier.id.as_slice(), &signature.to_bytes()].concat();
        Ok(format!("{text}\n{SIGNATURE_PREFIX}{} {}\n", self.verifier.name, STANDARD.encode(bytes)))
    }
}

impl FromStr for NoteSigner {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let (name, id, secret) = decode(text.strip_prefix(PRIVATE_PREFIX).ok_or(KeyError::Shape)?)?;
        let signer = Self::new(name, &secret)?;
        if signer.verifier.id == id { Ok(signer) } else { Err(KeyError::Id) }
    }
}

fn check_text(text: &str) -> Result<(), NoteError> {
    if text.contains(|character: char| character.is_ascii_control() && character != '\n') {
        return Err(NoteError::Malformed("it contains control characters"));
    }
    if text.ends_with('\n') { Ok(()) } else { Err(NoteError::Malformed("it does not end with a newline")) }
}

/// The text of a note that at least one of the known keys has signed.
pub(super) fn open<'a>(note: &'a str, known: &[NoteVerifier]) -> Result<&'a str, NoteError> {
    open_signed(note, known).map(|(text, _)| text)
}

/// The text of a note, and those of the known keys that have signed it: at least one.
pub(super) fn open_signed<'a, 'k>(
    note: &'a str,
    known: &'k [NoteVerifier],
) -> Result<(&'a str, Vec<&'k NoteVerifier>), NoteError> {
    let Signed { text, known, .. } = read(note, known)?;
    if known.is_empty() { Err(NoteError::Unsigned) } else { Ok((text, known)) }
}

/// A note that reads as one: its text, and who is said to have signed it.
pub(super) struct Signed<'a, 'k> {
    pub(super) text: &'a str,
    /// The known keys, whose signatures are right.
    pub(super) known: Vec<&'k NoteVerifier>,
    /// The names that unknown keys go by. Anybody can write such a line.
    pub(super) unknown: Vec<&'a str>,
}

/// Reads a note, whoever has signed it. That a known key has and the signature is wrong is an error.
pub(super) fn read<'a, 'k>(note: &'a str, known: &'k [NoteVerifier]) -> Result<Signed<'a, 'k>, NoteError> {
    check_text(note)?;
    let end = note.rfind("\n\n").ok_or(NoteError::Malformed("there is no empty line before the signatures"))?;
    let (text, signatures) = (&note[..=end], &note[end + 2..]);
    if signatures.lines().count() > MOST_SIGNATURES {
        return Err(NoteError::Malformed("it has too many signatures"));
    }
    let mut signed = Signed { text, known: Vec::new(), unknown: Vec::new() };
    for line in signatures.lines() {
        match check_signature(text, line, known)? {
            Signer::Known(verifier) => signed.known.push(verifier),
            Signer::Unknown(name) => signed.unknown.push(name),
        }
    }
    Ok(signed)
}

/// Whose signature a line is.
enum Signer<'a, 'k> {
    Known(&'k NoteVerifier),
    Unknown(&'a str),
}

/// Whose signature a line is. That it is one of a known key and is wrong is an error.
fn check_signature<'a, 'k>(text: &str, line: &'a str, known: &'k [NoteVerifier]) -> Result<Signer<'a, 'k>, NoteError> {
    let malformed = || NoteError::Malformed("a line after the empty one is no signature");
    let (name, base64) =
        line.strip_prefix(SIGNATURE_PREFIX).and_then(|rest| rest.split_once(' ')).ok_or_else(malformed)?;
    let bytes = STANDARD.decode(base64).map_err(|_| malformed())?;
    let (id, signature) = bytes.split_first_chunk::<4>().ok_or_else(malformed)?;
    if !is_name(name) || signature.is_empty() {
        return Err(malformed());
    }
    let Some(verifier) = known.iter().find(|known| known.name == name && known.id == *id) else {
        return Ok(Signer::Unknown(name));
    };
    let bad = || NoteError::BadSignature(name.to_owned());
    let signature = Signature::from_slice(signature).map_err(|_| bad())?;
    // Not the lenient check, which accepts signatures that other implementations refuse.
    verifier.key.verify_strict(text.as_bytes(), &signature).map_err(|_| bad())?;
    Ok(Signer::Known(verifier))
}

#[cfg(test)]
mod tests {
    use super::*;

    // The example of Go's `sumdb/note` documentation, made by another implementation.
    const GO_VERIFIER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const GO_SIGNER: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const GO_TEXT: &str =
        "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    const GO_NOTE: &str = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n\n\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    fn known() -> Vec<NoteVerifier> {
        vec![GO_VERIFIER.parse().expect("a key")]
    }

    #[test]
    fn a_note_of_another_implementation_is_opened_and_made_alike() {
        assert_eq!(open(GO_NOTE, &known()), Ok(GO_TEXT));
        let signer: NoteSigner = GO_SIGNER.parse().expect("a key");
        assert_eq!(signer.verifier().to_string(), GO_VERIFIER);
        assert_eq!(signer.to_secret_text(), GO_SIGNER);
        assert_eq!(signer.sign(GO_TEXT).as_deref(), Ok(GO_NOTE));
    }

    #[test]
    fn every_flipped_bit_of_a_note_is_refused() {
        for bit in 0..GO_NOTE.len() * 8 {
            let mut flipped = GO_NOTE.as_bytes().to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let Ok(text) = String::from_utf8(flipped) else { continue };
            assert!(open(&text, &known()).is_err(), "bit {bit}: {text:?}");
        }
    }

    #[track_caller]
    fn refused(note: &str, expected: &str) {
        let error = open(note, &known()).expect_err("refused").to_string();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn what_is_no_note_is_refused_with_a_reason() {
        refused(&GO_NOTE.replace('\n', "\r\n"), "control characters");
        refused(GO_NOTE.trim_end(), "does not end with a newline");
        refused(GO_TEXT, "no empty line");
        refused(&format!("{GO_TEXT}\n"), "none of its signatures");
        refused(&format!("{GO_NOTE}hello\n"), "is no signature");
        assert_eq!(open(GO_NOTE, &[]), Err(NoteError::Unsigned));
    }

    #[test]
    fn a_signature_is_of_one_text_and_there_are_not_too_many() {
        let line = GO_NOTE.lines().last().expect("a signature");
        let signed = |times: usize| format!("{GO_TEXT}\n{}", format!("{line}\n").repeat(times));
        refused(&format!("another text\n\n{line}\n"), "the signature of `PeterNeumann`");
        refused(&signed(101), "too many");
        assert_eq!(open(&signed(100), &known()), Ok(GO_TEXT));
    }

    #[test]
    fn signatures_of_unknown_keys_are_passed_over() {
        let other = NoteSigner::generate("somebody-else").expect("a key");
        let theirs = other.sign(GO_TEXT).expect("a text");
        let line = theirs.lines().last().expect("a signature");
        assert_eq!(open(&format!("{GO_NOTE}{line}\n"), &known()), Ok(GO_TEXT));
        assert_eq!(open(&theirs, &known()), Err(NoteError::Unsigned));
    }

    #[test]
    fn keys_have_one_spelling_and_a_check() {
        let key: Result<NoteVerifier, _> = GO_VERIFIER.replace("c74f20a3", "c74f20a4").parse();
        assert_eq!(key, Err(KeyError::Id));
        let key: Result<NoteVerifier, _> = GO_VERIFIER.replace("PeterNeumann", "PeterNewman").parse();
        assert_eq!(key, Err(KeyError::Id));
        for text in [
            "",
            "a+b+c",
            "a+00000000+",
            GO_SIGNER,
            "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        ] {
            assert!(text.parse::<NoteVerifier>().is_err(), "{text}");
        }
        assert_eq!(NoteSigner::generate("two words").err(), Some(KeyError::Name));
        // The identity point, which has small order.
        let mut weak = [0; 32];
        weak[0] = 1;
        let key = VerifyingKey::from_bytes(&weak).expect("it decompresses");
        assert_eq!(encode("weak", key_id("weak", &key), &weak).parse::<NoteVerifier>(), Err(KeyError::Key));
    }
}
