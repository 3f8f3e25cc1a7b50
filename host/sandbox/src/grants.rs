//! What a rubric may import, by name, and what to tell its author about anything else.
//!
//! This is an allow-list: what is not here is refused when a component is loaded, never stubbed and never silently granted.

use std::fmt;

/// The interfaces of WASI 0.2 that every rubric is granted, each in the inert, deterministic form of [`super::wasi`].
pub(super) const GRANTED: &[&str] = &[
    "wasi:cli/environment",
    "wasi:cli/exit",
    "wasi:cli/stderr",
    "wasi:cli/stdin",
    "wasi:cli/stdout",
    "wasi:cli/terminal-input",
    "wasi:cli/terminal-output",
    "wasi:cli/terminal-stderr",
    "wasi:cli/terminal-stdin",
    "wasi:cli/terminal-stdout",
    "wasi:clocks/monotonic-clock",
    "wasi:clocks/wall-clock",
    "wasi:filesystem/preopens",
    "wasi:filesystem/types",
    "wasi:io/error",
    "wasi:io/poll",
    "wasi:io/streams",
    "wasi:random/insecure",
    "wasi:random/insecure-seed",
    "wasi:random/random",
];

/// The package that a rubric implements, and the versions of it that this host runs.
pub(super) const PACKAGE: &str = "eval-host:rubric";
pub(super) const PACKAGE_VERSION: Version = Version { major: 0, minor: 1, patch: 0 };
pub const RUBRIC_WORLD: &str = "eval-host:rubric/rubric@0.1.0";
pub(super) const TYPES: &str = "eval-host:rubric/types@0.1.0";
pub(super) const SCORING: &str = "eval-host:rubric/scoring@0.1.0";

/// A release version in the name of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version {
    pub major: u64,
    pub minor: u64,
    pub patch: u64,
}

impl Version {
    /// Without a pre-release or build part, which promise nothing.
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        let version = Self { major: parts.next()??, minor: parts.next()??, patch: parts.next()?? };
        parts.next().is_none().then_some(version)
    }

    pub(super) fn is_compatible_with(self, other: Self) -> bool {
        (self.major, self.minor) == (other.major, other.minor)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Who answers an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Grant {
    /// The sandbox, with an implementation that sees nothing of the host.
    Sandbox,
    /// Nobody: these are the contract's own types, without a function.
    Contract,
    /// The component does not load because of this one.
    Refused(Refusal),
}

/// Why an import is refused, and how to build without it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub why: &'static str,
    pub remedy: &'static str,
}

/// A versioned name, `package:name/interface@version`, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct InterfaceName<'a> {
    pub(super) package: &'a str,
    pub(super) interface: &'a str,
    pub(super) version: Option<Version>,
}

impl<'a> InterfaceName<'a> {
    pub(super) fn parse(name: &'a str) -> Option<Self> {
        let (path, version) = name.split_once('@').map_or((name, None), |(path, version)| (path, Some(version)));
        let (package, interface) = path.split_once('/')?;
        Some(Self { package, interface, version: version.and_then(Version::parse) })
    }

    pub(super) fn is_ours(&self) -> bool {
        self.package == PACKAGE
    }

    /// Whether a name of our own package has a version that this host runs.
    pub(super) fn is_supported(&self) -> bool {
        self.version.is_some_and(|version| version.is_compatible_with(PACKAGE_VERSION))
    }
}

/// Who answers the import `name`.
pub(super) fn grant(name: &str) -> Grant {
    let Some(interface) = InterfaceName::parse(name) else { return Grant::Refused(UNKNOWN) };
    if interface.is_ours() {
        return if interface.is_supported() && interface.interface == "types" {
            Grant::Contract
        } else {
            Grant::Refused(OWN)
        };
    }
    let listed =
        GRANTED.iter().any(|granted| granted.split_once('/') == Some((interface.package, interface.interface)));
    match interface.version {
        Some(Version { major: 0, minor: 2, .. }) if listed => Grant::Sandbox,
        _ if listed => Grant::Refused(OTHER_WASI_VERSION),
        _ => Grant::Refused(refusal(interface.package)),
    }
}

fn refusal(package: &str) -> Refusal {
    match package {
        "wasi:sockets" => NO_SOCKETS,
        "wasi:http" => NO_HTTP,
        _ if package.starts_with("wasi:") => OTHER_WASI,
        _ => UNKNOWN,
    }
}

const NO_SOCKETS: Refusal = Refusal {
    why: "a rubric has no network",
    remedy: "score from the case's files and the output; leave out `std::net` and dependencies that open sockets, and build \
             Python with `componentize-py --stub-wasi`",
};

const NO_HTTP: Refusal = Refusal {
    why: "a rubric has no network",
    remedy: "score from the case's files and the output; leave out HTTP clients, and build JavaScript with \
             `componentize-js --disable http --disable fetch-event`",
};

const OTHER_WASI_VERSION: Refusal = Refusal {
    why: "only version 0.2 of this interface is granted",
    remedy: "build with `cargo build --target wasm32-wasip2`, whose WASI is 0.2",
};

const OTHER_WASI: Refusal = Refusal {
    why: "of WASI only `wasi:io`, `wasi:cli`, `wasi:clocks`, `wasi:random` and `wasi:filesystem` are granted, at 0.2",
    remedy: "leave out the dependency that needs it; `eval-host rubric inspect` lists every import",
};

const OWN: Refusal = Refusal {
    why: "the contract has nothing to import but its types at 0.1",
    remedy: "build against `wit/rubric.wit` of this host, for instance with its SDK",
};

const UNKNOWN: Refusal = Refusal {
    why: "this host knows no such interface",
    remedy: "a rubric imports nothing but WASI 0.2: remove the import from the component's world",
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rust_imports_is_granted_at_any_patch_of_0_2() {
        for name in GRANTED {
            for patch in [0, 6, 12, 99] {
                assert_eq!(grant(&format!("{name}@0.2.{patch}")), Grant::Sandbox);
            }
        }
        assert_eq!(grant(TYPES), Grant::Contract);
        assert_eq!(grant("eval-host:rubric/types@0.1.7"), Grant::Contract);
    }

    #[test]
    fn everything_else_is_refused_for_its_own_reason() {
        for (name, refusal) in [
            ("wasi:sockets/tcp@0.2.6", NO_SOCKETS),
            ("wasi:http/outgoing-handler@0.2.6", NO_HTTP),
            ("wasi:cli/environment@0.3.0", OTHER_WASI_VERSION),
            ("wasi:cli/environment@0.2.0-rc-1", OTHER_WASI_VERSION),
            ("wasi:cli/environment", OTHER_WASI_VERSION),
            ("wasi:clocks/timezone@0.2.6", OTHER_WASI),
            ("wasi:keyvalue/store@0.2.0", OTHER_WASI),
            ("eval-host:rubric/types@0.2.0", OWN),
            ("eval-host:rubric/scoring@0.1.0", OWN),
            ("acme:oracle/answers@1.0.0", UNKNOWN),
            ("answers", UNKNOWN),
        ] {
            assert_eq!(grant(name), Grant::Refused(refusal), "{name}");
        }
    }
}
