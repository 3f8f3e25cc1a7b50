//! Logical line → instruction. Arguments stay unexpanded words.

use super::Problem;
use super::lines::{Heredoc, LogicalLine};
use super::words::{is_heredoc_mark, unquoted_words};

/// The argument of `RUN`, `CMD`, `ENTRYPOINT` and of a health check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A JSON array: started as it is.
    Exec(Vec<String>),
    /// Anything else: handed to a shell.
    Shell(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct From {
    pub(crate) image: String,
    pub(crate) name: Option<String>,
    pub(crate) platform: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) form: Form,
    pub(crate) heredocs: Vec<Heredoc>,
    /// Whether files are there that no copy brought.
    pub(crate) has_mount: bool,
    /// The stages and images that files are mounted from.
    pub(crate) mounted: Vec<String>,
}

/// What `COPY` and `ADD` take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) from: Option<String>,
    pub(crate) chown: Option<String>,
    pub(crate) chmod: Option<String>,
    pub(crate) parents: bool,
    pub(crate) exclude: Vec<String>,
    pub(crate) sources: Vec<Copied>,
    pub(crate) destination: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Copied {
    Path(String),
    Inline(Heredoc),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HealthCheck {
    /// `HEALTHCHECK NONE`.
    Disabled,
    Command(Form),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    From(From),
    Arg(Vec<(String, Option<String>)>),
    Env(Vec<(String, String)>),
    Label(Vec<(String, String)>),
    Run(Run),
    Copy(Transfer),
    Add(Transfer),
    Cmd(Form),
    Entrypoint(Form),
    HealthCheck(HealthCheck),
    User(String),
    Workdir(String),
    Expose(Vec<String>),
    Volume(Vec<String>),
    StopSignal(String),
    Shell(Vec<String>),
    OnBuild(Box<Instruction>),
    Maintainer,
}

/// The text of one instruction without its name, and what belongs to it.
struct Arguments<'a> {
    text: &'a str,
    escape: char,
    heredocs: &'a [Heredoc],
}

pub(super) fn parse(line: &LogicalLine, escape: char) -> Result<Instruction, Problem> {
    parse_text(&line.text, &line.heredocs, escape)
}

fn parse_text(text: &str, heredocs: &[Heredoc], escape: char) -> Result<Instruction, Problem> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let arguments = Arguments { text: rest.trim(), escape, heredocs };
    let upper = name.to_ascii_uppercase();
    if arguments.text.is_empty() {
        return Err(known_name(&upper).map_or(Problem::UnknownInstruction(upper), Problem::NoArguments));
    }
    match upper.as_str() {
        "FROM" => from(&arguments),
        "COPY" => transfer(&arguments, "COPY").map(Instruction::Copy),
        "ADD" => transfer(&arguments, "ADD").map(Instruction::Add),
        "RUN" => run(&arguments),
        "HEALTHCHECK" => health_check(&arguments),
        "ONBUILD" => on_build(&arguments),
        other => simple(other, &arguments),
    }
}

const NAMES: [&str; 18] = [
    "FROM",
    "ARG",
    "ENV",
    "LABEL",
    "RUN",
    "COPY",
    "ADD",
    "CMD",
    "ENTRYPOINT",
    "HEALTHCHECK",
    "USER",
    "WORKDIR",
    "EXPOSE",
    "VOLUME",
    "STOPSIGNAL",
    "SHELL",
    "ONBUILD",
    "MAINTAINER",
];

fn known_name(upper: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| *name == upper)
}

