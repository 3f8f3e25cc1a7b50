//! The parts of the judgement on a made-up image: a Ruby service, which no case of the bench has.

use super::*;

const FACTS: &str = r#"
schema_version = 1
[[image]]
name = "registry.example/ruby"
[[image.variant]]
tags = ["latest", "3"]
libc = "glibc"
user = "ruby"
users = [{ name = "ruby", uid = 1001, gid = 1001 }]
entrypoint = ["/usr/bin/ruby"]
cmd = ["--version"]
workdir = "/work"
prepared_dirs = ["/work"]
programs = ["/usr/bin/ruby", "/usr/bin/tini"]
stop_signal = "SIGINT"
[[image.variant]]
tags = ["latest-dev"]
libc = "glibc"
user = "ruby"
users = [{ name = "ruby", uid = 1001, gid = 1001 }]
entrypoint = ["/usr/bin/ruby"]
workdir = "/work"
shells = ["/bin/sh"]
package_manager = "apk"
prepared_dirs = ["/work"]
programs = ["/usr/bin/ruby", "/usr/bin/bundle"]
[[image]]
name = "registry.example/tiny"
[[image.variant]]
tags = ["latest"]
libc = "none"
user = "1001"
low_ports = true
[[image]]
name = "registry.example/musl"
[[image.variant]]
tags = ["latest"]
libc = "musl"
user = "0"
shells = ["/bin/sh"]
package_manager = "apk"
programs = ["/usr/bin/tool"]
[packages.apk]
libvips = ["/usr/lib/libvips.so.42"]
tzdata = ["/usr/share/zoneinfo"]
"#;

const BEFORE: &str = "FROM ruby:3.3\nLABEL a=1 b=2\nENV RACK_ENV=production\nWORKDIR /work\nVOLUME /work/tmp\n\
                      STOPSIGNAL SIGINT\nEXPOSE 9292\nCOPY . .\nCMD [\"ruby\", \"app.rb\"]\n";

/// What every right answer below says besides its own point.
const KEPT: &str = "LABEL a=1 b=2\nENV RACK_ENV=production\nVOLUME /work/tmp\nEXPOSE 9292\n";

fn modes_of(expectation: &str, dockerfile: &str) -> Vec<Mode> {
    let input: Tree = [
        ("Dockerfile", BEFORE),
        ("app.rb", "puts 1\n"),
        ("run.sh", "#!/bin/sh\nruby app.rb\n"),
        ("conf", "port 9292\n"),
        ("Gemfile", "gem \"x\"\ngem \"y\", group: :development\n"),
        ("web.rb", "require \"bundler/setup\"\n"),
    ]
    .into_iter()
    .collect();
    let mut tree = input.clone();
    tree.insert("Dockerfile", dockerfile);
    let text = format!("schema_version = 1\naccept = [\"patch\"]\n{expectation}");
    let expectation = Expectation::parse(&text).unwrap();
    let facts = Facts::parse(FACTS).unwrap();
    let case =
        Case { expectation: &expectation, last: expectation.last.as_ref().unwrap(), facts: &facts, input: &input };
    let applied = Applied { tree, changes: Vec::new() };
    let Judgement { findings, leftovers } = judge(&case, &applied).unwrap();
    findings.into_iter().chain(leftovers).map(|finding| finding.mode).collect()
}

const RUBY: &str = "[final]\nimages = [\"registry.example/ruby:latest\"]\n";

#[track_caller]
fn check(expectation: &str, table: &[(&str, &[Mode])]) {
    for (dockerfile, expected) in table {
        assert_eq!(modes_of(expectation, dockerfile), *expected, "{dockerfile}");
    }
}

/// A Dockerfile on the right image that keeps everything and ends as given.
fn ending(end: &str) -> String {
    format!("FROM registry.example/ruby\n{KEPT}COPY app.rb ./\n{end}\n")
}

#[track_caller]
fn check_endings(expectation: &str, table: &[(&str, &[Mode])]) {
    for (end, expected) in table {
        assert_eq!(modes_of(expectation, &ending(end)), *expected, "{end}");
    }
}

