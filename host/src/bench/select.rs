//! Which cases of a bench a run takes.

use std::collections::BTreeSet;

/// Whether `name` matches `pattern`, in which `*` stands for any characters and `?` for one.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut p, mut n) = (0, 0);
    // Where to go on after a mismatch: behind the last `*`, which then takes one more character.
    let mut retry = None;
    while n < name.len() {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, n));
                p += 1;
            }
            Some(byte) if *byte == b'?' || *byte == name[n] => {
                p += 1;
                n += 1;
            }
            _ => match retry {
                Some((after_star, taken)) => {
                    retry = Some((after_star, taken + 1));
                    (p, n) = (after_star, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|byte| *byte == b'*')
}

/// What is wanted of a bench's cases. Every part narrows the selection; the default is all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// A case must match one of these, if there are any.
    pub(crate) patterns: Vec<String>,
    /// A case must be one of these.
    pub(crate) among: Option<BTreeSet<String>>,
    /// At most so many, the first in order.
    pub(crate) limit: Option<usize>,
}

impl Wanted {
    pub(crate) fn select(&self, names: &[String]) -> Vec<String> {
        let matching = |name: &&String| {
            self.patterns.is_empty() || self.patterns.iter().any(|pattern| matches(pattern, name.as_str()))
        };
        let among = |name: &&String| self.among.as_ref().is_none_or(|among| among.contains(*name));
        names.iter().filter(matching).filter(among).take(self.limit.unwrap_or(usize::MAX)).cloned().collect()
    }

    /// The selection in the words of a report: patterns that select the same cases again.
    pub(crate) fn as_patterns(&self, selected: &[String]) -> Vec<String> {
        if self.among.is_none() && self.limit.is_none() { self.patterns.clone() } else { selected.to_vec() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eval_model::shard::Shard;

    #[test]
    fn a_star_is_any_text_and_a_question_mark_one_character() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("*", "001-a", true),
            ("001-*", "001-a", true),
            ("001-*", "002-a", false),
            ("*-dos", "003-ws-header-dos", true),
            ("*ws*dos", "003-ws-header-dos", true),
            ("00?-ws*", "003-ws-header-dos", true),
            ("00?", "003-ws", false),
            ("", "a", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_exponential_time() {
        assert!(!matches(&"*a".repeat(200), &"a".repeat(199)));
    }

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|number| format!("{number:03}")).collect()
    }

    #[test]
    fn every_part_of_a_wish_narrows_the_selection() {
        let all = names(12);
        assert_eq!(Wanted::default().select(&all), all);
        let wanted = Wanted {
            patterns: vec!["00*".to_owned()],
            among: Some(["003", "005", "007", "011"].map(str::to_owned).into()),
            limit: Some(2),
        };
        let selected = wanted.select(&all);
        assert_eq!(selected, ["003", "005"]);
        assert_eq!(wanted.as_patterns(&selected), selected, "the report never says `all` of a part");
    }

    #[test]
    fn the_shards_of_a_run_are_disjoint_and_together_everything() {
        for count in 1..6 {
            let shards = (1..=count).map(|index| format!("{index}/{count}").parse::<Shard>().expect("a shard"));
            let mut all: Vec<_> = shards.flat_map(|shard| shard.select(&names(10))).collect();
            all.sort_unstable();
            assert_eq!(all, names(10));
        }
        for bad in ["", "1", "0/3", "4/3", "1/0", "+1/3", "1/3/5", "a/b"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