/// Instructions without flags.
fn simple(name: &str, arguments: &Arguments<'_>) -> Result<Instruction, Problem> {
    Ok(match name {
        "ARG" => Instruction::Arg(arguments.words().iter().map(|word| arg(word)).collect()),
        "ENV" => Instruction::Env(pairs(arguments, "ENV")?),
        "LABEL" => Instruction::Label(pairs(arguments, "LABEL")?),
        "CMD" => Instruction::Cmd(form(arguments.text)),
        "ENTRYPOINT" => Instruction::Entrypoint(form(arguments.text)),
        "USER" => Instruction::User(one_word(arguments, "USER")?),
        "WORKDIR" => Instruction::Workdir(arguments.text.to_owned()),
        "EXPOSE" => Instruction::Expose(arguments.words()),
        "VOLUME" => Instruction::Volume(json_words(arguments.text).unwrap_or_else(|| arguments.words())),
        "STOPSIGNAL" => Instruction::StopSignal(one_word(arguments, "STOPSIGNAL")?),
        "SHELL" => Instruction::Shell(json_words(arguments.text).ok_or(Problem::Arguments("SHELL"))?),
        "MAINTAINER" => Instruction::Maintainer,
        other => return Err(Problem::UnknownInstruction(other.to_owned())),
    })
}

impl Arguments<'_> {
    fn words(&self) -> Vec<String> {
        unquoted_words(self.text, self.escape)
    }

    /// Leading `--name[=value]` words, and the text after them.
    fn flags(&self) -> (Vec<(String, String)>, &str) {
        let mut flags = Vec::new();
        let mut rest = self.text;
        while let Some(flag) = rest.strip_prefix("--") {
            let (flag, after) = flag.split_once(char::is_whitespace).unwrap_or((flag, ""));
            let (name, value) = flag.split_once('=').unwrap_or((flag, ""));
            flags.push((name.to_owned(), value.to_owned()));
            rest = after.trim_start();
        }
        (flags, rest)
    }
}

fn one_word(arguments: &Arguments<'_>, name: &'static str) -> Result<String, Problem> {
    let words = arguments.words();
    match words.as_slice() {
        [word] => Ok(word.clone()),
        _ => Err(Problem::Arguments(name)),
    }
}

fn json_words(text: &str) -> Option<Vec<String>> {
    if text.starts_with('[') { serde_json::from_str(text).ok() } else { None }
}

/// A JSON array of strings is the exec form; whatever else starts with a bracket is a command for the shell.
fn form(text: &str) -> Form {
    json_words(text).map_or_else(|| Form::Shell(text.to_owned()), Form::Exec)
}

fn from(arguments: &Arguments<'_>) -> Result<Instruction, Problem> {
    let (flags, rest) = arguments.flags();
    let mut platform = None;
    for (flag, value) in flags {
        match flag.as_str() {
            "platform" => platform = Some(value),
            _ => return Err(Problem::Flag { instruction: "FROM", flag }),
        }
    }
    let words = unquoted_words(rest, arguments.escape);
    match words.as_slice() {
        [image] => Ok(Instruction::From(From { image: image.clone(), name: None, platform })),
        [image, as_word, name] if as_word.eq_ignore_ascii_case("AS") => {
            let name = Some(name.to_ascii_lowercase());
            Ok(Instruction::From(From { image: image.clone(), name, platform }))
        }
        _ => Err(Problem::Arguments("FROM")),
    }
}

fn arg(word: &str) -> (String, Option<String>) {
    match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (word.to_owned(), None),
    }
}

/// `k=v …`, or the old form `k the rest of the line`.
fn pairs(arguments: &Arguments<'_>, name: &'static str) -> Result<Vec<(String, String)>, Problem> {
    let words = arguments.words();
    let first = words.first().ok_or(Problem::NoArguments(name))?;
    if !first.contains('=') {
        let value = arguments.text[first.len()..].trim();
        return if value.is_empty() {
            Err(Problem::Arguments(name))
        } else {
            Ok(vec![(first.clone(), value.to_owned())])
        };
    }
    words
        .iter()
        .map(|word| word.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())))
        .collect::<Option<Vec<_>>>()
        .ok_or(Problem::Arguments(name))
}

fn run(arguments: &Arguments<'_>) -> Result<Instruction, Problem> {
    let (flags, rest) = arguments.flags();
    let has_mount = flags.iter().any(|(flag, value)| flag == "mount" && !value.contains("type=cache"));
    let options = flags.iter().filter(|(flag, _)| flag == "mount").flat_map(|(_, value)| value.split(','));
    let mounted = options.filter_map(|option| option.strip_prefix("from=")).map(str::to_owned).collect();
    if let Some((flag, _)) =
        flags.into_iter().find(|(flag, _)| !["mount", "network", "security"].contains(&flag.as_str()))
    {
        return Err(Problem::Flag { instruction: "RUN", flag });
    }
    if rest.is_empty() {
        return Err(Problem::NoArguments("RUN"));
    }
    Ok(Instruction::Run(Run { form: form(rest), heredocs: arguments.heredocs.to_vec(), has_mount, mounted }))
}

