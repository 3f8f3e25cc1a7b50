//! Who is on call on which day.

use chrono::{Datelike, NaiveDate};

/// The person on call: the list is gone through, a person a day.
pub fn on_call<'a>(people: &[&'a str], day: NaiveDate) -> &'a str {
    let index = usize::try_from(day.num_days_from_ce()).unwrap_or(0) % people.len();
    people[index]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_day_is_the_next_person() {
        let day = NaiveDate::from_ymd_opt(2022, 11, 1).unwrap();
        let next = day.succ_opt().unwrap();
        assert_ne!(on_call(&["a", "b"], day), on_call(&["a", "b"], next));
    }
}
