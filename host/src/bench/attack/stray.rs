//! Lines that are invalid in a kind of file, by its name: a table and nothing else.

/// Names of files, how they end, and the lines that none of their parsers takes.
const TABLE: [(&[&str], &[&str]); 12] = [
    (&[".json"], &["# stray", "\"stray\": 1"]),
    (&[".toml", "Cargo.lock", "uv.lock", "poetry.lock"], &["stray stray"]),
    (&[".xml", ".csproj", ".props"], &["<stray>"]),
    (&["go.mod", "go.sum", "go.work", ".go"], &["# stray"]),
    (&[".py"], &["stray stray ("]),
    (&[".js", ".mjs", ".cjs", ".ts", ".jsx", ".tsx"], &["# stray"]),
    (&[".rs", ".java", ".c", ".h", ".cs", ".kt"], &["stray stray )"]),
    (&[".rb", "Gemfile", "Gemfile.lock", ".gradle"], &["stray stray )"]),
    (&[".php"], &["stray stray )"]),
    (&[".yaml", ".yml"], &["stray: [: }"]),
    (&["Dockerfile", "Containerfile"], &["STRAY stray"]),
    (&[".txt", ".in", ".cfg", ".ini", ".conf"], &["== stray =="]),
];

/// No tool takes what a merge left behind.
const ANYWHERE: &[&str] = &["<<<<<<< stray"];

/// The lines that are invalid in the file of this path.
pub(super) fn stray_lines(path: &str) -> &'static [&'static str] {
    let name = path.rsplit('/').next().unwrap_or(path);
    let fits = |end: &&str| if end.starts_with('.') { name.ends_with(*end) } else { name == *end };
    let is_dockerfile = name.starts_with("Dockerfile.");
    let row = TABLE.iter().find(|(ends, _)| ends.iter().any(fits) || is_dockerfile && ends[0] == "Dockerfile");
    row.map_or(ANYWHERE, |(_, lines)| lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stray_line_goes_by_the_name_of_the_file() {
        for (path, line) in [
            ("package-lock.json", "# stray"),
            ("sub/go.mod", "# stray"),
            ("docker/Dockerfile", "STRAY stray"),
            ("Dockerfile.prod", "STRAY stray"),
            ("uv.lock", "stray stray"),
            ("yarn.lock", "<<<<<<< stray"),
            ("README", "<<<<<<< stray"),
            ("", "<<<<<<< stray"),
        ] {
            assert_eq!(stray_lines(path)[0], line, "{path}");
        }
    }
}
