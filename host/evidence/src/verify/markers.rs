//! Which run each marker announced. One announcement is one run, so that nobody can hide one behind another.

use std::collections::{BTreeMap, BTreeSet};

use super::finding::{Defect, Finding};
use super::verification::Verification;
use crate::store::{ReadMarkerError, Started};
use eval_model::ids::{Digest, TaskClassName};

/// Which record names which marker.
#[derive(Default)]
pub(super) struct NamedMarkers(BTreeMap<Digest, (TaskClassName, u64)>);

impl NamedMarkers {
    /// A record that names another's marker would hide a run of its own.
    pub(super) fn claim(&mut self, marker: Digest, place: (TaskClassName, u64)) -> Option<Finding> {
        let (task_class, seq) = self.0.get(&marker).cloned().unwrap_or_else(|| place.clone());
        if (&task_class, seq) == (&place.0, place.1) {
            self.0.insert(marker, place);
            return None;
        }
        let defect = Defect::MarkerTaken { marker, task_class, seq };
        Some(Finding::of_class(Some(place.0), Some(place.1), defect))
    }
}

impl Verification {
    pub(super) fn add_markers(&mut self, markers: Vec<Started>, mut named: NamedMarkers) {
        // The record of a run in shards names one marker, and that one names those of the shards.
        let mut misused = Vec::new();
        for started @ Started { digest, marker } in &markers {
            let (wrong, findings): (BTreeSet<_>, Vec<_>) = started.misfits(&markers).into_iter().unzip();
            misused.extend(findings);
            let Some(place) = named.0.get(digest).cloned() else { continue };
            if marker.task_class != place.0 {
                let (marker, announced) = (*digest, marker.task_class.clone());
                let defect = Defect::MarkerOfOtherClass { marker, announced };
                misused.push(Finding::of_class(Some(place.0.clone()), Some(place.1), defect));
            }
            // What is listed wrongly is not finished by it.
            let shards = marker.shards.iter().filter(|shard| !wrong.contains(shard));
            misused.extend(shards.filter_map(|shard| named.claim(*shard, place.clone())));
        }
        self.add(misused);
        let newer = self.newer_markers();
        let there: BTreeSet<_> = markers.iter().map(|started| started.digest).chain(newer).collect();
        for started in markers {
            let task_class = &started.marker.task_class;
            self.classes.entry(task_class.clone()).or_default().started += 1;
            self.markers.insert((task_class.clone(), started.marker.seq.get()), started.digest);
            if !named.0.contains_key(&started.digest) {
                self.unfinished.push(started);
            }
        }
        let is_left_out = |(class, seq): &(TaskClassName, u64)| {
            self.excerpt.as_ref().is_some_and(|excerpt| excerpt.lacks_marker(class, *seq))
        };
        let gone = named.0.iter().filter(|(marker, place)| !there.contains(*marker) && !is_left_out(place));
        let finding = |(marker, (class, seq)): (&Digest, &(TaskClassName, u64))| {
            Finding::of_class(Some(class.clone()), Some(*seq), Defect::MarkerGone { marker: *marker })
        };
        self.add(gone.map(finding).collect::<Vec<_>>());
    }

    /// Markers that are there, and that only a newer program can read.
    pub(super) fn newer_markers(&self) -> impl Iterator<Item = Digest> {
        self.findings.iter().filter_map(|finding| match &finding.defect {
            Defect::Marker(ReadMarkerError::Newer { digest, .. }) => Some(*digest),
            _ => None,
        })
    }
}
