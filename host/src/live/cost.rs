//! What a run may still spend: a pure state machine that is asked before every case and told after it.
//!
//! Nothing starts that could take the run over its cap. A case reserves the most that it can cost; when nobody has said what
//! that is, the most that a case of this run has cost or its even share of the cap, whichever is more; and while nobody can
//! know at all, everything that is left, so that the first case runs alone. A cost of nothing tells nobody what a case
//! costs.
//!
//! An agent is told what its case has reserved and never more, so that agents which heed it cannot exceed the cap together.
//! A case whose cost stays unknown is charged that too: an unknown cost is not zero.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use eval_model::money::Usd;

/// The right to run one case. It must be given back with [`Budget::settle`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "what is reserved stays reserved until it is settled"]
pub(crate) struct Reservation {
    case: usize,
    /// What is set aside for the case: the most that it may spend, and what is charged if its cost stays unknown.
    pub(crate) amount: Usd,
}

/// Whether a case may start.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    Go(Reservation),
    /// Ask again when something was settled.
    Wait,
    /// Nothing fits any more, for this case and every later one.
    Skip,
}

/// What settling a case did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Settled {
    pub(crate) charged: Usd,
    /// The cost is not known, and the reservation was charged instead.
    pub(crate) is_estimate: bool,
    /// The cap is exceeded: what is outstanding must be cancelled.
    pub(crate) overshot: bool,
}

/// Why there is not enough for a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lacking {
    /// There is nothing at all.
    Everything,
    /// A case may cost so much.
    Limit(Usd),
    /// A case has cost so much.
    Price(Usd),
}

impl Lacking {
    /// The least that a case needs, as far as anybody knows.
    pub(crate) fn least(self) -> Usd {
        match self {
            Self::Everything => Usd::ZERO,
            Self::Limit(amount) | Self::Price(amount) => amount,
        }
    }
}

impl fmt::Display for Lacking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everything => f.write_str("nothing is left of it"),
            Self::Limit(amount) => write!(f, "a case may cost {amount}"),
            Self::Price(amount) => write!(f, "a case has cost {amount}"),
        }
    }
}

/// What a run has spent, has set aside, and may still spend.
#[derive(Debug)]
pub(crate) struct Budget {
    cap: Usd,
    per_case: Option<Usd>,
    /// The cap divided by the number of cases.
    even_share: Usd,
    spent: Usd,
    /// The most that a case has cost.
    largest: Usd,
    reserved: BTreeMap<usize, Usd>,
    /// The first case that has neither been decided nor said that it needs no decision.
    turn: usize,
    /// The cases behind it of which that can be said.
    passed: BTreeSet<usize>,
    exhausted: bool,
}

impl Budget {
    /// The budget of a run of so many cases.
    pub(crate) fn new(cap: Usd, per_case: Option<Usd>, cases: usize) -> Self {
        Self {
            cap,
            per_case,
            even_share: cap.share_of(cases),
            spent: Usd::ZERO,
            largest: Usd::ZERO,
            reserved: BTreeMap::new(),
            turn: 0,
            passed: BTreeSet::new(),
            exhausted: false,
        }
    }

    /// Takes into account what an interrupted run paid for a case earlier.
    pub(crate) fn already_spent(&mut self, charged: Usd) {
        self.spent += charged;
        self.seen(charged);
    }

    /// Takes into account what was set aside for an agent that was lost. It counts as spent, and tells nobody what a case costs:
    /// the first case of a run has everything set aside.
    pub(crate) fn lost(&mut self, charged: Usd) {
        self.spent += charged;
    }

    /// Takes into account what a case of another run cost, which spends from the same cap.
    pub(crate) fn seen(&mut self, cost: Usd) {
        self.largest = self.largest.max(cost);
    }

    /// The most that a case has cost.
    pub(crate) fn largest(&self) -> Usd {
        self.largest
    }

    /// Why not one case could be started now, if that is so.
    pub(crate) fn lacking(&self) -> Option<Lacking> {
        match (self.affordable(), self.per_case) {
            (Some(_), _) => None,
            (None, Some(limit)) => Some(Lacking::Limit(limit)),
            (None, None) if self.largest == Usd::ZERO => Some(Lacking::Everything),
            (None, None) => Some(Lacking::Price(self.largest)),
        }
    }

