//! Components that are no rubrics, or ask for what no rubric gets: refused when they are loaded, with what to do about it.

use eval_sandbox::{LoadRubricError, NotARubric};

use crate::support::{sandbox, the_next_case_scores};

/// Why loading refuses the bytes, which is what inspecting them says too.
#[track_caller]
fn refusal(bytes: &[u8]) -> NotARubric {
    let refusal = match sandbox().load(bytes) {
        Err(LoadRubricError::NotARubric(refusal)) => refusal,
        other => panic!("{other:?}"),
    };
    assert_eq!(sandbox().inspect(bytes).expect("it is read").refusal.as_ref(), Some(&refusal));
    the_next_case_scores();
    refusal
}

macro_rules! refused {
    ($($guest:ident: $constant:ident, $test:ident, $message:literal;)*) => { $(
        pub(crate) mod $guest {
            #[test]
            fn $test() {
                assert_eq!(super::refusal(eval_host_tests::guests::$constant).to_string(), $message);
            }
        }
    )* };
}

refused! {
    opens_sockets: OPENS_SOCKETS, every_socket_interface_is_named_and_why_it_is_refused,
        "the component imports `wasi:sockets/network@0.2.12`, `wasi:sockets/instance-network@0.2.12`, \
         `wasi:sockets/udp@0.2.12`, `wasi:sockets/udp-create-socket@0.2.12`, `wasi:sockets/tcp@0.2.12`, \
         `wasi:sockets/tcp-create-socket@0.2.12`, `wasi:sockets/ip-name-lookup@0.2.12`, but a rubric has no \
         network: score from the case's files and the output; leave out `std::net` and dependencies that open \
         sockets, and build Python with `componentize-py --stub-wasi`";
    imports_http: IMPORTS_HTTP, there_is_no_http_either,
        "the component imports `wasi:http/outgoing-handler@0.2.6`, but a rubric has no network: score from the \
         case's files and the output; leave out HTTP clients, and build JavaScript with `componentize-js \
         --disable http --disable fetch-event`";
    imports_the_unknown: IMPORTS_THE_UNKNOWN, an_unknown_interface_is_never_stubbed,
        "the component imports `acme:oracle/answers@1.0.0`, but this host knows no such interface: a rubric \
         imports nothing but WASI 0.2: remove the import from the component's world";
    imports_newer_wasi: IMPORTS_NEWER_WASI, another_version_of_wasi_is_not_granted,
        "the component imports `wasi:random/random@0.3.0`, but only version 0.2 of this interface is granted: \
         build with `cargo build --target wasm32-wasip2`, whose WASI is 0.2";
    implements_a_newer_minor: IMPLEMENTS_A_NEWER_MINOR, a_newer_minor_of_the_contract_is_named,
        "the component is made for version 0.2.0 of `eval-host:rubric`, and this host runs 0.1: build it against \
         this host's `wit/rubric.wit`, or use a host that runs 0.2.0";
    implements_a_newer_major: IMPLEMENTS_A_NEWER_MAJOR, a_newer_major_of_the_contract_is_named,
        "the component is made for version 1.0.0 of `eval-host:rubric`, and this host runs 0.1: build it against \
         this host's `wit/rubric.wit`, or use a host that runs 1.0.0";
    implements_another_world: IMPLEMENTS_ANOTHER_WORLD, another_world_is_named_by_its_exports,
        "the component does not implement the world `eval-host:rubric/rubric@0.1.0`: it exports \
         `wasi:cli/run@0.2.6`, not `eval-host:rubric/scoring@0.1.0`; build it against this host's `wit/rubric.wit`";
    is_a_core_module: IS_A_CORE_MODULE, a_core_module_is_told_how_to_become_a_component,
        "this is a core module and not a component: build with `cargo build --target wasm32-wasip2` or `cargo \
         component build`";
    uses_threads: USES_THREADS, shared_memory_is_refused,
        "the component is damaged or uses a WebAssembly proposal that no rubric needs: threads must be enabled \
         for shared memories (at offset 0x263)";
    uses_memory64: USES_MEMORY64, large_memories_are_refused,
        "the component is damaged or uses a WebAssembly proposal that no rubric needs: memory64 must be enabled \
         for 64-bit memories (at offset 0x263)";
    uses_relaxed_simd: USES_RELAXED_SIMD, instructions_that_differ_between_machines_are_refused,
        "the component is damaged or uses a WebAssembly proposal that no rubric needs: relaxed SIMD support is \
         not enabled (at offset 0x2a5)";
    uses_exceptions: USES_EXCEPTIONS, exceptions_are_refused,
        "the component is damaged or uses a WebAssembly proposal that no rubric needs: exceptions proposal not \
         enabled (at offset 0x26a)";
}

/// Components with something wrong in them: what comes of it is an error or a rubric, and never a panic.
///
/// `PROPTEST_CASES=1000000 cargo test -p eval-host-tests --test sandbox mutated` is the long run.
mod mutated {
    use eval_host_tests::guests;
    use eval_model::limits::RawLimits;
    use eval_sandbox::inspect;
    use proptest::prelude::*;

