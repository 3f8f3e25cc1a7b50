//! The two figures that a promotion rests on, with the same bits on every machine.
//!
//! The mean is exactly rounded: scores are added as integers, so neither their order nor the compiler moves a bit. The
//! lower bound is a fixed bisection on `libm`'s logarithm. Nothing here knows what the numbers mean.

use std::cmp::Ordering;

/// One unit of the fixed-point sum is 2^-1074, the smallest positive f64, so every f64 in [0, 1] is a whole number of units.
const UNIT_EXPONENT: i32 = 1074;

/// 1074 bits after the point, and 64 before it: room for 2^64 scores.
const LIMBS: usize = 18;

/// ln 20: the one-sided 95 % level.
const LN_20: f64 = 2.995_732_273_553_991;

/// Far more halvings than an f64 has bits between any two values of [0, 1] that matter.
const HALVINGS: u32 = 200;

/// The mean of scores in [0, 1], rounded once, to nearest and ties to even. `None` for no scores.
pub fn exact_mean(scores: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sum = [0_u64; LIMBS];
    let mut count = 0_u64;
    for score in scores {
        debug_assert!((0.0..=1.0).contains(&score), "only admitted scores are averaged");
        add(&mut sum, score);
        count += 1;
    }
    (count > 0).then(|| round(&sum, count))
}

