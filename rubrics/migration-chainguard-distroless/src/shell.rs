//! A shell script → the simple commands in it, as far as a reader can tell without running it.
//!
//! Enough of the language for the `RUN` lines that people write: quotes, `&&`, `||`, `;`, pipes, groups, `if` and loops,
//! redirections, assignments, `sh -c`. Variables that are known are expanded, others stay as they are. Branches are not
//! decided: a command that might run counts as one that does.

use crate::dockerfile::expand;
use std::iter::Peekable;
use std::str::Chars;

/// One command with what stands around it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// `NAME=value` before the command, and alone: then `words` is empty.
    pub(crate) assignments: Vec<(String, String)>,
    /// The command and its arguments, without wrappers such as `sudo` and `exec`.
    pub(crate) words: Vec<String>,
    /// Files that its output is written to.
    pub(crate) redirects: Vec<String>,
}

impl Command {
    /// A command in exec form.
    pub(crate) fn of(words: &[String]) -> Self {
        Self { words: words.to_vec(), ..Self::default() }
    }

    /// The name of the program, without its folder.
    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", |word| file_name(word))
    }

    /// The program's name and its arguments; `python -m pip install` is what `pip install` is.
    pub(crate) fn plain_words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        if let [program, "-m", _, ..] = words.as_slice()
            && file_name(program).starts_with("python")
        {
            words.drain(..2);
        }
        if let Some(first) = words.first_mut() {
            *first = file_name(first);
        }
        // pip works on another Python if it is told so before the verb.
        if let ["pip" | "pip3", "--python", _, _, ..] = words.as_slice() {
            words.drain(1..3);
        }
        words
    }

    /// The value of an option: `--name value`, `--name=value`, and for one dash and one letter also `-nvalue`.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        let short = name.len() == 2;
        self.words.iter().enumerate().skip(1).find_map(|(i, word)| {
            if word == name {
                return self.words.get(i + 1).map(String::as_str);
            }
            let value = word.strip_prefix(name)?;
            value.strip_prefix('=').or_else(|| short.then_some(value))
        })
    }

    /// Whether the command has `name` as one of its arguments.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.words.iter().skip(1).any(|word| word == name)
    }

    /// The arguments that are no options.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &str> {
        self.words.iter().skip(1).map(String::as_str).filter(|word| !word.starts_with('-'))
    }
}

pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The commands of `script`, in order.
pub(crate) fn commands(script: &str, lookup: &dyn Fn(&str) -> Option<String>) -> Vec<Command> {
    let tokens = Lexer { characters: script.chars().peekable(), lookup }.tokens();
    let mut found = Vec::new();
    for tokens in tokens.split(|token| *token == Token::End) {
        found.extend(command(tokens).map(|command| unwrapped(command, lookup)).unwrap_or_default());
    }
    found
}

/// Where words stop growing by variables.
const MAX_WORD: usize = 4096;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// The next word is a file that is written.
    Output,
    /// The next word is a file that is read, or a descriptor.
    Input,
    /// The end of a simple command.
    End,
}

struct Lexer<'a> {
    characters: Peekable<Chars<'a>>,
    lookup: &'a dyn Fn(&str) -> Option<String>,
}

