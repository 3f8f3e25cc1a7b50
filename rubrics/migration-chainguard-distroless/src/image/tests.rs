use super::*;
use crate::dockerfile::Form;
use eval_diff::Tree;

const FACTS: &str = r#"
schema_version = 1
[[image]]
name = "run"
[[image.variant]]
tags = ["latest"]
libc = "glibc"
user = "65532"
users = [{ name = "nonroot", uid = 65532, gid = 65532 }]
entrypoint = ["/usr/bin/python"]
cmd = ["--help"]
programs = ["/usr/bin/python"]
prepared_dirs = ["/home/nonroot"]
platforms = ["linux/amd64"]
[[image.variant]]
tags = ["latest-dev"]
libc = "glibc"
user = "65532"
users = [{ name = "nonroot", uid = 65532, gid = 65532 }]
entrypoint = ["/usr/bin/python"]
shells = ["/bin/sh"]
package_manager = "apk"
programs = ["/usr/bin/python"]
[packages.apk]
libpq = ["/usr/lib/libpq.so.5"]
"#;

fn built(dockerfile: &str) -> Built {
    let tree: Tree = [("app.py", "x"), ("lib/a.py", "x"), ("data/.keep", "")].into_iter().collect();
    let facts = Facts::parse(FACTS).unwrap();
    let context = Context::new(&tree, "Dockerfile");
    let existing = BTreeSet::from([Reference::parse("debian:12")]);
    let file = Dockerfile::parse(dockerfile).unwrap();
    build(&file, Surroundings { facts: &facts, context: &context, existing: &existing })
}

fn modes(dockerfile: &str) -> Vec<Mode> {
    built(dockerfile).findings.into_iter().map(|finding| finding.mode).collect()
}

fn last(dockerfile: &str) -> Image {
    let built = built(dockerfile);
    assert_eq!(built.findings, []);
    built.images.into_iter().next_back().unwrap()
}

fn words(form: Option<&Form>) -> Vec<String> {
    match form {
        Some(Form::Exec(words)) => words.clone(),
        Some(Form::Shell(text)) => vec![text.clone()],
        None => Vec::new(),
    }
}

#[test]
fn arguments_before_the_first_stage_choose_images_and_reach_a_stage_that_declares_them() {
    let text = "ARG V=latest\nARG I=run:${V}-dev\nFROM ${I} AS b\nARG V\nENV W=$V X=${U:-u}\nFROM ${NONE:-run}\n";
    let built = built(text);
    assert_eq!(built.images[0].base.tagged(), "run:latest-dev");
    assert_eq!(built.images[0].config.env["W"], "latest");
    assert_eq!(built.images[0].config.env["X"], "u");
    assert_eq!(built.images[1].base.tagged(), "run:latest");
    assert_eq!(modes("ARG V=1\nFROM run\nENV W=$V\n"), []);
    assert_eq!(last("ARG V=1\nFROM run\nENV W=[$V]\n").config.env["W"], "[]");
}

#[test]
fn an_image_that_is_neither_known_nor_used_before_does_not_exist() {
    assert_eq!(modes("FROM run:3\n"), [Mode::UnknownImage]);
    assert_eq!(modes("FROM other\n"), [Mode::UnknownImage]);
    assert_eq!(modes("FROM debian:12\nRUN anything\n"), []);
    assert_eq!(modes("FROM run\nCOPY --from=nowhere /x /y\n"), [Mode::UnknownStage]);
    assert_eq!(modes("FROM run\nCOPY --from=a/b:1 /usr/x /y\n"), [Mode::UnknownImage]);
    assert_eq!(modes("FROM --platform=linux/s390x run\n"), [Mode::UnknownImage]);
}

#[test]
fn an_entrypoint_forgets_the_cmd_of_the_base_image_but_not_its_own() {
    let config = last("FROM run\n").config;
    assert_eq!(words(config.cmd.as_ref()), ["--help"]);
    assert_eq!(last("FROM run\nENTRYPOINT [\"a\"]\n").config.cmd, None);
    let own = last("FROM run\nCMD [\"b\"]\nENTRYPOINT [\"a\"]\n").config;
    assert_eq!(words(own.cmd.as_ref()), ["b"]);
    assert_eq!(last("FROM run\nENTRYPOINT []\n").config.entrypoint, None);
}

