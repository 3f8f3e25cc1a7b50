//! Which cases of a bench a run takes.

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

/// The names that any of the patterns matches; all of them when there is no pattern.
pub(crate) fn select(names: &[String], patterns: &[String]) -> Vec<String> {
    let wanted = |name: &&String| patterns.is_empty() || patterns.iter().any(|pattern| matches(pattern, name));
    names.iter().filter(wanted).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
