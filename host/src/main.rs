//! The eval-host binary. Everything is in the library.

fn main() {}
