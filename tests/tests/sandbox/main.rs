//! The sandbox against hostile rubrics: every guest of `tests/guests/` has a module here that says what becomes of it.

fn main() {}