#[test]
fn any_tag_of_the_accepted_variant_will_do_and_no_other_image() {
    let rest = format!("{KEPT}COPY app.rb ./\nCMD [\"app.rb\"]\n");
    let on = |image: &str| format!("FROM {image}\n{rest}");
    let table: [(&str, &[Mode]); 6] = [
        ("registry.example/ruby:latest", &[]),
        ("registry.example/ruby:3", &[]),
        ("registry.example/ruby:latest-dev", &[Mode::DevelopmentVariantKept, Mode::StopSignalLost]),
        ("registry.example/ruby:4", &[Mode::UnknownImage, Mode::StopSignalLost]),
        ("ruby:3.3", &[Mode::BaseImageNotAccepted, Mode::StopSignalLost]),
        ("registry.example/ruby:latest-dev AS x\nFROM x", &[Mode::DevelopmentVariantKept, Mode::StopSignalLost]),
    ];
    for (image, expected) in table {
        let found: Vec<Mode> =
            modes_of(RUBY, &on(image)).into_iter().filter(|mode| *mode != Mode::WorkdirChanged).collect();
        assert_eq!(found, expected, "{image}");
    }
}

#[test]
fn images_of_other_stages_are_judged_where_the_case_says_so() {
    let expectation = format!("{RUBY}[build]\nimages = [\"registry.example/*\"]\n");
    let stage = "FROM ruby:3.3 AS b\nRUN mkdir /b\n";
    let text = format!("{stage}{}", ending("COPY --from=b /b /b\nCMD [\"app.rb\"]"));
    assert_eq!(modes_of(&expectation, &text), [Mode::BuildStageNotMigrated]);
    assert_eq!(modes_of(RUBY, &text), []);
}

#[test]
fn root_is_found_under_all_its_names() {
    let command = |user: &str| format!("USER {user}\nCMD [\"app.rb\"]");
    for user in ["root", "0", "0:0", "root:ruby", "${NOBODY}"] {
        assert_eq!(modes_of(RUBY, &ending(&command(user))), [Mode::RunsAsRoot], "{user}");
    }
    let root = format!("{RUBY}root = true\n");
    assert_eq!(modes_of(&root, &ending(&command("0"))), []);
    let users = format!("{RUBY}users = [\"ruby\"]\n");
    assert_eq!(modes_of(&users, &ending(&command("1001"))), []);
    assert_eq!(modes_of(&users, &ending(&command("7"))), [Mode::WrongUser]);
}

#[test]
fn the_service_is_started_without_a_shell_by_what_is_there() {
    let expectation =
        format!("{RUBY}commands = [[\"ruby\", \"file:app.rb\"], [\"tini\", \"--\", \"...\", \"file:app.rb\"]]\n");
    check_endings(
        &expectation,
        &[
            ("CMD [\"app.rb\"]", &[]),
            ("CMD [\"/work/app.rb\"]", &[]),
            ("ENTRYPOINT [\"tini\", \"--\"]\nCMD [\"ruby\", \"-W0\", \"app.rb\"]", &[]),
            ("", &[Mode::WrongStartupCommand]),
            ("ENTRYPOINT []", &[Mode::WrongStartupCommand]),
            ("CMD [\"other.rb\"]", &[Mode::WrongStartupCommand]),
            ("CMD [\"ruby\", \"app.rb\"]", &[Mode::EntrypointDoubled]),
            ("CMD app.rb", &[Mode::ShellFormStartup]),
            ("ENTRYPOINT [\"puma\"]", &[Mode::StartupProgramMissing, Mode::WrongStartupCommand]),
            ("ENTRYPOINT [\"sh\", \"-c\", \"$X\"]", &[Mode::StartupNeedsShell, Mode::WrongStartupCommand]),
            ("CMD [\"$SCRIPT\"]", &[Mode::VariableNotExpanded, Mode::WrongStartupCommand]),
        ],
    );
    check_endings(RUBY, &[("COPY run.sh ./\nENTRYPOINT [\"./run.sh\"]", &[Mode::StartupNeedsShell])]);
}

