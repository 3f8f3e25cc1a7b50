//! `case.toml`: what a case says of itself.

use jiff::civil::Date;
use serde::Deserialize;

use super::strict_toml::{self, TomlError};
use eval_model::contract::{BenchCase, Difficulty, Disposition, Source};
use eval_model::ids::{CaseId, Digest, TaskClassName};

/// The case's own cassette: where it is, and what its bytes should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CassettePin {
    /// A file name in the case's folder.
    pub(crate) file_name: String,
    pub(crate) blake3: Option<Digest>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CaseFile {
    pub(crate) case: BenchCase,
    pub(crate) last_validated_at: Date,
    pub(crate) cassette: Option<CassettePin>,
}

#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct RawCaseFile {
    case_id: CaseId,
    task_class: TaskClassName,
    disposition: Disposition,
    difficulty: Difficulty,
    source: Source,
    commit_sha: Option<String>,
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date")))]
    added_at: Date,
    #[cfg_attr(test, schemars(with = "String", extend("format" = "date")))]
    last_validated_at: Date,
    cassette_path: Option<String>,
    cassette_blake3: Option<Digest>,
}

impl CaseFile {
    /// Parses a case file and checks it against the folder that it lies in.
    pub(crate) fn parse(text: &str, folder_name: &str, task_class: &TaskClassName) -> Result<Self, TomlError> {
        let raw: RawCaseFile = strict_toml::parse(text)?;
        let wrong = |key, message| Err(TomlError::of_value(text, &[key], message));
        if raw.case_id.as_str() != folder_name {
            return wrong("case_id", format!("`{}` must equal the folder's name, `{folder_name}`", raw.case_id));
        }
        if raw.task_class != *task_class {
            return wrong("task_class", format!("`{}` must equal the bench's, `{task_class}`", raw.task_class));
        }
        check_commit(text, raw.source, raw.commit_sha.as_deref())?;
        if raw.last_validated_at < raw.added_at {
            return wrong("last_validated_at", format!("lies before added_at, {}", raw.added_at));
        }
        let cassette = check_cassette(text, raw.cassette_path, raw.cassette_blake3)?;
        Ok(Self {
            case: BenchCase {
                case_id: raw.case_id,
                task_class: raw.task_class,
                disposition: raw.disposition,
                difficulty: raw.difficulty,
                source: raw.source,
                added_at: raw.added_at,
            },
            last_validated_at: raw.last_validated_at,
            cassette,
        })
    }

    /// The file in the case's folder that holds its own cassette.
    pub(crate) fn cassette_name(&self) -> &str {
        self.cassette.as_ref().map_or("cassette.json", |pin| &pin.file_name)
    }
}

fn check_commit(text: &str, source: Source, commit: Option<&str>) -> Result<(), TomlError> {
    let is_hash = |commit: &str| matches!(commit.len(), 40 | 64) && commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    let message = match commit {
        Some(commit) if is_hash(commit) => return Ok(()),
        Some(_) => "must be a full commit hash, of 40 or 64 hexadecimal digits",
        None if source == Source::Curated => return Ok(()),
        None => "is required unless source = \"curated\": name the commit that the case was taken from",
    };
    Err(TomlError::of_value(text, &["commit_sha"], message))
}

fn check_cassette(text: &str, path: Option<String>, blake3: Option<Digest>) -> Result<Option<CassettePin>, TomlError> {
    match (path, blake3) {
        (None, None) => Ok(None),
        (None, Some(_)) => {
            Err(TomlError::of_value(text, &["cassette_blake3"], "pins a cassette, but there is no cassette_path"))
        }
        (Some(path), _) if path.is_empty() || path.contains(['/', '\\']) || path.starts_with('.') => {
            Err(TomlError::of_value(text, &["cassette_path"], "must be the name of a file in the case's folder"))
        }
        (Some(file_name), blake3) => Ok(Some(CassettePin { file_name, blake3 })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = r#"case_id = "003-ws-header-dos"
task_class = "vuln-remediation"
disposition = "positive"
difficulty = "medium"
source = "curated"
added_at = "2026-11-16"
last_validated_at = "2026-11-16"
cassette_path = "cassette.json"
"#;

    fn parse(text: &str) -> Result<CaseFile, TomlError> {
        CaseFile::parse(text, "003-ws-header-dos", &"vuln-remediation".parse().expect("a task class"))
    }

    #[test]
    fn a_whole_case_file_is_read() {
        let file = parse(WHOLE).expect("a case file");
        assert_eq!(file.case.disposition, Disposition::Positive);
        assert_eq!(file.case.added_at.to_string(), "2026-11-16");
        assert_eq!(file.cassette.expect("a cassette").file_name, "cassette.json");
    }

    #[track_caller]
    fn refused(from: &str, to: &str, expected: &str) {
        assert!(WHOLE.contains(from), "{from}");
        assert_eq!(parse(&WHOLE.replace(from, to)).expect_err(to).to_string(), expected);
    }

    #[test]
    fn what_is_wrong_is_named() {
        refused(
            "case_id = \"003-ws-header-dos\"",
            "case_id = \"004-other\"",
            "line 1: `case_id`: `004-other` must equal the folder's name, `003-ws-header-dos`",
        );
        refused(
            "task_class = \"vuln-remediation\"",
            "task_class = \"other\"",
            "line 2: `task_class`: `other` must equal the bench's, `vuln-remediation`",
        );
        refused(
            "source = \"curated\"",
            "source = \"regression-converted\"",
            "is required unless source = \"curated\": name the commit that the case was taken from",
        );
        refused(
            "source = \"curated\"",
            "source = \"curated\"\ncommit_sha = \"main\"",
            "line 6: `commit_sha`: must be a full commit hash, of 40 or 64 hexadecimal digits",
        );
        refused(
            "cassette_path = \"cassette.json\"",
            "cassette_path = \"../other/cassette.json\"",
            "line 8: `cassette_path`: must be the name of a file in the case's folder",
        );
        refused(
            "last_validated_at = \"2026-11-16\"",
            "last_validated_at = \"2025-11-16\"",
            "line 7: `last_validated_at`: lies before added_at, 2026-11-16",
        );
        refused(
            "case_id = \"003-ws-header-dos\"",
            "# case_id = \"003-ws-header-dos\"\n'case_id' = \"004-other\"",
            "line 2: `case_id`: `004-other` must equal the folder's name, `003-ws-header-dos`",
        );
        refused(
            "difficulty = \"medium\"",
            "difficulty = \"medium\"\nseverity = 1",
            "line 5: `severity`: unknown field `severity`, expected one of `case_id`, `task_class`, `disposition`, `difficulty`, `source`, `commit_sha`, `added_at`, `last_validated_at`, `cassette_path`, `cassette_blake3`",
        );
    }
}
