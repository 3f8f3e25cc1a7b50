//! `CMD`, `ENTRYPOINT` and health checks without a shell.

use crate::dockerfile::Instruction;
use crate::shared::Files;

/// The words of a command in exec form, or of one in shell form as if no shell were needed.
pub(crate) fn words(arguments: &str) -> Vec<String> {
    if let Ok(words) = serde_json::from_str(arguments) {
        return words;
    }
    arguments.trim_start_matches("exec ").split_whitespace().map(str::to_owned).collect()
}

/// `npm start` swallows signals: what it would start, if that is a program of node.
pub(crate) fn behind_npm(words: Vec<String>, files: &Files) -> Vec<String> {
    let is_npm_start = matches!(words.as_slice(), [npm, start] if npm == "npm" && start == "start");
    let package = files.get("package.json").filter(|_| is_npm_start);
    let package = package.and_then(|text| serde_json::from_str::<serde_json::Value>(text).ok());
    let script = package.as_ref().and_then(|package| package["scripts"]["start"].as_str());
    script.filter(|script| script.starts_with("node ")).map_or(words, self::words)
}

/// A `CMD` on an image with an entrypoint of its own: only the arguments if that is the program, or else an `ENTRYPOINT`.
pub(crate) fn on_entrypoint(words: &[String], entrypoint: &[String]) -> Instruction {
    match (words, entrypoint) {
        ([program, arguments @ ..], [own]) if same_program(program, own) => Instruction::exec("CMD", arguments),
        (_, []) => Instruction::exec("CMD", words),
        _ => Instruction::exec("ENTRYPOINT", words),
    }
}

/// Whether two paths or names are the same program; `python3` is `python`.
pub(crate) fn same_program(left: &str, right: &str) -> bool {
    let name = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path).to_owned();
        name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned()
    };
    name(left) == name(right)
}

/// A health check in exec form, or none if it cannot do without a shell.
pub(crate) fn health_check(instruction: Instruction) -> Option<Instruction> {
    let Some((options, command)) = instruction.arguments.split_once("CMD ") else { return Some(instruction) };
    if command.starts_with('[') {
        return Some(instruction);
    }
    let exec = Instruction::exec("CMD", &words(command));
    let needs_shell = command.contains(['|', '&', ';', '$', '<', '>', '`']);
    (!needs_shell).then(|| Instruction::new("HEALTHCHECK", &format!("{options}CMD {}", exec.arguments)))
}
