//! The process that compiles: whatever becomes of it, the host has an error that says so, and goes on.
//!
//! The compilers here are programs of the shell's that do what a compiler might, in the place of the host's own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use eval_host_tests::binary::{many, module, section};
use eval_host_tests::guests::HONEST;
use eval_sandbox::{
    Backend, CompileCache, CompileLimits, Compiler, CompilerError, LoadRubricError, NotARubric, Sandbox, SandboxConfig,
    Stop, Stopped,
};
use tempfile::TempDir;

use crate::support::{Case, again_in_a_process, config, perfect, the_next_case_scores};

/// A sandbox in a folder of its own with this program for a compiler.
fn sandbox(folder: &TempDir, program: PathBuf, limits: CompileLimits) -> Sandbox {
    let compile_cache = CompileCache::Kept(folder.path().join("cache"));
    let compiler = Compiler { program, limits };
    Sandbox::new(&SandboxConfig { compile_cache, compiler, ..config(Backend::Native) }).expect("wasmtime works here")
}

/// What loading an honest rubric comes to when its compiler does this.
fn with_compiler(shell: &str) -> LoadRubricError {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("compiler");
    fs::write(&program, format!("#!/bin/sh\n{shell}\n")).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("it is ours");
    let limits = CompileLimits { seconds: 1, ..CompileLimits::default() };
    let error = sandbox(&folder, program, limits).load(HONEST).expect_err("nothing was compiled");
    let left: Vec<_> = fs::read_dir(folder.path().join("cache")).expect("a cache").collect();
    assert!(left.is_empty(), "{left:?}");
    the_next_case_scores();
    error
}

#[track_caller]
fn stop(shell: &str) -> Stop {
    match with_compiler(shell) {
        LoadRubricError::NotARubric(NotARubric::Stopped(Stopped { stop, makeup: None })) => stop,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn trouble(shell: &str) -> CompilerError {
    match with_compiler(shell) {
        LoadRubricError::Compiler(error) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_compiler_that_is_killed_or_crashes_is_a_reason_why_a_component_does_not_load() {
    let CompileLimits { memory_mib: mib, cpu_seconds: seconds, .. } = CompileLimits::default();
    assert_eq!(stop("kill -KILL $$"), Stop::Killed { signal: 9 });
    assert_eq!(stop("kill -TERM $$"), Stop::Killed { signal: 15 });
    assert_eq!(stop("echo no room >&2; kill -ABRT $$"), Stop::Memory { mib, said: "no room".to_owned() });
    assert_eq!(stop("kill -XCPU $$"), Stop::Cpu { seconds });
    assert_eq!(stop("sleep 1000"), Stop::Time { seconds: 1 });
    assert_eq!(
        stop("echo 'I did  not\n expect that' >&2; exit 101"),
        Stop::Crashed { said: "I did not expect that".to_owned() }
    );
    assert_eq!(stop("kill -SEGV $$"), Stop::Crashed { said: "signal 11 ".to_owned() });
}

#[test]
fn what_a_compiler_found_before_its_end_is_said() {
    let weighed = r#"{"Weighed":{"bytes":5,"modules":1,"components":2,"instances":3,"functions":4,"code_bytes":5,
        "largest_function_bytes":6,"most_locals":7,"widest_type":8,"memories":9,"tables":10,"globals":11,
        "data_segments":12,"element_segments":13,"elements":14,"name_bytes":15}}"#;
    let shell = format!("echo '{}'; printf '{{\"Read\"'; kill -XCPU $$", weighed.replace('\n', ""));
    let said = with_compiler(&shell).to_string();
    assert!(said.contains("; functions: 4 with 5 bytes of code, the largest of 6 bytes, at most 7 locals"), "{said}");
    assert!(said.ends_with("or, if you trust it, raise EVAL_HOST_COMPILE_CPU_SECONDS"), "{said}");
}

#[test]
fn a_compiler_that_does_not_do_its_work_is_no_fault_of_the_component() {
    assert!(matches!(trouble("exit 0"), CompilerError::CannotWork { .. }));
    assert!(matches!(trouble("echo no >&2; exit 1"), CompilerError::CannotWork { complaint } if complaint == "no"));
    assert!(matches!(trouble("echo nonsense"), CompilerError::Said(_)));
}

#[test]
fn what_a_compiler_says_of_a_component_is_judged_by_the_host() {
    let read =
        r#"echo '{"Read":{"imports":[],"exports":["eval-host:rubric/scoring@0.1.0"],"score":null}}'; echo '"Done"'"#;
    let refused = with_compiler(read);
    assert!(matches!(refused, LoadRubricError::NotARubric(NotARubric::OtherScore { .. })), "{refused:?}");
}

#[test]
fn a_compiler_that_is_not_there_is_no_fault_of_the_component() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = sandbox(&folder, folder.path().join("missing"), CompileLimits::default()).load(HONEST);
    assert!(matches!(missing, Err(LoadRubricError::Compiler(CompilerError::Start { .. }))), "{missing:?}");
}

/// The host's own compiler, and after it this.
fn then(shell: &str) -> LoadRubricError {
    with_compiler(&format!("{} \"$@\" || exit $?\n{shell}", env!("CARGO_BIN_EXE_eval-host-under-test")))
}

#[test]
fn the_host_compiles_nothing_when_what_was_compiled_is_missing_or_broken() {
    let missing = then("rm -r modules");
    assert!(matches!(missing, LoadRubricError::Compiler(CompilerError::NothingKept)), "{missing:?}");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let program = folder.path().join("compiler");
    let real = env!("CARGO_BIN_EXE_eval-host-under-test");
    let shell =
        format!("#!/bin/sh\n{real} \"$@\" || exit $?\nfor entry in modules/*/*; do echo broken > $entry; done\n");
    fs::write(&program, shell).expect("a program");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).expect("it is ours");
    let broken = sandbox(&folder, program, CompileLimits::default()).load(HONEST);
    let Err(LoadRubricError::Compiler(CompilerError::Unusable(why))) = broken else { panic!("{broken:?}") };
    assert_eq!(why.to_string(), "Engine was not configured with a compiler");
}

