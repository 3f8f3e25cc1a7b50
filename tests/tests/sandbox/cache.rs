//! The compile cache: what it may do is save time.

use std::path::Path;

use eval_host_tests::guests::OBSERVES_EVERYTHING;
use eval_model::contract::Scored;
use eval_model::limits::Limits;
use eval_sandbox::{Backend, CacheError, CompileCache, Sandbox, SandboxConfig, SandboxError};

use crate::support::{Case, config, prepare};

fn sandbox(cache: &Path) -> Result<Sandbox, SandboxError> {
    let compile_cache = CompileCache::Kept(cache.to_owned());
    Sandbox::new(&SandboxConfig { compile_cache, ..config(Backend::Native) })
}

fn observed(cache: &Path) -> Scored {
    let sandbox = sandbox(cache).expect("a cache of our own");
    let rubric = sandbox.load(OBSERVES_EVERYTHING).expect("it loads").prepare(Limits::default());
    Case::named("cached").score(&rubric, "")
}

#[test]
fn code_from_the_cache_sees_what_code_just_compiled_sees() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let cache = directory.path().join("cache");
    let compiled = observed(&cache);
    assert!(cache.read_dir().expect("it was made").next().is_some(), "something is kept");
    assert_eq!(observed(&cache), compiled);
    let uncached = Case::named("cached").score(&prepare(OBSERVES_EVERYTHING, Limits::default()), "");
    assert_eq!(uncached, compiled);
}

#[test]
fn a_cache_that_is_not_ours_alone_is_refused() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let link = directory.path().join("link");
    std::os::unix::fs::symlink(directory.path(), &link).expect("a link");
    let refused = sandbox(&link);
    assert!(matches!(refused, Err(SandboxError::Cache(CacheError::NotADirectory { .. }))), "{refused:?}");
}
