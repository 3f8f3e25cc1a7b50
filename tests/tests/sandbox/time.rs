//! Guests that take time: their own, the host's, or the wall clock's.

pub(crate) mod loops_forever {
    use std::process::Command;
    use std::thread;
    use std::time::{Duration, Instant};

    use eval_host_tests::guests::LOOPS_FOREVER;
    use eval_model::contract::RubricFault;
    use eval_model::limits::RawLimits;

    use crate::support::{Case, again_in_a_process, ends, first_allowed_cpu, limits, prepare, the_next_case_scores};

    #[test]
    fn it_ends_when_its_fuel_is_used_up_and_all_of_it_counts() {
        let scored = ends(LOOPS_FOREVER, "");
        assert_eq!(scored.result, Err(RubricFault::FuelExhausted));
        assert_eq!(scored.fuel_used, Some(1_000_000_000));
    }

    #[test]
    fn the_wall_clock_ends_it_when_it_has_fuel_to_burn_and_then_no_fuel_is_recorded() {
        let raw = RawLimits { fuel: Some(100_000_000_000), wall_clock_seconds: Some(1), ..RawLimits::default() };
        let rubric = prepare(LOOPS_FOREVER, limits(raw));
        let start = Instant::now();
        let scored = Case::named("clock").score(&rubric, "");
        assert_eq!(scored.result, Err(RubricFault::Timeout));
        assert_eq!(scored.fuel_used, None);
        assert!(start.elapsed() >= Duration::from_secs(1), "a deadline is never early");
        the_next_case_scores();
    }

    #[test]
    #[expect(clippy::print_stdout, reason = "how far past its deadline a guest ran is for whoever asks to see it")]
    fn other_cases_score_while_it_spins() {
        let raw = RawLimits { fuel: Some(100_000_000_000), wall_clock_seconds: Some(1), ..RawLimits::default() };
        let rubric = prepare(LOOPS_FOREVER, limits(raw));
        the_next_case_scores();
        let spin = || {
            let start = Instant::now();
            (Case::named("spin").score(&rubric, "").result, start.elapsed())
        };
        let (ended, took, others) = thread::scope(|scope| {
            let spinning = scope.spawn(spin);
            let mut others = 0_u32;
            while !spinning.is_finished() {
                the_next_case_scores();
                others += 1;
            }
            let (ended, took) = spinning.join().expect("no panic");
            (ended, took, others)
        });
        assert_eq!(ended, Err(RubricFault::Timeout));
        assert!(others > 10, "only {others} other cases were scored in {took:?}");
        assert!(took < Duration::from_secs(10), "it was to end after 1 s and took {took:?}");
        let past = took.saturating_sub(Duration::from_secs(1));
        println!("stopped {} ms past its deadline, {others} other cases meanwhile", past.as_millis());
    }

    #[test]
    fn so_they_do_on_a_single_cpu() {
        let said = again_in_a_process("time::loops_forever::other_cases_score_while_it_spins", |program| {
            let mut command = Command::new("taskset");
            command.args(["--cpu-list", &first_allowed_cpu()]).arg(program);
            command
        });
        assert!(said.contains("past its deadline"), "{said}");
    }
}

pub(crate) mod loops_at_start {
    use eval_host_tests::guests::LOOPS_AT_START;
    use eval_model::contract::RubricFault;
    use eval_model::limits::RawLimits;

    use crate::support::{Case, ends, limits, prepare, the_next_case_scores};

    #[test]
    fn fuel_covers_what_runs_before_the_first_call() {
        let scored = ends(LOOPS_AT_START, "");
        assert_eq!(scored.result, Err(RubricFault::FuelExhausted));
        assert_eq!(scored.fuel_used, Some(1_000_000_000));
    }

    #[test]
    fn so_does_the_wall_clock() {
        let raw = RawLimits { fuel: Some(100_000_000_000), wall_clock_seconds: Some(1), ..RawLimits::default() };
        let scored = Case::named("clock").score(&prepare(LOOPS_AT_START, limits(raw)), "");
        assert_eq!(scored.result, Err(RubricFault::Timeout));
        the_next_case_scores();
    }
}

pub(crate) mod recurses_forever {
    use eval_host_tests::guests::RECURSES_FOREVER;
    use eval_model::contract::TrapKind;
    use eval_model::limits::Limits;
    use eval_sandbox::Backend;

    use crate::support::{Case, ends, sandbox_on, trap};

    #[test]
    fn it_runs_out_of_stack_and_no_figure_is_recorded_because_frames_differ_between_machines() {
        let scored = ends(RECURSES_FOREVER, "");
        assert_eq!(scored.result, trap(TrapKind::StackOverflow));
        assert_eq!((scored.fuel_used, scored.peak_memory_bytes), (None, None));
    }

    #[test]
    fn another_architecture_calls_it_the_same() {
        let interpreter = sandbox_on(Backend::Interpreter);
        let rubric = interpreter.load(RECURSES_FOREVER).expect("it loads").prepare(Limits::default());
        let scored = Case::named("hostile").score(&rubric, "");
        assert_eq!(scored.result, trap(TrapKind::StackOverflow));
        assert_eq!((scored.fuel_used, scored.peak_memory_bytes), (None, None));
    }
}

pub(crate) mod calls_the_host_forever {
    use std::thread;
    use std::time::{Duration, Instant};

    use eval_host_tests::asked_of;
    use eval_host_tests::guests::CALLS_THE_HOST_FOREVER;
    use eval_model::contract::RubricFault;
    use eval_model::limits::RawLimits;

    use crate::support::{Case, ends_under, limits, little_fuel, prepare, the_next_case_scores};

