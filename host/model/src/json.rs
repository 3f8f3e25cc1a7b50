//! JSON from outside, read without forgiving anything: one value, no duplicate keys at any depth, and one spelling per type.
//!
//! serde_json's own value type keeps the last of two equal keys, so two readers of one text can see two different things.
//! serde also reads a struct from a list of its fields, and a name of an enumeration from an object. Nothing that is scored or
//! chained may be ambiguous like that.

mod strict;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use strict::Strict;

/// Checks that `text` is one JSON object and that no object in it has a key twice.
pub fn check_object(text: &str) -> Result<(), serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let object = Unambiguous { object: true }.deserialize(&mut reader);
    object.and_then(|()| reader.end())
}

/// One line of JSON. Only a map whose keys are no text would not serialise, and nothing that is written has one.
pub fn line(value: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(value).expect("its keys are text");
    bytes.push(b'\n');
    bytes
}

/// What a text says of its own version: all that can be asked of a format that is not known.
#[derive(Debug, Deserialize)]
pub struct Version {
    pub schema_version: u64,
    #[serde(default)]
    pub schema_minor: u64,
    #[serde(default)]
    pub harness_version: String,
}

/// Reads the version and looks at nothing else, so that a newer format is told apart from a broken one.
pub fn version(text: &str) -> Option<Version> {
    read(text).ok()
}

/// Reads `text` as one unambiguous object of the type `T`. Structs are objects and never lists, at any depth, and an enumeration
/// is the name of a variant without data. What a tagged enumeration holds is beyond this: serde buffers it and reads it itself.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    check_object(text)?;
    read(text)
}

/// For `deserialize_with`, beside `default`: a field that may be left out, and is not `null` where it is there.
pub fn not_null<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn read<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = T::deserialize(Strict(&mut reader))?;
    reader.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Unambiguous {
    object: bool,
}

impl<'de> DeserializeSeed<'de> for Unambiguous {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.object { deserializer.deserialize_map(self) } else { deserializer.deserialize_any(self) }
    }
}

impl<'de> Visitor<'de> for Unambiguous {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.object { "a JSON object" } else { "any JSON value" })
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element_seed(Self { object: false })?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut keys = Keys::default();
        while let Some(Key(key)) = entries.next_key()? {
            entries.next_value_seed(Self { object: false })?;
            if !keys.is_new(&key) {
                return Err(A::Error::custom(format_args!("the key `{}` occurs twice", key.escape_default())));
            }
            keys.insert(key);
        }
        Ok(())
    }
}

/// A key, borrowed from the text unless it is written with escapes.
#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// The keys of one object. Nearly every object has few, and those are compared one by one.
#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: BTreeSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    const FEW: usize = 16;

    fn is_new(&self, key: &str) -> bool {
        !self.few.iter().any(|known| known == key) && !self.many.contains(key)
    }

    fn insert(&mut self, key: Cow<'a, str>) {
        if self.few.len() < Self::FEW {
            self.few.push(key);
        } else {
            self.many.insert(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_object_without_duplicate_keys_is_accepted() {
        check_object(r#" {"a":[1,-2,3.5e7,"x",null,true,{"b":{}}],"b":1} "#).expect("fine");
    }

    #[test]
    fn the_version_is_read_whatever_else_there_is_unless_it_is_ambiguous() {
        let found = version(r#"{"schema_version":2,"new":{}}"#).expect("it has a version");
        assert_eq!((found.schema_version, found.schema_minor, found.harness_version.as_str()), (2, 0, ""));
        for text in ["{}", r#"{"schema_version":2,"schema_version":2}"#, r#"{"schema_version":-1}"#, "2"] {
            assert!(version(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_list_has_no_version() {
        assert!(version("[2,0,\"9.0.0\"]").is_none());
    }

    #[test]
    fn a_duplicate_key_is_found_at_any_depth() {
        let many: String = (0..100).map(|number| format!(r#""{number}":{number},"#)).collect();
        for text in [
            r#"{"a":1,"a":2}"#,
            r#"{"x":[{"a":1,"b":2,"a":3}]}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"\u0061":1,"a":2}"#,
            &format!(r#"{{"a":1,{many}"a":2}}"#),
            &format!(r#"{{{many}"a":1,"a":2}}"#),
        ] {
            let error = check_object(text).expect_err(text);
            assert!(error.to_string().starts_with("the key `a` occurs twice"), "{error}");
        }
    }

    #[test]
    fn anything_but_one_object_is_refused() {
        for text in ["", "[]", "1", "null", "{} {}", "{", r#"{"a":NaN}"#, "\u{feff}{}"] {
            assert!(check_object(text).is_err(), "{text:?}");
        }
        let deep = "{\"a\":".repeat(200) + "1" + &"}".repeat(200);
        assert!(check_object(&deep).is_err(), "nesting is bounded");
    }
}
