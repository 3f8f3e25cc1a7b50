//! A kill and an error at every system call that an append makes on files, by strace. Each fault is seen in strace's log to
//! have happened, or the test fails: a fault that did not fire proves nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::chain::RecordFileName;

use super::{
    Hand, State, Told, append, child, child_of, copy, lines_of_the_append, lost_records, open, records_in, state_of,
    store_with, told, verified,
};

/// The calls by which the store touches files. Memory and signals are not its business.
const CALLS: &str = "openat,openat2,fstat,newfstatat,statx,fstatfs,statfs,flock,getdents64,read,pread64,write,fsync,fdatasync,\
                     syncfs,rename,renameat,renameat2,unlink,unlinkat,rmdir,mkdirat,fchmod,fchmodat,?fchmodat2,lseek,\
                     close,getrandom";

/// One call of the append: its name, and that it is the n-th of this name in the process.
type Call = (String, usize);

/// Every call that the append makes from where it first touches the store.
fn calls_of_an_append(hand: Hand, store: &Path, log: &Path) -> Vec<Call> {
    let trace = format!("trace={CALLS}");
    let log_path = log.to_str().expect("UTF-8");
    let strace = ["strace", "-f", "-o", log_path, "-e", &trace];
    let output = child_of(hand, &strace, store, "a", 2).output().expect("strace runs");
    assert!(matches!(told(&output), Told::Committed { .. }), "{output:?}");
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let (mut calls, mut is_inside) = (Vec::new(), false);
    for line in lines_of_the_append(&fs::read_to_string(log).expect("a log")) {
        let Some((name, _)) = line.split_once('(') else { continue };
        let count = counts.entry(name.to_owned()).or_default();
        *count += 1;
        is_inside |= line.contains("store\"");
        // What the test harness prints afterwards is not the append's.
        if line.starts_with("write(1,") && is_inside {
            break;
        }
        if is_inside {
            calls.push((name.to_owned(), *count));
        }
    }
    calls
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    Kill,
    Error(&'static str),
}

const FAULTS: [Fault; 6] = [
    Fault::Kill,
    Fault::Error("EIO"),
    Fault::Error("ENOSPC"),
    Fault::Error("EINTR"),
    Fault::Error("EMFILE"),
    Fault::Error("ENOMEM"),
];

impl Fault {
    /// Whether the fault says something at this call that others do not.
    fn applies_to(self, call: &str) -> bool {
        match self {
            // An injected error takes the place of the call, so the file would stay open. A close that fails for real has
            // closed it.
            Self::Error(_) if call == "close" => false,
            Self::Error("EMFILE") => ["openat", "openat2"].contains(&call),
            Self::Error("ENOMEM") => ["openat", "openat2", "getdents64", "flock"].contains(&call),
            _ => true,
        }
    }
}

/// Injects one fault into an append to a copy of `original`, and checks everything that must hold then.
fn check(hand: Hand, original: &Path, folder: &Path, call: &Call, fault: Fault) -> Result<(), String> {
    let store = folder.join("store");
    let log = folder.join("log");
    copy(original, &store);
    let (name, count) = call;
    let action = match fault {
        Fault::Kill => "signal=KILL".to_owned(),
        Fault::Error(errno) => format!("error={errno}"),
    };
    let inject = format!("inject={name}:{action}:when={count}");
    let trace = format!("trace={CALLS}");
    let log_path = log.to_str().expect("UTF-8");
    let strace = ["strace", "-f", "-o", log_path, "-e", &trace, "-e", &inject];
    let mut command = child_of(hand, &strace, &store, "a", 2);
    let output = command.output().expect("strace runs");
    let log = fs::read_to_string(&log).expect("a log");
    let lines = lines_of_the_append(&log);
    if !lines.iter().any(|line| line.contains("(INJECTED)") || line.contains("+++ killed by SIGKILL +++")) {
        return Err("the fault did not fire".to_owned());
    }
    let before = records_in(original);
    let after = records_in(&store);
    let told = told(&output);
    let is_kept = |file: &String| {
        after.contains(file)
            && fs::read(original.join("runs").join(file)).ok() == fs::read(store.join("runs").join(file)).ok()
    };
    if !before.iter().all(is_kept) {
        return Err(format!("a record is gone or changed: {after:?}"));
    }
    match &told {
        Told::Committed { file } if !after.contains(file) => return Err(format!("{file} was committed and is gone")),
        Told::Committed { file } if hand == Hand::Signing && !after.contains(&RecordFileName::note_of(file)) => {
            return Err(format!("{file} was committed and is not signed"));
        }
        Told::NotCommitted if after != before => {
            return Err(format!("not committed, and there all the same: {after:?}"));
        }
        Told::Nothing if fault != Fault::Kill => return Err(format!("it said nothing: {output:?}")),
        _ => {}
    }
    // An interrupted call is repeated, so nobody notices. (The kernel does not interrupt a listing of a local directory.)
    if fault == Fault::Error("EINTR") && name != "getdents64" && !matches!(told, Told::Committed { .. }) {
        return Err(format!("interrupted and given up: {told:?}"));
    }
    check_goes_on(&store)
}

/// Whatever happened, the store is in order or says that something is unfinished, and the next run works.
fn check_goes_on(store: &Path) -> Result<(), String> {
    if !store.join("store.json").exists() {
        open(store);
    }
    let (state, findings) = state_of(store);
    if state > State::Incomplete {
        return Err(format!("{state}: {findings:?}"));
    }
    append(store, "a", 3).map_err(|error| format!("the next append fails: {error:?}"))?;
    let lost = lost_records(store);
    if !lost.is_empty() {
        return Err(format!("whole records were not finished: {lost:?}"));
    }
    match state_of(store) {
        (State::Ok, _) => Ok(()),
        (state, findings) => Err(format!("after the next append: {state}: {findings:?}")),
    }
}

/// Runs the whole matrix for a store, on some threads.
fn check_all(hand: Hand, original: &Path) {
    let temp = tempfile::tempdir().expect("a temporary folder");
    let traced = temp.path().join("traced");
    copy(original, &traced.join("store"));
    let calls = calls_of_an_append(hand, &traced.join("store"), &temp.path().join("log"));
    assert!(calls.len() > 40, "{calls:?}");
    for name in ["fsync", "renameat2", "flock", "write", "openat", "pread64"] {
        assert!(calls.iter().any(|call| call.0 == name), "{name} is not among {calls:?}");
    }
    let all = calls.iter().flat_map(|call| FAULTS.map(|fault| (call, fault)));
    let cases: Vec<_> = all.filter(|(call, fault)| fault.applies_to(&call.0)).collect();
    let next = AtomicUsize::new(0);
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((call, fault)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let folder = tempfile::tempdir_in(temp.path()).expect("a temporary folder");
                    if let Err(failure) = check(hand, original, folder.path(), call, *fault) {
                        failures.lock().expect("not poisoned").push(format!("{call:?} {fault:?}: {failure}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().expect("not poisoned");
    assert!(failures.is_empty(), "{} of {} faults: {failures:#?}", failures.len(), cases.len());
}

#[test]
fn a_fault_at_any_call_of_an_append_leaves_a_store_that_holds_and_goes_on() {
    let (_temp, path) = store_with(1);
    check_all(Hand::Plain, &path);
    assert_eq!(verified(&path).links.len(), 1, "the original was not touched");
}

#[test]
fn a_fault_at_any_call_of_a_signed_append_leaves_a_store_that_holds_and_goes_on() {
    let (_temp, path) = store_with(1);
    check_all(Hand::Signing, &path);
    assert_eq!(verified(&path).links.len(), 1, "the original was not touched");
}

#[test]
fn a_fault_at_any_call_of_the_first_append_leaves_a_store_that_can_begin() {
    let temp = tempfile::tempdir().expect("a temporary folder");
    check_all(Hand::Plain, temp.path());
}

/// A real short write: the file may have so many blocks, and the kernel takes as many bytes as fit.
#[test]
fn a_record_that_is_written_only_in_part_is_not_committed() {
    for (signal, expected) in [("trap '' XFSZ", Told::NotCommitted), ("trap - XFSZ", Told::Nothing)] {
        let (_temp, path) = store_with(1);
        let before = records_in(&path);
        let size = fs::metadata(path.join("runs").join(&before[0])).expect("a record").len();
        assert!(size > 2048, "{size} bytes fit");
        // Objects that are stored already are not written again, so the record is the first thing that does not fit.
        let shell = format!("{signal}; ulimit -f 2; exec \"$0\" \"$@\"");
        let output = child(&["sh", "-c", &shell], &path, "b", 1).output().expect("it runs");
        assert_eq!(told(&output), expected, "{output:?}");
        assert_eq!(records_in(&path), before, "{signal}");
        check_goes_on(&path).expect(signal);
    }
}