    /// Host calls take the host's time and hardly any instruction of the guest's: that they end by fuel, within the test's
    /// patience, is the point.
    #[test]
    fn every_kind_of_host_call_is_paid_for_with_fuel() {
        for call in asked_of("calls_the_host_forever") {
            let scored = ends_under(CALLS_THE_HOST_FOREVER, call, little_fuel());
            assert_eq!(scored.result, Err(RubricFault::FuelExhausted), "{call}");
            assert_eq!(scored.fuel_used, Some(50_000_000), "{call}");
        }
    }

    /// No host call waits, so the deadline stops a guest that does nothing but call the host.
    #[test]
    fn no_kind_of_host_call_holds_up_the_wall_clock() {
        let raw = RawLimits { fuel: Some(100_000_000_000), wall_clock_seconds: Some(1), ..RawLimits::default() };
        let rubric = prepare(CALLS_THE_HOST_FOREVER, limits(raw));
        let call = |call| {
            let start = Instant::now();
            let scored = Case::named("clock").score(&rubric, call);
            assert_eq!(scored.result, Err(RubricFault::Timeout), "{call}");
            assert!(start.elapsed() < Duration::from_secs(20), "{call} took {:?}", start.elapsed());
        };
        thread::scope(|scope| {
            asked_of("calls_the_host_forever").iter().for_each(|kind| drop(scope.spawn(|| call(kind))))
        });
        the_next_case_scores();
    }
}

pub(crate) mod moves_memory_forever {
    use eval_host_tests::guests::MOVES_MEMORY_FOREVER;
    use eval_model::contract::RubricFault;

    use crate::support::ends;

    #[test]
    fn bytes_moved_by_one_instruction_are_paid_for_with_fuel() {
        for how in ["copy", "fill"] {
            assert_eq!(ends(MOVES_MEMORY_FOREVER, how).result, Err(RubricFault::FuelExhausted), "{how}");
        }
    }
}

macro_rules! spends_fuel_on_what_is_slow {
    ($($guest:ident: $constant:ident;)*) => { $(
        pub(crate) mod $guest {
            use eval_host_tests::asked_of;
            use eval_model::contract::RubricFault;

            use crate::support::{ends_under, little_fuel};

            #[test]
            fn it_ends_when_its_fuel_is_used_up() {
                for asked in asked_of(stringify!($guest)) {
                    let scored = ends_under(eval_host_tests::guests::$constant, asked, little_fuel());
                    assert_eq!(scored.result, Err(RubricFault::FuelExhausted), "{asked}");
                    assert_eq!(scored.fuel_used, Some(50_000_000), "{asked}");
                }
            }
        }
    )* };
}

// How long a unit of fuel lasts in each of them is for `cargo bench -p eval-host-tests --bench fuel` to say.
spends_fuel_on_what_is_slow! {
    calculates: CALCULATES;
    calls_cold_code: CALLS_COLD_CODE;
    calls_the_runtime: CALLS_THE_RUNTIME;
    chases_pointers: CHASES_POINTERS;
    makes_and_drops_handles: MAKES_AND_DROPS_HANDLES;
    passes_texts_between_memories: PASSES_TEXTS_BETWEEN_MEMORIES;
    passes_texts_in_another_encoding: PASSES_TEXTS_IN_ANOTHER_ENCODING;
    stores_far_apart: STORES_FAR_APART;
}

pub(crate) mod sleeps {
    use std::time::{Duration, Instant};

    use eval_host_tests::guests::SLEEPS;
    use eval_model::contract::TrapKind;

    use crate::support::{ends, seen, trap};

    #[test]
    fn an_hour_passes_for_the_guest_alone() {
        let start = Instant::now();
        let scored = ends(SLEEPS, "3600");
        assert!(start.elapsed() < Duration::from_secs(60));
        for clock in ["monotonic", "wall"] {
            let elapsed = seen(&scored, clock);
            assert!((3_600.0..3_600.001).contains(&elapsed), "{clock}: {elapsed}");
        }
    }

    #[test]
    fn more_than_a_day_is_too_much_time() {
        assert_eq!(ends(SLEEPS, "90000").result, trap(TrapKind::TooMuchTime));
    }
}

pub(crate) mod waits_forever {
    use eval_host_tests::guests::WAITS_FOREVER;
    use eval_model::contract::TrapKind;

    use crate::support::{ends, perfect, trap};

    #[test]
    fn a_wait_that_cannot_end_is_a_deadlock() {
        for how in ["block", "poll"] {
            assert_eq!(ends(WAITS_FOREVER, how).result, trap(TrapKind::Deadlock), "{how}");
        }
    }

    #[test]
    fn a_wait_for_centuries_is_too_much_time() {
        assert_eq!(ends(WAITS_FOREVER, "centuries").result, trap(TrapKind::TooMuchTime));
    }

    #[test]
    fn a_wait_for_nothing_is_forbidden() {
        assert_eq!(ends(WAITS_FOREVER, "nothing").result, trap(TrapKind::BadArgument));
    }

    #[test]
    fn the_first_of_several_waits_ends_them_all() {
        assert_eq!(ends(WAITS_FOREVER, "either").result, Ok(perfect()));
    }
}

pub(crate) mod spins_on_the_clock {
    use eval_host_tests::guests::SPINS_ON_THE_CLOCK;

    use crate::support::{ends, seen};

    #[test]
    fn reading_the_clock_moves_it_so_that_a_busy_wait_ends() {
        assert_eq!(seen(&ends(SPINS_ON_THE_CLOCK, ""), "turns").to_bits(), 49_999.0_f64.to_bits());
    }
}