    /// Whether somebody has said what a case can cost at most.
    pub(crate) fn has_price_limit(&self) -> bool {
        self.per_case.is_some()
    }

    pub(crate) fn spent(&self) -> Usd {
        self.spent
    }

    pub(crate) fn reserved(&self) -> Usd {
        self.reserved.values().fold(Usd::ZERO, |sum, amount| sum.saturating_add(*amount))
    }

    /// Whether every further case is skipped.
    #[cfg(test)]
    fn is_exhausted(&self) -> bool {
        self.exhausted
    }

    fn left(&self) -> Usd {
        self.cap.saturating_sub(self.spent).saturating_sub(self.reserved())
    }

    /// Asks to start the case with this place in the order of the run. Cases are decided in that order, so that which ones
    /// are left out does not depend on who asks first.
    pub(crate) fn ask(&mut self, case: usize) -> Permission {
        let permission = if self.exhausted {
            Permission::Skip
        } else if self.turn == case {
            self.decide(case)
        } else {
            Permission::Wait
        };
        if permission != Permission::Wait {
            self.pass(case);
        }
        permission
    }

    /// A case needs no decision, or has had it.
    pub(crate) fn pass(&mut self, case: usize) {
        if case >= self.turn {
            self.passed.insert(case);
        }
        while self.passed.remove(&self.turn) {
            self.turn += 1;
        }
    }

    fn decide(&mut self, case: usize) -> Permission {
        match self.affordable() {
            Some(amount) => {
                self.reserved.insert(case, amount);
                Permission::Go(Reservation { case, amount })
            }
            None if !self.reserved.is_empty() => Permission::Wait,
            None => {
                self.exhausted = true;
                Permission::Skip
            }
        }
    }

    /// What the next case would reserve, if it can be had now.
    fn affordable(&self) -> Option<Usd> {
        let left = self.left();
        match self.per_case {
            Some(amount) => Some(amount).filter(|amount| *amount <= left),
            // Nobody knows what a case costs: one gets everything that is left, and the others wait for it.
            None if self.largest == Usd::ZERO => Some(left).filter(|_| self.reserved.is_empty()),
            // Not the largest alone: where the first case was a cheap one, agents that heed their budget would never be
            // allowed more than that.
            None => Some(self.largest.max(self.even_share.min(left))).filter(|amount| *amount <= left),
        }
        .filter(|amount| *amount > Usd::ZERO)
    }

