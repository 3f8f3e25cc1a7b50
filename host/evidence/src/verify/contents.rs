//! What a record says beside its place: that its figures follow, that it agrees with the objects that it names, and that these are
//! there and right. An object is read once, whoever names it.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::ObjectFacts;
use super::case::read_manifest;
use super::figures;
use super::finding::{Defect, Finding};
use crate::chain::Link;
use crate::record::RecordedRun;
use crate::store::{Evidence, Excerpt, ReadObjectError, Seen};
use eval_model::ids::{Digest, TaskClassName};

/// A check under way.
pub(super) struct ContentCheck<'a> {
    evidence: &'a dyn Evidence,
    facts: ObjectFacts<'a>,
    checked: BTreeSet<Digest>,
    /// The files of each case that was read.
    cases: BTreeMap<Digest, Vec<Digest>>,
    required_cases: BTreeSet<Digest>,
    missing: BTreeSet<Digest>,
    untold: Untold,
    pub(super) contents: Contents,
}

/// How many objects of a record are named that are missing, or changed. The others are counted.
const MOST_NAMED: usize = 16;

/// How many of each there were in the record that is looked at.
#[derive(Default)]
struct Untold {
    missing: usize,
    changed: usize,
}

/// What became of the objects.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) findings: Vec<Finding>,
    /// Places of records that may lack objects, and do.
    pub(super) left_out: BTreeSet<(TaskClassName, u64)>,
    /// The objects that must be there: what a record without an excuse names.
    pub(super) required: BTreeSet<Digest>,
}

/// Whether an object that a record names must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    /// It may be left out. If it is there, it must be right.
    Optional,
}

impl<'a> ContentCheck<'a> {
    pub(super) fn new(evidence: &'a dyn Evidence) -> Self {
        Self {
            evidence,
            facts: ObjectFacts::new(evidence),
            checked: BTreeSet::new(),
            cases: BTreeMap::new(),
            required_cases: BTreeSet::new(),
            missing: BTreeSet::new(),
            untold: Untold::default(),
            contents: Contents::default(),
        }
    }

    pub(super) fn check(&mut self, seen: &Seen<'_>) {
        if let Some(contradiction) = figures::contradiction(seen.record) {
            self.contents.findings.push(Finding::at(seen.link, Defect::Contradiction(contradiction)));
        }
        if let Some(defect) = self.facts.contradiction(seen.record) {
            self.contents.findings.push(Finding::at(seen.link, Defect::Answer(defect)));
        }
        self.check_objects(seen.link, seen.record);
    }

    fn check_objects(&mut self, link: &Link, record: &RecordedRun) {
        let may_lack = |excerpt: &Excerpt| excerpt.may_lack_objects(&record.task_class, record.seq);
        let is_optional = self.evidence.extent().excerpt().is_some_and(may_lack);
        let presence = if is_optional { Presence::Optional } else { Presence::Required };
        // Cases first: an object that is a case and something else too must be read as a case.
        let cases: BTreeSet<_> = record.case_digest_set.values().copied().collect();
        for case in cases {
            self.check_case(link, presence, case);
        }
        for digest in record.named_objects() {
            self.check_object(link, presence, digest);
        }
        let Untold { missing, changed } = std::mem::take(&mut self.untold);
        let more = [
            (missing, Defect::MoreObjectsMissing { more: missing.saturating_sub(MOST_NAMED) }),
            (changed, Defect::MoreObjectsChanged { more: changed.saturating_sub(MOST_NAMED) }),
        ];
        let more = more.into_iter().filter(|(count, _)| *count > MOST_NAMED);
        self.contents.findings.extend(more.map(|(_, defect)| Finding::at(link, defect)));
    }

    /// Says what is wrong with an object that a record names, or counts it, if enough was said.
    fn tell(&mut self, link: &Link, defect: Defect) {
        let count = match &defect {
            Defect::ObjectMissing(_) => &mut self.untold.missing,
            Defect::ObjectChanged(_) => &mut self.untold.changed,
            _ => return self.contents.findings.push(Finding::at(link, defect)),
        };
        *count += 1;
        if *count <= MOST_NAMED {
            self.contents.findings.push(Finding::at(link, defect));
        }
    }

    /// A case's object leads to its files.
    fn check_case(&mut self, link: &Link, presence: Presence, digest: Digest) {
        if presence == Presence::Required && !self.required_cases.insert(digest) {
            return;
        }
        self.read_case(link, digest);
        self.hold(link, presence, digest);
        for file in self.cases[&digest].clone() {
            self.check_object(link, presence, file);
        }
    }

    fn read_case(&mut self, link: &Link, digest: Digest) {
        if self.cases.contains_key(&digest) {
            return;
        }
        self.checked.insert(digest);
        let files = match read_manifest(self.evidence, digest) {
            Ok(manifest) => manifest.files().map(|(_, file)| file).collect(),
            Err(error) => {
                self.add(link, digest, error.into());
                Vec::new()
            }
        };
        self.cases.insert(digest, files);
    }

    fn check_object(&mut self, link: &Link, presence: Presence, digest: Digest) {
        if self.checked.insert(digest)
            && let Err(error) = self.evidence.check_object(digest)
        {
            self.add(link, digest, error.into());
        }
        self.hold(link, presence, digest);
    }

    /// What is missing is wrong only where somebody needs it.
    fn add(&mut self, link: &Link, digest: Digest, defect: Defect) {
        match defect {
            Defect::ObjectMissing(ReadObjectError::Missing { .. }) => {
                self.missing.insert(digest);
            }
            defect => self.tell(link, defect),
        }
    }

    fn hold(&mut self, link: &Link, presence: Presence, digest: Digest) {
        let is_new = presence == Presence::Required && self.contents.required.insert(digest);
        if !self.missing.contains(&digest) {
            return;
        }
        match presence {
            Presence::Required if is_new => {
                self.tell(link, Defect::ObjectMissing(ReadObjectError::Missing { digest }));
            }
            Presence::Required => {}
            Presence::Optional => {
                self.contents.left_out.insert((link.position.task_class.clone(), link.position.seq));
            }
        }
    }
}
