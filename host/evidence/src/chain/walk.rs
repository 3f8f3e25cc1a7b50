//! Walks links from where a chain was last known to be whole, and names every place where it is not.

use std::collections::{BTreeMap, BTreeSet};

use super::link::{Head, Heads, Link, RecordFileName, StoreId};
use eval_model::ids::{RecordHash, TaskClassName};

/// What is wrong with a chain at one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Break {
    #[error("it belongs to the store `{found}`, and this is the store `{expected}`")]
    ForeignStore { expected: StoreId, found: StoreId },
    #[error("it is missing: the next one there is has the number {next}")]
    Missing { next: u64 },
    #[error("the chain forks here: {} records have this number: {}", files.len(), list(files))]
    Fork { files: Vec<RecordFileName> },
    #[error("its number was taken already when it appeared: the chain had reached {reached}")]
    Late { reached: u64 },
    #[error("its prev_hash is `{found}`, and the record before it hashes to `{expected}`")]
    Unlinked { expected: RecordHash, found: RecordHash },
}

fn list(files: &[RecordFileName]) -> String {
    files.iter().map(|file| format!("`{file}`")).collect::<Vec<_>>().join(", ")
}

/// A break and where it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    pub task_class: TaskClassName,
    pub seq: u64,
    /// The file to look at; none for a record that is missing.
    pub file: Option<RecordFileName>,
    pub what: Break,
}

/// Links to be walked.
#[derive(Debug, Default)]
pub struct Walk {
    pub links: Vec<Link>,
    /// Places where a file claims to be but cannot be relied on, which is reported elsewhere: neither a gap, nor something
    /// that the next record could be compared with.
    pub damaged: BTreeSet<(TaskClassName, u64)>,
}

/// Walks every task class by its numbers, moves `heads` to where each ends, and gives every break in order.
pub fn walk(store_id: StoreId, heads: &mut Heads, walk: &Walk) -> Vec<Broken> {
    let mut broken = Vec::new();
    let mut classes: BTreeMap<&TaskClassName, BTreeMap<u64, Vec<&Link>>> = BTreeMap::new();
    for link in &walk.links {
        if link.position.store_id == store_id {
            let seqs = classes.entry(&link.position.task_class).or_default();
            seqs.entry(link.position.seq).or_default().push(link);
        } else {
            broken.push(at(link, Break::ForeignStore { expected: store_id, found: link.position.store_id }));
        }
    }
    for (task_class, seqs) in classes {
        let mut walker = Walker::new(heads.get(task_class), &walk.damaged, &mut broken);
        for (seq, links) in seqs {
            walker.step(task_class, seq, &links);
        }
        if let Some(head) = walker.head {
            heads.set(task_class.clone(), head);
        }
    }
    broken
}

fn at(link: &Link, what: Break) -> Broken {
    Broken { task_class: link.position.task_class.clone(), seq: link.position.seq, file: Some(link.file_name()), what }
}

struct Walker<'a> {
    head: Option<Head>,
    next_seq: u64,
    /// What the next record may follow: several after a fork, none when the record before it cannot be relied on.
    parents: Vec<RecordHash>,
    damaged: &'a BTreeSet<(TaskClassName, u64)>,
    broken: &'a mut Vec<Broken>,
}

impl<'a> Walker<'a> {
    fn new(head: Option<Head>, damaged: &'a BTreeSet<(TaskClassName, u64)>, broken: &'a mut Vec<Broken>) -> Self {
        let (next_seq, parent) = head.map_or((1, RecordHash::GENESIS), |head| (head.seq.saturating_add(1), head.hash));
        Self { head, next_seq, parents: vec![parent], damaged, broken }
    }

    fn step(&mut self, task_class: &TaskClassName, seq: u64, links: &[&Link]) {
        if seq < self.next_seq {
            let reached = self.next_seq - 1;
            self.broken.extend(links.iter().map(|link| at(link, Break::Late { reached })));
            return;
        }
        self.pass_gap(task_class, seq);
        self.check_parents(links);
        if let [link] = links {
            self.head = Some(link.head());
        } else {
            let files = links.iter().map(|link| link.file_name()).collect();
            self.report(task_class, seq, Break::Fork { files });
        }
        self.parents = links.iter().map(|link| link.hash).collect();
        // A number that cannot be followed is no reason to stop looking at the other records.
        self.next_seq = seq.saturating_add(1);
    }

    fn pass_gap(&mut self, task_class: &TaskClassName, seq: u64) {
        if seq == self.next_seq {
            return;
        }
        self.parents.clear();
        let first_damaged = (task_class.clone(), self.next_seq);
        let accounted = self.damaged.range(first_damaged..(task_class.clone(), seq)).count() as u64;
        if accounted < seq - self.next_seq {
            let lost = (self.next_seq..seq).find(|seq| !self.damaged.contains(&(task_class.clone(), *seq)));
            self.report(task_class, lost.unwrap_or(self.next_seq), Break::Missing { next: seq });
        }
    }

    fn check_parents(&mut self, links: &[&Link]) {
        let Some(expected) = self.parents.first().copied() else { return };
        for link in links.iter().filter(|link| !self.parents.contains(&link.position.prev_hash)) {
            self.broken.push(at(link, Break::Unlinked { expected, found: link.position.prev_hash }));
        }
    }

