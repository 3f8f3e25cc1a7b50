//! The attack itself: every mutant of every answer is judged once, and counted by its mutator.
//!
//! The mutants of one case are in memory at a time. Results come in the order of the mutants, so the number of threads changes
//! nothing but the time.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroUsize;

use serde_json::Value;

use super::difference::difference;
use super::mutants::{Mutators, Vocabulary};
use super::target::{AttackError, AttackedCase, Target, canonical};
use eval_model::contract::{CaseFiles, Meter, RubricRunner};
use eval_model::ids::{CaseId, Digest};
use eval_model::judge::{Judgement, judge};
use eval_model::outcome::OutcomeClass;
use eval_model::workers::in_order;

/// What came of the mutants of one mutator.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) mutants: u64,
    pub(crate) killed: u64,
    pub(crate) survivors: u64,
    pub(crate) accepted: u64,
    pub(crate) faulted: u64,
}

/// A mutant that passes, and that nobody has accepted.
#[derive(Debug)]
pub(crate) struct Survivor {
    pub(crate) mutant: Mutant,
    pub(crate) score: f64,
    pub(crate) failure_modes: Vec<String>,
}

/// A mutant on which the rubric itself failed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) mutant: Mutant,
    pub(crate) fault: String,
}

/// A survivor that a golden test accepts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Accepted {
    pub(crate) case_id: CaseId,
    pub(crate) test: String,
    pub(crate) mutator: String,
    pub(crate) reason: String,
}

/// An answer that was spoilt, and how.
#[derive(Debug)]
pub(crate) struct Mutant {
    pub(crate) case_id: CaseId,
    pub(crate) mutator: String,
    /// The answer that it was made from.
    pub(crate) answer: String,
    pub(crate) output: Value,
    /// From the answer to the mutant, for people.
    pub(crate) difference: String,
}

impl Mutant {
    /// What a golden test of this mutant is called.
    pub(crate) fn test_name(&self) -> String {
        let digest = Digest::of(canonical(&self.output).as_bytes()).to_string();
        format!("equivalent-{}-{}", self.mutator, &digest[..8])
    }
}

/// What came of an attack.
#[derive(Debug, Default)]
pub(crate) struct Attack {
    pub(crate) mutators: BTreeMap<String, Tally>,
    pub(crate) survivors: Vec<Survivor>,
    pub(crate) faults: Vec<Fault>,
    pub(crate) accepted: BTreeSet<Accepted>,
}

impl Attack {
    pub(crate) fn total(&self) -> Tally {
        self.mutators.values().fold(Tally::default(), |sum, tally| Tally {
            mutants: sum.mutants + tally.mutants,
            killed: sum.killed + tally.killed,
            survivors: sum.survivors + tally.survivors,
            accepted: sum.accepted + tally.accepted,
            faulted: sum.faulted + tally.faulted,
        })
    }
}

/// A mutant on its way to the rubric.
struct Item<'a> {
    mutator: &'a str,
    /// Index of the answer that it was made from.
    answer: usize,
    output: Value,
    text: String,
}

/// Attacks a rubric with at most `most` mutants of an answer by a mutator. `progress` hears of each case that is done.
pub(crate) fn attack(
    target: &Target,
    rubric: &(dyn RubricRunner + Sync),
    threads: NonZeroUsize,
    most: usize,
    mut progress: impl FnMut(&CaseId, Tally),
) -> Result<Attack, AttackError> {
    let mut vocabulary = Vocabulary::default();
    target.cases.iter().flat_map(|case| &case.answers).for_each(|(_, answer)| vocabulary.add(answer));
    let mutators = Mutators { own: &target.own, vocabulary: &vocabulary, most };
    let firsts: Vec<_> = target.cases.iter().map(|case| case.answers.first().map(|(_, answer)| answer)).collect();
    let mut attack = Attack::default();
    for (index, case) in target.cases.iter().enumerate() {
        check_answers(case, target, rubric)?;
        let others: Vec<_> =
            firsts.iter().enumerate().filter(|(other, _)| *other != index).filter_map(|(_, answer)| *answer).collect();
        let items = items(case, &mutators, &others);
        let judged = |_, item: &Item<'_>| judge(rubric, &case.read, &item.text, Meter::default(), &target.block);
        let mut judgements = Vec::new();
        in_order(threads, &items, judged, |_, _| false, |taken| judgements.extend(taken.result()))
            .map_err(AttackError::Runner)?;
        for (item, judgement) in items.into_iter().zip(judgements) {
            attack.count(case, item, &judgement);
        }
        progress(&case.read.case.case_id, attack.total());
    }
    Ok(attack)
}