#[track_caller]
fn check_modes(table: &[(&str, &[Mode])]) {
    for (dockerfile, expected) in table {
        assert_eq!(modes(dockerfile), *expected, "{dockerfile}");
    }
}

#[test]
fn commands_need_a_shell_and_a_package_manager_that_are_there() {
    check_modes(&[
        ("FROM run\nRUN echo x\n", &[Mode::RunWithoutShell]),
        ("FROM run\nRUN [\"/usr/bin/python\", \"x\"]\n", &[]),
        ("FROM run:latest-dev\nSHELL [\"/bin/bash\", \"-c\"]\nRUN x\n", &[Mode::RunWithoutShell]),
        ("FROM run:latest-dev\nUSER root\nRUN apt-get update\n", &[Mode::PackageManagerMissing]),
        ("FROM run:latest-dev\nRUN apk add libpq\n", &[Mode::PackageInstallNotRoot]),
        ("FROM run:latest-dev\nUSER root\nRUN apk add libpq5\n", &[Mode::UnknownPackage]),
        ("FROM run:latest-dev\nUSER root\nRUN <<EOF\nset -e\napk add libpq5\nEOF\n", &[Mode::UnknownPackage]),
        ("FROM run:latest-dev\nUSER root\nRUN apk add --no-cache libpq\n", &[]),
    ]);
}

#[test]
fn copies_must_come_from_something_that_is_there() {
    assert_eq!(modes("FROM run\nCOPY app.py nothing.py /app/\n"), [Mode::CopySourceMissing]);
    assert_eq!(modes("FROM run\nCOPY app.py nothing* /app/\n"), []);
    assert_eq!(modes("FROM run\nCOPY nothing* /app/\n"), [Mode::CopySourceMissing]);
    let build = "FROM run:latest-dev AS build\nWORKDIR /b\nRUN python -m venv /b/venv\nCOPY app.py .\n";
    assert_eq!(
        modes(&format!("{build}FROM run\nCOPY --from=build /b/venv /venv\nCOPY --from=0 /b/app.py /app/\n")),
        []
    );
    assert_eq!(modes(&format!("{build}FROM run\nCOPY --from=build /b/dist /app\n")), [Mode::CopySourceMissing]);
}

#[test]
fn what_is_copied_belongs_to_root_unless_it_is_given_away() {
    let given = "FROM run:latest-dev AS b\nUSER root\nRUN mkdir /d && chown 65532 /d\nFROM run\n";
    let table = [
        ("FROM run\nCOPY . /app\n".to_owned(), "/app/data", 0),
        ("FROM run\nCOPY --chown=nonroot:nonroot . /app\n".to_owned(), "/app/data", 65532),
        ("FROM run\nWORKDIR /data\n".to_owned(), "/data", 65532),
        ("FROM run\nUSER root\nWORKDIR /data\n".to_owned(), "/data", 0),
        (format!("{given}COPY --from=b /d /d\n"), "/d", 0),
        (format!("{given}COPY --from=b --chown=65532 /d /d\n"), "/d", 65532),
    ];
    for (dockerfile, path, owner) in table {
        assert_eq!(last(&dockerfile).files.get(path).and_then(|node| node.owner), Some(owner), "{dockerfile}");
    }
}

#[test]
fn a_name_must_be_declared_and_a_number_need_not() {
    check_modes(&[
        ("FROM run\nCOPY --chown=app . /app\n", &[Mode::UnknownUser]),
        ("FROM run\nUSER app\n", &[Mode::UnknownUser]),
        ("FROM run\nUSER 1000\n", &[]),
        ("FROM run:latest-dev\nUSER root\nRUN adduser -D -u 7 app\nUSER app\n", &[]),
    ]);
}

