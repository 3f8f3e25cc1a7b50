//! Whether a file is valid in its language. What every rubric can tell is in [`eval_syntax`]; this adds the formats that only
//! this rubric reads.

pub use eval_syntax::{json, members};

use crate::tree::file_name;

/// What is wrong with a file that its own tools would not accept. `None` also for kinds of files that are not known.
pub fn problem(path: &str, text: &str) -> Option<String> {
    let ending = file_name(path).rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending {
        "xml" => crate::project::xml_problem(text),
        _ => eval_syntax::problem(path, text),
    }
}

/// A file of code without its comments; any other file as it is.
pub fn without_comments(path: &str, text: &str) -> String {
    eval_syntax::without_comments(path, text)
}
