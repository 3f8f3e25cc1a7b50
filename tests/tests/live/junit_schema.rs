//! The JUnit file against the rules of Jenkins' `junit-10.xsd`, which refuses what it does not know: elements, attributes, their
//! order, and how a time is spelled. The reader of XML here is as strict, and knows only what eval-host writes.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::desk::{ANSWER, Desk, TASK_CLASS};

/// What an attribute's value must look like.
#[derive(Clone, Copy)]
enum Form {
    Text,
    Count,
    Seconds,
    DateTime,
}

use Form::{Count, DateTime, Seconds, Text};

/// What the schema says of an element.
struct Rule {
    name: &'static str,
    required: &'static [(&'static str, Form)],
    optional: &'static [(&'static str, Form)],
    /// In groups: what belongs to a later one comes after all that belongs to an earlier one.
    children: &'static [&'static [&'static str]],
    has_text: bool,
}

const TYPE_AND_MESSAGE: &[(&str, Form)] = &[("type", Text), ("message", Text)];
const NO_CHILDREN: &[&[&str]] = &[];

const RULES: [Rule; 9] = [
    Rule {
        name: "testsuites",
        required: &[],
        optional: &[("name", Text), ("time", Seconds), ("tests", Count), ("failures", Count), ("errors", Count)],
        children: &[&["testsuite"]],
        has_text: false,
    },
    Rule {
        name: "testsuite",
        required: &[("name", Text), ("tests", Count), ("failures", Count), ("errors", Count)],
        optional: &[
            ("group", Text),
            ("time", Seconds),
            ("skipped", Count),
            ("timestamp", DateTime),
            ("hostname", Text),
            ("id", Text),
            ("package", Text),
            ("file", Text),
            ("log", Text),
            ("url", Text),
        ],
        children: &[&["properties"], &["testcase"], &["system-out"], &["system-err"]],
        has_text: false,
    },
    Rule { name: "properties", required: &[], optional: &[], children: &[&["property"]], has_text: false },
    Rule {
        name: "property",
        required: &[("name", Text), ("value", Text)],
        optional: &[],
        children: NO_CHILDREN,
        has_text: false,
    },
    Rule {
        name: "testcase",
        required: &[("name", Text)],
        optional: &[("time", Seconds), ("classname", Text), ("group", Text)],
        children: &[&["skipped", "error", "failure"], &["system-out"], &["system-err"]],
        has_text: false,
    },
    Rule { name: "failure", required: &[], optional: TYPE_AND_MESSAGE, children: NO_CHILDREN, has_text: true },
    Rule { name: "error", required: &[], optional: TYPE_AND_MESSAGE, children: NO_CHILDREN, has_text: true },
    Rule { name: "skipped", required: &[], optional: TYPE_AND_MESSAGE, children: NO_CHILDREN, has_text: true },
    Rule { name: "system-err", required: &[], optional: &[], children: NO_CHILDREN, has_text: true },
];

/// An element as it was read.
#[derive(Debug)]
struct Element {
    name: String,
    attributes: BTreeMap<String, String>,
    children: Vec<Element>,
    text: String,
}

/// Reads XML from the front.
struct Reader<'a> {
    rest: &'a str,
}

impl<'a> Reader<'a> {
    fn document(text: &'a str) -> Element {
        let declaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
        let rest = text.strip_prefix(declaration).expect("a declaration");
        let is_char = |c: char| matches!(u32::from(c), 0x9 | 0xa | 0xd | 0x20..=0xd7ff | 0xe000..=0xfffd | 0x10000..);
        assert!(rest.chars().all(is_char), "a character that XML does not have");
        let mut reader = Self { rest };
        let root = reader.element();
        assert_eq!(reader.rest.trim(), "", "something after the root");
        root
    }

    #[track_caller]
    fn expect(&mut self, text: &str) {
        self.rest = self.rest.strip_prefix(text).unwrap_or_else(|| panic!("{text:?} expected at {:.60?}", self.rest));
    }