fn check_answers(case: &AttackedCase, target: &Target, rubric: &(dyn RubricRunner + Sync)) -> Result<(), AttackError> {
    for (name, answer) in &case.answers {
        let judged = judge(rubric, &case.read, &canonical(answer), Meter::default(), &target.block)
            .map_err(AttackError::Runner)?;
        if !judged.score.passed() {
            return Err(AttackError::DoesNotPass {
                case_name: case.read.case.case_id.to_string(),
                answer: name.clone(),
                outcome: judged.score.failure_modes().join(", "),
            });
        }
    }
    Ok(())
}

/// The mutants of a case, without those that are an answer already, and each once.
fn items<'a>(case: &AttackedCase, mutators: &Mutators<'a>, others: &[&'a Value]) -> Vec<Item<'a>> {
    let digest = |text: &str| Digest::of(text.as_bytes());
    let mut seen: BTreeSet<_> = case.answers.iter().map(|(_, answer)| digest(&canonical(answer))).collect();
    let mut items = Vec::new();
    let input = input(&case.read.files);
    for (answer, (_, value)) in case.answers.iter().enumerate() {
        for (mutator, output) in mutators.mutants(value, others, &input) {
            let text = canonical(&output);
            if seen.insert(digest(&text)) {
                items.push(Item { mutator, answer, output, text });
            }
        }
    }
    items
}

/// The texts that whoever answers gets to see.
fn input(files: &CaseFiles) -> Vec<(&str, &str)> {
    let texts =
        files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix("input/")?, std::str::from_utf8(bytes).ok()?)));
    texts.collect()
}

impl Attack {
    fn count(&mut self, case: &AttackedCase, item: Item<'_>, judged: &Judgement) {
        let tally = self.mutators.entry(item.mutator.to_owned()).or_default();
        tally.mutants += 1;
        match (&judged.fault, judged.score.passed()) {
            (Some(fault), _) if fault.class() != OutcomeClass::SutFault => {
                tally.faulted += 1;
                self.faults.push(Fault { fault: fault.to_string(), mutant: mutant(case, item) });
            }
            (None, true) => match case.accepted.get(&Digest::of(item.text.as_bytes())) {
                Some((test, reason)) => {
                    tally.accepted += 1;
                    self.accepted.insert(Accepted {
                        case_id: case.read.case.case_id.clone(),
                        test: test.clone(),
                        mutator: item.mutator.to_owned(),
                        reason: reason.clone(),
                    });
                }
                None => {
                    tally.survivors += 1;
                    self.survivors.push(Survivor {
                        mutant: mutant(case, item),
                        score: judged.score.score(),
                        failure_modes: judged.score.failure_modes().to_vec(),
                    });
                }
            },
            _ => tally.killed += 1,
        }
    }
}

fn mutant(case: &AttackedCase, item: Item<'_>) -> Mutant {
    let (name, answer) = &case.answers[item.answer];
    Mutant {
        case_id: case.read.case.case_id.clone(),
        mutator: item.mutator.to_owned(),
        answer: name.clone(),
        difference: difference(answer, &item.output),
        output: item.output,
    }
}