#[test]
fn a_shell_or_package_manager_may_not_come_in_by_the_back_door() {
    check_endings(
        RUBY,
        &[
            ("COPY --from=registry.example/ruby:latest-dev /bin/sh /bin/sh\nCMD [\"app.rb\"]", &[Mode::ShellAdded]),
            ("COPY --from=ruby:3.3 /usr /usr\nCMD [\"app.rb\"]", &[Mode::ShellAdded]),
            ("COPY --from=ruby:3.3 /opt/data /opt/data\nCMD [\"app.rb\"]", &[]),
        ],
    );
}

#[test]
fn programs_need_the_c_library_that_they_were_made_for() {
    let tiny = "[final]\nimages = [\"registry.example/tiny:latest\"]\nports = [\"80\"]\n";
    let build = |flags: &str| format!("FROM golang:1 AS b\nRUN {flags} go build -o /x .\nFROM registry.example/tiny\n");
    let end = "LABEL a=1 b=2\nENV RACK_ENV=production\nWORKDIR /work\nVOLUME /work/tmp\nSTOPSIGNAL SIGINT\nEXPOSE 80\n\
               COPY --from=b /x /x\nENTRYPOINT [\"/x\"]\n";
    assert_eq!(modes_of(tiny, &format!("{}{end}", build("CGO_ENABLED=0"))), [Mode::UnknownImage]);
    let dynamic = modes_of(tiny, &format!("{}{end}", build("")));
    assert_eq!(dynamic, [Mode::UnknownImage, Mode::DynamicBinaryOnStaticImage]);
    check_endings(
        RUBY,
        &[("COPY --from=registry.example/musl /usr/bin/tool /usr/bin/tool\nCMD [\"app.rb\"]", &[Mode::LibcMismatch])],
    );
}

#[test]
fn files_are_there_and_writable_and_packages_installed_or_copied() {
    let expectation = format!(
        "{RUBY}writable = [\"/work/tmp\", \"/tmp/x\"]\npackage = [{{ any_of = [\"libvips\"] }}]\nfile = [{{ input = \"app.rb\", at = \"/work/*\" }}]\n"
    );
    let stage = "FROM registry.example/ruby:latest-dev AS b\nUSER root\nRUN apk add libvips && mkdir /empty\n";
    let text = |end: &str| format!("{stage}{}", ending(&format!("{end}\nCMD [\"app.rb\"]")));
    let library = "COPY --from=b /usr/lib/libvips.so.42 /usr/lib/";
    // A volume without a folder in the image is made by whoever starts it, for root.
    assert_eq!(modes_of(&expectation, &text(library)), [Mode::NotWritable]);
    let closed = format!("{library}\nCOPY --from=b /empty /work/tmp");
    assert_eq!(modes_of(&expectation, &text(&closed)), [Mode::NotWritable]);
    let folder = "COPY --from=b --chown=ruby /empty /work/tmp";
    assert_eq!(modes_of(&expectation, &text(folder)), [Mode::RequiredPackageMissing]);
    let given = format!("{library}\n{folder}");
    assert_eq!(modes_of(&expectation, &text(&given)), []);
    let elsewhere = text(&given).replace("COPY app.rb ./", "COPY app.rb /srv/");
    assert_eq!(modes_of(&expectation, &elsewhere), [Mode::FileMissing]);
}

#[test]
fn artifacts_are_known_by_the_command_that_made_them() {
    let expectation = format!("{RUBY}[[artifact]]\nname = \"assets\"\ncommands = [\"rake assets:precompile\"]\n");
    let stage = "FROM ruby:3.3 AS b\nWORKDIR /b\nRUN bundle exec true && rake -s assets:precompile\n";
    let text = |end: &str| format!("{stage}{}", ending(&format!("{end}\nCMD [\"app.rb\"]")));
    assert_eq!(modes_of(&expectation, &text("COPY --from=b /b/public public")), []);
    assert_eq!(modes_of(&expectation, &text("")), [Mode::ArtifactMissing, Mode::StageUnused]);
}