    fn takes(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn name(&mut self) -> String {
        let end = self.rest.find(|c: char| !c.is_ascii_lowercase() && c != '-').expect("an end of a name");
        let (name, rest) = self.rest.split_at(end);
        assert!(!name.is_empty(), "a name expected at {rest:.60?}");
        self.rest = rest;
        name.to_owned()
    }

    /// What stands before `end`, with its references resolved.
    fn text_before(&mut self, end: char) -> String {
        let (raw, rest) = self.rest.split_at(self.rest.find(end).expect("an end of a text"));
        self.rest = rest;
        assert!(!raw.contains('<') && !raw.contains("]]>"), "markup in a text: {raw:?}");
        let mut pieces = raw.split('&');
        let mut text = pieces.next().expect("a first piece").to_owned();
        for piece in pieces {
            let (reference, after) = piece.split_once(';').expect("a reference ends with `;`");
            text.push(referred(reference));
            text.push_str(after);
        }
        text
    }

    fn attributes(&mut self) -> BTreeMap<String, String> {
        let mut attributes = BTreeMap::new();
        while self.takes(" ") {
            let name = self.name();
            self.expect("=\"");
            let value = self.text_before('"');
            self.expect("\"");
            assert!(attributes.insert(name.clone(), value).is_none(), "`{name}` stands there twice");
        }
        attributes
    }

    fn element(&mut self) -> Element {
        self.expect("<");
        let name = self.name();
        let mut element = Element { name, attributes: self.attributes(), children: Vec::new(), text: String::new() };
        if self.takes("/>") {
            return element;
        }
        self.expect(">");
        loop {
            element.text += &self.text_before('<');
            if self.takes("</") {
                self.expect(&element.name);
                self.expect(">");
                return element;
            }
            element.children.push(self.element());
        }
    }
}

fn referred(reference: &str) -> char {
    match reference {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "#9" => '\t',
        "#10" => '\n',
        other => panic!("the reference `{other}`"),
    }
}

impl Element {
    #[track_caller]
    fn check(&self) {
        let rule = RULES.iter().find(|rule| rule.name == self.name);
        let rule = rule.unwrap_or_else(|| panic!("the schema has no element `{}`", self.name));
        for (name, _) in rule.required {
            assert!(self.attributes.contains_key(*name), "`{}` needs `{name}`", self.name);
        }
        for (name, value) in &self.attributes {
            let known = rule.required.iter().chain(rule.optional).find(|(known, _)| known == name);
            let (_, form) = known.unwrap_or_else(|| panic!("`{}` has no attribute `{name}`", self.name));
            assert!(form.fits(value), "`{}` has {name}=\"{value}\"", self.name);
        }
        assert!(rule.has_text || self.text.trim().is_empty(), "`{}` has the text {:?}", self.name, self.text);
        let group = |child: &Self| rule.children.iter().position(|names| names.contains(&child.name.as_str()));
        let groups: Vec<_> = self.children.iter().map(group).collect();
        assert!(
            groups.iter().all(Option::is_some) && groups.is_sorted(),
            "the children of `{}`: {groups:?}",
            self.name
        );
        self.children.iter().for_each(Self::check);
    }

    #[track_caller]
    fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).unwrap_or_else(|| panic!("`{}` has no `{name}`", self.name))
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    #[track_caller]
    fn count(&self, name: &str) -> usize {
        self.attribute(name).parse().expect("a number")
    }
}

impl Form {
    fn fits(self, value: &str) -> bool {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match self {
            Text => true,
            Count => digits(value),
            Seconds => match value.split_once('.') {
                Some((whole, part)) => digits(whole) && digits(part) && part.len() <= 3,
                None => digits(value),
            },
            DateTime => value.len() >= "2026-11-16T09:30:00Z".len() && value.parse::<jiff::Timestamp>().is_ok(),
        }
    }
}

/// Reads the file, checks it against the rules and its sums against its cases, and gives its only suite.
#[track_caller]
fn suite_in(path: &Path) -> Element {
    let mut root = Reader::document(&fs::read_to_string(path).expect("a JUnit file"));
    root.check();
    assert_eq!((root.name.as_str(), root.children.len()), ("testsuites", 1));
    let suite = root.children.remove(0);
    let with = |name: &str| suite.all("testcase").filter(|case| case.all(name).count() == 1).count();
    for of in [&root, &suite] {
        assert_eq!(of.count("tests"), suite.all("testcase").count());
        assert_eq!((of.count("failures"), of.count("errors")), (with("failure"), with("error")));
        assert_eq!(of.attribute("time"), suite.attribute("time"));
    }
    assert_eq!(suite.count("skipped"), with("skipped"));
    suite
}

fn properties(suite: &Element) -> BTreeMap<&str, &str> {
    let all = suite.all("properties").flat_map(|properties| properties.all("property"));
    all.map(|property| (property.attribute("name"), property.attribute("value"))).collect()
}

