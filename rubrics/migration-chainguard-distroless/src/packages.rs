//! Package managers in a script: which one, and what it installs.

use crate::shell::Command;

/// A call of a package manager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// The name that image facts use: `apk`, `apt`, `dnf`, …
    pub(crate) manager: &'static str,
    /// What is installed; empty for any other use.
    pub(crate) packages: Vec<String>,
    /// The root that is installed into, if it is not the image's.
    pub(crate) root: Option<String>,
    /// Whether it begins a database of packages where there is none.
    pub(crate) makes_database: bool,
}

/// The call that a command is, if it is one.
pub(crate) fn call(command: &Command) -> Option<Call> {
    let manager = manager(command.name())?;
    let mut words = command.words.iter().skip(1).map(String::as_str);
    let mut reader = Reader {
        call: Call { manager, packages: Vec::new(), root: None, makes_database: command.has("--initdb") },
        installs: false,
    };
    while let Some(word) = words.next() {
        if word.starts_with('-') { reader.option(word, &mut words) } else { reader.operand(word) }
    }
    Some(reader.call)
}

/// A call while its words are read.
struct Reader {
    call: Call,
    /// Whether the words that come are packages.
    installs: bool,
}

impl Reader {
    fn option<'w>(&mut self, word: &str, words: &mut impl Iterator<Item = &'w str>) {
        if let Some(root) = word.strip_prefix("--root=") {
            self.call.root = Some(root.to_owned());
        } else if self.call.manager == "apk" && matches!(word, "--root" | "-p") {
            self.call.root = words.next().map(str::to_owned);
        } else if takes_value(self.call.manager, word) {
            words.next();
        }
    }

    fn operand(&mut self, word: &str) {
        if self.installs {
            self.call.packages.push(package_name(word).to_owned());
        }
        self.installs |= matches!(word, "add" | "install" | "in");
    }
}

fn manager(name: &str) -> Option<&'static str> {
    match name {
        "apk" => Some("apk"),
        "apt" | "apt-get" | "aptitude" | "dpkg" | "add-apt-repository" | "apt-key" | "apt-mark" => Some("apt"),
        "dnf" | "yum" | "microdnf" | "tdnf" | "rpm" => Some("dnf"),
        "zypper" => Some("zypper"),
        "pacman" => Some("pacman"),
        _ => None,
    }
}

fn takes_value(manager: &str, word: &str) -> bool {
    match manager {
        "apk" => {
            matches!(word, "-t" | "--virtual" | "-X" | "--repository" | "--keys-dir" | "--arch" | "--repositories-file")
        }
        "apt" => matches!(word, "-t" | "-o" | "-c" | "--target-release" | "--option"),
        _ => false,
    }
}

/// A package without the version that it is held to.
fn package_name(word: &str) -> &str {
    word.split(['=', '<', '>', '~', '@']).next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::commands;

    fn of(script: &str) -> Option<Call> {
        call(&commands(script, &|_| None)[0])
    }

    fn installing(manager: &'static str, packages: &[&str], root: Option<&str>) -> Option<Call> {
        let packages = packages.iter().map(|package| (*package).to_owned()).collect();
        Some(Call { manager, packages, root: root.map(str::to_owned), makes_database: false })
    }

    #[test]
    fn installs_are_read_without_options_and_versions() {
        assert_eq!(
            of("apk add --no-cache -t .deps build-base libpq~16 curl=8.1-r0"),
            installing("apk", &["build-base", "libpq", "curl"], None)
        );
        assert_eq!(of("apk --no-cache add --root /rootfs libpq"), installing("apk", &["libpq"], Some("/rootfs")));
        assert_eq!(of("apk add --root=/r x"), installing("apk", &["x"], Some("/r")));
        assert_eq!(of("apt-get install -y --no-install-recommends libpq-dev"), installing("apt", &["libpq-dev"], None));
    }

    #[test]
    fn other_uses_install_nothing_and_other_programs_are_no_calls() {
        assert_eq!(of("apt-get update"), installing("apt", &[], None));
        assert_eq!(of("apk del .deps"), installing("apk", &[], None));
        assert_eq!(of("pip install x"), None);
    }
}
