//! As much XML as a POM needs: elements and text. Comments, instructions and attributes are passed over; a document type
//! is refused, because a POM has none and entities of its own are a trap.

/// An element with its text and its children.
use std::collections::BTreeSet;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Element {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) children: Vec<Element>,
    /// Inside a configuration, where text may stand between elements.
    is_free: bool,
}

impl Element {
    /// What is there twice, although only the elements of a list may be: `version` twice in one `dependency`.
    pub(super) fn repeated(&self) -> Option<String> {
        if self.is_free {
            return None;
        }
        let mut seen = BTreeSet::new();
        let twice = self.children.iter().find(|child| !self.is_list_of(&child.name) && !seen.insert(&child.name));
        match twice {
            Some(child) => Some(format!("`{}` has `{}` twice", self.name, child.name)),
            None => self.children.iter().find_map(Self::repeated),
        }
    }

    /// Lists are named by the plural of what they hold: `dependencies`, `goals`.
    fn is_list_of(&self, name: &str) -> bool {
        let stem = name.strip_suffix('y').map(|stem| format!("{stem}ies"));
        self.name == format!("{name}s") || stem.is_some_and(|plural| self.name == plural)
    }

    pub(super) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    pub(super) fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// The text of a child, without blanks around it.
    pub(super) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.trim())
    }
}

/// How deep elements may be nested. A POM needs about ten; a limit keeps a hostile one from exhausting the stack.
const DEPTH: usize = 64;

/// Reads a document into its root element.
pub(super) fn parse(text: &str) -> Result<Element, String> {
    let mut open: Vec<Element> = vec![Element::default()];
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        add_text(&mut open, &rest[..at])?;
        rest = markup(&rest[at..], &mut open)?;
    }
    add_text(&mut open, rest)?;
    match open.as_mut_slice() {
        [document] if document.children.len() == 1 => Ok(document.children.remove(0)),
        [_] => Err("it has not exactly one root element".to_owned()),
        [.., last] => Err(format!("`{}` is not closed", last.name)),
        [] => Err("it is empty".to_owned()),
    }
}

/// Takes one piece of markup off the text.
fn markup<'a>(rest: &'a str, open: &mut Vec<Element>) -> Result<&'a str, String> {
    if let Some(inside) = rest.strip_prefix("<!--") {
        let (_, after) = inside.split_once("--").ok_or("`<!--` is not closed")?;
        return after.strip_prefix('>').ok_or_else(|| "a comment has `--` in it".to_owned());
    }
    if let Some(inside) = rest.strip_prefix("<?") {
        return inside.split_once("?>").map(|(_, after)| after).ok_or_else(|| "`<?` is not closed".to_owned());
    }
    if let Some(inside) = rest.strip_prefix("<![CDATA[") {
        let (text, after) = inside.split_once("]]>").ok_or("`<![CDATA[` is not closed")?;
        if let Some(element) = open.last_mut() {
            element.text.push_str(text);
        }
        return Ok(after);
    }
    let (tag, after) = rest[1..].split_once('>').ok_or("a tag is not closed")?;
    match tag.strip_prefix('/') {
        Some(name) => close(name.trim(), open)?,
        None => start(tag, open)?,
    }
    Ok(after)
}

fn start(tag: &str, open: &mut Vec<Element>) -> Result<(), String> {
    let (tag, closes) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
    let (name, attributes) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    if !are_attributes(attributes) {
        return Err(format!("`<{tag}>` has something that is no attribute"));
    }
    if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_.:".contains(c)) {
        return Err(format!("`<{tag}>` is no element"));
    }
    if open.len() > DEPTH {
        return Err(format!("`{name}` is nested too deeply"));
    }
    let is_free = name == "configuration" || open.last().is_some_and(|parent| parent.is_free);
    open.push(Element { name: name.to_owned(), is_free, ..Element::default() });
    if closes { close(name, open) } else { Ok(()) }
}

fn close(name: &str, open: &mut Vec<Element>) -> Result<(), String> {
    match (open.pop(), open.last_mut()) {
        (Some(element), Some(parent)) if element.name == name => {
            // What a plugin is configured with may be anything.
            if !element.is_free && !element.children.is_empty() && !element.text.trim().is_empty() {
                return Err(format!("`{name}` has text between its elements"));
            }
            parent.children.push(element);
            Ok(())
        }
        _ => Err(format!("`</{name}>` closes nothing")),
    }
}

fn add_text(open: &mut [Element], text: &str) -> Result<(), String> {
    let is_inside = open.len() > 1;
    let Some(element) = open.last_mut().filter(|_| is_inside) else {
        return if text.trim().is_empty() { Ok(()) } else { Err("there is text outside the root element".to_owned()) };
    };
    let mut pieces = text.split('&');
    element.text.push_str(pieces.next().unwrap_or_default());
    for piece in pieces {
        let (entity, after) = piece.split_once(';').ok_or("`&` begins no entity")?;
        element.text.push(match entity {
            "lt" => '<',
            "gt" => '>',
            "amp" => '&',
            "quot" => '"',
            "apos" => '\'',
            other => numbered(other).ok_or_else(|| format!("`&{other};` is not known"))?,
        });
        element.text.push_str(after);
    }
    Ok(())
}

/// Whether a text is nothing but `name="value"`, any number of times.
fn are_attributes(text: &str) -> bool {
    let mut rest = text.trim();
    while !rest.is_empty() {
        let Some((name, after)) = rest.split_once('=') else { return false };
        let (name, after) = (name.trim(), after.trim_start());
        let Some(quote) = after.chars().next().filter(|c| matches!(c, '"' | '\'')) else { return false };
        let Some((_, after)) = after[1..].split_once(quote) else { return false };
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || "-_.:".contains(c)) {
            return false;
        }
        rest = after.trim_start();
    }
    true
}

/// The character of `&#10;` or `&#xA;`.
fn numbered(entity: &str) -> Option<char> {
    let number = entity.strip_prefix('#')?;
    let code = match number.strip_prefix('x') {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    code.ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_text_and_what_is_passed_over() {
        let root = parse(
            "<?xml version=\"1.0\"?>\n<!-- c --><a x=\"1\"><b> t &amp;&#32;&#x75; </b><c/><b><![CDATA[<x>]]></b></a>\n",
        )
        .unwrap();
        assert_eq!(root.name, "a");
        assert_eq!(root.text_of("b"), Some("t & u"));
        assert_eq!(root.children("b").count(), 2);
        assert_eq!(root.children[2].text, "<x>");
        assert_eq!(root.child("c").unwrap().children.len(), 0);
    }

    #[test]
    fn only_the_elements_of_a_list_are_there_twice() {
        let repeated = |text: &str| parse(text).unwrap().repeated();
        assert_eq!(
            repeated("<a><dependencies><dependency/><dependency/></dependencies><goals><goal/><goal/></goals></a>"),
            None
        );
        assert_eq!(repeated("<a><configuration><x/><x/></configuration></a>"), None, "a plugin may be told anything");
        assert_eq!(repeated("<a><b><version/><x/><version/></b></a>").as_deref(), Some("`b` has `version` twice"));
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        let bad = [
            "",
            "text",
            "<a>",
            "<a></b>",
            "</a>",
            "<a/><b/>",
            "<a><!-- </a>",
            "<a><!-- b -- c --></a>",
            "<a b=c></a>",
            "<a b=\"c\" d></a>",
            "<a>&nbsp;</a>",
            "<a>&lt</a>",
            "<a",
            "<!DOCTYPE x><a/>",
            "<a/>x",
        ];
        for text in bad {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse(&"<a>".repeat(100_000)).is_err());
    }
}
