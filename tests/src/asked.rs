//! What the guests of the suite can be asked for, so that the tests and the table of them ask for the same.

/// Guests that do one of several things, and the names of these. A text guest looks at the first letter only.
const ASKED: &[(&str, &[&str])] = &[
    ("asks_for_much_randomness", &["65536", "65537"]),
    ("calculates", &["sqrt", "div", "int-div", "nearest", "v128-sqrt", "trunc"]),
    ("calls_the_host_forever", HOST_CALLS),
    ("calls_the_runtime", RUNTIME_CALLS),
    ("dies", &["exit-0", "abort", "panic", "unreachable"]),
    ("fills_the_scratch", &["one-file", "one-stream", "many-files", "deep-tree", "links", "hard-links", "sparse"]),
    ("holds_resources", &["descriptors", "listings", "streams", "pollables"]),
    ("lies", &["nan", "one-and-a-half", "banned-key", "host-mode", "other-cost", "malformed-output", "internal"]),
    ("makes_and_drops_handles", &["make and drop", "look up"]),
    ("moves_memory_forever", &["copy", "fill"]),
    ("prints_a_lot", &["1", "1024"]),
    ("reaches_for_the_host", &["paths", "links", "names", "surroundings"]),
    ("returns_too_much", &["entries", "mode", "internal", "argument"]),
    ("sleeps", &["3600", "90000"]),
    ("waits_forever", &["block", "poll", "centuries", "nothing"]),
];

const HOST_CALLS: &[&str] = &[
    "clock",
    "read",
    "write",
    "random",
    "resize",
    "list",
    "walk",
    "create",
    "long-path",
    "long-write",
    "long-links",
    "slashes",
    "slash-links",
    "missing",
    "hash",
    "open",
    "rename",
    "links",
    "readlink",
    "stream",
    "poll",
    "subscribe",
    "print-nothing",
    "zeroes",
    "check-write",
    "directories",
    "environment",
    "numbers",
];

const RUNTIME_CALLS: &[&str] = &[
    "0 memory.grow by nothing",
    "1 memory.grow refused",
    "2 table.grow by nothing",
    "3 table.grow refused",
    "4 ref.func",
    "5 elem.drop",
    "6 table.set",
    "7 table.get",
    "8 table.fill",
    "9 table.copy",
    "a table.init",
    "b memory.fill",
    "c memory.copy",
    "d memory.init",
    "e data.drop",
];

/// What this guest can be asked for: nothing in particular, if it does one thing only.
pub fn asked_of(guest: &str) -> &'static [&'static str] {
    ASKED.iter().find(|(name, _)| *name == guest).map_or(&[""], |(_, asked)| asked)
}
