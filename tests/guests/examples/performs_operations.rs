//! Performs a script of filesystem operations and reports what each came to, so that two filesystems can be compared.
//!
//! A line is an operation and its arguments, separated by `|`. Descriptors and streams live in numbered places; place 0 of
//! the descriptors is the preopen. What two filesystems may choose freely (order, times, sizes of directories) is not said.

use eval_host_test_guests::wasip2::filesystem::types::{
    Advice, Descriptor, DescriptorFlags, DescriptorStat, DescriptorType, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
    filesystem_error_code,
};
use eval_host_test_guests::wasip2::io::streams::{InputStream, OutputStream, StreamError};
use eval_host_test_guests::{Answer, BenchCase, HarnessOutput, reported, root, rubric};

rubric!(score);

const PLACES: usize = 6;

struct Performer {
    descriptors: [Option<Descriptor>; PLACES],
    inputs: [Option<InputStream>; PLACES],
    outputs: [Option<OutputStream>; PLACES],
}

/// The arguments of one line, taken from the front.
struct Arguments<'a>(std::str::Split<'a, char>);

impl Arguments<'_> {
    fn number(&mut self) -> u64 {
        self.0.next().and_then(|text| text.parse().ok()).expect("a number")
    }

    fn place(&mut self) -> usize {
        self.number() as usize % PLACES
    }

    fn path(&mut self) -> String {
        let text = self.0.next().expect("a path");
        text.replace("{nul}", "\0")
            .replace("{255}", &"n".repeat(255))
            .replace("{256}", &"n".repeat(256))
            .replace("{4k}", &"d/".repeat(2_048))
    }

    fn path_flags(&mut self) -> PathFlags {
        PathFlags::from_bits_truncate(self.number() as u8)
    }
}

type Said = Result<String, ErrorCode>;

fn kind(kind: DescriptorType) -> &'static str {
    match kind {
        DescriptorType::RegularFile => "file",
        DescriptorType::Directory => "directory",
        DescriptorType::SymbolicLink => "link",
        _ => "other",
    }
}

fn stat(stat: DescriptorStat) -> String {
    match stat.type_ {
        DescriptorType::Directory => "directory".to_owned(),
        type_ => format!("{} {} links {} bytes", kind(type_), stat.link_count, stat.size),
    }
}

fn listing(directory: &Descriptor) -> Said {
    let listing = directory.read_directory()?;
    let mut entries = Vec::new();
    while let Some(entry) = listing.read_directory_entry()? {
        entries.push(format!("{} {}", &entry.name[..entry.name.len().min(20)], kind(entry.type_)));
    }
    entries.sort();
    Ok(entries.join(", "))
}

fn streamed<T>(result: Result<T, StreamError>, say: impl FnOnce(T) -> String) -> String {
    match result {
        Ok(value) => say(value),
        Err(StreamError::Closed) => "closed".to_owned(),
        Err(StreamError::LastOperationFailed(error)) => match filesystem_error_code(&error) {
            Some(code) => format!("failed: {}", code.name()),
            None => "failed".to_owned(),
        },
    }
}

