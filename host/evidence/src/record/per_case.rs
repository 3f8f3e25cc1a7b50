//! What a record says of each of its cases, by their ids: an object in JSON, a sorted list in memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Index;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use eval_model::ids::CaseId;

/// One value per case. It has no key twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PerCase<T>(Vec<(CaseId, T)>);

impl<T> PerCase<T> {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&CaseId, &T)> {
        self.0.iter().map(|(case_id, value)| (case_id, value))
    }

    pub fn keys(&self) -> impl Iterator<Item = &CaseId> {
        self.0.iter().map(|(case_id, _)| case_id)
    }

    pub fn values(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|(_, value)| value)
    }

    pub fn get(&self, case_id: &CaseId) -> Option<&T> {
        let place = self.0.binary_search_by(|(other, _)| other.cmp(case_id)).ok()?;
        Some(&self.0[place].1)
    }

    pub fn contains_key(&self, case_id: &CaseId) -> bool {
        self.get(case_id).is_some()
    }
}

/// What tests do to a record.
#[cfg(test)]
impl<T> PerCase<T> {
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.0.iter_mut().map(|(_, value)| value)
    }

    /// Says something else of a case that it has.
    pub(crate) fn set(&mut self, case_id: &CaseId, value: T) {
        let place = self.0.iter_mut().find(|(other, _)| other == case_id);
        place.expect("a case of the record").1 = value;
    }

    pub(crate) fn pop_first(&mut self) -> (CaseId, T) {
        self.0.remove(0)
    }
}

impl<T> IntoIterator for PerCase<T> {
    type Item = (CaseId, T);
    type IntoIter = std::vec::IntoIter<(CaseId, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Of two values of one case the last one stays, as in any map.
impl<T> FromIterator<(CaseId, T)> for PerCase<T> {
    fn from_iter<I: IntoIterator<Item = (CaseId, T)>>(values: I) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort_by(|(one, _), (other, _)| one.cmp(other));
        values.reverse();
        values.dedup_by(|(earlier, _), (later, _)| earlier == later);
        values.reverse();
        values.shrink_to_fit();
        Self(values)
    }
}

impl<T> Index<&CaseId> for PerCase<T> {
    type Output = T;

    fn index(&self, case_id: &CaseId) -> &T {
        self.get(case_id).expect("every set of a record is about its cases")
    }
}

impl<T: Serialize> Serialize for PerCase<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for PerCase<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reading(PhantomData))
    }
}

struct Reading<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Reading<T> {
    type Value = PerCase<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value per case")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            values.push(entry);
        }
        Ok(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_map_that_it_stands_for() {
        let text = r#"{"b":2,"a":1,"c":3}"#;
        let values: PerCase<u32> = serde_json::from_str(text).expect("a map");
        let map: std::collections::BTreeMap<CaseId, u32> = serde_json::from_str(text).expect("a map");
        assert_eq!(serde_json::to_string(&values).expect("JSON"), serde_json::to_string(&map).expect("JSON"));
        assert_eq!(values, map.clone().into_iter().collect());
        assert!(values.iter().eq(map.iter()) && values.keys().eq(map.keys()) && values.values().eq(map.values()));
        let [b, d]: [CaseId; 2] = ["b", "d"].map(|id| id.parse().expect("a case id"));
        assert_eq!((values.get(&b), values[&b], values.get(&d), values.len()), (Some(&2), 2, None, 3));
        assert!(values.contains_key(&b) && !values.contains_key(&d) && !values.is_empty());
        let twice: PerCase<u32> = [(b.clone(), 1), (d, 5), (b.clone(), 2)].into_iter().collect();
        assert_eq!((twice.len(), twice[&b]), (2, 2));
    }
}
