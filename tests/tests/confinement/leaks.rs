//! What an agent could inherit from whoever started eval-host, and what it could say in the name of its keeper.

use serde_json::json;

use super::desk::{Desk, Machine, all_scored, outcomes, python};

/// Writes down where all its descriptors but its three streams lead.
const INHERITED: &str = r#"
found = []
for name in os.listdir("/proc/self/fd"):
    try:
        if int(name) > 2:
            found.append(os.readlink("/proc/self/fd/" + name))
    except OSError:
        # The listing's own.
        pass
with open(os.path.join(desk, "report.json"), "w") as file:
    json.dump(found, file)
"#;

#[test]
fn no_agent_inherits_what_whoever_started_the_host_left_open() {
    let left_open = "exec 5< bench/fixture/cases/001-greets/cassette.json 6< bench 7>> home/log";
    for machine in [Machine::AsIs, Machine::WithoutNamespaces] {
        let desk = Desk::on(machine, "", &python(INHERITED));
        let ended = desk.there(desk.live(1, [])).after(left_open).run().expect_code(5);
        all_scored(&ended);
        assert_eq!(desk.report("report.json"), json!([]));
    }
}

/// Says in every place where a keeper could report that all went well, and fails.
const FORGES: &str = r#"
print('{"output":{"action":"patch","diff":""},"cost_usd":0.01}', flush=True)
here = os.getcwd()
for place in ["..", here, os.path.dirname(here), os.environ["HOME"], os.environ["TMPDIR"], "/"]:
    try:
        with open(os.path.join(place, "report.json"), "w") as file:
            file.write('{"exited":{"code":0}}')
    except OSError:
        pass
os._exit(3)
"#;

#[test]
fn an_agent_cannot_report_in_the_name_of_its_keeper() {
    for machine in [Machine::AsIs, Machine::WithoutNamespaces] {
        let desk = Desk::on(machine, "", &python(FORGES));
        let ended = desk.there(desk.live(1, [])).run().expect_code(5);
        let fault = "harness_error: exit_status: exit status 3".to_owned();
        assert_eq!(outcomes(&ended), [("sut_fault".to_owned(), fault)], "{}", ended.stderr);
    }
}

/// What asks for nothing but the same user: limits of the keeper and of the host, the kernel's keys, and the modes of devices.
const SAME_USER: &str = r#"
import ctypes, resource
libc = ctypes.CDLL(None, use_errno=True)
worked = []
for process in [1, os.getppid()]:
    try:
        resource.prlimit(process, resource.RLIMIT_NOFILE, (0, 0))
        worked.append("the limits of process %d" % process)
    except OSError:
        pass
for name, call in [("add_key", 248), ("request_key", 249), ("keyctl", 250)]:
    if libc.syscall(call, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1:
        worked.append(name)
if NAMESPACES:
    for change in [lambda: os.chmod("/dev/null", 0o700), lambda: os.utime("/dev/zero"), lambda: os.chmod(sys.argv[0], 0o777)]:
        try:
            change()
            worked.append("a mode or a time")
        except OSError:
            pass
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
with open("/dev/null", "w") as file:
    file.write("a device can be written")
with open(os.path.join(desk, "report.json"), "w") as file:
    json.dump(worked, file)
"#;

#[test]
fn what_asks_for_nothing_but_the_same_user_is_refused_too() {
    for (machine, namespaces) in [(Machine::AsIs, "True"), (Machine::WithoutNamespaces, "False")] {
        let desk = Desk::on(machine, "", &python(&SAME_USER.replace("NAMESPACES", namespaces)));
        let ended = desk.there(desk.live(1, [])).run().expect_code(5);
        all_scored(&ended);
        assert_eq!(desk.report("report.json"), json!([]));
    }
}
