//! How far an agent was kept from everything that is not its own, as a record states it.
//!
//! A description and nothing else: it confines nobody, and it never says where on a machine a rule leads. Rules stand here by the
//! names that a registration or a flag gave them, so that records of two machines can be compared.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How far an agent was kept from everything that is not its own: `"none"`, or `{"caged":{…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Confinement {
    None,
    Caged(Cage),
}

/// What held an agent. That it has no capabilities and gets no new privileges holds in every cage, so no field says it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cage {
    /// The version of Landlock that was enforced.
    pub landlock_abi: u32,
    pub namespaces: BTreeSet<Namespace>,
    pub network: Network,
    /// What it could read besides the system's folders, by the names of the rules.
    pub read: BTreeSet<String>,
    /// What it could write besides its own folders, by the names of the rules.
    pub write: BTreeSet<String>,
    pub memory_mib: u64,
    pub processes: u64,
    pub workspace_mib: u64,
}

/// A namespace of the kernel that an agent has for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Namespace {
    Ipc,
    Mount,
    Net,
    Pid,
    User,
}

impl Namespace {
    /// Those that every cage with namespaces has. A network of its own is for an agent that may use none.
    pub const ALWAYS: [Self; 4] = [Self::Ipc, Self::Mount, Self::Pid, Self::User];
}

/// What an agent could reach: `"open"`, `"none"`, or a list of TCP ports such as `[443]`. In JSON and in TOML it is spelled alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Network {
    #[default]
    Open,
    None,
    /// It could connect to these ports of any machine. There is at least one, and none is 0: reading refuses both.
    Tcp(BTreeSet<u16>),
}

/// The first Landlock that keeps files from being truncated.
const TRUNCATE_ABI: u32 = 3;
/// The first one that knows TCP ports.
const TCP_ABI: u32 = 4;
/// The first one that keeps signals and abstract sockets inside.
const SCOPE_ABI: u32 = 6;

impl Confinement {
    /// The cage, if there was one.
    pub fn cage(&self) -> Option<&Cage> {
        match self {
            Self::None => None,
            Self::Caged(cage) => Some(cage),
        }
    }
}

impl Cage {
    /// What the agent could do that it cannot do in a full cage, one clause each. None of it shows it the contents of a file
    /// outside of its rules.
    pub fn weaknesses(&self) -> Vec<&'static str> {
        let is_bare = self.namespaces.is_empty();
        let lacks = |namespace| !self.namespaces.contains(&namespace);
        let checks = [
            ("it could name files outside of its rules, and change the metadata of its user's", is_bare),
            ("it could connect to Unix sockets", is_bare),
            ("it could list processes", is_bare),
            ("it could truncate files", is_bare && self.landlock_abi < TRUNCATE_ABI),
            ("it could connect to abstract sockets", lacks(Namespace::Net) && self.landlock_abi < SCOPE_ABI),
            ("it could send signals to its user's processes", lacks(Namespace::Pid) && self.landlock_abi < SCOPE_ABI),
        ];
        checks.into_iter().filter(|(_, is_so)| *is_so).map(|(what, _)| what).collect()
    }

    /// Why no agent can have been in such a cage.
    pub fn contradiction(&self) -> Option<&'static str> {
        let has_own_network = self.namespaces.contains(&Namespace::Net);
        let has_all = Namespace::ALWAYS.iter().all(|namespace| self.namespaces.contains(namespace));
        let checks = [
            ("it is without Landlock", self.landlock_abi == 0),
            ("it has some of the namespaces and not all", !self.namespaces.is_empty() && !has_all),
            (
                "it has a network namespace without `none` for its network, or the reverse",
                has_own_network != (self.network == Network::None),
            ),
            (
                "it is held to TCP ports by a Landlock that knows none",
                matches!(self.network, Network::Tcp(_)) && self.landlock_abi < TCP_ABI,
            ),
        ];
        checks.into_iter().find(|(_, is_so)| *is_so).map(|(what, _)| what)
    }
}

impl fmt::Display for Confinement {
    /// In a few words, for a line about a run.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cage) = self.cage() else { return f.write_str("not confined") };
        let namespaces = if cage.namespaces.is_empty() { "no namespaces" } else { "namespaces" };
        write!(f, "caged: Landlock {}, {namespaces}, {}", cage.landlock_abi, cage.network)?;
        let weak = cage.weaknesses().len();
        if weak == 0 { Ok(()) } else { write!(f, ", weaker than a full cage in {weak}") }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("open network"),
            Self::None => f.write_str("no network"),
            Self::Tcp(ports) => {
                let ports: Vec<_> = ports.iter().map(ToString::to_string).collect();
                write!(f, "TCP {}", ports.join(", "))
            }
        }
    }
}

