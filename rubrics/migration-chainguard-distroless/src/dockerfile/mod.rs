//! A Dockerfile as its author wrote it: stages and instructions, nothing looked up and nothing expanded.
//!
//! Follows the reference of the Dockerfile format: parser directives, continuation lines with comments inside them,
//! heredocs, exec and shell forms. What a reader would have to guess at is an error with its line, as it is for a builder.
//! What the instructions amount to is the business of [`crate::image`].

mod expand;
mod instruction;
mod lines;
mod words;

pub(crate) use expand::{expand, plain_variables};
pub(crate) use instruction::{Copied, Form, From, HealthCheck, Instruction, Run, Transfer};
pub(crate) use lines::Heredoc;

use thiserror::Error;

/// Why a text is no Dockerfile.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("line {line} of the Dockerfile: {problem}")]
pub(crate) struct ParseError {
    pub(crate) line: usize,
    pub(crate) problem: Problem,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum Problem {
    #[error("directive `escape` must be a backslash or a backtick")]
    Escape,
    #[error("heredoc `{0}` is not closed")]
    OpenHeredoc(String),
    #[error("`{0}` is not an instruction")]
    UnknownInstruction(String),
    #[error("`{0}` lacks its arguments")]
    NoArguments(&'static str),
    #[error("`{0}` has arguments that it does not take")]
    Arguments(&'static str),
    #[error("`{instruction}` does not know the flag `{flag}`")]
    Flag { instruction: &'static str, flag: String },
    #[error("only `ARG` may stand before the first `FROM`")]
    BeforeFrom,
    #[error("there is no `FROM`")]
    NoStage,
    #[error("stage `{0}` is named twice")]
    StageTwice(String),
    #[error("`ONBUILD` cannot hold `{0}`")]
    OnBuild(String),
}

/// An instruction with the line it starts on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) instruction: Instruction,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) from: From,
    pub(crate) lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dockerfile {
    /// The character that escapes, from the directive or a backslash.
    pub(crate) escape: char,
    /// `ARG`s before the first `FROM`.
    pub(crate) global_args: Vec<(String, Option<String>)>,
    pub(crate) stages: Vec<Stage>,
}

impl Dockerfile {
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        let (escape, lines) = lines::logical_lines(text)?;
        let mut file = Self { escape, global_args: Vec::new(), stages: Vec::new() };
        for line in lines {
            let number = line.number;
            let instruction =
                instruction::parse(&line, escape).map_err(|problem| ParseError { line: number, problem })?;
            file.add(number, instruction).map_err(|problem| ParseError { line: number, problem })?;
        }
        if file.stages.is_empty() {
            return Err(ParseError { line: 1, problem: Problem::NoStage });
        }
        Ok(file)
    }

    fn add(&mut self, number: usize, instruction: Instruction) -> Result<(), Problem> {
        match (instruction, self.stages.last_mut()) {
            (Instruction::From(from), _) => self.start_stage(from),
            (Instruction::Arg(args), None) => {
                self.global_args.extend(args);
                Ok(())
            }
            (_, None) => Err(Problem::BeforeFrom),
            (instruction, Some(stage)) => {
                stage.lines.push(Line { number, instruction });
                Ok(())
            }
        }
    }

    fn start_stage(&mut self, from: From) -> Result<(), Problem> {
        if let Some(name) = &from.name
            && self.stages.iter().any(|stage| stage.from.name.as_ref() == Some(name))
        {
            return Err(Problem::StageTwice(name.clone()));
        }
        self.stages.push(Stage { from, lines: Vec::new() });
        Ok(())
    }
}

#[cfg(test)]
mod tests;