#[test]
fn an_entry_that_went_or_broke_is_compiled_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let host = || PathBuf::from(env!("CARGO_BIN_EXE_eval-host-under-test"));
    let load = || sandbox(&folder, host(), CompileLimits::default()).load(HONEST).expect("it loads");
    load();
    let version =
        fs::read_dir(folder.path().join("cache/modules")).expect("kept").next().expect("one").expect("it").path();
    let entries = || {
        let paths = fs::read_dir(&version).expect("entries").map(|entry| entry.expect("an entry").path());
        paths.filter(|path| path.extension().is_none()).collect::<Vec<_>>()
    };
    let [entry] = &entries()[..] else { panic!("{:?}", entries()) };
    let code = fs::read(entry).expect("code");
    for broken in [b"".as_slice(), b"broken", &code[..code.len() / 2]] {
        fs::write(entry, broken).expect("it is ours");
        load();
        assert!(fs::read(entry).expect("code").len() == code.len() && entries().len() == 1, "it is there again");
    }
    fs::remove_file(entry).expect("it is ours");
    load();
    assert_eq!(&entries()[..], std::slice::from_ref(entry));
}

#[test]
fn a_temporary_cache_goes_with_its_sandbox_and_its_rubric_stays() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let compile_cache = CompileCache::Temporary { below: folder.path().to_owned() };
    let rubric = {
        let sandbox = Sandbox::new(&SandboxConfig { compile_cache, ..config(Backend::Native) }).expect("a sandbox");
        sandbox.load(HONEST).expect("it loads").prepare(eval_model::limits::Limits::default())
    };
    assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    assert!(Case::named("temporary").score(&rubric, "").result.is_ok());
}

/// Globals of sixteen bytes each: in ten instances of their module more than all instances are given together.
fn large_instances() -> Vec<u8> {
    let globals = module(&[section(6, &many(30_000, &[0x7f, 1, 0x41, 0, 0x0b]))]);
    // The fourth module of the component.
    let instance = section(2, &[1, 0, 3, 0]);
    [HONEST, &section(1, &globals), &instance.repeat(10)].concat()
}

#[test]
#[expect(clippy::print_stdout, reason = "the test below reads it from a process of its own")]
fn what_does_not_fit_the_pool_is_refused() {
    let refused = crate::support::sandbox().load(&large_instances()).expect_err("it does not fit");
    println!("refused: {refused}");
    assert!(refused.to_string().contains("which exceeds the configured maximum of 4194304 bytes"), "{refused}");
}

#[test]
fn and_is_refused_in_the_same_words_where_there_is_no_pool() {
    let test = "compiler::what_does_not_fit_the_pool_is_refused";
    let refused = |said: &str| said.lines().find(|line| line.starts_with("refused: ")).map(str::to_owned);
    let with = again_in_a_process(test, |program| std::process::Command::new(program));
    let without = again_in_a_process(test, |program| {
        let mut command = std::process::Command::new("/bin/sh");
        command.args(["-c", r#"ulimit -v 6000000; exec "$0" "$@""#]).arg(program);
        command
    });
    assert!(refused(&with).is_some());
    assert_eq!(refused(&with), refused(&without));
}

pub(crate) mod composed_of_two {
    use eval_host_tests::guests::COMPOSED_OF_TWO;
    use eval_model::contract::RawScore;

    use super::perfect;
    use crate::support::ends;

    #[test]
    fn what_is_composed_of_components_with_memories_loads_and_scores() {
        let scored = ends(COMPOSED_OF_TWO, "measure");
        let breakdown = vec![("measured".to_owned(), r#"{"do":"measure"}"#.len() as f64 + 1.0)];
        assert_eq!(scored.result, Ok(RawScore { breakdown, ..perfect() }));
    }
}