/// By hand: `json::parse` takes an enumeration as the name of a variant, and this one has data too.
impl<'de> Deserialize<'de> for Confinement {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConfinementVisitor)
    }
}

struct ConfinementVisitor;

impl<'de> Visitor<'de> for ConfinementVisitor {
    type Value = Confinement;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`none` or an object with the key `caged` alone")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Confinement, E> {
        match name {
            "none" => Ok(Confinement::None),
            name => Err(E::invalid_value(Unexpected::Str(name), &self)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Confinement, A::Error> {
        let caged = match entries.next_key::<String>()?.as_deref() {
            Some("caged") => Confinement::Caged(entries.next_value()?),
            Some(key) => return Err(A::Error::unknown_field(key, &["caged"])),
            None => return Err(A::Error::missing_field("caged")),
        };
        match entries.next_key::<String>()? {
            None => Ok(caged),
            Some(key) => Err(A::Error::unknown_field(&key, &["caged"])),
        }
    }
}

impl Serialize for Network {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Open => serializer.serialize_str("open"),
            Self::None => serializer.serialize_str("none"),
            Self::Tcp(ports) => ports.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Network {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NetworkVisitor)
    }
}

struct NetworkVisitor;

impl<'de> Visitor<'de> for NetworkVisitor {
    type Value = Network;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`open`, `none` or a list of TCP ports from 1 to 65535")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Network, E> {
        match name {
            "open" => Ok(Network::Open),
            "none" => Ok(Network::None),
            name => Err(E::invalid_value(Unexpected::Str(name), &self)),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Network, A::Error> {
        let mut ports = BTreeSet::new();
        while let Some(port) = elements.next_element::<u16>()? {
            if port == 0 {
                return Err(A::Error::invalid_value(Unexpected::Unsigned(0), &self));
            }
            ports.insert(port);
        }
        if ports.is_empty() { Err(A::Error::invalid_length(0, &self)) } else { Ok(Network::Tcp(ports)) }
    }
}

/// What an editor is told about it. Only tests write the schemas, so nothing of this is in the program.
#[cfg(feature = "schema")]
impl schemars::JsonSchema for Network {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Network".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [
                { "type": "string", "enum": ["open", "none"] },
                { "type": "array", "items": { "type": "integer", "minimum": 1, "maximum": 65535 }, "minItems": 1 },
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    fn full() -> Cage {
        Cage {
            landlock_abi: 6,
            namespaces: Namespace::ALWAYS.into(),
            network: Network::Open,
            read: ["~/.config/my-agent".to_owned()].into(),
            write: BTreeSet::new(),
            memory_mib: 4096,
            processes: 512,
            workspace_mib: 1024,
        }
    }

    fn bare(landlock_abi: u32) -> Cage {
        Cage { landlock_abi, namespaces: BTreeSet::new(), ..full() }
    }

