//! The scratch directory against its oracle: the same random operations of the same guest, once on our tree in memory and
//! once on a disk through wasmtime-wasi, must come to the same results and error codes.
//!
//! What the two may answer differently is listed at the head of `host/src/sandbox/scratch/mod.rs`; the guest does not report
//! it, or the operations below do not ask for it.

pub(crate) mod performs_operations {
    use std::fs;
    use std::path::Path;
    use std::sync::OnceLock;

    use eval_host_tests::guests::PERFORMS_OPERATIONS;
    use eval_model::limits::Limits;
    use eval_sandbox::PreparedRubric;
    use proptest::prelude::*;
    use wasmtime::component::{Component, Linker, ResourceTable};
    use wasmtime::{Config, Engine, Store};
    use wasmtime_wasi::filesystem::FsPerms;
    use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

    use crate::support::{Case, METER, prepare, reported};

    mod bindings {
        wasmtime::component::bindgen!({ path: "../wit", world: "rubric" });
    }

    use bindings::RubricPre;
    use bindings::eval_host::rubric::types;

    struct OnDisk {
        ctx: WasiCtx,
        table: ResourceTable,
    }

    impl WasiView for OnDisk {
        fn ctx(&mut self) -> WasiCtxView<'_> {
            WasiCtxView { ctx: &mut self.ctx, table: &mut self.table }
        }
    }

    fn on_disk_rubric() -> &'static RubricPre<OnDisk> {
        static RUBRIC: OnceLock<RubricPre<OnDisk>> = OnceLock::new();
        RUBRIC.get_or_init(|| {
            let engine = Engine::new(&Config::new()).expect("wasmtime works here");
            let component = Component::from_binary(&engine, PERFORMS_OPERATIONS).expect("the guest compiles");
            let mut linker = Linker::new(&engine);
            wasmtime_wasi::p2::add_to_linker_sync(&mut linker).expect("an empty linker");
            let instance = linker.instantiate_pre(&component).expect("WASI is all it imports");
            RubricPre::new(instance).expect("it is a rubric")
        })
    }

    fn in_memory_rubric() -> &'static PreparedRubric {
        static RUBRIC: OnceLock<PreparedRubric> = OnceLock::new();
        RUBRIC.get_or_init(|| prepare(PERFORMS_OPERATIONS, Limits::default()))
    }

    fn stage(case: &Case, directory: &Path) {
        for (path, content) in case.files() {
            let path = directory.join(&**path);
            fs::create_dir_all(path.parent().expect("below the directory")).expect("a directory of our own");
            fs::write(path, content).expect("a directory of our own");
        }
    }

    fn on_disk(case: &Case, script: &str) -> Vec<String> {
        let directory = tempfile::tempdir().expect("a temporary directory");
        stage(case, directory.path());
        let mut ctx = WasiCtx::builder();
        ctx.preopened_dir(directory.path(), "/", FsPerms::ReadWrite).expect("a directory of our own");
        ctx.allow_blocking_current_thread(true);
        let rubric = on_disk_rubric();
        let mut store = Store::new(rubric.engine(), OnDisk { ctx: ctx.build(), table: ResourceTable::new() });
        let instance = rubric.instantiate(&mut store).expect("it is linked");
        let described = types::BenchCase {
            case_id: "oracle".to_owned(),
            task_class: "hostile".to_owned(),
            disposition: types::Disposition::Positive,
            difficulty: types::Difficulty::Easy,
            source: types::Source::Curated,
        };
        let output = types::HarnessOutput {
            json: script.to_owned(),
            cost_usd: METER.cost_usd,
            duration_seconds: METER.duration_seconds,
        };
        let scored = instance.eval_host_rubric_scoring().call_score(&mut store, &described, &output);
        scored.expect("no operation traps").expect("it reports").failure_modes
    }

    /// Runs a script on both, and compares line by line, so that a difference shows its operation.
    fn compare(script: &[String]) -> Result<(), TestCaseError> {
        let case = Case::named("oracle");
        let text = script.join("\n");
        let memory = case.score_output(in_memory_rubric(), &text);
        let disk = on_disk(&case, &text);
        for ((operation, ours), theirs) in script.iter().zip(reported(&memory)).zip(&disk) {
            prop_assert_eq!(ours, theirs, "{} in\n{}", operation, text);
        }
        prop_assert_eq!((reported(&memory).len(), disk.len()), (script.len(), script.len()));
        Ok(())
    }

    /// Few names, so that operations meet each other, and every way to write a path that anybody has escaped by.
    fn path() -> impl Strategy<Value = String> {
        let name = prop_oneof![
            8 => prop::sample::select(vec!["a", "b", "c"]),
            4 => prop::sample::select(vec!["input", "nested", "a.txt"]),
            3 => prop::sample::select(vec![".", "..", ""]),
            1 => prop::sample::select(vec!["{255}", "{256}", "{nul}", "{4k}"]),
        ];
        prop::collection::vec(name, 1..4).prop_map(|names| names.join("/"))
    }

    fn place() -> impl Strategy<Value = u8> {
        prop_oneof![3 => Just(0), 2 => 1_u8..4]
    }

    /// Sizes and offsets that a disk and the quota both hold.
    fn size() -> impl Strategy<Value = u64> {
        prop_oneof![6 => 0_u64..40, 2 => 4_000_u64..5_000, 1 => 60_000_u64..70_000]
    }

    fn open() -> impl Strategy<Value = String> {
        let flags = prop_oneof![4 => 0_u8..4, 1 => 0_u8..64];
        (place(), path(), 0_u8..2, 0_u8..16, flags, 1_u8..4).prop_map(|(base, path, follow, open, flags, to)| {
            format!("open|{base}|{path}|{follow}|{open}|{flags}|{to}")
        })
    }

    fn on_one_path() -> impl Strategy<Value = String> {
        let operation = prop::sample::select(vec!["mkdir", "mkdir", "rmdir", "unlink", "readlink"]);
        (operation, place(), path()).prop_map(|(operation, base, path)| format!("{operation}|{base}|{path}"))
    }

    fn on_two_paths() -> impl Strategy<Value = String> {
        prop_oneof![
            (place(), path(), path()).prop_map(|(base, target, path)| format!("symlink|{base}|{target}|{path}")),
            (place(), path(), place(), path())
                .prop_map(|(from, old, to, new)| format!("rename|{from}|{old}|{to}|{new}")),
            (place(), path(), place(), path(), prop_oneof![9 => Just(0), 1 => Just(1)])
                .prop_map(|(from, old, to, new, follow)| format!("link|{from}|{old}|{to}|{new}|{follow}")),
        ]
    }

    fn at_a_path() -> impl Strategy<Value = String> {
        let operation = prop::sample::select(vec!["stat-at", "stat-at", "hash-at", "times-at"]);
        (operation, place(), 0_u8..2, path())
            .prop_map(|(operation, base, follow, path)| format!("{operation}|{base}|{follow}|{path}"))
    }

    fn on_a_descriptor() -> impl Strategy<Value = String> {
        let plain =
            prop::sample::select(vec!["list", "list", "stat", "type", "flags", "sync", "advise", "times", "close"]);
        prop_oneof![
            (plain, place()).prop_map(|(operation, place)| format!("{operation}|{place}")),
            (place(), size()).prop_map(|(place, size)| format!("resize|{place}|{size}")),
            (place(), size(), size()).prop_map(|(place, len, offset)| format!("read|{place}|{len}|{offset}")),
            (place(), size(), size()).prop_map(|(place, len, offset)| format!("write|{place}|{len}|{offset}")),
            place().prop_map(|place| format!("read|{place}|10|{}", u64::MAX)),
            (place(), place()).prop_map(|(one, other)| format!("same|{one}|{other}")),
        ]
    }

    fn on_a_stream() -> impl Strategy<Value = String> {
        let open = prop::sample::select(vec!["input", "output", "append"]);
        // Reading 0 bytes closes a stream of wasmtime-wasi, and 4096 is the most that one flushed write may have.
        let through = prop::sample::select(vec![
            "read-stream",
            "skip-stream",
            "write-stream",
            "zero-stream",
            "flush-stream",
            "splice",
        ]);
        prop_oneof![
            2 => (open, place(), size(), 0_u8..3)
                .prop_map(|(operation, from, offset, to)| format!("{operation}|{from}|{offset}|{to}")),
            4 => (through, 0_u8..3, 1_u64..4_097).prop_map(|(operation, place, len)| format!("{operation}|0|{place}|{len}")),
            1 => (0_u8..3).prop_map(|place| format!("close-streams|0|{place}|0")),
        ]
    }

    fn operation() -> impl Strategy<Value = String> {
        prop_oneof![
            4 => open(),
            3 => on_one_path(),
            4 => on_two_paths(),
            2 => at_a_path(),
            5 => on_a_descriptor(),
            4 => on_a_stream(),
        ]
    }

    proptest! {
        // `PROPTEST_CASES` asks for more than these. A failure prints its script, which is all that is needed to keep it.
        #![proptest_config(ProptestConfig {
            cases: ProptestConfig::default().cases.max(1_500),
            failure_persistence: None,
            ..ProptestConfig::default()
        })]

        #[test]
        fn memory_and_disk_agree_on_every_operation(script in prop::collection::vec(operation(), 1..40)) {
            compare(&script)?;
        }
    }
}
