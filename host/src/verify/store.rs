//! The walk over one store.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Finding, State};
use crate::chain::{Heads, StoreId};
use crate::ids::{Digest, TaskClassName};
use crate::store::{LockError, Seen, Snapshot, StoreReader};

/// What a task class has in the store.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClassSummary {
    pub(crate) records: u64,
}

/// What was found out about a store. Everything that is wrong, in order: the store, then its classes record by record.
#[derive(Debug)]
pub(crate) struct Verification {
    pub(crate) store_id: StoreId,
    pub(crate) heads: Heads,
    pub(crate) classes: BTreeMap<TaskClassName, ClassSummary>,
    pub(crate) findings: Vec<Finding>,
    /// What was seen, for a writer that goes on from here.
    pub(crate) snapshot: Snapshot,
}

impl Verification {
    /// The worst that was found.
    pub(crate) fn state(&self) -> State {
        self.findings.iter().map(Finding::state).max().unwrap_or(State::Ok)
    }

    /// Keeps what concerns one task class. What nobody can attribute concerns every one.
    pub(crate) fn limit_to(&mut self, task_class: &TaskClassName) {
        self.findings.retain(|finding| finding.task_class.as_ref().is_none_or(|class| class == task_class));
        self.classes.retain(|class, _| class == task_class);
    }
}

/// Walks the whole store.
pub(crate) fn verify(store: &StoreReader, progress: &mut dyn FnMut(usize, usize)) -> Result<Verification, LockError> {
    let mut classes: BTreeMap<TaskClassName, ClassSummary> = BTreeMap::new();
    let mut objects = ObjectCheck { store, checked: BTreeSet::new(), findings: Vec::new() };
    let mut scan = store.scan(&Snapshot::default(), &mut |seen: &Seen<'_>| {
        classes.entry(seen.record.task_class.clone()).or_default().records += 1;
        objects.check(seen);
        progress(seen.done, seen.total);
    })?;
    scan.findings.append(&mut objects.findings);
    scan.findings.sort_by(|a, b| (&a.task_class, a.seq, &a.file).cmp(&(&b.task_class, b.seq, &b.file)));
    Ok(Verification {
        store_id: store.id(),
        heads: scan.snapshot.heads().clone(),
        classes,
        findings: scan.findings,
        snapshot: scan.snapshot,
    })
}

/// Checks every object that some record names, each once.
struct ObjectCheck<'a> {
    store: &'a StoreReader,
    checked: BTreeSet<Digest>,
    findings: Vec<Finding>,
}

impl ObjectCheck<'_> {
    fn check(&mut self, seen: &Seen<'_>) {
        for digest in seen.record.named_objects() {
            if !self.checked.insert(digest) {
                continue;
            }
            if let Err(error) = self.store.check_object(digest) {
                self.findings.push(Finding {
                    task_class: Some(seen.record.task_class.clone()),
                    seq: Some(seen.record.seq),
                    file: Some(format!("runs/{}", seen.link.file_name())),
                    problem: error.into(),
                });
            }
        }
    }
}
