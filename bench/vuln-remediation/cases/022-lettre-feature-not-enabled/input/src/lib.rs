//! Sends the weekly summary.

use lettre::Message;

/// The subject line of a summary.
pub fn subject(week: u32) -> String {
    format!("Summary of week {week}")
}

/// A message with that subject.
pub fn message(week: u32, to: &str) -> Result<Message, Box<dyn std::error::Error>> {
    let builder = Message::builder().from("summary@example.invalid".parse()?).to(to.parse()?);
    Ok(builder.subject(subject(week)).body(String::new())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_names_the_week() {
        assert_eq!(subject(7), "Summary of week 7");
    }
}
