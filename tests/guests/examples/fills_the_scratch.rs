//! Writes to the scratch directory, in the way that is asked for, until it is refused; says how far it got and how it was told.

use eval_host_test_guests::wasip2::filesystem::types::{Descriptor, ErrorCode, PathFlags, filesystem_error_code};
use eval_host_test_guests::wasip2::io::streams::StreamError;
use eval_host_test_guests::{
    Answer, BenchCase, BenchScore, HarnessOutput, asked, create, open_directory, perfect, root, rubric,
};

rubric!(score);

const MIB: u64 = 1 << 20;

fn one_file(root: &Descriptor) -> (u64, ErrorCode) {
    let file = create(root, "one").expect("there is room");
    let block = vec![1; 64 << 10];
    let mut written = 0;
    loop {
        match file.write(&block, written) {
            Ok(more) => written += more,
            Err(code) => return (written, code),
        }
    }
}

fn one_stream(root: &Descriptor) -> (u64, ErrorCode) {
    let stream = create(root, "stream").and_then(|file| file.append_via_stream()).expect("there is room");
    let block = vec![1; 4_096];
    let mut written = 0;
    loop {
        match stream.blocking_write_and_flush(&block) {
            Ok(()) => written += block.len() as u64,
            Err(StreamError::LastOperationFailed(error)) => {
                return (written, filesystem_error_code(&error).expect("a filesystem's error"));
            }
            Err(StreamError::Closed) => panic!("closed before it failed"),
        }
    }
}

fn many_files(root: &Descriptor) -> (u64, ErrorCode) {
    let mut made = 0;
    loop {
        match create(root, &format!("file-{made}")).and_then(|file| file.write(&[1], 0)) {
            Ok(_) => made += 1,
            Err(code) => return (made, code),
        }
    }
}

fn deep_tree(root: &Descriptor) -> (u64, ErrorCode) {
    let mut here = open_directory(root, ".").expect("the root");
    let mut depth = 0;
    loop {
        if let Err(code) = here.create_directory_at("d") {
            return (depth, code);
        }
        depth += 1;
        here = open_directory(&here, "d").expect("just made");
    }
}

fn links(root: &Descriptor) -> (u64, ErrorCode) {
    let target = "t/".repeat(2_000);
    let mut made = 0;
    loop {
        match root.symlink_at(&target, &format!("link-{made}")) {
            Ok(()) => made += 1,
            Err(code) => return (made, code),
        }
    }
}

fn hard_links(root: &Descriptor) -> (u64, ErrorCode) {
    let file = create(root, "file").and_then(|file| file.set_size(16 * MIB));
    file.expect("there is room");
    let mut made = 0;
    loop {
        match root.link_at(PathFlags::empty(), "file", root, &format!("link-{made}")) {
            Ok(()) => made += 1,
            Err(code) => return (made, code),
        }
    }
}

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let root = root();
    let (reached, code) = match asked(output) {
        "one-file" => one_file(&root),
        "one-stream" => one_stream(&root),
        "many-files" => many_files(&root),
        "deep-tree" => deep_tree(&root),
        "links" => links(&root),
        "hard-links" => hard_links(&root),
        "sparse" => {
            let file = create(&root, "sparse").expect("there is room");
            file.write(&[1], 64 * MIB - 1).expect("exactly the quota");
            (64 * MIB, file.write(&[1], 64 * MIB).expect_err("one more"))
        }
        "far" => (0, create(&root, "far").and_then(|file| file.write(&[1], 1 << 40)).expect_err("a far seek")),
        "set-size" => {
            let file = create(&root, "sized").expect("there is room");
            file.set_size(64 * MIB).expect("exactly the quota");
            (64 * MIB, file.set_size(64 * MIB + 1).expect_err("one more"))
        }
        other => panic!("no such way: {other}"),
    };
    let breakdown = vec![("reached".to_owned(), reached as f64)];
    Ok(BenchScore { breakdown, failure_modes: vec![code.name().to_owned()], ..perfect(output) })
}
