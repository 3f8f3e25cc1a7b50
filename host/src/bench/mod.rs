//! A bench's files: what a registration and a case say, parsed strictly, and the bench as a whole.
//!
//! The raw shapes of the files never leave this module; what leaves it has been checked. No command changes a
//! registration: only `rubric build` and `rubric attack --write` write, the first the
//! component and its pin, the second `attack.json`.

pub(crate) mod attack;
mod case_file;
pub(crate) mod fence;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod golden;
mod load;
mod read;
mod registration;
pub(crate) mod rubric_build;
pub(crate) mod select;
mod strict_toml;

pub(crate) use load::{Bench, BenchFolder, LoadBenchError, list_task_classes, load_bench, load_folder, load_rubric};
pub(crate) use read::{InputRoot, LoadedCase};
pub(crate) use registration::{Capture, KEY_VARIABLE, SutSettings, check_variable};

/// Editors complete and check registration.toml and case.toml by schemas that are made from the types above.
#[cfg(test)]
mod schemas {
    use std::path::Path;
    use std::{env, fs};

    use schemars::{Schema, schema_for};

    use super::case_file::RawCaseFile;
    use super::registration::RawRegistration;

    #[track_caller]
    fn is_fresh(name: &str, schema: &Schema) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schemas").join(name);
        let made = serde_json::to_string_pretty(schema).expect("a schema is JSON") + "\n";
        if env::var_os("UPDATE_SCHEMAS").is_some() {
            fs::write(&path, &made).expect("docs/schemas is writable");
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(kept, made, "run `UPDATE_SCHEMAS=1 cargo test -p eval-host schemas`, and commit {name}");
    }

    #[test]
    fn the_schemas_in_the_repository_are_what_the_types_say() {
        is_fresh("registration.schema.json", &schema_for!(RawRegistration));
        is_fresh("case.schema.json", &schema_for!(RawCaseFile));
    }
}