    fn report(&mut self, task_class: &TaskClassName, seq: u64, what: Break) {
        self.broken.push(Broken { task_class: task_class.clone(), seq, file: None, what });
    }
}

#[cfg(test)]
mod tests {
    use super::super::link::{Position, hash_of};
    use super::*;

    const STORE: StoreId = StoreId::from_bytes([1; 16]);

    fn link(class: &str, seq: u64, prev_hash: RecordHash, content: &str) -> Link {
        Link {
            position: Position { store_id: STORE, task_class: class.parse().expect("a class"), seq, prev_hash },
            // The clock runs backwards, which must not matter.
            finished_at: format!("2026-11-16T09:30:{:02}.000Z", 59 - seq % 60).parse().expect("a moment"),
            hash: hash_of(content.as_bytes()),
        }
    }

    fn chain(class: &str, length: u64) -> Vec<Link> {
        let mut prev = RecordHash::GENESIS;
        (1..=length)
            .map(|seq| {
                let link = link(class, seq, prev, &format!("{class} {seq}"));
                prev = link.hash;
                link
            })
            .collect()
    }

    fn breaks(links: Vec<Link>) -> Vec<(u64, String)> {
        let mut heads = Heads::default();
        let broken = walk(STORE, &mut heads, &Walk { links, damaged: BTreeSet::new() });
        broken.into_iter().map(|broken| (broken.seq, broken.what.to_string())).collect()
    }

    #[test]
    fn whole_chains_of_several_classes_in_any_order_have_no_break() {
        let mut links = [chain("b", 5), chain("a", 3)].concat();
        links.reverse();
        let mut heads = Heads::default();
        assert_eq!(walk(STORE, &mut heads, &Walk { links, ..Walk::default() }), []);
        let ends: Vec<_> = heads.iter().map(|(class, head)| (class.as_str(), head.seq)).collect();
        assert_eq!(ends, [("a", 3), ("b", 5)]);
    }

    #[test]
    fn walking_on_from_a_head_gives_what_walking_at_once_gives() {
        let links = chain("a", 9);
        let mut heads = Heads::default();
        for part in links.chunks(4) {
            assert_eq!(walk(STORE, &mut heads, &Walk { links: part.to_vec(), ..Walk::default() }), []);
        }
        assert_eq!(heads.get(&"a".parse().expect("a class")), Some(links[8].head()));
    }

    #[test]
    fn a_deleted_record_is_named_once() {
        for deleted in [0, 1, 3] {
            let mut links = chain("a", 5);
            links.remove(deleted);
            let seq = deleted as u64 + 1;
            let expected = format!("it is missing: the next one there is has the number {}", seq + 1);
            assert_eq!(breaks(links), [(seq, expected)]);
        }
    }

    #[test]
    fn a_record_that_follows_another_one_is_named() {
        let mut links = chain("a", 4);
        links[2].position.prev_hash = hash_of(b"elsewhere");
        let found = breaks(links);
        assert_eq!(found.len(), 1);
        assert!(found[0].0 == 3 && found[0].1.starts_with("its prev_hash is"), "{found:?}");
    }

    #[test]
    fn a_fork_is_named_with_its_files_and_either_branch_may_go_on() {
        let mut links = chain("a", 3);
        links.push(link("a", 2, links[0].hash, "the other"));
        let found = breaks(links);
        assert_eq!(found.len(), 1);
        assert!(found[0].0 == 2 && found[0].1.starts_with("the chain forks here: 2 records"), "{found:?}");
    }

    #[test]
    fn a_record_of_another_store_is_no_part_of_the_chain() {
        let mut links = chain("a", 2);
        links[1].position.store_id = StoreId::from_bytes([2; 16]);
        assert!(breaks(links)[0].1.starts_with("it belongs to the store `02"));
    }

    #[test]
    fn a_record_that_appears_behind_the_head_is_late() {
        let links = chain("a", 3);
        let mut heads = Heads::default();
        walk(STORE, &mut heads, &Walk { links: links.clone(), ..Walk::default() });
        let late = link("a", 2, links[0].hash, "late");
        let broken = walk(STORE, &mut heads, &Walk { links: vec![late], ..Walk::default() });
        assert_eq!(broken[0].what, Break::Late { reached: 3 });
    }

    #[test]
    fn a_damaged_record_is_neither_a_gap_nor_a_parent() {
        let mut links = chain("a", 4);
        let damaged = BTreeSet::from([(links[1].position.task_class.clone(), 2)]);
        links.remove(1);
        assert_eq!(walk(STORE, &mut Heads::default(), &Walk { links, damaged }), []);
    }

    #[test]
    fn absurd_numbers_end_the_walk_and_not_the_program() {
        let far = link("a", u64::MAX, RecordHash::GENESIS, "far");
        assert_eq!(breaks(vec![far.clone()]).len(), 1);
        let zero = link("a", 0, RecordHash::GENESIS, "zero");
        assert_eq!(breaks(vec![zero, far]).len(), 2);
    }
}
