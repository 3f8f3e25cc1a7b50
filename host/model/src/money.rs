//! Money, counted in whole nano-dollars and rounded up, because ten times 0.1 must be exactly 1.

use std::fmt;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

const NANO: f64 = 1e9;

/// Most dollars that a case, and a cap, can be about. What is larger is a mistake, and sums of it need not be numbers.
pub const MOST_DOLLARS: f64 = 1e6;

/// Whether a case can cost so many dollars.
pub fn is_possible_cost(dollars: f64) -> bool {
    (0.0..=MOST_DOLLARS).contains(&dollars)
}

/// An amount of money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Usd(u64);

impl Usd {
    pub const ZERO: Self = Self(0);

    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// An amount from dollars that are finite and not negative; what is finer than a nano-dollar is rounded up, and what is
    /// more than there is becomes the most there is.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        if !dollars.is_finite() || dollars < 0.0 {
            return None;
        }
        // The nearest whole number first: 0.3 dollars are 300000000.00000006 nano-dollars as a product, and not one more.
        let (nearest, up) = ((dollars * NANO).round(), (dollars * NANO).ceil());
        let nanos = if nearest / NANO >= dollars { nearest } else { up };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is a whole number, not negative, and the cast saturates"
        )]
        Some(Self(nanos as u64))
    }

    /// The amount that is nearest to a difference of sums, which has an error that no bill has. Less than nothing is nothing.
    pub fn nearest(dollars: f64) -> Self {
        let nanos = (dollars * NANO).round();
        Self::from_dollars(nanos.max(0.0) / NANO).unwrap_or(Self::ZERO)
    }

    pub fn dollars(self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "amounts beyond 2^53 nano-dollars, nine million, are not exact")]
        let nanos = self.0 as f64;
        nanos / NANO
    }

    /// An even share among so many, rounded down.
    pub fn share_of(self, parts: usize) -> Self {
        Self(self.0 / (parts as u64).max(1))
    }

    pub fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = self.saturating_add(other);
    }
}

impl fmt::Display for Usd {
    /// Dollars and cents, and more digits only where there is more.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = format!("{:09}", self.0 % 1_000_000_000);
        let cents = digits.trim_end_matches('0');
        write!(f, "${}.{cents:0<2}", self.0 / 1_000_000_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usd(dollars: f64) -> Usd {
        Usd::from_dollars(dollars).expect("an amount")
    }

    #[test]
    fn money_adds_up_exactly() {
        let tenths = (0..10).fold(Usd::ZERO, |sum, _| sum.saturating_add(usd(0.1)));
        assert_eq!(tenths, usd(1.0));
        assert_eq!(usd(0.1).saturating_add(usd(0.2)), usd(0.3));
        assert_eq!(usd(1e-12), Usd(1), "a cost is never rounded down to nothing");
        assert_eq!(usd(1e300), Usd(u64::MAX));
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            assert_eq!(Usd::from_dollars(bad), None);
        }
        assert_eq!(
            [usd(5.0), usd(0.3), usd(0.125), usd(1e-9)].map(|amount| amount.to_string()),
            ["$5.00", "$0.30", "$0.125", "$0.000000001"]
        );
    }

    #[test]
    fn what_is_left_of_a_sum_is_a_whole_amount_again() {
        assert_eq!(Usd::nearest(0.7 + 0.1 - 0.7), usd(0.1), "a difference has an error that no bill has");
        assert_eq!([-0.1, f64::NAN].map(Usd::nearest), [Usd::ZERO; 2]);
    }
}