    fn ports<const N: usize>(ports: [u16; N]) -> Network {
        Network::Tcp(ports.into())
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Holder {
        #[serde(deserialize_with = "Option::deserialize")]
        it: Option<Confinement>,
    }

    fn read(it: &str) -> Result<Option<Confinement>, String> {
        json::parse::<Holder>(&format!("{{\"it\":{it}}}")).map(|holder| holder.it).map_err(|error| error.to_string())
    }

    const TEXT: &str = r#"{"caged":{"landlock_abi":6,"namespaces":["ipc","mount","pid","user"],"network":"open","read":["~/.config/my-agent"],"write":[],"memory_mib":4096,"processes":512,"workspace_mib":1024}}"#;

    #[test]
    fn a_confinement_has_one_spelling_and_reads_back() {
        let none = Cage { namespaces: Namespace::ALWAYS.into_iter().chain([Namespace::Net]).collect(), ..full() };
        for (confinement, text) in [
            (Confinement::None, "\"none\"".to_owned()),
            (Confinement::Caged(full()), TEXT.to_owned()),
            (
                Confinement::Caged(Cage { network: ports([8080, 443]), ..full() }),
                TEXT.replace("\"open\"", "[443,8080]"),
            ),
            (
                Confinement::Caged(Cage { network: Network::None, ..none }),
                TEXT.replace("\"open\"", "\"none\"").replace("\"mount\"", "\"mount\",\"net\""),
            ),
        ] {
            assert_eq!(serde_json::to_string(&confinement).expect("JSON"), text);
            assert_eq!(read(&text), Ok(Some(confinement)));
        }
        assert_eq!(read("null"), Ok(None));
    }

    #[test]
    fn nothing_else_is_read() {
        for other in
            ["\"None\"", "\"caged\"", "{}", "{\"none\":null}", "[]", "[\"none\"]", "1", "true", "{\"caged\":null}"]
        {
            assert!(read(other).is_err(), "{other}");
        }
        for (from, to) in [
            ("}}", "},\"caged\":1}"),
            ("}}", "},\"more\":1}"),
            ("\"processes\":512", "\"processes\":512,\"pids\":1"),
            ("\"processes\":512,", ""),
            ("\"landlock_abi\":6", "\"landlock_abi\":-1"),
            ("\"landlock_abi\":6", "\"landlock_abi\":6.0"),
            ("\"landlock_abi\":6", "\"landlock_abi\":4294967296"),
            ("\"ipc\"", "\"uts\""),
            ("\"ipc\"", "{\"ipc\":null}"),
            ("\"open\"", "\"closed\""),
            ("\"open\"", "{\"open\":null}"),
            ("\"open\"", "null"),
            ("\"open\"", "443"),
            ("\"open\"", "[]"),
            ("\"open\"", "[0]"),
            ("\"open\"", "[443,0]"),
            ("\"open\"", "[65536]"),
            ("\"open\"", "[\"443\"]"),
            ("\"open\"", "[443.0]"),
        ] {
            assert!(TEXT.contains(from), "{from}");
            assert!(read(&TEXT.replacen(from, to, 1)).is_err(), "{from} -> {to}");
        }
    }

    #[test]
    fn what_is_refused_is_told_what_would_be_taken() {
        let network = |text: &str| serde_json::from_str::<Network>(text).expect_err(text).to_string();
        let taken = "expected `open`, `none` or a list of TCP ports from 1 to 65535";
        for text in ["\"closed\"", "[]", "[0]", "true"] {
            assert!(network(text).contains(taken), "{}", network(text));
        }
        let error = read("\"caged\"").expect_err("no cage");
        assert!(error.contains("expected `none` or an object with the key `caged` alone"), "{error}");
    }

    #[test]
    fn a_full_cage_lacks_nothing() {
        assert_eq!(full().weaknesses(), Vec::<&str>::new());
        assert_eq!(bare(6).weaknesses().len(), 3, "namespaces are not Landlock's to replace");
    }

    #[test]
    fn what_a_kernel_lacks_is_a_weakness_only_where_nothing_else_covers_it() {
        let files = "it could name files outside of its rules, and change the metadata of its user's";
        let without = [files, "it could connect to Unix sockets", "it could list processes"];
        let (abstract_sockets, signals) =
            ("it could connect to abstract sockets", "it could send signals to its user's processes");
        assert_eq!(bare(6).weaknesses(), without);
        assert_eq!(bare(3).weaknesses(), [&without[..], &[abstract_sockets, signals]].concat());
        assert_eq!(
            bare(2).weaknesses(),
            [&without[..], &["it could truncate files", abstract_sockets, signals]].concat()
        );
        assert_eq!(Cage { landlock_abi: 1, ..full() }.weaknesses(), [abstract_sockets]);
        let mut no_network = Cage { landlock_abi: 1, network: Network::None, ..full() };
        no_network.namespaces.insert(Namespace::Net);
        assert_eq!(no_network.weaknesses(), Vec::<&str>::new());
    }

    #[test]
    fn a_cage_that_cannot_be_is_told_from_one_that_can() {
        let with = |namespaces: &[Namespace], network: Network| Cage {
            namespaces: namespaces.iter().copied().collect(),
            network,
            ..full()
        };
        let whole: Vec<_> = Namespace::ALWAYS.into_iter().chain([Namespace::Net]).collect();
        for possible in [full(), bare(1), with(&whole, Network::None), Cage { network: ports([443]), ..bare(4) }] {
            assert_eq!(possible.contradiction(), None, "{possible:?}");
        }
        let network = "it has a network namespace without `none` for its network, or the reverse";
        let some = "it has some of the namespaces and not all";
        for (impossible, why) in [
            (bare(0), "it is without Landlock"),
            (with(&[Namespace::Pid, Namespace::User], Network::Open), some),
            (with(&[Namespace::Net], Network::None), some),
            (with(&whole, Network::Open), network),
            (with(&whole, ports([443])), network),
            (with(&Namespace::ALWAYS, Network::None), network),
            (with(&[], Network::None), network),
            (Cage { network: ports([443]), ..bare(3) }, "it is held to TCP ports by a Landlock that knows none"),
        ] {
            assert_eq!(impossible.contradiction(), Some(why), "{impossible:?}");
        }
    }

    #[test]
    fn a_line_about_a_run_says_it_in_a_few_words() {
        assert_eq!(Confinement::None.to_string(), "not confined");
        assert_eq!(Confinement::Caged(full()).to_string(), "caged: Landlock 6, namespaces, open network");
        let weak = Confinement::Caged(Cage { network: ports([443, 8080]), ..bare(6) });
        assert_eq!(weak.to_string(), "caged: Landlock 6, no namespaces, TCP 443, 8080, weaker than a full cage in 3");
    }
}
