//! Whether a file is valid in its language: strictly for the data formats that have a grammar here, and by what can be
//! told without one for code.
//!
//! Nothing in here says what a file means, and no file is repaired. What is not understood is not called wrong: a false
//! alarm would refuse a right answer.

pub mod bytes;
pub mod code;
pub mod json;
pub mod members;
pub mod nginx;
pub mod python;
pub mod yaml;

/// What is wrong with a file that its own tools would not accept. `None` also for kinds of files that are not known.
#[must_use]
pub fn problem(path: &str, text: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "json" => json::problem(text),
        "toml" => toml::from_str::<toml::Table>(text).err().map(|error| error.message().to_owned()),
        "py" | "pyi" => python::problem(text),
        "yaml" | "yml" => yaml::problem(text),
        "conf" if nginx::is_one(name, text) => nginx::problem(text),
        _ => code::Language::of(ending).and_then(|language| code::problem(text, language)),
    }
}

/// A file of code without its comments: what stands in one is no code. Any other file as it is.
#[must_use]
pub fn without_comments(path: &str, text: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    let comments = match ending {
        "py" | "pyi" => python::comments(text),
        _ => code::Language::of(ending).map(|language| code::comments(text, language)).unwrap_or_default(),
    };
    let mut rest = String::new();
    let mut at = 0;
    for comment in comments {
        rest.push_str(&text[at..comment.start]);
        rest.push(' ');
        at = comment.end;
    }
    rest.push_str(&text[at..]);
    rest
}