#[test]
fn an_artifact_can_be_asked_to_be_linked_in_one_way() {
    let expectation = |linkage: &str| {
        format!("{RUBY}[[artifact]]\nname = \"tool\"\ncommands = [\"go build\"]\nlinkage = \"{linkage}\"\n")
    };
    let stage = "FROM ruby:3.3 AS b\nRUN CGO_ENABLED=0 go build -o /tool .\n";
    let text = format!("{stage}{}", ending("COPY --from=b /tool /usr/bin/tool\nCMD [\"app.rb\"]"));
    assert_eq!(modes_of(&expectation("static"), &text), []);
    assert_eq!(modes_of(&expectation("dynamic"), &text), [Mode::ArtifactMissing]);
}

#[test]
fn lines_of_files_are_compared_without_regard_to_blanks() {
    let rule = |rule: &str| format!("{RUBY}[[file]]\npath = \"conf\"\n{rule}\n");
    let text = ending("CMD [\"app.rb\"]");
    assert_eq!(modes_of(&rule("has_one_of = [[\"  port   9292\", \"x\"]]"), &text), []);
    assert_eq!(modes_of(&rule("has_one_of = [[\"x\"]]"), &text), [Mode::ConfigNotAdapted]);
    assert_eq!(modes_of(&rule("has_none_of = [\"port 9292\"]"), &text), [Mode::ConfigNotAdapted]);
}

#[test]
fn ports_are_the_same_and_none_needs_root() {
    let text = |port: &str| ending("CMD [\"app.rb\"]").replace("EXPOSE 9292", &format!("EXPOSE {port}"));
    assert_eq!(modes_of(RUBY, &text("9293")), [Mode::PortsDiffer]);
    assert_eq!(modes_of(RUBY, &text("9292/udp")), [Mode::PortsDiffer]);
    let low = format!("{RUBY}ports = [\"80\"]\n");
    assert_eq!(modes_of(&low, &text("80")), [Mode::PrivilegedPort]);
}

#[test]
fn health_checks_run_in_the_image_or_are_broken() {
    let with = |check: &str| format!("HEALTHCHECK {check}\nCMD [\"app.rb\"]");
    let required =
        format!("{RUBY}health_check = \"required\"\nhealth_commands = [[\"ruby\", \"-e\", \"contains:9292\"]]\n");
    let table: [(&str, &[Mode]); 7] = [
        ("CMD [\"ruby\", \"-e\", \"connect 9292\"]", &[]),
        ("NONE", &[Mode::HealthCheckMissing]),
        ("CMD [\"ruby\", \"-e\", \"1\"]", &[Mode::HealthCheckBroken]),
        ("CMD [\"curl\", \"localhost\"]", &[Mode::HealthCheckBroken]),
        ("CMD ruby -e 'connect 9292'", &[Mode::HealthCheckBroken]),
        ("CMD [\"ruby\", \"-e\", \"connect 9292 $HOST\"]", &[Mode::HealthCheckBroken]),
        ("--interval=5s CMD [\"/usr/bin/ruby\", \"-e\", \"9292\"]", &[]),
    ];
    for (health, expected) in table {
        assert_eq!(modes_of(&required, &ending(&with(health))), expected, "{health}");
    }
    let absent = format!("{RUBY}health_check = \"absent\"\n");
    assert_eq!(modes_of(&absent, &ending(&with("CMD [\"ruby\"]"))), [Mode::HealthCheckBroken]);
    assert_eq!(modes_of(&absent, &ending("CMD [\"app.rb\"]")), []);
}

#[test]
fn what_the_dockerfile_said_it_still_says() {
    let text = ending("CMD [\"app.rb\"]");
    let without = |part: &str, instead: &str| text.replace(part, instead);
    let table = [
        (without("a=1 ", ""), Mode::LabelLost),
        (without("a=1", "a=2"), Mode::LabelLost),
        (without("RACK_ENV=production", "RACK_ENV=test"), Mode::EnvLost),
        (without("VOLUME /work/tmp\n", ""), Mode::VolumesDiffer),
        (without("CMD", "WORKDIR /other\nCMD"), Mode::WorkdirChanged),
        (without("CMD", "STOPSIGNAL SIGTERM\nCMD"), Mode::StopSignalLost),
    ];
    for (dockerfile, mode) in table {
        assert_eq!(modes_of(RUBY, &dockerfile), [mode], "{dockerfile}");
    }
    let free = format!("{RUBY}may_drop_labels = [\"a\"]\nmay_drop_env = [\"RACK_ENV\"]\nenv = {{ LANG = \"C\" }}\n");
    let dropped = without("a=1 ", "").replace("RACK_ENV=production", "LANG=C");
    assert_eq!(modes_of(&free, &dropped), []);
    assert_eq!(modes_of(&free, &without("CMD", "ENV LANG=D\nCMD")), [Mode::EnvLost]);
}