    /// Charges a case and frees what it had reserved. A cost of `None` is not known.
    #[expect(clippy::needless_pass_by_value, reason = "a reservation can be settled once")]
    pub(crate) fn settle(&mut self, reservation: Reservation, cost: Option<Usd>) -> Settled {
        self.reserved.remove(&reservation.case);
        let charged = cost.unwrap_or(reservation.amount);
        self.spent += charged;
        self.largest = self.largest.max(charged);
        let overshot = self.spent.saturating_add(self.reserved()) > self.cap;
        self.exhausted |= overshot;
        Settled { charged, is_estimate: cost.is_none(), overshot }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn usd(dollars: f64) -> Usd {
        Usd::from_dollars(dollars).expect("an amount")
    }

    fn go(budget: &mut Budget, case: usize) -> Reservation {
        match budget.ask(case) {
            Permission::Go(reservation) => reservation,
            other => panic!("case {case} must start: {other:?}"),
        }
    }

    fn known(dollars: f64) -> Option<Usd> {
        Some(usd(dollars))
    }

    #[test]
    fn a_case_that_does_not_fit_waits_for_what_may_cost_less_than_reserved() {
        let mut budget = Budget::new(usd(1.0), Some(usd(0.5)), 9);
        let (first, second) = (go(&mut budget, 0), go(&mut budget, 1));
        assert_eq!(budget.ask(2), Permission::Wait);
        assert_eq!(budget.settle(first, known(0.1)).charged, usd(0.1));
        assert_eq!(budget.ask(2), Permission::Wait);
        assert!(!budget.settle(second, known(0.2)).overshot);
        let third = go(&mut budget, 2);
        assert_eq!(third.amount, usd(0.5));
    }

    #[test]
    fn when_nothing_fits_any_more_the_rest_is_skipped() {
        let mut budget = Budget::new(usd(1.0), Some(usd(0.3)), 9);
        for case in 0..3 {
            let reservation = go(&mut budget, case);
            assert!(!budget.settle(reservation, known(0.3)).overshot);
        }
        assert_eq!(budget.ask(3), Permission::Skip);
        assert!(budget.is_exhausted());
        assert_eq!(budget.ask(4), Permission::Skip);
        assert_eq!(budget.spent(), usd(0.9));
    }

    #[test]
    fn while_nobody_knows_what_a_case_costs_one_runs_alone() {
        let mut budget = Budget::new(usd(1.0), None, 10);
        let first = go(&mut budget, 0);
        assert_eq!(first.amount, usd(1.0));
        assert_eq!(budget.ask(1), Permission::Wait);
        assert!(!budget.settle(first, known(0.3)).overshot);
        let (second, third) = (go(&mut budget, 1), go(&mut budget, 2));
        assert_eq!((second.amount, third.amount), (usd(0.3), usd(0.3)));
    }

    #[test]
    fn a_cost_of_nothing_tells_nobody_what_a_case_costs() {
        let mut budget = Budget::new(usd(1.0), None, 10);
        let free = go(&mut budget, 0);
        budget.settle(free, known(0.0));
        let second = go(&mut budget, 1);
        assert_eq!(second.amount, usd(1.0), "it runs alone, with all that is left");
        assert_eq!(budget.ask(2), Permission::Wait);
        assert_eq!(budget.settle(second, None).charged, usd(1.0), "an unknown cost is not zero");
        assert_eq!(budget.ask(2), Permission::Skip);
        let mut resumed = Budget::new(usd(1.0), None, 10);
        resumed.already_spent(Usd::ZERO);
        assert_eq!(go(&mut resumed, 0).amount, usd(1.0));
    }

    #[test]
    fn what_was_lost_leaves_the_price_of_a_case_as_it_was() {
        let mut budget = Budget::new(usd(1.0), None, 10);
        budget.already_spent(usd(0.1));
        budget.lost(usd(0.8));
        assert_eq!(budget.lacking(), None);
        assert_eq!(go(&mut budget, 0).amount, usd(0.1));
        let mut budget = Budget::new(usd(1.0), Some(usd(0.3)), 10);
        budget.lost(usd(0.8));
        assert_eq!(budget.lacking(), Some(Lacking::Limit(usd(0.3))), "a case may cost more than is left");
    }

    #[test]
    fn a_cheap_first_case_leaves_the_others_their_even_shares() {
        let mut budget = Budget::new(usd(1.0), None, 5);
        let first = go(&mut budget, 0);
        budget.settle(first, known(0.01));
        for case in 1..5 {
            let reservation = go(&mut budget, case);
            assert_eq!(reservation.amount, usd(0.2), "an agent is allowed more than the cheapest case cost");
            budget.settle(reservation, known(0.2));
        }
        assert_eq!(budget.spent(), usd(0.81));
    }

    #[test]
    fn what_a_case_of_another_run_cost_is_reserved_from_the_first_case_on() {
        let mut budget = Budget::new(usd(1.0), None, 10);
        budget.seen(usd(0.6));
        assert_eq!(budget.lacking(), None);
        assert_eq!(go(&mut budget, 0).amount, usd(0.6));
        let mut budget = Budget::new(usd(0.4), None, 10);
        budget.seen(usd(0.6));
        assert_eq!(budget.lacking(), Some(Lacking::Price(usd(0.6))));
        assert_eq!(budget.ask(0), Permission::Skip);
        let mut limited = Budget::new(usd(0.4), Some(usd(0.3)), 10);
        limited.seen(usd(0.6));
        assert_eq!(Budget::new(usd(0.2), Some(usd(0.3)), 10).lacking(), Some(Lacking::Limit(usd(0.3))));
        assert_eq!(go(&mut limited, 0).amount, usd(0.3), "whoever says what a case can cost is believed");
    }

    #[test]
    fn what_was_lost_is_spent_and_tells_nobody_what_a_case_costs() {
        let mut budget = Budget::new(usd(5.0), None, 10);
        budget.lost(usd(5.0));
        assert_eq!((budget.spent(), budget.lacking()), (usd(5.0), Some(Lacking::Everything)));
        let mut raised = Budget::new(usd(6.0), None, 10);
        raised.lost(usd(5.0));
        assert_eq!(go(&mut raised, 0).amount, usd(1.0));
    }

    #[test]
    fn an_unknown_cost_is_charged_as_reserved_and_said_to_be_an_estimate() {
        let mut budget = Budget::new(usd(1.0), Some(usd(0.4)), 9);
        let reservation = go(&mut budget, 0);
        let settled = budget.settle(reservation, None);
        assert_eq!(settled, Settled { charged: usd(0.4), is_estimate: true, overshot: false });
    }

    #[test]
    fn a_case_that_overshoots_counts_and_cancels_the_rest() {
        let mut budget = Budget::new(usd(1.0), Some(usd(0.5)), 9);
        let (first, second) = (go(&mut budget, 0), go(&mut budget, 1));
        assert!(budget.settle(first, known(0.75)).overshot);
        assert_eq!(budget.ask(2), Permission::Skip);
        assert!(budget.settle(second, None).overshot);
        assert_eq!(budget.spent(), usd(1.25));
    }

    #[test]
    fn cases_are_decided_in_order_and_those_that_need_no_decision_hold_nobody_up() {
        let mut budget = Budget::new(usd(0.5), Some(usd(0.5)), 9);
        assert_eq!(budget.ask(2), Permission::Wait, "case 0 has not been heard of");
        budget.pass(1);
        assert_eq!(budget.ask(2), Permission::Wait);
        let first = go(&mut budget, 0);
        assert_eq!(budget.ask(2), Permission::Wait, "there is no money until the first is settled");
        budget.settle(first, known(0.0));
        budget.pass(0);
        let _third = go(&mut budget, 2);
    }

    /// One step of a run: a case asks, or one that is running ends at a cost.
    #[derive(Debug, Clone)]
    enum Step {
        Ask,
        End { which: usize, cost: Option<u64> },
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            Just(Step::Ask),
            (any::<usize>(), prop::option::of(0_u64..600)).prop_map(|(which, cost)| Step::End { which, cost }),
        ]
    }

