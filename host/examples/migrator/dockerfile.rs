//! A Dockerfile as stages of instructions. What is not changed keeps its bytes: an instruction carries its own text, with comments
//! and line breaks. Heredocs are not understood.

use std::fmt;

pub(crate) struct Dockerfile {
    /// Everything before the first `FROM`.
    head: Vec<Instruction>,
    pub(crate) stages: Vec<Stage>,
}

pub(crate) struct Stage {
    pub(crate) from: Instruction,
    pub(crate) body: Vec<Instruction>,
}

/// An instruction, or a blank line or comment between two: then it has no keyword.
#[derive(Clone)]
pub(crate) struct Instruction {
    pub(crate) keyword: String,
    /// On one line and without comments.
    pub(crate) arguments: String,
    text: String,
}

impl Dockerfile {
    pub(crate) fn parse(text: &str) -> Self {
        let mut dockerfile = Self { head: Vec::new(), stages: Vec::new() };
        for instruction in instructions(text) {
            if instruction.keyword == "FROM" {
                dockerfile.stages.push(Stage { from: instruction, body: Vec::new() });
            } else if let Some(stage) = dockerfile.stages.last_mut() {
                stage.body.push(instruction);
            } else {
                dockerfile.head.push(instruction);
            }
        }
        dockerfile
    }
}

impl fmt::Display for Dockerfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.head.iter().try_for_each(|instruction| f.write_str(&instruction.text))?;
        for stage in &self.stages {
            f.write_str(&stage.from.text)?;
            stage.body.iter().try_for_each(|instruction| f.write_str(&instruction.text))?;
        }
        Ok(())
    }
}

impl Stage {
    /// The image or stage that this one stands on, as it is written.
    pub(crate) fn image(&self) -> String {
        let mut words = self.from.arguments.split_whitespace().filter(|word| !word.starts_with("--"));
        words.next().unwrap_or_default().to_owned()
    }

    pub(crate) fn name(&self) -> Option<String> {
        let (_, name) = self.from.arguments.split_once(" AS ").or_else(|| self.from.arguments.split_once(" as "))?;
        Some(name.trim().to_owned())
    }

    /// Puts the stage on another image.
    pub(crate) fn stand_on(&mut self, image: &str) {
        let name = self.name().map(|name| format!(" AS {name}")).unwrap_or_default();
        self.from = Instruction::new("FROM", &format!("{image}{name}"));
    }
}

impl Instruction {
    pub(crate) fn new(keyword: &str, arguments: &str) -> Self {
        let text = format!("{keyword} {arguments}\n");
        Self { keyword: keyword.to_owned(), arguments: arguments.to_owned(), text }
    }

    /// A blank line.
    pub(crate) fn blank() -> Self {
        Self { keyword: String::new(), arguments: String::new(), text: "\n".to_owned() }
    }

    /// In exec form, which needs no shell.
    pub(crate) fn exec(keyword: &str, words: &[String]) -> Self {
        let words: Vec<String> = words.iter().map(|word| serde_json::Value::from(word.as_str()).to_string()).collect();
        Self::new(keyword, &format!("[{}]", words.join(", ")))
    }

    /// The same with other arguments; the same bytes if they are the same.
    pub(crate) fn with_arguments(self, arguments: &str) -> Self {
        if self.arguments == arguments { self } else { Self::new(&self.keyword, arguments) }
    }
}

fn instructions(text: &str) -> Vec<Instruction> {
    let escape = if text.lines().any(|line| line.replace(' ', "") == "#escape=`") { '`' } else { '\\' };
    let mut instructions = Vec::new();
    let mut lines = text.split_inclusive('\n');
    while let Some(first) = lines.next() {
        let mut text = first.to_owned();
        let mut logical = String::new();
        let mut goes_on = is_instruction(first) && append(&mut logical, first, escape);
        while let Some(line) = goes_on.then(|| lines.next()).flatten() {
            text.push_str(line);
            goes_on = !is_instruction(line) || append(&mut logical, line, escape);
        }
        let (keyword, arguments) = logical.split_once(char::is_whitespace).unwrap_or((&logical, ""));
        instructions.push(Instruction {
            keyword: keyword.to_uppercase(),
            arguments: arguments.trim().to_owned(),
            text,
        });
    }
    instructions
}

fn is_instruction(line: &str) -> bool {
    !line.trim().is_empty() && !line.trim_start().starts_with('#')
}

/// Appends a line, and says whether the next one belongs to it.
fn append(logical: &mut String, line: &str, escape: char) -> bool {
    let line = line.trim();
    let (line, goes_on) = line.strip_suffix(escape).map_or((line, false), |line| (line, true));
    logical.push_str(line.trim_end());
    logical.push(' ');
    goes_on
}
