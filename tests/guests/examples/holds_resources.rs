//! Opens a million of something and closes none.

use eval_host_test_guests::wasip2::clocks::monotonic_clock::subscribe_duration;
use eval_host_test_guests::wasip2::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, create, open_directory, perfect, root, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let root = root();
    let file = create(&root, "file").expect("there is room");
    let unwritable =
        root.open_at(PathFlags::empty(), "file", OpenFlags::empty(), DescriptorFlags::READ).expect("it is there");
    for _ in 0..1_000_000 {
        match asked(output) {
            "descriptors" => std::mem::forget(open_directory(&root, "input").expect("a folder of the case")),
            "listings" => std::mem::forget(root.read_directory().expect("a directory")),
            "streams" => std::mem::forget(file.read_via_stream(0).expect("a file")),
            "errors" => {
                let stream = unwritable.write_via_stream(0).expect("a stream");
                std::mem::forget(stream.blocking_write_and_flush(b"no").expect_err("it cannot be written"));
            }
            "pollables" => std::mem::forget(subscribe_duration(1)),
            other => panic!("no such resource: {other}"),
        }
    }
    Ok(perfect(output))
}
