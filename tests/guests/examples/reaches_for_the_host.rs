//! Tries every way it knows to something that is not the case's, and reports what each attempt came to.

use std::io::Read;

use eval_host_test_guests::wasip2::filesystem::types::{Descriptor, DescriptorFlags, OpenFlags, PathFlags};
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, outcome, reported, root, rubric};

rubric!(score);

fn open(root: &Descriptor, path: &str) -> String {
    let follow = root.open_at(PathFlags::SYMLINK_FOLLOW, path, OpenFlags::empty(), DescriptorFlags::READ);
    outcome(follow)
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
    let mut seen = Vec::new();
    seen.push(outcome(root.symlink_at("/etc", "absolute")));
    for (target, link) in [("../../etc", "up"), ("..", "above"), ("input/../../etc/", "sly"), ("up/", "chained")] {
        seen.push(outcome(root.symlink_at(target, link)));
        for path in [link.to_owned(), format!("{link}/"), format!("{link}/passwd"), format!("{link}/.")] {
            seen.push(open(root, &path));
        }
        seen.push(outcome(root.rename_at(&format!("{link}/"), root, "stolen")));
        seen.push(outcome(root.rename_at("input", root, &format!("{link}/"))));
        seen.push(outcome(root.link_at(PathFlags::empty(), &format!("{link}/passwd"), root, "hard")));
        seen.push(outcome(root.create_directory_at(&format!("{link}/made"))));
        seen.push(outcome(root.unlink_file_at(&format!("{link}/passwd"))));
    }
    seen
}

fn names(root: &Descriptor) -> Vec<String> {
    vec![
        outcome(root.link_at(PathFlags::empty(), "input", root, "hard-directory")),
        outcome(root.link_at(PathFlags::empty(), "../etc/passwd", root, "hard")),
        outcome(root.link_at(PathFlags::SYMLINK_FOLLOW, "input/a.txt", root, "hard")),
        outcome(root.rename_at(".", root, "moved-root")),
        outcome(root.rename_at("input", root, ".")),
        outcome(root.rename_at("input", root, "/")),
        outcome(root.rename_at("/", root, "x")),
        outcome(root.rename_at("input", root, "..")),
        outcome(root.rename_at("input", root, "../x")),
        outcome(root.rename_at("input", root, "input/inside")),
        outcome(root.remove_directory_at(".")),
        outcome(root.remove_directory_at("/")),
        outcome(root.remove_directory_at("input/..")),
        outcome(root.unlink_file_at(".")),
        outcome(root.unlink_file_at("..")),
        outcome(root.create_directory_at("..")),
        outcome(root.create_directory_at("a\0b")),
    ]
}

fn surroundings() -> Vec<String> {
    let mut input = Vec::new();
    let read = std::io::stdin().read_to_end(&mut input).is_ok();
    vec![
        format!("{} arguments", std::env::args().count()),
        format!("{} variables", std::env::vars().count()),
        format!("stdin {read} {}", input.len()),
        format!("path {:?}", std::env::var_os("PATH")),
        format!("directory {:?}", std::env::current_dir().ok()),
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
