//! Agents that take more of the machine than they may. Each would end by itself after a while: a limit that does not hold must not
//! take the machine down.

use super::desk::{Desk, Machine, has, outcomes, python};

/// How long an agent that was not ended goes on, so that it can be.
const GO_ON: &str = "time.sleep(20)";

#[track_caller]
fn meets_limit_on(machine: Machine, settings: &str, agent: &str, expected: &str) {
    let desk = Desk::on(machine, settings, &python(&format!("{agent}\n{GO_ON}")));
    let ended = desk.there(desk.live(1, [])).run().expect_code(5);
    let outcomes = outcomes(&ended);
    let [(outcome, fault)] = outcomes.as_slice() else { panic!("one case: {outcomes:?}") };
    assert_eq!(outcome, "sut_fault", "{}", ended.stderr);
    assert!(fault.starts_with("harness_error: resources: "), "{fault}\n{}", ended.stderr);
    has(fault, expected);
    assert_eq!(desk.processes(), Vec::<String>::new());
    assert_eq!(std::fs::read_dir(desk.path().join("tmp")).expect("a folder").count(), 0, "no workspace is left");
}

#[track_caller]
fn meets_limit(settings: &str, agent: &str, expected: &str) {
    meets_limit_on(Machine::AsIs, settings, agent, expected);
}

/// At most 300 children, which end by themselves.
const FORKS: &str = r#"
for _ in range(300):
    try:
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    except OSError:
        break
"#;

const THREADS: &str = r#"
import threading
for _ in range(300):
    try:
        threading.Thread(target=time.sleep, args=(20,), daemon=True).start()
    except RuntimeError:
        break
"#;

const MANY_PROCESSES: &str = "processes and threads, and `processes` is 50";

#[test]
fn too_many_processes_end_the_agent() {
    meets_limit("processes = 50", FORKS, MANY_PROCESSES);
}

#[test]
fn too_many_processes_end_the_agent_of_a_user_without_rights_and_where_there_are_no_namespaces() {
    meets_limit_on(Machine::OfNobody, "processes = 50", FORKS, MANY_PROCESSES);
    meets_limit_on(Machine::WithoutNamespaces, "processes = 50", FORKS, MANY_PROCESSES);
}

#[test]
fn too_many_threads_end_the_agent() {
    meets_limit("processes = 50", THREADS, MANY_PROCESSES);
}

const ROOM: &str = "MiB in its folders, and `workspace_mib` is 16";

#[test]
fn too_many_files_end_the_agent() {
    let agent = "for n in range(64):\n    open(f'file-{n}', 'wb').write(b'x' * (1 << 20))";
    meets_limit("workspace_mib = 16", agent, ROOM);
}

#[test]
fn files_that_lie_deeper_than_a_path_can_say_end_the_agent() {
    let agent = "for n in range(40):\n    os.mkdir('d' * 200)\n    os.chdir('d' * 200)\n\
                 for n in range(64):\n    open(f'file-{n}', 'wb').write(b'x' * (1 << 20))";
    meets_limit("workspace_mib = 16", agent, ROOM);
}

#[test]
fn files_in_the_home_and_for_temporary_use_count_too() {
    let agent = "for place in ('HOME', 'TMPDIR'):\n    open(os.environ[place] + '/x', 'wb').write(b'x' * (12 << 20))";
    meets_limit("workspace_mib = 16", agent, ROOM);
    let agent = "for n in range(4):\n    open(f'/tmp/{n}', 'wb').write(b'x' * (6 << 20))";
    meets_limit("workspace_mib = 16", agent, ROOM);
}

#[test]
fn one_file_that_is_too_large_ends_the_agent() {
    let agent = "try:\n    open('large', 'wb', 0).write(b'x' * (64 << 20))\nexcept OSError:\n    pass\n";
    meets_limit("workspace_mib = 16", agent, ROOM);
    // Most programs do not ask the kernel to be spared its signal.
    let agent = "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_DFL)\nf = open('large', 'wb', 0)\n\
                 while True:\n    f.write(b'x' * (1 << 20))\n";
    meets_limit("workspace_mib = 16", agent, "`workspace_mib`");
}

#[test]
fn files_without_a_name_end_the_agent() {
    let agent = "held = []\nfor n in range(8):\n    held.append(open('gone', 'wb', 0))\n    os.unlink('gone')\n    \
                 held[-1].write(b'x' * (8 << 20))\n";
    meets_limit("workspace_mib = 16", agent, ROOM);
}

const MEMORY: &str = "MiB of memory, and `memory_mib` is 256";

#[test]
fn too_much_memory_ends_the_agent() {
    meets_limit("memory_mib = 256", "held = bytearray(b'x') * (400 << 20)", MEMORY);
}

#[test]
fn memory_in_a_file_without_a_name_ends_the_agent() {
    let agent = "held = os.memfd_create('x')\nfor n in range(400):\n    os.write(held, b'x' * (1 << 20))\n";
    meets_limit("memory_mib = 256", agent, MEMORY);
}

#[test]
fn memory_that_is_shared_between_processes_ends_the_agent() {
    // Each child has its own copy of what it changed.
    let agent = "held = bytearray(b'x') * (100 << 20)\nfor n in range(3):\n    if os.fork() == 0:\n        \
                 held[::4096] = b'y' * len(held[::4096])\n        time.sleep(20)\n        os._exit(0)\n";
    meets_limit("memory_mib = 256", agent, MEMORY);
}

/// Segments that no process is attached to. The kernel keeps them all the same.
const SEGMENTS: &str = r#"
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
libc.shmdt.argtypes = [ctypes.c_void_p]
size = 100 << 20
for _ in range(4):
    segment = libc.shmget(0, ctypes.c_size_t(size), 0o1600)
    if segment < 0:
        sys.exit("no segment")
    place = libc.shmat(segment, None, 0)
    ctypes.memset(place, 1, size)
    libc.shmdt(place)
"#;

#[test]
fn memory_that_no_process_is_attached_to_ends_the_agent() {
    meets_limit("memory_mib = 256", SEGMENTS, MEMORY);
}