fn transfer(arguments: &Arguments<'_>, name: &'static str) -> Result<Transfer, Problem> {
    let (flags, rest) = arguments.flags();
    let words = json_words(rest).unwrap_or_else(|| unquoted_words(rest, arguments.escape));
    let (destination, sources) = words.split_last().ok_or(Problem::NoArguments(name))?;
    if sources.is_empty() {
        return Err(Problem::Arguments(name));
    }
    let mut inline = arguments.heredocs.iter();
    let sources = sources.iter().map(|word| copied(word, &mut inline)).collect();
    let mut transfer = Transfer {
        from: None,
        chown: None,
        chmod: None,
        parents: false,
        exclude: Vec::new(),
        sources,
        destination: destination.clone(),
    };
    flags.into_iter().try_for_each(|(flag, value)| transfer_flag(&mut transfer, name, flag, value))?;
    Ok(transfer)
}

fn copied<'a>(word: &str, inline: &mut impl Iterator<Item = &'a Heredoc>) -> Copied {
    match inline.next_if_mark(word) {
        Some(heredoc) => Copied::Inline(heredoc.clone()),
        None => Copied::Path(word.to_owned()),
    }
}

/// Takes the next heredoc for a word that is the mark of one.
trait NextIfMark<'a> {
    fn next_if_mark(&mut self, word: &str) -> Option<&'a Heredoc>;
}

impl<'a, I: Iterator<Item = &'a Heredoc>> NextIfMark<'a> for I {
    fn next_if_mark(&mut self, word: &str) -> Option<&'a Heredoc> {
        if is_heredoc_mark(word) { self.next() } else { None }
    }
}

fn transfer_flag(transfer: &mut Transfer, name: &'static str, flag: String, value: String) -> Result<(), Problem> {
    match (name, flag.as_str()) {
        ("COPY", "from") => transfer.from = Some(value),
        (_, "chown") => transfer.chown = Some(value),
        (_, "chmod") => transfer.chmod = Some(value),
        ("COPY", "parents") => transfer.parents = true,
        (_, "exclude") => transfer.exclude.push(value),
        (_, "link") | ("ADD", "checksum" | "keep-git-dir" | "unpack") => {}
        _ => return Err(Problem::Flag { instruction: name, flag }),
    }
    Ok(())
}

fn health_check(arguments: &Arguments<'_>) -> Result<Instruction, Problem> {
    const FLAGS: [&str; 5] = ["interval", "timeout", "start-period", "start-interval", "retries"];
    let (flags, rest) = arguments.flags();
    if let Some((flag, _)) = flags.into_iter().find(|(flag, _)| !FLAGS.contains(&flag.as_str())) {
        return Err(Problem::Flag { instruction: "HEALTHCHECK", flag });
    }
    let (kind, command) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    match (kind.to_ascii_uppercase().as_str(), command.trim()) {
        ("NONE", "") => Ok(Instruction::HealthCheck(HealthCheck::Disabled)),
        ("CMD", command) if !command.is_empty() => Ok(Instruction::HealthCheck(HealthCheck::Command(form(command)))),
        _ => Err(Problem::Arguments("HEALTHCHECK")),
    }
}

fn on_build(arguments: &Arguments<'_>) -> Result<Instruction, Problem> {
    match parse_text(arguments.text, arguments.heredocs, arguments.escape)? {
        Instruction::OnBuild(_) => Err(Problem::OnBuild("ONBUILD".to_owned())),
        Instruction::From(_) => Err(Problem::OnBuild("FROM".to_owned())),
        Instruction::Maintainer => Err(Problem::OnBuild("MAINTAINER".to_owned())),
        instruction => Ok(Instruction::OnBuild(Box::new(instruction))),
    }
}
