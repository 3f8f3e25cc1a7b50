//! Ports.

use super::Subject;
use crate::failure::{Finding, Mode};
use crate::image::Port;
use std::collections::BTreeSet;

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let image = subject.after;
    let expected = subject.last.ports().unwrap_or_else(|| subject.before.config.ports.clone());
    let mut findings = Vec::new();
    if image.config.ports != expected {
        let note = format!("exposed is {}, expected {}", list(&image.config.ports), list(&expected));
        findings.push(Finding::new(Mode::PortsDiffer, note));
    }
    let allowed = image.config.is_root() || image.variant.as_ref().is_none_or(|variant| variant.low_ports);
    if let Some(port) = image.config.ports.iter().find(|port| port.number < 1024 && !allowed) {
        let note = format!("port {} needs root, and the container does not run as root", port.number);
        findings.push(Finding::new(Mode::PrivilegedPort, note));
    }
    findings
}

fn list(ports: &BTreeSet<Port>) -> String {
    let ports: Vec<String> = ports.iter().map(|port| format!("{}/{}", port.number, port.protocol)).collect();
    if ports.is_empty() { "nothing".to_owned() } else { ports.join(" ") }
}