fn bytes(bytes: &[u8]) -> String {
    let sum = bytes.iter().fold(0_u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    format!("{} bytes {sum:x}", bytes.len())
}

fn filler(len: u64) -> Vec<u8> {
    (0..len).map(|index| (index % 251) as u8 + 1).collect()
}

fn done(_: ()) -> String {
    "done".to_owned()
}

impl Performer {
    fn new() -> Self {
        let mut descriptors = [const { None }; PLACES];
        descriptors[0] = Some(root());
        Self { descriptors, inputs: [const { None }; PLACES], outputs: [const { None }; PLACES] }
    }

    fn descriptor(&self, arguments: &mut Arguments<'_>) -> &Descriptor {
        let place = arguments.place();
        self.descriptors[place].as_ref().or(self.descriptors[0].as_ref()).expect("place 0 is never empty")
    }

    fn perform(&mut self, line: &str) -> String {
        let (operation, rest) = line.split_once('|').expect("an operation and its arguments");
        match self.on_paths(operation, &mut Arguments(rest.split('|'))) {
            Some(said) => said.unwrap_or_else(|code| code.name().to_owned()),
            None => self.on_streams(operation, &mut Arguments(rest.split('|'))),
        }
    }

    fn open(&mut self, arguments: &mut Arguments<'_>) -> Said {
        let base = self.descriptor(arguments);
        let path = arguments.path();
        let path_flags = arguments.path_flags();
        let open_flags = OpenFlags::from_bits_truncate(arguments.number() as u8);
        let flags = DescriptorFlags::from_bits_truncate(arguments.number() as u8);
        let opened = base.open_at(path_flags, &path, open_flags, flags)?;
        let place = arguments.place().max(1);
        self.descriptors[place] = Some(opened);
        Ok("opened".to_owned())
    }

    fn on_paths(&mut self, operation: &str, arguments: &mut Arguments<'_>) -> Option<Said> {
        if operation == "open" {
            return Some(self.open(arguments));
        }
        if operation == "close" {
            let place = arguments.place().max(1);
            self.descriptors[place] = None;
            return Some(Ok("closed".to_owned()));
        }
        let base = self.descriptor(arguments);
        Some(match operation {
            "mkdir" => base.create_directory_at(&arguments.path()).map(done),
            "rmdir" => base.remove_directory_at(&arguments.path()).map(done),
            "unlink" => base.unlink_file_at(&arguments.path()).map(done),
            "readlink" => base.readlink_at(&arguments.path()),
            "symlink" => base.symlink_at(&arguments.path(), &arguments.path()).map(done),
            "rename" => {
                let old = arguments.path();
                let to = self.descriptor(arguments);
                base.rename_at(&old, to, &arguments.path()).map(done)
            }
            "link" => {
                let old = arguments.path();
                let to = self.descriptor(arguments);
                let new = arguments.path();
                base.link_at(arguments.path_flags(), &old, to, &new).map(done)
            }
            "stat-at" => base.stat_at(arguments.path_flags(), &arguments.path()).map(stat),
            "hash-at" => base.metadata_hash_at(arguments.path_flags(), &arguments.path()).map(|_| "hashed".to_owned()),
            "times-at" => {
                let flags = arguments.path_flags();
                base.set_times_at(flags, &arguments.path(), NewTimestamp::Now, NewTimestamp::NoChange).map(done)
            }
            _ => return self.on_descriptors(operation, arguments, base),
        })
    }

    fn on_descriptors(&self, operation: &str, arguments: &mut Arguments<'_>, base: &Descriptor) -> Option<Said> {
        Some(match operation {
            "list" => listing(base),
            "stat" => base.stat().map(stat),
            "type" => base.get_type().map(|type_| kind(type_).to_owned()),
            "flags" => base.get_flags().map(|flags| format!("{:06b}", flags.bits())),
            "sync" => base.sync().and_then(|()| base.sync_data()).map(done),
            "advise" => base.advise(0, 10, Advice::WillNeed).map(done),
            // On a disk the preopen is opened in a way that does not let its times be set.
            "times" if base.get_flags().is_ok_and(|flags| flags.contains(DescriptorFlags::MUTATE_DIRECTORY)) => {
                Ok("not tried".to_owned())
            }
            "times" => base.set_times(NewTimestamp::NoChange, NewTimestamp::Now).map(done),
            "resize" => base.set_size(arguments.number()).map(done),
            "read" => base
                .read(arguments.number(), arguments.number())
                .map(|(read, end)| format!("{} end {end}", bytes(&read))),
            "write" => base.write(&filler(arguments.number()), arguments.number()).map(|len| format!("{len} written")),
            "same" => {
                let other = self.descriptor(arguments);
                let hashes = (base.metadata_hash().ok(), other.metadata_hash().ok());
                let equal =
                    hashes.0.map(|hash| (hash.lower, hash.upper)) == hashes.1.map(|hash| (hash.lower, hash.upper));
                Ok(format!("{} {equal}", base.is_same_object(other)))
            }
            _ => return None,
        })
    }

    fn on_streams(&mut self, operation: &str, arguments: &mut Arguments<'_>) -> String {
        let descriptor = self.descriptor(arguments);
        match operation {
            "input" => match descriptor.read_via_stream(arguments.number()) {
                Ok(stream) => {
                    self.inputs[arguments.place()] = Some(stream);
                    "opened".to_owned()
                }
                Err(code) => code.name().to_owned(),
            },
            "output" | "append" => {
                let offset = arguments.number();
                let opened = match operation {
                    "append" => descriptor.append_via_stream(),
                    _ => descriptor.write_via_stream(offset),
                };
                match opened {
                    Ok(stream) => {
                        self.outputs[arguments.place()] = Some(stream);
                        "opened".to_owned()
                    }
                    Err(code) => code.name().to_owned(),
                }
            }
            _ => self.through_streams(operation, arguments),
        }
    }

    fn through_streams(&mut self, operation: &str, arguments: &mut Arguments<'_>) -> String {
        let (place, len) = (arguments.place(), arguments.number());
        match (operation, &self.inputs[place], &self.outputs[place]) {
            ("read-stream", Some(input), _) => streamed(input.blocking_read(len), |read| bytes(&read)),
            ("skip-stream", Some(input), _) => streamed(input.blocking_skip(len), |len| format!("{len} skipped")),
            ("write-stream", _, Some(output)) => streamed(output.blocking_write_and_flush(&filler(len)), done),
            ("zero-stream", _, Some(output)) => streamed(output.blocking_write_zeroes_and_flush(len), done),
            ("flush-stream", _, Some(output)) => streamed(output.blocking_flush(), done),
            ("splice", Some(input), Some(output)) => {
                streamed(output.blocking_splice(input, len), |len| format!("{len} spliced"))
            }
            ("close-streams", ..) => {
                (self.inputs[place], self.outputs[place]) = (None, None);
                "closed".to_owned()
            }
            _ => "no such stream".to_owned(),
        }
    }
}

fn score(_: &BenchCase, output: &HarnessOutput) -> Answer {
    let mut performer = Performer::new();
    reported(output, output.json.lines().map(|line| performer.perform(line)).collect())
}