    use crate::support::{Case, limits, sandbox};

    /// Small components, so that a change often matters.
    const SEEDS: [&[u8]; 6] = [
        guests::RETURNS_BROKEN_TEXT,
        guests::FORGES_A_HANDLE,
        guests::MAKES_HANDLES,
        guests::IMPORTS_HTTP,
        guests::IMPLEMENTS_A_NEWER_MINOR,
        guests::GROWS_A_TABLE,
    ];

    #[derive(Debug, Clone)]
    enum Change {
        Set(prop::sample::Index, u8),
        Remove(prop::sample::Index, u8),
        Repeat(prop::sample::Index, u8),
        Insert(prop::sample::Index, Vec<u8>),
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            6 => any::<(prop::sample::Index, u8)>().prop_map(|(at, byte)| Change::Set(at, byte)),
            1 => (any::<prop::sample::Index>(), 1_u8..20).prop_map(|(at, len)| Change::Remove(at, len)),
            1 => (any::<prop::sample::Index>(), 1_u8..20).prop_map(|(at, len)| Change::Repeat(at, len)),
            1 => (any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 1..8))
                .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        ]
    }

    fn apply(bytes: &mut Vec<u8>, change: &Change) {
        if bytes.is_empty() {
            return;
        }
        let len = bytes.len();
        match change {
            Change::Set(at, byte) => bytes[at.index(len)] = *byte,
            Change::Remove(at, count) => {
                let start = at.index(len);
                bytes.drain(start..len.min(start + usize::from(*count)));
            }
            Change::Repeat(at, count) => {
                let start = at.index(len);
                let repeated = bytes[start..len.min(start + usize::from(*count))].to_vec();
                bytes.splice(start..start, repeated);
            }
            Change::Insert(at, inserted) => {
                let start = at.index(len);
                bytes.splice(start..start, inserted.iter().copied());
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: ProptestConfig::default().cases.max(5_000),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn a_damaged_component_is_an_error_or_a_rubric(
            seed in prop::sample::select(SEEDS.to_vec()),
            changes in prop::collection::vec(change(), 1..6),
        ) {
            let mut bytes = seed.to_vec();
            for change in &changes {
                apply(&mut bytes, change);
            }
            // What inspecting lets through is compiled, and what compiles is run.
            if inspect(&bytes).refusal.is_none() && let Ok(rubric) = sandbox().load(&bytes) {
                let few = limits(RawLimits { fuel: Some(100_000), ..RawLimits::default() });
                let scored = Case::named("damaged").score(&rubric.prepare(few), "");
                prop_assert!(scored.fuel_used.is_none_or(|fuel| fuel <= 100_000));
            }
        }

        #[test]
        fn noise_is_no_component(begins_like_one: bool, noise in prop::collection::vec(any::<u8>(), 0..200)) {
            let header: &[u8] = if begins_like_one { b"\0asm\x0d\0\x01\0" } else { b"" };
            prop_assert!(inspect(&[header, &noise].concat()).refusal.is_some());
        }
    }
}

/// Components that are valid and small, and ask for more than a rubric is given.
mod too_heavy {
    use eval_host_tests::binary::{COMPONENT, many, module, section};
    use eval_host_tests::guests::HONEST;
    use eval_sandbox::{NotARubric, TooHeavy};

    use super::refusal;

    #[track_caller]
    fn assert_too_heavy(component: &[u8], expected: &str) {
        let refused = refusal(component);
        let NotARubric::TooHeavy(TooHeavy { what, .. }) = refused else { panic!("{refused}") };
        assert_eq!(what, expected);
    }

    /// An honest rubric with one more module, which nobody instantiates.
    fn with(sections: &[Vec<u8>]) -> Vec<u8> {
        eval_host_tests::binary::honest_with(&module(sections))
    }

    #[test]
    fn what_an_instance_would_have_is_refused_by_what_it_has_too_much_of() {
        assert_too_heavy(&with(&[section(5, &[1, 0, 0x81, 0x80, 1])]), "pages of memory at the start");
        assert_too_heavy(&with(&[section(4, &many(9, &[0x70, 0, 1]))]), "tables");
        assert_too_heavy(&with(&[section(4, &[1, 0x70, 0, 0x81, 0x80, 4])]), "elements of a table at the start");
        assert_too_heavy(&with(&[section(6, &many(40_000, &[0x7f, 0, 0x41, 0, 0x0b]))]), "globals");
        let modules = section(1, &module(&[section(5, &[1, 0, 1])])).repeat(9);
        assert_too_heavy(&[HONEST, &modules].concat(), "memories");
    }

    #[test]
    fn two_memories_in_one_module_are_refused_though_the_engine_has_many() {
        let refused = refusal(&with(&[section(5, &[2, 0, 1, 0, 1])]));
        assert!(matches!(&refused, NotARubric::Invalid { reason, .. } if reason.contains("memories")), "{refused}");
    }

    /// A component in which another is made twice, in which another is made twice, and so on.
    fn doubling(times: usize) -> Vec<u8> {
        let module = section(1, &module(&[]));
        let instance = section(2, &[1, 0, 0, 0]);
        let mut doubling = [COMPONENT, &module, &instance].concat();
        for _ in 0..times {
            let twice = [2, 0, 0, 0, 0, 0, 0];
            doubling = [COMPONENT, &section(4, &doubling), &section(5, &twice)].concat();
        }
        doubling
    }

    #[test]
    fn components_that_multiply_are_refused() {
        assert_too_heavy(&[HONEST, &section(4, &doubling(40))].concat(), "components nested in each other");
        let multiplied = [COMPONENT, &section(4, &doubling(7)), &section(5, &[1, 0, 0, 0])].concat();
        // The honest rubric has a component of its own.
        let made = section(5, &[1, 0, 1, 0]);
        let refused = refusal(&[HONEST, &section(4, &multiplied), &made].concat());
        let NotARubric::DoesNotCompile { reason } = &refused else { panic!("{refused}") };
        assert!(reason.contains("core module instances, which exceeds the configured maximum of 64"), "{reason}");
    }
}

pub(crate) mod scores_with_other_types {
    use eval_host_tests::guests::SCORES_WITH_OTHER_TYPES;
    use eval_sandbox::NotARubric;

    use super::refusal;

    #[test]
    fn a_score_of_another_type_is_found_before_anything_is_compiled() {
        let refused = refusal(SCORES_WITH_OTHER_TYPES);
        assert!(matches!(&refused, NotARubric::OtherScore { .. }), "{refused}");
    }
}

pub(crate) mod imports_other_types {
    use eval_host_tests::guests::IMPORTS_OTHER_TYPES;
    use eval_sandbox::NotARubric;

    use super::refusal;

    #[test]
    fn an_import_of_another_type_is_named_when_it_is_linked() {
        let refused = refusal(IMPORTS_OTHER_TYPES);
        let NotARubric::OtherTypes { reason } = &refused else { panic!("{refused}") };
        assert!(reason.contains("get-random-u64"), "{reason}");
    }
}

pub(crate) mod honest {
    use eval_host_tests::guests::HONEST;
    use eval_model::ids::Digest;
    use eval_sandbox::{BinaryKind, Grant, MOST_COMPONENT_BYTES, NotARubric};

    use super::refusal;
    use crate::support::sandbox;

    #[test]
    fn a_rubric_is_inspected() {
        let inspection = sandbox().inspect(HONEST).expect("it is read");
        assert_eq!(inspection.kind, BinaryKind::Component);
        assert_eq!(inspection.bytes, HONEST.len() as u64);
        assert_eq!(inspection.digest, Digest::of(HONEST));
        assert_eq!(inspection.world(), Some("eval-host:rubric/rubric@0.1.0"));
        assert_eq!(inspection.contract_version.expect("it says").to_string(), "0.1.0");
        assert_eq!(inspection.exports, ["eval-host:rubric/scoring@0.1.0"]);
        assert_eq!(inspection.refusal, None);
    }

    #[test]
    fn all_that_rust_imports_is_granted() {
        let inspection = sandbox().inspect(HONEST).expect("it is read");
        assert!(inspection.imports.len() > 10, "a program of std imports most of WASI");
        assert!(inspection.imports.iter().all(|import| !matches!(import.grant, Grant::Refused(_))));
    }

    #[test]
    fn its_digest_is_that_of_its_bytes() {
        assert_eq!(sandbox().load(HONEST).expect("it loads").digest(), Digest::of(HONEST));
    }

    #[test]
    fn no_byte_of_it_can_be_missing() {
        for len in [1, 7, 9, 100, HONEST.len() / 2, HONEST.len() - 1] {
            let refused = refusal(&HONEST[..len]);
            assert!(matches!(refused, NotARubric::Invalid { .. } | NotARubric::NotWasm), "{len}: {refused}");
        }
        assert_eq!(refusal(&HONEST[..8]), NotARubric::OtherWorld { exports: Vec::new() }, "the header alone is valid");
    }

    #[test]
    fn an_empty_file_and_random_bytes_are_no_components() {
        assert_eq!(refusal(b""), NotARubric::Empty);
        let mut noise = vec![0; 4_096];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        assert_eq!(refusal(&noise), NotARubric::NotWasm);
    }

    #[test]
    fn what_is_over_the_size_limit_is_not_even_parsed() {
        let mut large = HONEST.to_vec();
        large.resize(usize::try_from(MOST_COMPONENT_BYTES).expect("64 bits") + 1, 0);
        assert_eq!(
            refusal(&large),
            NotARubric::TooLarge { bytes: MOST_COMPONENT_BYTES + 1, maximum: MOST_COMPONENT_BYTES }
        );
    }

    #[test]
    fn code_that_is_compiled_already_is_refused() {
        let engine = wasmtime::Engine::default();
        let compiled = engine.precompile_component(HONEST).expect("it compiles");
        assert_eq!(refusal(&compiled), NotARubric::Precompiled);
    }
}