#[test]
fn a_dockerfile_that_is_gone_or_no_dockerfile_is_invalid() {
    check(RUBY, &[("", &[Mode::DockerfileInvalid]), ("FROM\n", &[Mode::DockerfileInvalid])]);
    let long = format!("FROM registry.example/ruby\n{}", "# x\n".repeat(MAX_DOCKERFILE));
    assert_eq!(modes_of(RUBY, &long), [Mode::DockerfileInvalid]);
    let stages = "FROM registry.example/ruby\n".repeat(65);
    assert!(modes_of(RUBY, &stages).contains(&Mode::DockerfileInvalid));
}

#[test]
fn python_and_node_find_their_packages_where_they_look() {
    let facts_have_no_python =
        "FROM ruby:3.3 AS b\nWORKDIR /b\nRUN python -m venv /b/v && /b/v/bin/pip install x && npm install x\n";
    let text = |end: &str| format!("{facts_have_no_python}{}", ending(&format!("{end}\nCMD [\"app.rb\"]")));
    let lost: &[Mode] = &[Mode::DependenciesNotReachable];
    let table: [(&str, &[Mode]); 8] = [
        ("COPY --from=b /b/v /b/v", lost),
        ("COPY --from=b /b/v /b/v\nENV PYTHONPATH=/b/v/lib", lost),
        ("COPY --from=b /b/v /b/v\nENV PYTHONPATH=/b/v/lib/python3/site-packages", &[]),
        ("COPY --from=b /b/v /v\nENV PYTHONPATH=/v/lib/python3/site-packages", &[]),
        ("COPY --from=b /b/v/bin /b/v/bin\nENV PYTHONPATH=/b/v/lib/python3/site-packages", lost),
        ("COPY --from=b /b/node_modules /work/node_modules", &[]),
        ("COPY --from=b /b/node_modules /other/node_modules", lost),
        ("COPY --from=b /b/node_modules /other/node_modules\nENV NODE_PATH=/other/node_modules", &[]),
    ];
    for (end, expected) in table {
        assert_eq!(modes_of(RUBY, &text(end)), expected, "{end}");
    }
}

#[test]
fn an_environment_may_move_with_its_interpreter_and_not_with_its_programs() {
    let stage = "FROM registry.example/ruby:latest-dev AS b\nRUN python -m venv v && v/bin/pip install x\n";
    let text = |end: &str| format!("{stage}{}", ending(end));
    let missing: &[Mode] = &[Mode::StartupProgramMissing];
    let lost: &[Mode] = &[Mode::DependenciesNotReachable];
    let table: [(&str, &[Mode]); 9] = [
        ("COPY --from=b /work/v /v\nENTRYPOINT [\"/v/bin/python\", \"app.rb\"]", &[]),
        ("COPY --from=b /work/v /v\nENTRYPOINT [\"/v/bin/serve\"]", missing),
        ("COPY --from=b /work/v /work/v\nENTRYPOINT [\"/work/v/bin/serve\"]", &[]),
        ("COPY --from=b /work/v /v\nENTRYPOINT [\"tini\", \"--\", \"/v/bin/python3\", \"app.rb\"]", &[]),
        ("COPY --from=b /work/v /v\nENTRYPOINT [\"tini\", \"--\", \"/v/bin/serve\"]", missing),
        ("COPY --from=b /work/v /v\nENTRYPOINT [\"tini\", \"--\", \"/w/bin/python\"]", &[missing[0], lost[0]]),
        ("COPY --from=b /work/v/bin /v/bin\nENTRYPOINT [\"/v/bin/python\", \"app.rb\"]", lost),
        ("COPY --from=b /work/v/bin/python /v/bin/python\nENTRYPOINT [\"/v/bin/python\", \"app.rb\"]", lost),
        (
            "COPY --from=b /work/v/bin /v/bin\nCOPY --from=b /work/v/lib /v/lib\n\
             COPY --from=b /work/v/pyvenv.cfg /v/\nENTRYPOINT [\"/v/bin/python\", \"app.rb\"]",
            &[],
        ),
    ];
    for (end, expected) in table {
        let found: Vec<Mode> =
            modes_of(RUBY, &text(end)).into_iter().filter(|mode| [missing[0], lost[0]].contains(mode)).collect();
        assert_eq!(found, expected, "{end}");
    }
}

