//! YAML in which no mapping has a key twice: tools differ in which one they take, or refuse it.

use std::collections::BTreeSet;

use saphyr_parser::{Event, Parser};

/// What is wrong with a text that should be YAML.
#[must_use]
pub fn problem(text: &str) -> Option<String> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let problem = match event {
            Ok((event, span)) => {
                reader.event(&event).map(|key| format!("line {}: the key `{key}` is there twice", span.start.line()))
            }
            Err(error) => Some(error.to_string()),
        };
        if problem.is_some() {
            return problem;
        }
    }
    None
}

/// A collection that is open.
enum Open {
    Sequence,
    Mapping { keys: BTreeSet<String>, expects_key: bool },
}

#[derive(Default)]
struct Reader {
    open: Vec<Open>,
}

impl Reader {
    /// Takes the next event, and gives the key that it repeats, if it does.
    fn event(&mut self, event: &Event<'_>) -> Option<String> {
        match event {
            Event::Scalar(text, ..) => self.value(Some(text)),
            Event::Alias(_) => self.value(None),
            Event::MappingStart(..) => {
                let found = self.value(None);
                self.open.push(Open::Mapping { keys: BTreeSet::new(), expects_key: true });
                found
            }
            Event::SequenceStart(..) => {
                let found = self.value(None);
                self.open.push(Open::Sequence);
                found
            }
            Event::MappingEnd | Event::SequenceEnd => {
                self.open.pop();
                None
            }
            _ => None,
        }
    }

    /// A key or a value, as the mapping it is in expects. Keys that are no plain text are not compared.
    fn value(&mut self, text: Option<&str>) -> Option<String> {
        let Some(Open::Mapping { keys, expects_key }) = self.open.last_mut() else { return None };
        let is_key = std::mem::replace(expects_key, !*expects_key);
        // Merge keys may be many.
        let key = text.filter(|text| is_key && *text != "<<")?;
        (!keys.insert(key.to_owned())).then(|| key.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn valid_files_have_no_problem() {
        for text in [
            "",
            "a: 1\nb:\n  - a: 1\n    c: \"x: y\"\n  - a: 2\n---\na: {b: 1, c: [1, 2]}\n",
            "x: &x {a: 1}\ny: &y {b: 1}\nz:\n  <<: *x\n  <<: *y\n? [1, 2]\n: 3\n",
        ] {
            assert_eq!(problem(text), None, "{text}");
        }
    }

    #[test]
    fn what_no_parser_takes_and_keys_that_are_there_twice_are_found() {
        for text in ["a: 1\nstray: [: }\n", "a: [1\n", "a: 1\n b: 2\n", "<<<<<<< stray\na: 1\n"] {
            assert!(problem(text).is_some(), "{text}");
        }
        let twice = problem("ports:\n  - port: 80\n    targetPort: 80\n    targetPort: 8080\n").unwrap();
        assert_eq!(twice, "line 4: the key `targetPort` is there twice");
    }
}
