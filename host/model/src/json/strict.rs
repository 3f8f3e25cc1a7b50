//! A deserializer around serde_json's that takes each type in one spelling: a struct from an object, an enumeration from the name
//! of one of its variants.
//!
//! serde's derived code takes a list of fields for a struct, and `{"name":null}` for a name: made for formats that have no
//! objects, and a second spelling in JSON. The wrapper goes along into whatever is nested. It never changes a value, and it leaves
//! keys alone: in JSON they are texts anyway.

use std::fmt;

use serde::de::value::StrDeserializer;
use serde::de::{DeserializeSeed, Deserializer, Error, IntoDeserializer as _, MapAccess, SeqAccess, Visitor};

/// A deserializer, a visitor, a seed, or what gives the elements of a list or the entries of an object.
pub(super) struct Strict<T>(pub(super) T);

macro_rules! deserialize {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.0.$method($($argument,)* Strict(visitor))
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<D> {
    type Error = D::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_map(Strict(visitor))
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.0.deserialize_str(Name(visitor))
    }

    fn is_human_readable(&self) -> bool {
        self.0.is_human_readable()
    }

    // `RawValue` comes as a newtype struct whose name serde_json knows, and has its text handed over like an object's only entry.
    deserialize! {
        deserialize_any() deserialize_bool()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64()
        deserialize_char() deserialize_str() deserialize_string() deserialize_bytes() deserialize_byte_buf()
        deserialize_option() deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(len: usize) deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_map() deserialize_identifier() deserialize_ignored_any()
    }
}

macro_rules! visit {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.0.$method(value)
        }
    )*};
}