#[test]
fn ruby_finds_gems_where_bundler_or_rubygems_look() {
    let lost: &[Mode] = &[Mode::DependenciesNotReachable];
    let with = |build: &str, end: &str| {
        let stage = format!("FROM registry.example/ruby:latest-dev AS b\nCOPY Gemfile ./\n{build}\n");
        modes_of(RUBY, &format!("{stage}{}", ending(&format!("COPY Gemfile web.rb ./\n{end}"))))
    };
    let all = "COPY --from=b /work/vendor vendor\n";
    let path = "ENV BUNDLE_PATH=/work/vendor\nRUN bundle install";
    let local = "RUN bundle config set --local path vendor && bundle install";
    let home = "ENV GEM_HOME=/work/vendor\nRUN bundle install";
    let web = "CMD [\"web.rb\"]";
    let app = "CMD [\"app.rb\"]";
    let table: [(&str, String, &[Mode]); 14] = [
        (path, format!("{all}ENV BUNDLE_PATH=/work/vendor\n{web}"), &[]),
        (path, format!("{all}ENV BUNDLE_PATH=vendor\n{web}"), &[]),
        (path, format!("{all}{web}"), lost),
        (path, format!("{all}ENV BUNDLE_PATH=/work/vendor/ruby\n{web}"), lost),
        (path, format!("{all}ENV BUNDLE_PATH=/work/vendor\n{app}"), lost),
        (path, format!("{all}ENV GEM_PATH=/work/vendor/ruby/3.4.0\n{app}"), &[]),
        (path, format!("{all}ENV GEM_PATH=/work/vendor\n{app}"), lost),
        (path, format!("{all}ENV BUNDLE_PATH=/work/vendor RUBYOPT=-rbundler/setup\n{app}"), &[]),
        (local, format!("{all}{web}"), lost),
        (local, format!("{all}COPY --from=b /work/.bundle .bundle\n{web}"), &[]),
        (home, format!("{all}ENV GEM_HOME=/work/vendor\n{app}"), &[]),
        (home, format!("{all}{app}"), lost),
        (
            "ENV BUNDLE_WITHOUT=development BUNDLE_DEPLOYMENT=1\nRUN bundle install",
            format!("{all}ENV BUNDLE_DEPLOYMENT=1\n{web}"),
            lost,
        ),
        (
            "ENV BUNDLE_WITHOUT=development BUNDLE_DEPLOYMENT=1\nRUN bundle install",
            format!("{all}ENV BUNDLE_DEPLOYMENT=1 BUNDLE_WITHOUT=development\n{web}"),
            &[],
        ),
    ];
    for (build, end, expected) in table {
        assert_eq!(with(build, &end), expected, "{build}\n{end}");
    }
    let without = with(path, &format!("{all}ENV BUNDLE_PATH=/work/vendor\nWORKDIR /\nCMD [\"/work/web.rb\"]"));
    assert_eq!(without, [lost[0], Mode::WorkdirChanged]);
}

const WEB: &str = "CMD [\"app.rb\"]";

