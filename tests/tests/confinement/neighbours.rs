//! Two cases side by side: neither agent finds the other.

use super::desk::{Desk, Machine, all_scored, python};
use serde_json::json;

/// The first leaves a secret in all its folders, says where, and waits until the other has looked for it.
const AGENT: &str = r#"
request = json.load(sys.stdin)
folders = [os.getcwd(), os.environ["HOME"], os.environ["TMPDIR"]]
def until(name):
    end = time.monotonic() + 60
    while not os.path.exists(os.path.join(desk, name)):
        if time.monotonic() > end:
            sys.exit("the other does not come")
        time.sleep(0.01)
def put(name, value):
    with open(os.path.join(desk, "new-" + name), "w") as file:
        json.dump(value, file)
    os.rename(os.path.join(desk, "new-" + name), os.path.join(desk, name))
def reached(action, path):
    try:
        action(path)
        return True
    except OSError:
        return False
def stays_below(scratch):
    "Other cases' folders that can be seen from here."
    mine = os.path.basename(os.path.dirname(os.getcwd()))
    try:
        return [name for name in os.listdir(scratch) if name != mine]
    except OSError:
        return []
if request["case"]["case_id"].startswith("001"):
    for folder in folders:
        open(os.path.join(folder, "secret"), "w").write("a secret")
    put("victim", {"pid": os.getpid(), "folders": folders})
    until("looked")
    intact = all(open(os.path.join(folder, "secret")).read() == "a secret" for folder in folders)
    put("intact", intact)
else:
    until("victim")
    with open(os.path.join(desk, "victim")) as file:
        victim = json.load(file)
    found = []
    for folder in victim["folders"]:
        secret = os.path.join(folder, "secret")
        for name, action in {
            "list": lambda path: os.listdir(os.path.dirname(path)),
            "read": lambda path: open(path).read(),
            "write": lambda path: open(path, "w"),
            "unlink": os.unlink,
            "climb": lambda path: open(os.path.relpath(path, os.getcwd())).read(),
        }.items():
            if reached(action, secret):
                found.append(name + " " + secret)
    found += stays_below(os.path.dirname(os.path.dirname(os.environ["TMPDIR"])))
    put("report.json", found)
    put("looked", True)
"#;

#[track_caller]
fn neither_finds_the_other(machine: Machine) {
    let desk = Desk::on(machine, "max_cost_usd_per_case = 0.50", &python(AGENT));
    let ended = desk.there(desk.live(2, ["-j", "2"])).run().expect_code(5);
    all_scored(&ended);
    assert_eq!(desk.report("report.json"), json!([]));
    assert_eq!(desk.report("intact"), json!(true));
}

#[test]
fn an_agent_finds_nothing_of_another_case_beside_it() {
    neither_finds_the_other(Machine::AsIs);
}

#[test]
fn an_agent_finds_nothing_of_another_case_beside_it_where_there_are_no_namespaces() {
    neither_finds_the_other(Machine::WithoutNamespaces);
}
