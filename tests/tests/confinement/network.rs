//! Which listeners an agent reaches under each setting of `network`.

use std::io::Write as _;
use std::net::{TcpListener, UdpSocket};
use std::thread;

use serde_json::{Value, json};

use super::desk::{Desk, all_scored, confinement, python};

/// Tries to hear something from every listener of the test.
const AGENT: &str = r#"
import socket
def heard(kind, port):
    try:
        with socket.socket(socket.AF_INET, kind) as connection:
            connection.settimeout(5)
            connection.connect(("127.0.0.1", port))
            if kind == socket.SOCK_DGRAM:
                connection.send(b"?")
            return connection.recv(5).decode()
    except OSError:
        return None
def by_another_way(port):
    """Ways to connect of which Landlock knows nothing."""
    mptcp, fast_open, vsock = 262, 0x20000000, 40
    heard = []
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM, mptcp) as connection:
            connection.settimeout(5)
            connection.connect(("127.0.0.1", port))
            heard.append(connection.recv(5).decode())
    except OSError:
        pass
    try:
        with socket.socket() as connection:
            connection.settimeout(5)
            connection.sendto(b"?", fast_open, ("127.0.0.1", port))
            heard.append(connection.recv(5).decode())
    except OSError:
        pass
    try:
        socket.socket(vsock, socket.SOCK_STREAM).close()
        heard.append("a socket of another family")
    except OSError:
        pass
    return heard
def bound():
    try:
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            return True
    except OSError:
        return False
with open(os.path.join(desk, "ports.json")) as file:
    ports = json.load(file)
found = {
    "one": heard(socket.SOCK_STREAM, ports["one"]),
    "other": heard(socket.SOCK_STREAM, ports["other"]),
    "udp": heard(socket.SOCK_DGRAM, ports["udp"]),
    "by another way": by_another_way(ports["other"]),
    "listens": bound(),
}
with open(os.path.join(desk, "report.json"), "w") as file:
    json.dump(found, file)
"#;

/// Greets whoever connects, and gives its port.
fn greeter() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    thread::spawn(move || {
        // Who hangs up at once does not want to be greeted.
        listener.incoming().flatten().for_each(|mut connection| drop(connection.write_all(b"hello")));
    });
    port
}

/// Answers whoever asks, and gives its port.
fn answerer() -> u16 {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    thread::spawn(move || {
        let mut asked = [0; 8];
        while let Ok((_, from)) = socket.recv_from(&mut asked) {
            // Who asked may be gone.
            let _ = socket.send_to(b"hello", from);
        }
    });
    port
}

/// What an agent finds under a setting, which may name the first port, and what the record says of it.
fn found(network: impl Fn(u16) -> String) -> (Value, Value, u16) {
    let (one, other, udp) = (greeter(), greeter(), answerer());
    let desk = Desk::new(&format!("network = {}", network(one)), &python(AGENT));
    let ports = json!({"one": one, "other": other, "udp": udp}).to_string();
    std::fs::write(desk.shared().join("ports.json"), ports).expect("the ports");
    let ended = desk.live(1, []).run().expect_code(5);
    all_scored(&ended);
    (desk.report("report.json"), confinement(&ended, &desk)["caged"].clone(), one)
}

#[test]
fn without_a_network_no_listener_is_reached() {
    let (found, caged, _) = found(|_| r#""none""#.to_owned());
    assert_eq!((&found["one"], &found["other"], &found["udp"]), (&Value::Null, &Value::Null, &Value::Null));
    assert_eq!(found["by another way"], json!([]));
    assert_eq!(caged["network"], "none");
    assert_eq!(caged["namespaces"], json!(["ipc", "mount", "net", "pid", "user"]));
}

#[test]
fn with_an_open_network_every_listener_is_reached() {
    let (found, caged, _) = found(|_| r#""open""#.to_owned());
    assert_eq!((&found["one"], &found["other"], &found["udp"]), (&json!("hello"), &json!("hello"), &json!("hello")));
    assert_eq!(found["listens"], true);
    assert_ne!(found["by another way"], json!([]), "or it proves nothing elsewhere");
    assert_eq!(caged["network"], "open");
    assert_eq!(caged["namespaces"], json!(["ipc", "mount", "pid", "user"]));
}

#[test]
fn with_a_list_of_ports_only_those_are_reached_by_tcp() {
    let (found, caged, one) = found(|port| format!("[{port}]"));
    assert_eq!((&found["one"], &found["other"]), (&json!("hello"), &Value::Null));
    assert_eq!(found["listens"], false);
    assert_eq!(found["by another way"], json!([]));
    assert_eq!(caged["network"], json!([one]));
}