/// Adds a finite f64 of [0, 1] to the sum, without losing a bit.
fn add(sum: &mut [u64; LIMBS], score: f64) {
    let bits = score.to_bits();
    let biased = (bits >> 52) & 0x7ff;
    let fraction = bits & ((1 << 52) - 1);
    // A normal number has an implicit leading bit, and its lowest bit stands for 2^(biased - 1) units.
    let (mantissa, shift) = if biased == 0 { (fraction, 0) } else { (fraction | 1 << 52, biased - 1) };
    let mut carry = u128::from(mantissa) << (shift % 64);
    for limb in sum.iter_mut().skip((shift / 64) as usize) {
        carry += u128::from(*limb);
        *limb = low(carry);
        carry >>= 64;
    }
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is asked for")]
fn low(wide: u128) -> u64 {
    wide as u64
}

/// `sum / count`, rounded to the nearest f64.
fn round(sum: &[u64; LIMBS], count: u64) -> f64 {
    let count = u128::from(count);
    let mut quotient = [0_u64; LIMBS];
    let mut remainder = 0_u128;
    for (digit, limb) in quotient.iter_mut().zip(sum).rev() {
        let dividend = remainder << 64 | u128::from(*limb);
        *digit = low(dividend / count);
        remainder = dividend % count;
    }
    // An f64 keeps 53 bits; what is dropped is compared with half of the last bit that is kept.
    let dropped = highest_bit(&quotient).unwrap_or(0).saturating_sub(52);
    let kept = bits_from(&quotient, dropped);
    let against_half = match dropped.checked_sub(1) {
        None => (remainder * 2).cmp(&count),
        Some(half) if !bit(&quotient, half) => Ordering::Less,
        Some(half) if remainder == 0 && (0..half).all(|index| !bit(&quotient, index)) => Ordering::Equal,
        Some(_) => Ordering::Greater,
    };
    let up = against_half.is_gt() || (against_half.is_eq() && kept & 1 == 1);
    // At most 2^53 whole units times a power of two: both steps are exact.
    libm::ldexp((kept + u64::from(up)) as f64, i32::try_from(dropped).map_or(0, |dropped| dropped - UNIT_EXPONENT))
}

fn highest_bit(number: &[u64; LIMBS]) -> Option<usize> {
    let limb = number.iter().rposition(|limb| *limb != 0)?;
    Some(limb * 64 + 63 - number[limb].leading_zeros() as usize)
}

fn bit(number: &[u64; LIMBS], index: usize) -> bool {
    number[index / 64] >> (index % 64) & 1 == 1
}

/// The 53 bits from `index` up.
fn bits_from(number: &[u64; LIMBS], index: usize) -> u64 {
    let low_part = number[index / 64];
    let high_part = number.get(index / 64 + 1).copied().unwrap_or(0);
    let wide = u128::from(high_part) << 64 | u128::from(low_part);
    low(wide >> (index % 64)) & ((1 << 53) - 1)
}

/// The one-sided 95 % lower confidence bound of the mean of `count` scores in [0, 1], by the Chernoff-Hoeffding bound in its
/// KL form: the smallest p with `count · KL(mean ‖ p) <= ln 20`. It holds for any distribution and any count.
pub fn lower_bound_95(mean: f64, count: u64) -> f64 {
    let fits = |p: f64| count as f64 * divergence(mean, p) <= LN_20;
    if fits(0.0) {
        return 0.0;
    }
    let (mut below, mut fitting) = (0.0, mean);
    for _ in 0..HALVINGS {
        let middle = below + (fitting - below) / 2.0;
        if fits(middle) {
            fitting = middle;
        } else {
            below = middle;
        }
    }
    fitting
}

/// The Kullback-Leibler divergence between two coins that fall heads with probability `q` and `p`.
fn divergence(q: f64, p: f64) -> f64 {
    term(q, p) + term(1.0 - q, 1.0 - p)
}

fn term(q: f64, p: f64) -> f64 {
    match (q == 0.0, p == 0.0) {
        (true, _) => 0.0,
        (false, true) => f64::INFINITY,
        (false, false) => q * libm::log(q / p),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use proptest::prelude::*;

    /// Scores of every kind: anywhere in [0, 1], round ones, and ones so small that they are not normal.
    fn score() -> impl Strategy<Value = f64> {
        let tiny = (0_u64..1 << 54).prop_map(f64::from_bits);
        let round = (0_u32..=20).prop_map(|twentieths| f64::from(twentieths) / 20.0);
        prop_oneof![0.0..=1.0_f64, round, tiny, Just(1.0)]
    }

    fn exactly(number: f64) -> BigRational {
        BigRational::from_float(number).expect("scores are finite")
    }

    /// splitmix64: enough for a simulation, and the same everywhere.
    struct Dice(u64);

    impl Dice {
        /// Evenly from [0, 1).
        fn roll(&mut self) -> f64 {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut mixed = self.0;
            mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// How often the bound of `count` scores lies above the true mean of their distribution.
    fn misses(true_mean: f64, count: u64, draw: fn(f64) -> f64) -> f64 {
        const RUNS: u32 = 2_000;
        let mut dice = Dice(count);
        let mut missed = 0;
        for _ in 0..RUNS {
            let mean = exact_mean((0..count).map(|_| draw(dice.roll()))).expect("some scores");
            missed += u32::from(lower_bound_95(mean, count) > true_mean);
        }
        f64::from(missed) / f64::from(RUNS)
    }

    #[test]
    fn the_true_mean_is_below_the_bound_in_one_run_of_twenty_at_most() {
        type Distribution = (&'static str, f64, fn(f64) -> f64);
        let distributions: [Distribution; 6] = [
            ("a coin", 0.5, |roll| f64::from(roll < 0.5)),
            ("nearly always passed", 0.97, |roll| f64::from(roll < 0.97)),
            ("nearly always failed", 0.03, |roll| f64::from(roll < 0.03)),
            ("evenly anywhere", 0.5, |roll| roll),
            ("mostly high", 2.0 / 3.0, f64::sqrt),
            ("rarely a disaster", 0.9 * 0.95, |roll| if roll < 0.95 { 0.9 } else { 0.0 }),
        ];
        for (name, true_mean, draw) in distributions {
            for count in [1, 3, 10, 30, 100] {
                let misses = misses(true_mean, count, draw);
                assert!(misses <= 0.05, "{name}, {count} scores: missed in {misses} of the runs");
            }
        }
    }

    #[test]
    fn ten_perfect_scores_prove_less_than_perfection() {
        assert_eq!(exact_mean([1.0; 10]), Some(1.0));
        let bound = lower_bound_95(1.0, 10);
        assert_eq!(format!("{bound:.3}"), "0.741");
        // For a perfect mean the bound has a closed form: 20^(-1/n).
        assert!((bound - 20.0_f64.powf(-0.1)).abs() < 1e-15);
    }

    #[test]
    fn the_bits_of_known_bounds_never_move() {
        assert_eq!(lower_bound_95(1.0, 10).to_bits(), 0x3fe7_b75f_979b_4e60);
        assert_eq!(lower_bound_95(0.0, 5), 0.0);
        assert_eq!(lower_bound_95(0.5, 1).to_bits(), 0x3f44_7e29_30e6_820a);
    }

    #[test]
    fn no_scores_have_no_mean() {
        assert_eq!(exact_mean([]), None);
    }

    #[test]
    fn the_mean_is_rounded_once() {
        // Added one after the other in f64, ten times 0.1 is 0.9999999999999999.
        assert_eq!(exact_mean([0.1; 10]), Some(0.1));
        assert_eq!(exact_mean([1.0, 0.0, 0.0]), Some(1.0 / 3.0));
        assert_eq!(exact_mean([1.0, 1.0, 0.0]), Some(2.0 / 3.0));
        let smallest = f64::from_bits(1);
        assert_eq!(exact_mean([smallest, smallest]), Some(smallest));
        assert_eq!(exact_mean([smallest, 0.0]), Some(0.0), "a tie goes to even");
        assert_eq!(exact_mean([smallest, smallest, 0.0]), Some(smallest));
        assert_eq!(exact_mean([smallest; 3].into_iter().chain([0.0])), Some(smallest));
    }

    proptest! {
        #[test]
        fn the_mean_is_the_nearest_number_to_the_exact_one(scores in proptest::collection::vec(score(), 1..60)) {
            let mean = exact_mean(scores.iter().copied()).expect("some scores");
            let sum: BigRational = scores.iter().map(|score| exactly(*score)).sum();
            let exact = sum / BigRational::from_integer(scores.len().into());
            let distance = |number: f64| if exact >= exactly(number) { &exact - exactly(number) } else { exactly(number) - &exact };
            for neighbour in [mean.next_up(), mean.next_down()] {
                let is_even = mean.to_bits() & 1 == 0;
                prop_assert!(distance(mean) < distance(neighbour) || (distance(mean) == distance(neighbour) && is_even));
            }
        }

        #[test]
        fn the_bound_is_the_smallest_mean_that_the_inequality_allows(mean in 0.0..=1.0_f64, count in 1..2_000_u64) {
            let bound = lower_bound_95(mean, count);
            prop_assert!((0.0..=mean).contains(&bound));
            prop_assert!(count as f64 * divergence(mean, bound) <= LN_20);
            let smaller = bound - 1e-12 * bound.max(1e-6);
            if smaller > 0.0 {
                prop_assert!(count as f64 * divergence(mean, smaller) > LN_20 * (1.0 - 1e-6));
            }
        }

        #[test]
        fn the_mean_does_not_depend_on_the_order(mut scores in proptest::collection::vec(0.0..=1.0_f64, 1..50)) {
            let mean = exact_mean(scores.iter().copied());
            scores.reverse();
            prop_assert_eq!(exact_mean(scores.iter().copied()), mean);
            scores.sort_by(f64::total_cmp);
            prop_assert_eq!(exact_mean(scores), mean);
        }
    }
}