/// serde_json visits nothing else: numbers come as the widest types, and the narrow ones are made of these by default.
impl<'de, V: Visitor<'de>> Visitor<'de> for Strict<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    visit! {
        visit_bool(bool) visit_i64(i64) visit_i128(i128) visit_u64(u64) visit_u128(u128) visit_f64(f64)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8])
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_some(Strict(deserializer))
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.0.visit_newtype_struct(Strict(deserializer))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.0.visit_seq(Strict(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.0.visit_map(Strict(entries))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, A::Error> {
        self.0.next_element_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(seed)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, A::Error> {
        self.0.next_value_seed(Strict(seed))
    }

    fn size_hint(&self) -> Option<usize> {
        self.0.size_hint()
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.0.deserialize(Strict(deserializer))
    }
}

/// The visitor of an enumeration, for which a text is the name of a variant. One with data does not read.
struct Name<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Name<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.expecting(f)
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        let name: StrDeserializer<'_, E> = name.into_deserializer();
        self.0.visit_enum(name)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::value::RawValue;

    use crate::json::parse;

    #[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Mode {
        Live,
        OnTape,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        number: f64,
        #[serde(default)]
        count: Option<u64>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wrapped(Inner);

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
    enum Line {
        Numbers { numbers: Vec<(String, i64)> },
        Mode { mode: Mode },
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Outer {
        mode: Mode,
        plain: Inner,
        wrapped: Wrapped,
        #[serde(deserialize_with = "Option::deserialize")]
        option: Option<Inner>,
        list: Vec<Inner>,
        pairs: Vec<(Mode, Inner)>,
        map: BTreeMap<Mode, Inner>,
        modes: BTreeMap<String, Option<Mode>>,
        line: Line,
        raw: Box<RawValue>,
    }

    const TEXT: &str = r#"{"mode":"live","plain":{"number":0.1},"wrapped":{"number":0.2},"option":{"number":0.3},
        "list":[{"number":0.4,"count":18446744073709551615}],"pairs":[["on_tape",{"number":0.5}]],
        "map":{"live":{"number":0.6},"on_tape":{"number":1e23}},"modes":{"a":null,"b":"live"},
        "line":{"kind":"numbers","numbers":[["x",-9223372036854775808]]},"raw":{ "as" : [ 1.50 ]}}"#;

    #[test]
    fn every_shape_is_read_in_its_one_spelling() {
        let outer: Outer = parse(TEXT).expect("fine");
        let inner = |number: f64| Inner { number, count: None };
        assert_eq!((outer.mode, outer.plain, outer.wrapped), (Mode::Live, inner(0.1), Wrapped(inner(0.2))));
        assert_eq!((outer.option, outer.list), (Some(inner(0.3)), vec![Inner { number: 0.4, count: Some(u64::MAX) }]));
        assert_eq!(outer.pairs, [(Mode::OnTape, inner(0.5))]);
        assert_eq!(outer.map, BTreeMap::from([(Mode::Live, inner(0.6)), (Mode::OnTape, inner(1e23))]));
        assert_eq!(outer.modes, BTreeMap::from([("a".to_owned(), None), ("b".to_owned(), Some(Mode::Live))]));
        assert_eq!(outer.line, Line::Numbers { numbers: vec![("x".to_owned(), i64::MIN)] });
        assert_eq!(outer.raw.get(), r#"{ "as" : [ 1.50 ]}"#);
    }

    #[test]
    fn a_tagged_enumeration_is_read_as_ever() {
        assert_eq!(parse::<Line>(r#"{"mode":"live","kind":"mode"}"#).expect("fine"), Line::Mode { mode: Mode::Live });
        parse::<Line>(r#"{"mode":"live","kind":"mode","x":1}"#).expect_err("an unknown field");
    }

    #[test]
    fn a_list_is_no_struct_and_an_object_is_no_name() {
        for (from, to) in [
            (r#""mode":"live","#, r#""mode":{"live":null},"#),
            (r#"{"number":0.1}"#, "[0.1,null]"),
            (r#"{"number":0.2}"#, "[0.2,null]"),
            (r#"{"number":0.3}"#, "[0.3,null]"),
            (r#"{"number":0.4,"count":18446744073709551615}"#, "[0.4,1]"),
            (r#"{"number":0.5}"#, "[0.5,null]"),
            (r#"{"number":0.6}"#, "[0.6,null]"),
            (r#""on_tape",{"#, r#"{"on_tape":null},{"#),
            (r#""b":"live""#, r#""b":{"live":null}"#),
        ] {
            assert!(TEXT.contains(from), "{from}");
            let text = TEXT.replacen(from, to, 1);
            serde_json::from_str::<Outer>(&text).expect("serde forgives it");
            let error = parse::<Outer>(&text).expect_err(to).to_string();
            let why =
                if to.contains('[') { "invalid type: sequence, expected " } else { "invalid type: map, expected " };
            assert!(error.starts_with(why) && error.contains(" at line "), "{to}: {error}");
        }
    }

    #[test]
    fn what_serde_refuses_is_refused_in_the_same_words() {
        for (from, to) in [
            (r#""mode":"live","#, r#""mode":"Live","#),
            (r#""mode":"live","#, ""),
            (r#"{"number":0.1}"#, r#"{"number":0.1,"x":1}"#),
            (r#"{"number":0.1}"#, r#"{"number":"0.1"}"#),
            (r#"{"number":0.1}"#, r#"{"number":0.1,"count":1.0}"#),
            (r#"{"number":0.1}"#, r#"{"number":0.1,"count":-1}"#),
            (r#""list":["#, r#""list":[,"#),
        ] {
            let text = TEXT.replacen(from, to, 1);
            let (ours, theirs) = (parse::<Outer>(&text), serde_json::from_str::<Outer>(&text));
            assert_eq!(ours.expect_err(to).to_string(), theirs.expect_err(to).to_string());
        }
        let error = parse::<Outer>(&TEXT.replacen("\"live\"", "null", 1)).expect_err("null is no name").to_string();
        assert_eq!(error, "invalid type: null, expected enum Mode at line 1 column 12");
    }

    #[test]
    fn every_number_is_the_nearest_double_however_it_is_nested() {
        let numbers = (0..4_000_u64).map(|index| f64::from_bits(index.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        for number in numbers.filter(|number| number.is_finite()) {
            let read: BTreeMap<String, Option<Inner>> =
                parse(&format!(r#"{{"x":{{"number":{number:e}}}}}"#)).expect("fine");
            let read = read["x"].as_ref().expect("it is there").number;
            assert_eq!(read.to_bits(), number.to_bits(), "{number:e}");
        }
    }
}