impl Lexer<'_> {
    fn tokens(mut self) -> Vec<Token> {
        let mut tokens = Vec::new();
        while let Some(c) = self.characters.peek().copied() {
            match c {
                '\n' | ';' | '&' | '|' | '(' | ')' => {
                    self.characters.next();
                    tokens.push(Token::End);
                }
                c if c.is_whitespace() => {
                    self.characters.next();
                }
                '#' => self.skip_comment(),
                '>' | '<' => tokens.push(self.redirection(c)),
                _ => self.word(&mut tokens),
            }
        }
        tokens
    }

    fn skip_comment(&mut self) {
        while self.characters.next_if(|c| *c != '\n').is_some() {}
    }

    /// `>`, `>>`, `>|`, `>&`, `<`, `<<<`.
    fn redirection(&mut self, first: char) -> Token {
        let mut duplicates = false;
        while let Some(c) = self.characters.next_if(|c| matches!(c, '>' | '<' | '|' | '&')) {
            duplicates |= c == '&';
        }
        if first == '>' && !duplicates { Token::Output } else { Token::Input }
    }

    fn word(&mut self, tokens: &mut Vec<Token>) {
        let mut word = String::new();
        let mut quoted = false;
        while let Some(c) = self.characters.next_if(|c| !c.is_whitespace() && !";&|()<>".contains(*c)) {
            quoted |= matches!(c, '\'' | '"');
            self.character(c, &mut word);
        }
        let descriptor = word.chars().all(|c| c.is_ascii_digit()) && matches!(self.characters.peek(), Some('>' | '<'));
        if (!word.is_empty() || quoted) && !descriptor {
            tokens.push(Token::Word(word));
        }
    }

    fn character(&mut self, c: char, word: &mut String) {
        match c {
            '\'' => self.single_quoted(word),
            '"' => self.double_quoted(word),
            '$' => self.variable(word),
            '\\' => word.extend(self.characters.next().filter(|c| *c != '\n')),
            c => word.push(c),
        }
    }

    fn single_quoted(&mut self, word: &mut String) {
        for c in self.characters.by_ref() {
            if c == '\'' {
                return;
            }
            word.push(c);
        }
    }

    fn double_quoted(&mut self, word: &mut String) {
        while let Some(c) = self.characters.next() {
            match c {
                '"' => return,
                '$' => self.variable(word),
                '\\' => word.extend(self.characters.next()),
                c => word.push(c),
            }
        }
    }

    /// A variable that is known is replaced; one that is not, and `$(…)`, stays as it is.
    fn variable(&mut self, word: &mut String) {
        let text = match self.characters.peek() {
            Some('(') => format!("${}", self.balanced('(', ')')),
            Some('{') => format!("${}", self.balanced('{', '}')),
            _ => format!("${}", self.name()),
        };
        let name: String = text
            .trim_start_matches(['$', '{'])
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        let known = (self.lookup)(&name).is_some() || text.contains(":-");
        match expand(&text, '\\', self.lookup) {
            // Values can be repeated without end; a word that grew this long is no path that matters.
            _ if word.len() > MAX_WORD => {}
            Ok(value) if known && !text.starts_with("$(") => word.push_str(&value),
            _ => word.push_str(&text),
        }
    }

    fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(c) = self.characters.next_if(|c| c.is_ascii_alphanumeric() || *c == '_') {
            name.push(c);
        }
        name
    }

    fn balanced(&mut self, open: char, close: char) -> String {
        let mut text = String::new();
        let mut depth = 0;
        for c in self.characters.by_ref() {
            text.push(c);
            if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
            }
            if depth == 0 {
                break;
            }
        }
        text
    }
}

/// Words that start a command without being one.
const KEYWORDS: [&str; 11] = ["if", "then", "else", "elif", "do", "while", "until", "!", "{", "time", "&&"];
/// Words that end something, or whose line holds no command.
const CLOSERS: [&str; 6] = ["fi", "done", "esac", "}", "for", "case"];
/// Programs that start the program in their arguments.
const WRAPPERS: [&str; 6] = ["sudo", "env", "exec", "command", "nice", "nohup"];

fn command(tokens: &[Token]) -> Option<Command> {
    let mut command = Command::default();
    let mut tokens = tokens.iter();
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(word) => add_word(&mut command, word),
            Token::Output => command.redirects.extend(next_word(&mut tokens)),
            Token::Input => drop(next_word(&mut tokens)),
            Token::End => {}
        }
    }
    let closes = command.words.first().is_some_and(|word| CLOSERS.contains(&word.as_str()));
    let empty = command.words.is_empty() && command.assignments.is_empty() && command.redirects.is_empty();
    (!closes && !empty).then_some(command)
}

fn next_word<'a>(tokens: &mut impl Iterator<Item = &'a Token>) -> Option<String> {
    match tokens.next() {
        Some(Token::Word(word)) => Some(word.clone()),
        _ => None,
    }
}

