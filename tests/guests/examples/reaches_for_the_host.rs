//! Tries every way it knows to something that is not the case's, and reports what each attempt came to.

use std::io::Read;

use eval_host_test_guests::wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, outcome, reported, root, rubric};

rubric!(score);

fn open(root: &Descriptor, path: &str) -> String {
    let opened = root.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ);
    format!("open {}: {}", shown(path), outcome(opened))
}

fn shown(path: &str) -> String {
    if path.len() > 40 { format!("{:?} and so on, {} bytes", &path[..4], path.len()) } else { format!("{path:?}") }
}

fn paths(root: &Descriptor) -> Vec<String> {
    let long = "n".repeat(256);
    let longer = "d/".repeat(2_100);
    let tried = [
        "../../etc/passwd",
        "..",
        "../",
        "/",
        "/etc/passwd",
        "//etc/passwd",
        "/proc/self/environ",
        "proc/self/environ",
        "input/../../etc/passwd",
        "input/../..",
        "./../etc",
        "input/./../../x",
        "etc/passwd\0",
        "input\0/a",
        "\0",
        "",
        "...",
        "input/...",
        &long,
        &longer,
        "C:\\Windows",
        "~",
        "input/a.txt/..",
        "input/a.txt/.",
        "input/a.txt/",
    ];
    tried.iter().map(|path| open(root, path)).collect()
}

fn links(root: &Descriptor) -> Vec<String> {
    let mut seen = vec![format!("link absolute -> /etc: {}", outcome(root.symlink_at("/etc", "absolute")))];
    for (target, link) in [("../../etc", "up"), ("..", "above"), ("input/../../etc/", "sly"), ("up/", "chained")] {
        seen.push(format!("link {link} -> {target}: {}", outcome(root.symlink_at(target, link))));
        for path in [link.to_owned(), format!("{link}/"), format!("{link}/passwd"), format!("{link}/.")] {
            seen.push(open(root, &path));
        }
        let slashed = format!("{link}/");
        let inside = format!("{link}/passwd");
        seen.extend([
            format!("rename {slashed} to stolen: {}", outcome(root.rename_at(&slashed, root, "stolen"))),
            format!("rename input to {slashed}: {}", outcome(root.rename_at("input", root, &slashed))),
            format!("hard link to {inside}: {}", outcome(root.link_at(PathFlags::empty(), &inside, root, "hard"))),
            format!("make {inside}: {}", outcome(root.create_directory_at(&inside))),
            format!("unlink {inside}: {}", outcome(root.unlink_file_at(&inside))),
        ]);
    }
    seen
}

fn names(root: &Descriptor) -> Vec<String> {
    let mut seen = Vec::new();
    let mut note = |attempt: &str, outcome: String| seen.push(format!("{attempt}: {outcome}"));
    let link = |flags, from, to| outcome(root.link_at(flags, from, root, to));
    note("hard link to a directory", link(PathFlags::empty(), "input", "hard"));
    note("hard link to ../etc/passwd", link(PathFlags::empty(), "../etc/passwd", "hard"));
    note("hard link that follows", link(PathFlags::SYMLINK_FOLLOW, "input/a.txt", "hard"));
    for (from, to) in [
        (".", "moved"),
        ("/", "moved"),
        ("input", "."),
        ("input", "/"),
        ("input", ".."),
        ("input", "../x"),
        ("input", "input/inside"),
    ] {
        note(&format!("rename {from} to {to}"), outcome(root.rename_at(from, root, to)));
    }
    for path in [".", "/", "input/..", ".."] {
        note(&format!("remove directory {path}"), outcome(root.remove_directory_at(path)));
        note(&format!("unlink {path}"), outcome(root.unlink_file_at(path)));
        note(&format!("make {path}"), outcome(root.create_directory_at(path)));
    }
    note("make a name with a NUL", outcome(root.create_directory_at("a\0b")));
    seen
}

fn surroundings() -> Vec<String> {
    let mut input = Vec::new();
    let read = std::io::stdin().read_to_end(&mut input);
    vec![
        format!("{} arguments", std::env::args().count()),
        format!("{} variables", std::env::vars().count()),
        format!("stdin gives {:?}", read.ok()),
        format!("PATH is {:?}", std::env::var_os("PATH")),
        format!("the directory is {:?}", std::env::current_dir().ok()),
    ]
}

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let root = root();
    reported(
        output,
        match asked(output) {
            "paths" => paths(&root),
            "links" => links(&root),
            "names" => names(&root),
            "surroundings" => surroundings(),
            other => panic!("no such attempt: {other}"),
        },
    )
}