#[test]
fn a_build_stage_writes_only_where_its_user_may() {
    check_modes(&[
        ("FROM run:latest-dev\nRUN mkdir /data\n", &[Mode::BuildNotPermitted]),
        ("FROM run:latest-dev\nUSER root\nRUN mkdir /data\n", &[]),
        ("FROM run:latest-dev\nWORKDIR /b\nRUN python -m venv /b/venv && mkdir /tmp/x\n", &[]),
        ("FROM run:latest-dev\nCOPY . /b\nWORKDIR /b\nRUN npm install x\n", &[Mode::BuildNotPermitted]),
        ("FROM run:latest-dev\nCOPY --chown=nonroot . /b\nWORKDIR /b\nRUN npm install x\n", &[]),
        ("FROM run:latest-dev\nRUN make lint\n", &[]),
    ]);
}

#[test]
fn pip_without_an_environment_may_install_into_the_home_folder() {
    check_modes(&[
        (
            "FROM run:latest-dev AS b\nRUN pip install x\nFROM run\nCOPY --from=b /home/nonroot/.local /home/nonroot/.local\n",
            &[],
        ),
        (
            "FROM run:latest-dev AS b\nRUN pip install x\nFROM run\nCOPY --from=b /home/app/.local /l\n",
            &[Mode::CopySourceMissing],
        ),
        (
            "FROM run:latest-dev AS b\nUSER root\nRUN pip install --user x\nFROM run\nCOPY --from=b /root/.local /l\n",
            &[],
        ),
    ]);
}

#[test]
fn packages_installed_into_another_root_come_with_it() {
    let text = "FROM run:latest-dev AS dev\nFROM run AS base\nFROM dev AS b\nUSER root\nCOPY --from=base / /root-fs\n\
                RUN apk add --no-cache --root /root-fs libpq\nFROM base\nCOPY --from=b /root-fs /\n";
    let image = last(text);
    assert!(image.files.installed.iter().any(|found| found.package == "libpq" && found.root == "/"));
    assert!(image.files.get("/usr/lib/libpq.so.5").is_some());
    assert_eq!(image.base.tagged(), "run:latest");
}

#[test]
fn triggers_run_in_the_stage_on_top() {
    let image = last("FROM run AS a\nONBUILD USER 7\nUSER 8\nFROM a\n");
    assert_eq!(image.config.user, "7");
    assert_eq!(last("FROM run AS a\nONBUILD USER 7\nUSER 8\n").config.user, "8");
}

#[test]
fn programs_are_found_along_the_path() {
    let text = "FROM run:latest-dev AS b\nUSER root\nRUN python -m venv /v\nFROM run\nCOPY --from=b /v /v\n";
    assert_eq!(last(text).resolve_program("python").as_deref(), Some("/usr/bin/python"));
    let image = last(&format!("{text}ENV PATH=/v/bin:$PATH\n"));
    assert_eq!(image.resolve_program("python").as_deref(), Some("/v/bin/python"));
    assert_eq!(image.resolve_program("/usr/bin/curl"), None);
}

#[test]
fn a_variable_that_cannot_be_expanded_makes_the_file_invalid() {
    assert_eq!(modes("FROM run\nENV A=${X!}\n"), [Mode::DockerfileInvalid]);
    assert_eq!(modes("FROM run\nEXPOSE http\n"), [Mode::DockerfileInvalid]);
    assert!(modes("FROM run AS a\nARG S=a\nCOPY --from=$S /x /y\n").contains(&Mode::DockerfileInvalid));
}

#[test]
fn a_dockerfile_that_asks_for_too_much_is_cut_and_invalid() {
    let mut text = "FROM run:latest-dev AS s0\nCOPY . /x\n".to_owned();
    for stage in 0..40 {
        let next = stage + 1;
        text +=
            &format!("FROM s{stage} AS s{next}\nCOPY --from=s{stage} / /a{stage}\nCOPY --from=s{stage} / /b{stage}\n");
    }
    assert_eq!(modes(&text), [Mode::DockerfileInvalid]);
}
