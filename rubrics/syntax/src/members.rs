//! The members of a JSON object, one after the other, with where each is in the text.
//!
//! For a file of thousands of members most of which are known already: what is known is passed over, and what is not is
//! read. The same is refused as by [`super::json`]: what is passed over was read strictly before.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::bytes::begins_with;

/// An object that is being read. After a failure there is nothing more to be had from it.
#[derive(Debug)]
pub struct Members<'t> {
    text: &'t str,
    at: usize,
    is_first: bool,
}

impl<'t> Members<'t> {
    /// The members of the object that begins at a place of a text, if one does.
    pub fn of(text: &'t str, at: usize) -> Option<Self> {
        let mut members = Self { text, at, is_first: true };
        members.take(b'{').then_some(members)
    }

    /// Where the next member begins; `None` after the last one.
    ///
    /// # Errors
    ///
    /// If neither a member nor the end of the object comes next.
    pub fn begin(&mut self) -> Result<Option<usize>, String> {
        let is_first = std::mem::replace(&mut self.is_first, false);
        if self.take(b'}') {
            return Ok(None);
        }
        if !is_first && !self.take(b',') {
            return Err("a comma is missing".to_owned());
        }
        self.skip_blanks();
        Ok(Some(self.at))
    }

    /// The member that begins at a place of a text, and those after it.
    pub fn at(text: &'t str, at: usize) -> Self {
        Self { text, at, is_first: false }
    }

    /// The same object from another place on: where a member begins, or where a value ends that was read otherwise.
    #[must_use]
    pub fn back_to(&self, at: usize) -> Self {
        Self { at, ..*self }
    }

    /// Passes over a member that is known, if it comes next and is written like that.
    pub fn pass(&mut self, member: &[u8]) -> bool {
        let is_there = begins_with(&self.text.as_bytes()[self.at..], member);
        self.at += if is_there { member.len() } else { 0 };
        is_there
    }

    /// The key of the member that comes next.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn key(&mut self) -> Result<Cow<'t, str>, String> {
        let Text(key) = self.value()?;
        if self.take(b':') { Ok(key) } else { Err("a colon is missing".to_owned()) }
    }

    /// The value that comes next.
    ///
    /// # Errors
    ///
    /// What is wrong with it, without the place.
    pub fn value<T: Deserialize<'t>>(&mut self) -> Result<T, String> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let value = values.next().ok_or_else(|| "a value is missing".to_owned())?;
        self.at += values.byte_offset();
        // The place that the message names is counted from where this value begins.
        value.map_err(|error| error.to_string().split(" at line ").next().unwrap_or_default().to_owned())
    }

    /// Where the text is read next.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Whether nothing but blanks follows.
    pub fn is_at_end(&mut self) -> bool {
        self.skip_blanks();
        self.at == self.text.len()
    }

    fn take(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let is_there = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += usize::from(is_there);
        is_there
    }

    fn skip_blanks(&mut self) {
        while matches!(self.text.as_bytes().get(self.at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }
}

/// A text, borrowed where it is written without escapes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Text<'t>(pub Cow<'t, str>);

impl<'t> Deserialize<'t> for Text<'t> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor)
    }
}

struct TextVisitor;

impl<'t> Visitor<'t> for TextVisitor {
    type Value = Text<'t>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_borrowed_str<E>(self, text: &'t str) -> Result<Text<'t>, E> {
        Ok(Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Text<'t>, E> {
        Ok(Text(Cow::Owned(text.to_owned())))
    }
}

/// An object, in the order of its keys, none of which is there twice.
#[derive(Debug, Clone)]
pub struct Object<'t, T>(pub Vec<(Cow<'t, str>, T)>);

impl<T> Default for Object<'_, T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'t, T> Object<'t, T> {
    /// Puts members in the order of their keys, or gives a key that is there twice.
    ///
    /// # Errors
    ///
    /// The key.
    pub fn sorted(mut members: Vec<(Cow<'t, str>, T)>) -> Result<Self, Cow<'t, str>> {
        // Most are written in order.
        if !members.is_sorted_by(|(a, _), (b, _)| a < b) {
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        match members.array_windows().position(|[(a, _), (b, _)]| a == b) {
            Some(twice) => Err(members.swap_remove(twice).0),
            None => Ok(Self(members)),
        }
    }
}

impl<'t, T: Deserialize<'t>> Deserialize<'t> for Object<'t, T> {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'t, T: Deserialize<'t>> Visitor<'t> for ObjectVisitor<T> {
    type Value = Object<'t, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'t>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Text(key), value)) = entries.next_entry()? {
            members.push((key, value));
        }
        Object::sorted(members).map_err(|key| A::Error::custom(format!("the key `{key}` is there twice")))
    }
}

/// A value that is read for nothing but whether it may be there: no object in it has a key twice.
#[derive(Debug, Clone, Copy)]
pub struct Checked;

impl<'t> Deserialize<'t> for Checked {
    fn deserialize<D: Deserializer<'t>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(CheckedVisitor)
    }
}

struct CheckedVisitor;

impl<'t> Visitor<'t> for CheckedVisitor {
    type Value = Checked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_str<E>(self, _: &str) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_unit<E>(self) -> Result<Checked, E> {
        Ok(Checked)
    }

    fn visit_seq<A: SeqAccess<'t>>(self, mut items: A) -> Result<Checked, A::Error> {
        while let Some(Checked) = items.next_element()? {}
        Ok(Checked)
    }

    fn visit_map<A: MapAccess<'t>>(self, entries: A) -> Result<Checked, A::Error> {
        ObjectVisitor::<Checked>(PhantomData).visit_map(entries).map(|_| Checked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_come_with_where_they_are() {
        let text = r#" { "a": [1, {"b": 2}] , "c\n": 3}  "#;
        let mut members = Members::of(text, 0).unwrap();
        assert_eq!(members.begin(), Ok(Some(3)));
        assert_eq!(members.key().unwrap(), "a");
        members.value::<Checked>().unwrap();
        assert_eq!(&text[3..members.position()], r#""a": [1, {"b": 2}]"#);
        members.begin().unwrap();
        assert_eq!((members.key().unwrap().as_ref(), members.value()), ("c\n", Ok(3)));
        assert_eq!(members.begin(), Ok(None));
        assert!(members.is_at_end());
    }

    #[test]
    fn a_comma_a_colon_or_a_value_that_is_missing_is_refused() {
        let all = |text: &str| -> Result<(), String> {
            let mut members = Members::of(text, 0).ok_or("no object")?;
            while members.begin()?.is_some() {
                members.key()?;
                members.value::<Checked>()?;
            }
            Ok(())
        };
        assert_eq!(all(r#"{"a": 1, "b": 2}"#), Ok(()));
        for text in ["", "[]", "{", r#"{"a" 1}"#, r#"{"a": }"#, r#"{"a": 1,}"#, r#"{"a": 1 "b": 2}"#, r#"{,"a": 1}"#] {
            assert!(all(text).is_err(), "{text}");
        }
        assert!(all(r#"{"a": {"b": 1, "c": [{"d": 1, "d": 2}]}}"#).unwrap_err().contains("`d` is there twice"));
    }
}