    proptest! {
        #[test]
        fn no_more_than_the_cap_is_spent_unless_a_case_costs_more_than_it_was_told(
            cap in 0_u64..2000,
            cases in 0_usize..20,
            per_case in prop::option::of(1_u64..500),
            steps in prop::collection::vec(step(), 0..200),
        ) {
            let mut budget = Budget::new(Usd::from_nanos(cap), per_case.map(Usd::from_nanos), cases);
            let mut running: Vec<Reservation> = Vec::new();
            let (mut next, mut charged, mut broke_its_word, mut skipped) = (0, 0, false, false);
            for step in steps {
                match step {
                    Step::Ask => match budget.ask(next) {
                        Permission::Go(reservation) => {
                            prop_assert!(!skipped, "nothing starts after a case was skipped");
                            prop_assert!(reservation.amount > Usd::ZERO, "an unknown cost is not zero");
                            running.push(reservation);
                            next += 1;
                        }
                        Permission::Wait => prop_assert!(!running.is_empty(), "nobody waits for nothing"),
                        Permission::Skip => {
                            skipped = true;
                            next += 1;
                        }
                    },
                    Step::End { which, cost } if !running.is_empty() => {
                        let reservation = running.swap_remove(which % running.len());
                        broke_its_word |= cost.is_some_and(|cost| Usd::from_nanos(cost) > reservation.amount);
                        let cost = cost.map(Usd::from_nanos);
                        charged += budget.settle(reservation, cost).charged.nanos();
                    }
                    Step::End { .. } => {}
                }
                prop_assert_eq!(budget.spent().nanos(), charged);
                let told = running.iter().map(|reservation| reservation.amount.nanos()).sum::<u64>();
                prop_assert_eq!(budget.reserved().nanos(), told);
                let committed = budget.spent().saturating_add(budget.reserved());
                prop_assert!(broke_its_word || committed <= Usd::from_nanos(cap));
                prop_assert!(committed <= Usd::from_nanos(cap) || budget.is_exhausted());
            }
        }
    }
}