/// Asserts that the suite names the record that the command line told of.
#[track_caller]
fn expect_record(suite: &Element, ended: &eval_host_tests::Ended, folder: &Path) {
    let line = ended.line("record");
    let record: Value =
        serde_json::from_slice(&fs::read(ended.record_path(folder)).expect("a record")).expect("a record is JSON");
    assert_eq!(suite.attribute("timestamp"), record["started_at"]);
    let seq = line["seq"].to_string();
    let expected =
        [("run_id", &record["run_id"]), ("record", &line["path"])].map(|(name, value)| (name, value.as_str()));
    let aggregate = ended.line("aggregate");
    let costs = ["total_cost_usd", "estimated_cost_usd"]
        .map(|name| (name, aggregate[name].as_f64().expect("a cost").to_string()));
    let costs = costs.iter().map(|(name, cost)| (*name, Some(cost.as_str())));
    let expected = expected.into_iter().chain([("seq", Some(seq.as_str()))]).chain(costs);
    assert_eq!(properties(suite), expected.map(|(name, value)| (name, value.expect("a text"))).collect());
}

/// Names a case's folder may have on disk, and no case.
const HOSTILE_NAME: &str = "!\u{1}\u{1b}[2J<&\"'>\n]]>\u{fffe}\u{85}\u{202e}";

#[test]
fn a_live_run_with_failures_faults_skipped_cases_and_hostile_names_fits_the_schema() {
    let noise = r#"i=1; while test $i -lt 128; do printf "\\$(printf %03o $i)" >&2; i=$((i + 1)); done; printf '\377\376 ]]> <&"' >&2"#;
    let script = format!("{noise}\ncase \"$id\" in 001-*) exit 3 ;; *) echo '{ANSWER}' ;; esac");
    let desk = Desk::new("max_cost_usd_per_case = 0.30", &script);
    let hostile = desk.path().join("bench").join(TASK_CLASS).join("cases").join(HOSTILE_NAME);
    fs::create_dir(&hostile).expect("a folder");
    fs::write(hostile.join("case.toml"), "case_id = \"<&>\"\n").expect("a case file");
    let ended = desk.live(5, ["--junit=junit.xml", "--max-cost-usd=1.00", "-j1"]).run().expect_code(1);
    let suite = suite_in(&desk.path().join("junit.xml"));
    expect_record(&suite, &ended, desk.path());
    let totals = ["tests", "failures", "errors", "skipped"].map(|name| suite.count(name));
    assert_eq!(totals, [5, 2, 2, 1], "a load error is an error");
    let name = suite.all("testcase").last().expect("a load error").attribute("name");
    assert_eq!(name, format!("{TASK_CLASS}/cases/{}", HOSTILE_NAME.escape_default()));
}

#[test]
fn cassettes_that_claim_any_duration_fit_the_schema() {
    let desk = Desk::new("", "");
    for (name, seconds) in desk.cases(5).iter().zip(["1.7e308", "1.7e308", "1.5e-9", "0.1234567", "1e21"]) {
        let path = desk.path().join("bench").join(TASK_CLASS).join("cases").join(name).join("cassette.json");
        let text = fs::read_to_string(&path).expect("a cassette");
        let mut cassette: Value = serde_json::from_str(&text).expect("JSON");
        cassette["duration_seconds"] = serde_json::from_str(seconds).expect("a number");
        fs::write(&path, cassette.to_string()).expect("a cassette");
    }
    let run = ["run", "--task-class", TASK_CLASS, "--limit=5", "--junit=junit.xml"];
    let ended = desk.eval(run).run().expect_code(0);
    let suite = suite_in(&desk.path().join("junit.xml"));
    expect_record(&suite, &ended, desk.path());
    let times: Vec<_> = suite.all("testcase").map(|case| case.attribute("time")).collect();
    assert_eq!(times[2..], ["0.000", "0.123", "1000000000000000000000.000"]);
}

#[test]
fn a_shard_names_no_record_and_the_merged_run_does() {
    let desk = Desk::new("", "");
    let answer_sets = ["1/2", "2/2"].map(|shard| {
        let run = ["run", "--task-class", TASK_CLASS, "--limit=4", "--shard", shard, "--junit=shard.xml"];
        let ended = desk.eval(run).run().expect_code(0);
        let suite = suite_in(&desk.path().join("shard.xml"));
        assert_eq!((suite.count("tests"), suite.all("properties").count()), (2, 0));
        fs::remove_file(desk.path().join("shard.xml")).expect("removed");
        ended.line("answer_set")["path"].as_str().expect("a path").to_owned()
    });
    let merged = desk.eval(["merge", &answer_sets[0], &answer_sets[1], "--junit=junit.xml"]).run().expect_code(0);
    let suite = suite_in(&desk.path().join("junit.xml"));
    expect_record(&suite, &merged, desk.path());
    assert_eq!(suite.count("tests"), 4);
    let not_written =
        desk.eval(["run", "--task-class", TASK_CLASS, "--limit=4", "--shard=1/2", "--junit=no/such/folder.xml"]);
    let not_written = not_written.run().expect_code(1);
    assert!(
        not_written.stderr.contains("the answer set was written, but `no/such/folder.xml`"),
        "{}",
        not_written.stderr
    );
}