#[test]
fn a_stage_that_nobody_uses_is_left_over() {
    let text = |stages: &str, end: &str| format!("{stages}{}", ending(&format!("{end}\n{WEB}")));
    let unused: &[Mode] = &[Mode::StageUnused];
    let dev = "FROM registry.example/ruby:latest-dev";
    let table: [(String, &[Mode]); 6] = [
        (text("FROM ruby:3.3\n", ""), unused),
        (text(&format!("{dev} AS b\nRUN mkdir x\n"), ""), unused),
        (text(&format!("{dev} AS a\nRUN mkdir x\nFROM a AS b\n"), "COPY --from=b /work/x x"), &[]),
        (text(&format!("{dev} AS a\nFROM {} AS b\nRUN mkdir x\n", &dev[5..]), "COPY --from=1 /work/x x"), unused),
        (
            text(
                &format!("{dev} AS a\n{dev} AS b\nRUN --mount=type=bind,from=a,target=/a mkdir x\n"),
                "COPY --from=b /work/x x",
            ),
            &[],
        ),
        (
            text(&format!("{dev} AS a\nRUN mkdir x\n{dev} AS b\nCOPY --from=a /work/x x\n"), ""),
            &[Mode::StageUnused, Mode::StageUnused],
        ),
    ];
    for (dockerfile, expected) in table {
        assert_eq!(modes_of(RUBY, &dockerfile), expected, "{dockerfile}");
    }
}

#[test]
fn an_instruction_that_another_one_undoes_is_left_over() {
    let idle: &[Mode] = &[Mode::InstructionWithoutEffect];
    let table: [(&str, &[Mode]); 16] = [
        ("CMD [\"x\"]", idle),
        ("ENTRYPOINT [\"/usr/bin/ruby\"]\nENTRYPOINT [\"/usr/bin/ruby\"]", idle),
        ("HEALTHCHECK CMD [\"ruby\", \"-v\"]\nHEALTHCHECK NONE", idle),
        ("LABEL a=1", idle),
        ("ENV RACK_ENV=production", idle),
        ("ENV RACK_ENV=test\nENV RACK_ENV=production", &[]),
        ("ENV P=$P:x\nENV P=$P:x", &[]),
        ("EXPOSE 9292/tcp", idle),
        ("VOLUME [\"/work/tmp\"]", idle),
        ("USER 7\nUSER ruby", idle),
        ("USER 7\nWORKDIR /work\nUSER ruby", &[]),
        ("USER 7\nCOPY conf ./\nUSER ruby", idle),
        ("USER root\nCOPY conf ./\nUSER ruby", &[]),
        ("COPY --chown=ruby app.rb ./", idle),
        ("COPY conf web.rb ./", &[]),
        ("COPY . .", idle),
    ];
    for (end, expected) in table {
        assert_eq!(modes_of(RUBY, &ending(&format!("{end}\n{WEB}"))), expected, "{end}");
    }
}

#[test]
fn what_a_build_does_twice_for_nothing_is_left_over() {
    let idle: &[Mode] = &[Mode::InstructionWithoutEffect];
    let table: [(&str, &[Mode]); 12] = [
        ("RUN gem install x\nRUN gem install --no-document x", idle),
        ("RUN gem install x && gem install y", &[]),
        ("RUN npm install && npm run build && npm install --omit=dev", &[]),
        ("RUN npm install && npm install --no-audit", idle),
        ("RUN npm install && npm install --omit=dev", &[]),
        ("RUN npm install\nCOPY conf ./\nRUN npm install", &[]),
        ("RUN npm install && npm install --prefix=client", &[]),
        ("RUN make\nRUN make", &[]),
        ("COPY conf ./\nRUN make\nCOPY conf ./", &[]),
        ("COPY conf ./\nCOPY conf other/", &[]),
        ("LABEL a=1 b=2", idle),
        ("LABEL stage=build", &[]),
    ];
    for (build, expected) in table {
        let stage = format!("FROM registry.example/ruby:latest-dev AS b\n{build}\nRUN mkdir x\n");
        let text = format!("{stage}{}", ending(&format!("COPY --from=b /work/x x\n{WEB}")));
        assert_eq!(modes_of(RUBY, &text), expected, "{build}");
    }
    let merged = "FROM registry.example/ruby:latest-dev AS b\nRUN make out\nFROM registry.example/ruby:latest-dev AS c\nRUN make out\n";
    let text = format!("{merged}{}", ending(&format!("COPY --from=b /work/out d\nCOPY --from=c /work/out d\n{WEB}")));
    assert_eq!(modes_of(RUBY, &text), [], "two folders may be merged");
}

