//! Makes cheap host calls for ever, of the kind that is asked for, to spend the host's time rather than its own fuel.

use eval_host_test_guests::wasip2::cli::environment::get_environment;
use eval_host_test_guests::wasip2::cli::stdout::get_stdout;
use eval_host_test_guests::wasip2::clocks::monotonic_clock::subscribe_duration;
use eval_host_test_guests::wasip2::clocks::wall_clock;
use eval_host_test_guests::wasip2::filesystem::preopens::get_directories;
use eval_host_test_guests::wasip2::filesystem::types::{DescriptorFlags, OpenFlags, PathFlags};
use eval_host_test_guests::wasip2::io::poll::poll;
use eval_host_test_guests::wasip2::random::random::{get_random_bytes, get_random_u64};
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, asked, create, root, rubric};

rubric!(score);

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let root = root();
    let big = create(&root, "big").expect("there is room");
    big.set_size(1 << 20).expect("there is room");
    let deep = "d/".repeat(60);
    for depth in 1..=60 {
        root.create_directory_at(&"d/".repeat(depth)).expect("there is room");
    }
    for link in 0..40 {
        let target = format!("link-{}/{}", link + 1, "./".repeat(2_000));
        root.symlink_at(&target, &format!("link-{link}")).expect("there is room");
    }
    let long = "x/".repeat(500_000);
    let slashes = format!("input{}", "/".repeat(4_085));
    root.symlink_at(&slashes, "slashes").expect("there is room");
    let input = root
        .open_at(PathFlags::empty(), "input/a.txt", OpenFlags::empty(), DescriptorFlags::READ)
        .expect("a file of the case");
    let output_stream = get_stdout();
    let now = subscribe_duration(0);
    let pollables = vec![&now; 1_000];
    loop {
        match asked(output) {
            "long-path" => drop(big.stat_at(PathFlags::empty(), &long)),
            "long-write" => drop(root.write(long.as_bytes(), 0)),
            "long-links" => drop(root.stat_at(PathFlags::SYMLINK_FOLLOW, "link-0")),
            "slashes" => drop(root.stat_at(PathFlags::empty(), &slashes)),
            "slash-links" => drop(root.stat_at(PathFlags::SYMLINK_FOLLOW, "slashes")),
            "missing" => drop(root.stat_at(PathFlags::empty(), "missing")),
            "hash" => drop(root.metadata_hash_at(PathFlags::empty(), "input/a.txt")),
            "open" => drop(root.open_at(PathFlags::empty(), "input/a.txt", OpenFlags::empty(), DescriptorFlags::READ)),
            "rename" => {
                drop(create(&root, "f").expect("there is room"));
                root.rename_at("f", &root, "g").expect("just made");
            }
            "links" => {
                root.link_at(PathFlags::empty(), "big", &root, "bigger").expect("there is room");
                root.unlink_file_at("bigger").expect("just made");
            }
            "readlink" => drop(root.readlink_at("slashes")),
            "stream" => drop(input.read_via_stream(0).expect("a file").read(1)),
            "poll" => drop(poll(&pollables)),
            "subscribe" => drop(subscribe_duration(0)),
            "print-nothing" => output_stream.blocking_write_and_flush(&[]).expect("stdout takes all"),
            "zeroes" => output_stream.write_zeroes(64 << 10).expect("stdout takes all"),
            "check-write" => drop(output_stream.check_write()),
            "directories" => drop(get_directories()),
            "environment" => drop(get_environment()),
            "numbers" => drop(get_random_u64()),
            "clock" => drop(wall_clock::resolution()),
            "read" => drop(big.read(64 << 10, 0)),
            "write" => drop(big.write(&[7; 4_096], 0)),
            "random" => drop(get_random_bytes(64 << 10)),
            "resize" => {
                big.set_size(0).expect("less is always possible");
                big.set_size(32 << 20).expect("there is room");
            }
            "list" => {
                let listing = root.read_directory().expect("a directory");
                while let Ok(Some(_)) = listing.read_directory_entry() {}
            }
            "walk" => drop(root.stat_at(PathFlags::empty(), &deep)),
            "create" => {
                drop(root.open_at(PathFlags::empty(), "f", OpenFlags::CREATE, DescriptorFlags::WRITE));
                root.unlink_file_at("f").expect("just made");
            }
            other => panic!("no such call: {other}"),
        }
    }
}
