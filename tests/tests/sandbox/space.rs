//! Guests that take space: memory, tables, handles, output, the scratch directory.

pub(crate) mod grows_memory {
    use eval_host_tests::guests::GROWS_MEMORY;
    use eval_model::contract::RubricFault;
    use eval_model::limits::{Limits, RawLimits};

    use crate::support::{ends, ends_under, limits, seen};

    #[test]
    fn it_is_stopped_at_the_limit_and_has_had_nearly_all_of_it() {
        let scored = ends(GROWS_MEMORY, "");
        assert_eq!(scored.result, Err(RubricFault::MemoryExhausted));
        let limit = Limits::default().memory_bytes();
        let peak = scored.peak_memory_bytes.expect("it is the same everywhere");
        assert!((limit / 10 * 9..=limit).contains(&peak), "{peak}");
    }

    #[test]
    fn it_may_have_what_is_below_the_limit_and_its_peak_is_recorded() {
        let scored = ends(GROWS_MEMORY, "200");
        assert_eq!(seen(&scored, "mebibytes").to_bits(), 200.0_f64.to_bits());
        assert!(scored.peak_memory_bytes.is_some_and(|peak| (200 << 20..=256 << 20).contains(&peak)));
    }

    #[test]
    fn the_limit_is_the_benchs() {
        let scored =
            ends_under(GROWS_MEMORY, "200", limits(RawLimits { memory_mib: Some(64), ..RawLimits::default() }));
        assert_eq!(scored.result, Err(RubricFault::MemoryExhausted));
    }
}

pub(crate) mod wants_much_memory {
    use eval_host_tests::guests::WANTS_MUCH_MEMORY;
    use eval_model::contract::RubricFault;

    use crate::support::ends;

    #[test]
    fn memory_that_a_guest_starts_with_counts_like_any_other() {
        let scored = ends(WANTS_MUCH_MEMORY, "");
        assert_eq!(scored.result, Err(RubricFault::MemoryExhausted));
        assert_eq!(scored.peak_memory_bytes, Some(0));
    }
}

pub(crate) mod grows_a_table {
    use eval_host_tests::guests::GROWS_A_TABLE;
    use eval_model::contract::RubricFault;

    use crate::support::ends;

    #[test]
    fn tables_have_a_limit_too() {
        assert_eq!(ends(GROWS_A_TABLE, "").result, Err(RubricFault::MemoryExhausted));
    }
}

pub(crate) mod holds_resources {
    use eval_host_tests::guests::HOLDS_RESOURCES;
    use eval_model::contract::TrapKind;

    use crate::support::{ends, trap};

    #[test]
    fn nothing_can_be_held_a_million_times() {
        for what in ["descriptors", "listings", "pollables", "streams", "errors"] {
            assert_eq!(ends(HOLDS_RESOURCES, what).result, trap(TrapKind::ResourceLimit), "{what}");
        }
    }
}

pub(crate) mod makes_handles {
    use eval_host_tests::guests::MAKES_HANDLES;
    use eval_model::contract::TrapKind;

    use crate::support::{ends, trap};

    #[test]
    fn handles_of_its_own_making_are_counted_as_well() {
        assert_eq!(ends(MAKES_HANDLES, "").result, trap(TrapKind::BadArgument));
    }
}

pub(crate) mod prints_a_lot {
    use eval_host_tests::guests::PRINTS_A_LOT;
    use eval_model::contract::RubricFault;

    use crate::support::{ends, seen};

    const BLOCK: u64 = (1 << 20) / 12 * 12;
    const KEPT: u64 = 64 << 10;

    #[test]
    fn output_is_cut_and_counted_and_the_guest_sees_no_error() {
        let scored = ends(PRINTS_A_LOT, "4");
        assert_eq!(seen(&scored, "failures").to_bits(), 0.0_f64.to_bits());
        assert_eq!(scored.stdout.kept.len() as u64, KEPT);
        assert_eq!(scored.stdout.dropped_bytes, 4 * BLOCK - KEPT);
        assert_eq!(scored.stderr.kept.len() as u64, KEPT);
        assert_eq!(scored.stderr.dropped_bytes, 2 * BLOCK - KEPT);
    }

    #[test]
    fn a_gibibyte_costs_more_fuel_than_there_is_and_what_was_said_first_is_kept() {
        let scored = ends(PRINTS_A_LOT, "1024");
        assert_eq!(scored.result, Err(RubricFault::FuelExhausted));
        assert!(scored.stdout.kept.starts_with(b"\x1b[2Jhacked\x07 \x1b[2J"));
        assert_eq!(scored.stdout.kept.len() as u64, KEPT);
    }
}

pub(crate) mod asks_for_much_randomness {
    use eval_host_tests::guests::ASKS_FOR_MUCH_RANDOMNESS;
    use eval_model::contract::TrapKind;
    use eval_model::limits::Limits;

    use crate::support::{Case, ends, prepare, seen, trap};

    #[test]
    fn a_gibibyte_is_refused_on_either_interface() {
        assert_eq!(ends(ASKS_FOR_MUCH_RANDOMNESS, "1073741824").result, trap(TrapKind::RandomLimit));
        let rubric = prepare(ASKS_FOR_MUCH_RANDOMNESS, Limits::default());
        assert_eq!(Case::named("insecure").score(&rubric, "65537").result, trap(TrapKind::RandomLimit));
    }

    #[test]
    fn what_anybody_needs_is_given() {
        assert_eq!(seen(&ends(ASKS_FOR_MUCH_RANDOMNESS, "65536"), "bytes").to_bits(), 65_536.0_f64.to_bits());
    }
}

pub(crate) mod fills_the_scratch {
    use std::process::Command;

    use eval_host_tests::guests::FILLS_THE_SCRATCH;

    use crate::support::{again_in_a_process, bytes_written_to_disk, ends, reported, seen};

    const QUOTA: f64 = 67_108_864.0;

    #[test]
    #[expect(clippy::print_stdout, reason = "the test below reads it from a process of its own")]
    fn every_way_to_fill_it_ends_exactly_at_the_quota() {
        let before = bytes_written_to_disk();
        for (way, reached) in [
            ("one-file", QUOTA),
            ("one-stream", QUOTA),
            ("sparse", QUOTA),
            ("far", 0.0),
            ("set-size", QUOTA),
            ("many-files", 4_096.0),
            ("deep-tree", 4_096.0),
            ("links", 4_096.0),
            ("hard-links", 4_095.0),
        ] {
            let scored = ends(FILLS_THE_SCRATCH, way);
            assert_eq!(reported(&scored), ["insufficient-space"], "{way}");
            assert_eq!(seen(&scored, "reached").to_bits(), reached.to_bits(), "{way}");
        }
        println!("written to disk: {}", bytes_written_to_disk() - before);
    }

    /// What the compile cache notes of its use: a page for each load.
    const NOTES: u64 = 1 << 20;

    /// The kernel counts per process, and other tests of this one do write.
    #[test]
    fn and_none_reaches_a_disk() {
        let test = "space::fills_the_scratch::every_way_to_fill_it_ends_exactly_at_the_quota";
        let said = again_in_a_process(test, |program| Command::new(program));
        let (_, written) = said.split_once("written to disk: ").expect("the test says");
        let written: u64 = written.lines().next().and_then(|line| line.parse().ok()).expect("a number");
        assert!(written < NOTES, "{said}");
    }
}