#[test]
fn arguments_are_declared_where_they_are_used_and_used_where_they_are_declared() {
    let lost: &[Mode] = &[Mode::UndeclaredArgument];
    let table: [(&str, &str, &[Mode]); 7] = [
        ("", "RUN GOARCH=$TARGETARCH mkdir x", lost),
        ("", "ARG TARGETARCH\nRUN GOARCH=$TARGETARCH mkdir x", &[]),
        ("", "RUN GOARCH=${TARGETARCH:-amd64} mkdir x", &[]),
        ("", "RUN TARGETARCH=x && GOARCH=$TARGETARCH mkdir x", &[]),
        ("ARG V=1\n", "ARG V\nENV W=$V\nRUN mkdir x", &[]),
        ("ARG V=1\n", "ENV W=$V\nRUN mkdir x", &[Mode::InstructionWithoutEffect, lost[0]]),
        ("ARG V=1\n", "RUN mkdir x", &[Mode::InstructionWithoutEffect]),
    ];
    for (first, build, expected) in table {
        let stage = format!("{first}FROM registry.example/ruby:latest-dev AS b\n{build}\n");
        let mut found = modes_of(RUBY, &format!("{stage}{}", ending(&format!("COPY --from=b /work/x x\n{WEB}"))));
        found.sort();
        let mut expected = expected.to_vec();
        expected.sort();
        assert_eq!(found, expected, "{first}{build}");
    }
}

#[test]
fn a_build_finds_what_it_reads() {
    let missing: &[Mode] = &[Mode::CopySourceMissing];
    let table: [(&str, &[Mode]); 14] = [
        ("RUN bundle install", missing),
        ("COPY Gemfile /\nRUN bundle install", &[]),
        ("ENV BUNDLE_GEMFILE=/x/Gemfile\nRUN bundle install", &[]),
        ("RUN dotnet restore src/W.csproj", missing),
        ("RUN go build -o x .", missing),
        ("RUN git clone https://x && go build -o x .", &[]),
        ("RUN --mount=type=bind,target=. go build -o x .", &[]),
        ("COPY <<main.go ./\nx\nmain.go\nRUN go build -o x .", &[]),
        ("RUN mvn -B package", missing),
        ("RUN mvn --version", &[]),
        ("RUN cargo new a && cd a && cargo build", &[]),
        ("RUN cargo build", missing),
        ("USER root\nRUN apk add --root /fs tzdata", missing),
        ("USER root\nRUN apk add --initdb --root /fs tzdata", &[]),
    ];
    for (build, expected) in table {
        let stage = format!("FROM registry.example/ruby:latest-dev AS b\n{build}\nRUN mkdir -p x\n");
        let mut found = modes_of(RUBY, &format!("{stage}{}", ending(&format!("COPY --from=b /work/x x\n{WEB}"))));
        found.retain(|mode| *mode == Mode::CopySourceMissing);
        found.dedup();
        assert_eq!(found, expected, "{build}");
    }
}

#[test]
fn only_root_gives_files_away() {
    let table: [(&str, &[Mode]); 5] = [
        ("RUN mkdir x && chown -R ruby x", &[]),
        ("COPY conf ./\nRUN mkdir x && chown -R ruby:ruby .", &[Mode::BuildNotPermitted]),
        ("COPY conf ./\nRUN mkdir x && chown ruby:ruby .", &[]),
        ("RUN mkdir x && chown 7 x", &[Mode::BuildNotPermitted]),
        ("USER root\nCOPY conf ./\nRUN mkdir x && chown -R 7 .", &[]),
    ];
    for (build, expected) in table {
        let stage = format!("FROM registry.example/ruby:latest-dev AS b\n{build}\n");
        let text = format!("{stage}{}", ending(&format!("COPY --from=b /work/x x\n{WEB}")));
        assert_eq!(modes_of(RUBY, &text), expected, "{build}");
    }
}
