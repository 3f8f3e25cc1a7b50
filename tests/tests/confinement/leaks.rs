//! What an agent could inherit from whoever started eval-host, and what it could say in the name of its keeper.

use serde_json::Value;

use super::desk::{Desk, Machine, all_scored, has, outcomes, python};

#[track_caller]
fn is_refused(machine: Machine, lines: &str, descriptor: u32) {
    let desk = Desk::on(machine, "", &python("open(os.path.join(desk, 'was-here'), 'w')"));
    let ended = desk.there(desk.live(1, [])).after(lines).run().expect_code(1);
    has(&ended.stderr, &format!("descriptor {descriptor} was open when eval-host was started"));
    has(&ended.stderr, &format!("close it there, such as by `{descriptor}<&-` in a shell"));
    assert_eq!(ended.stdout, "");
    assert!(!desk.shared().join("was-here").exists());
}

#[test]
fn no_agent_inherits_a_file_or_folder_of_whoever_started_the_host() {
    is_refused(Machine::AsIs, "exec 5< bench/fixture/cases/001-greets/cassette.json", 5);
    is_refused(Machine::AsIs, "exec 6< bench", 6);
    is_refused(Machine::WithoutNamespaces, "exec 7>> home/log", 7);
}

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
fn what_an_agent_inherits_leads_to_no_file() {
    for machine in [Machine::AsIs, Machine::WithoutNamespaces] {
        let desk = Desk::on(machine, "", &python(INHERITED));
        let ended = desk.there(desk.live(1, [])).run().expect_code(5);
        all_scored(&ended);
        let report = desk.report("report.json");
        let leads_to_file =
            |path: &&Value| path.as_str().is_some_and(|path| path.starts_with('/') && path != "/dev/null");
        assert_eq!(report.as_array().expect("a list").iter().find(leads_to_file), None);
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
