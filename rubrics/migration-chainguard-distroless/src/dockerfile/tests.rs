use super::*;

fn parse(text: &str) -> Dockerfile {
    match Dockerfile::parse(text) {
        Ok(file) => file,
        Err(error) => panic!("must parse, but {error}"),
    }
}

fn problem(text: &str) -> (usize, Problem) {
    match Dockerfile::parse(text) {
        Ok(file) => panic!("must be refused, but is {file:?}"),
        Err(ParseError { line, problem }) => (line, problem),
    }
}

fn instructions(text: &str) -> Vec<Instruction> {
    let file = parse(&format!("FROM x\n{text}"));
    file.stages.into_iter().flat_map(|stage| stage.lines).map(|line| line.instruction).collect()
}

fn only(text: &str) -> Instruction {
    let mut all = instructions(text);
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn shell(text: &str) -> Form {
    Form::Shell(text.to_owned())
}

fn exec(words: &[&str]) -> Form {
    Form::Exec(words.iter().map(|word| (*word).to_owned()).collect())
}

fn run(form: Form) -> Instruction {
    Instruction::Run(Run { form, heredocs: Vec::new(), has_mount: false, mounted: Vec::new() })
}

#[test]
fn stages_have_images_names_and_platforms() {
    let file = parse("ARG V=1\nARG W\nFROM --platform=$BUILDPLATFORM a:${V} AS Build\nRUN x\nfrom b as run\n");
    assert_eq!(file.global_args, [("V".to_owned(), Some("1".to_owned())), ("W".to_owned(), None)]);
    let build = From {
        image: "a:${V}".to_owned(),
        name: Some("build".to_owned()),
        platform: Some("$BUILDPLATFORM".to_owned()),
    };
    assert_eq!(file.stages[0].from, build);
    assert_eq!(file.stages[1].from.name.as_deref(), Some("run"));
    assert_eq!(file.stages[0].lines[0].number, 4);
}

#[test]
fn continuation_lines_are_joined_without_the_comments_and_blank_lines_between_them() {
    let text = "RUN a && \\\n# comment\n\n  # another\n    b && \\  \n    c\nUSER u\n";
    assert_eq!(instructions(text), [run(shell("a &&     b &&     c")), Instruction::User("u".to_owned())]);
    assert_eq!(instructions("RUN a \\\\\nUSER u")[0], run(shell("a \\\\")));
}

#[test]
fn the_escape_directive_moves_continuation_to_the_backtick() {
    let file = parse("# syntax=docker/dockerfile:1\n# escape=`\nFROM x\nRUN dir C:\\ `\n && y\n");
    assert_eq!(file.escape, '`');
    assert_eq!(file.stages[0].lines[0].instruction, run(shell("dir C:\\  && y")));
    let late = parse("# a comment\n# escape=`\nFROM x\nRUN a \\\n b\n");
    assert_eq!(late.escape, '\\');
    assert_eq!(problem("# escape=x\nFROM a\n"), (1, Problem::Escape));
}

#[test]
fn exec_form_is_a_json_array_of_strings_and_nothing_else() {
    assert_eq!(only("CMD [\"a\", \"b c\"]"), Instruction::Cmd(exec(&["a", "b c"])));
    assert_eq!(only("CMD ['a', 'b']"), Instruction::Cmd(shell("['a', 'b']")));
    assert_eq!(only("CMD [\"a\", 1]"), Instruction::Cmd(shell("[\"a\", 1]")));
    assert_eq!(only("ENTRYPOINT [\"a\",]"), Instruction::Entrypoint(shell("[\"a\",]")));
    assert_eq!(only("ENTRYPOINT []"), Instruction::Entrypoint(exec(&[])));
    assert_eq!(only("cmd a b"), Instruction::Cmd(shell("a b")));
    assert_eq!(only("CMD [ \"a\", \\\n  \"b\" ]"), Instruction::Cmd(exec(&["a", "b"])));
}

#[test]
fn heredocs_belong_to_the_instruction_that_opens_them() {
    let text =
        "RUN <<EOF\napt-get update\n# kept\nEOF\nCOPY <<a.txt <<-'b.txt' /etc/\n$x\na.txt\n\tb\n\tb.txt\nUSER u\n";
    let all = instructions(text);
    let Instruction::Run(run) = &all[0] else { panic!("{all:?}") };
    assert_eq!(run.heredocs[0].content, "apt-get update\n# kept\n");
    let Instruction::Copy(copy) = &all[1] else { panic!("{all:?}") };
    let a = Heredoc { name: "a.txt".to_owned(), expands: true, content: "$x\n".to_owned() };
    let b = Heredoc { name: "b.txt".to_owned(), expands: false, content: "b\n".to_owned() };
    assert_eq!(copy.sources, [Copied::Inline(a), Copied::Inline(b)]);
    assert_eq!(all[2], Instruction::User("u".to_owned()));
    assert_eq!(problem("FROM x\nRUN <<EOF\na\n"), (2, Problem::OpenHeredoc("EOF".to_owned())));
}

#[test]
fn copies_have_their_flags_in_any_order_and_paths_with_blanks_as_json() {
    let text = "COPY --link --chown=65532:65532 --from=build --chmod=0755 /a /b /c/";
    let Instruction::Copy(copy) = only(text) else { panic!() };
    assert_eq!((copy.from.as_deref(), copy.chown.as_deref()), (Some("build"), Some("65532:65532")));
    assert_eq!(copy.chmod.as_deref(), Some("0755"));
    assert_eq!(copy.sources, [Copied::Path("/a".to_owned()), Copied::Path("/b".to_owned())]);
    assert_eq!(copy.destination, "/c/");
    let Instruction::Copy(json) = only("COPY [\"a b\", \"/c d\"]") else { panic!() };
    assert_eq!((json.sources.len(), json.destination.as_str()), (1, "/c d"));
    assert_eq!(problem("FROM x\nCOPY a\n"), (2, Problem::Arguments("COPY")));
    assert_eq!(problem("FROM x\nADD --from=y a b\n").1, Problem::Flag { instruction: "ADD", flag: "from".to_owned() });
}

#[test]
fn environment_and_labels_have_both_forms() {
    let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    assert_eq!(
        only("ENV A=1 B=\"x y\" C=a\\ b"),
        Instruction::Env(vec![pair("A", "1"), pair("B", "\"x y\""), pair("C", "a\\ b")])
    );
    assert_eq!(only("ENV A one two"), Instruction::Env(vec![pair("A", "one two")]));
    assert_eq!(only("LABEL a.b=\"c\" \\\n  d=e"), Instruction::Label(vec![pair("a.b", "\"c\""), pair("d", "e")]));
    assert_eq!(problem("FROM x\nENV A\n"), (2, Problem::Arguments("ENV")));
}

#[test]
fn health_checks_have_flags_and_a_form() {
    let text = "HEALTHCHECK --interval=5s --retries=3 CMD curl -f http://x || exit 1";
    assert_eq!(only(text), Instruction::HealthCheck(HealthCheck::Command(shell("curl -f http://x || exit 1"))));
    let text = "HEALTHCHECK CMD [\"a\"]";
    assert_eq!(only(text), Instruction::HealthCheck(HealthCheck::Command(exec(&["a"]))));
    assert_eq!(only("HEALTHCHECK NONE"), Instruction::HealthCheck(HealthCheck::Disabled));
    assert_eq!(problem("FROM x\nHEALTHCHECK curl x\n"), (2, Problem::Arguments("HEALTHCHECK")));
}

#[test]
fn run_flags_are_no_part_of_the_command() {
    assert_eq!(only("RUN --mount=type=cache,target=/x --network=none a b"), run(shell("a b")));
    assert_eq!(problem("FROM x\nRUN --from=y a\n").1, Problem::Flag { instruction: "RUN", flag: "from".to_owned() });
}

#[test]
fn triggers_hold_any_instruction_but_three() {
    assert_eq!(only("ONBUILD USER u"), Instruction::OnBuild(Box::new(Instruction::User("u".to_owned()))));
    assert_eq!(problem("FROM x\nONBUILD ONBUILD RUN a\n").1, Problem::OnBuild("ONBUILD".to_owned()));
    assert_eq!(problem("FROM x\nONBUILD FROM y\n").1, Problem::OnBuild("FROM".to_owned()));
}

#[test]
fn what_no_builder_takes_is_an_error_with_its_line() {
    let wrong = [
        ("", 1, Problem::NoStage),
        ("RUN x\n", 1, Problem::BeforeFrom),
        ("FROM a\n\nINSTALL x\n", 3, Problem::UnknownInstruction("INSTALL".to_owned())),
        ("FROM a\nUSER\n", 2, Problem::NoArguments("USER")),
        ("FROM a b\n", 1, Problem::Arguments("FROM")),
        ("FROM a AS x\nFROM b AS X\n", 2, Problem::StageTwice("x".to_owned())),
        ("FROM a\nSHELL /bin/sh\n", 2, Problem::Arguments("SHELL")),
        ("FROM --x=y a\n", 1, Problem::Flag { instruction: "FROM", flag: "x".to_owned() }),
    ];
    for (text, line, expected) in wrong {
        assert_eq!(problem(text), (line, expected), "{text}");
    }
}