fn add_word(command: &mut Command, word: &str) {
    if !command.words.is_empty() {
        command.words.push(word.to_owned());
    } else if let Some((name, value)) = assignment(word) {
        command.assignments.push((name.to_owned(), value.to_owned()));
    } else if !KEYWORDS.contains(&word) && !WRAPPERS.contains(&word) {
        command.words.push(word.to_owned());
    }
}

fn assignment(word: &str) -> Option<(&str, &str)> {
    let (name, value) = word.split_once('=')?;
    let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (starts && plain).then_some((name, value))
}

/// A command, or the commands of the script that it hands to a shell.
fn unwrapped(command: Command, lookup: &dyn Fn(&str) -> Option<String>) -> Vec<Command> {
    let is_shell = is_shell(command.name());
    let script = command.words.iter().skip(1).skip_while(|word| !is_command_flag(word)).nth(1);
    match script {
        Some(script) if is_shell => commands(script, lookup),
        _ => vec![command],
    }
}

fn is_command_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains('c')
}

/// Whether a program of that name is a shell.
pub(crate) fn is_shell(name: &str) -> bool {
    matches!(name, "sh" | "bash" | "ash" | "dash" | "zsh")
}

/// Whether a command is part of the shell itself.
pub(crate) fn is_builtin(name: &str) -> bool {
    const BUILTINS: [&str; 16] = [
        ".", ":", "[", "cd", "echo", "eval", "exit", "export", "false", "printf", "read", "set", "test", "trap",
        "true", "wait",
    ];
    BUILTINS.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lookup(name: &str) -> Option<String> {
        (name == "HOME_DIR").then(|| "/home/x".to_owned())
    }

    fn words(script: &str) -> Vec<Vec<String>> {
        commands(script, &lookup).into_iter().map(|command| command.words).collect()
    }

    #[test]
    fn a_script_is_split_at_its_operators_and_not_inside_quotes() {
        assert_eq!(
            words("a 'b && c' && d \"e ; f\"; g | h || (i)"),
            [vec!["a", "b && c"], vec!["d", "e ; f"], vec!["g"], vec!["h"], vec!["i"],]
        );
    }

    #[test]
    fn known_variables_are_expanded_and_others_stay() {
        assert_eq!(
            words("x $HOME_DIR/y \"${HOME_DIR}\" '$HOME_DIR' $NO ${NO:-d} $(a b)"),
            [vec!["x", "/home/x/y", "/home/x", "$HOME_DIR", "$NO", "d", "$(a b)"]]
        );
    }

    #[test]
    fn keywords_wrappers_and_comments_are_no_commands() {
        let script = "if [ -f x ]; then\n  sudo apt-get install y # z\nfi\nfor i in a b; do exec c $i; done";
        assert_eq!(words(script), [vec!["[", "-f", "x", "]"], vec!["apt-get", "install", "y"], vec!["c", "$i"]]);
    }

    #[test]
    fn assignments_and_redirections_are_kept_apart_from_the_words() {
        let all = commands("CGO_ENABLED=0 GOOS=linux go build -o /x 2>&1 >> /log < /in && A=1", &lookup);
        assert_eq!(all[0].words, ["go", "build", "-o", "/x"]);
        assert_eq!(all[0].assignments[0], ("CGO_ENABLED".to_owned(), "0".to_owned()));
        assert_eq!(all[0].redirects, ["/log"]);
        assert!(all[1].words.is_empty());
    }

    #[test]
    fn a_script_for_another_shell_is_read_too() {
        assert_eq!(words("bash -euc 'a && b'"), [vec!["a"], vec!["b"]]);
        assert_eq!(words("bash script.sh"), [vec!["bash", "script.sh"]]);
    }

    #[test]
    fn options_have_three_spellings_and_modules_are_their_programs() {
        let command = &commands("/v/bin/python3 -m pip install --target=/t -o /x -p/y z", &lookup)[0];
        assert_eq!(command.plain_words()[..2], ["pip", "install"]);
        assert_eq!(command.option("--target"), Some("/t"));
        assert_eq!(command.option("-o"), Some("/x"));
        assert_eq!(command.option("-p"), Some("/y"));
        assert_eq!(command.option("--none"), None);
        assert_eq!(command.name(), "python3");
    }
}
