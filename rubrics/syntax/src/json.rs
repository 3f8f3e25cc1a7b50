//! JSON in which no object has a key twice: tools differ in which one they take.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::members::Checked;

/// What is wrong with a text that should be JSON.
#[must_use]
pub fn problem(text: &str) -> Option<String> {
    serde_json::from_str::<Checked>(text).err().map(|error| error.to_string())
}

/// Reads a text, or says what is wrong with it.
///
/// # Errors
///
/// A sentence with the place.
pub fn parse(text: &str) -> Result<Value, String> {
    serde_json::from_str::<Strict>(text).map(|Strict(value)| value).map_err(|error| error.to_string())
}

/// A value in which no object has a key twice.
#[derive(Debug)]
pub struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Strict;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Strict, E> {
        Ok(Strict(Value::Bool(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Strict, E> {
        Ok(Strict(Value::Number(value.into())))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Strict, E> {
        Ok(Strict(Value::Number(value.into())))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Strict, E> {
        Ok(Strict(Number::from_f64(value).map_or(Value::Null, Value::Number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Strict, E> {
        Ok(Strict(Value::String(value.to_owned())))
    }

    fn visit_unit<E>(self) -> Result<Strict, E> {
        Ok(Strict(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Strict, A::Error> {
        let mut values = Vec::new();
        while let Some(Strict(value)) = items.next_element()? {
            values.push(value);
        }
        Ok(Strict(Value::Array(values)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Strict, A::Error> {
        let mut values = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if values.contains_key(&key) {
                return Err(A::Error::custom(format!("the key `{key}` is there twice")));
            }
            let Strict(value) = entries.next_value()?;
            values.insert(key, value);
        }
        Ok(Strict(Value::Object(values)))
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn a_key_that_is_there_twice_is_named_however_deep() {
        assert_eq!(problem(r#"{"a": {"b": [1, 2.5, null, true, "x"]}, "b": {"b": -1}}"#), None);
        let twice = problem(r#"{"a": [{"b": 1, "c": 2, "b": 3}]}"#).unwrap();
        assert!(twice.contains("`b` is there twice"), "{twice}");
        assert!(problem("{\"a\": 1,}").is_some());
        assert!(problem("# stray\n{}").is_some());
    }
}
