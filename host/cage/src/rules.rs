//! What Landlock lets an agent reach: a list, because Landlock allows and cannot subtract.

#![expect(clippy::disallowed_methods, reason = "links of the system's folders are followed on purpose")]

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, LandlockStatus, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};

use crate::CageError;
use crate::errand::{Allowed, Errand};
use eval_model::confinement::Network;

/// The newest version that is asked for. A kernel that has less gives what it has, and says so.
const NEWEST: ABI = ABI::V9;

/// What every agent may read and execute, as far as it is there.
pub const SYSTEM_FOLDERS: [&str; 9] =
    ["/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/sbin", "/usr"];

/// What every agent may read of the kernel.
const KERNEL_FOLDERS: [&str; 2] = ["/proc", "/sys/devices/system/cpu"];

/// Devices that hold nothing.
pub(crate) const DEVICES: [&str; 5] = ["/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero"];

/// Terminals and shared memory of the agent's own, where it has a `/dev` of its own.
const OWN_DEVICES: [&str; 3] = ["/dev/pts", "/dev/shm", "/dev/tty"];

/// Files of the system that lie outside of its folders and without which no name is resolved.
pub fn resolver_files() -> Vec<PathBuf> {
    let named = ["/etc/resolv.conf", "/etc/hosts", "/etc/localtime"].map(Path::new);
    let outside = |path: &PathBuf| !SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder));
    named.iter().filter_map(|path| fs::canonicalize(path).ok()).filter(outside).collect()
}

/// Confines this thread, which has no sibling, and what it becomes. Gives the version of Landlock that holds.
pub(crate) fn enforce(errand: &Errand, allowed: &Allowed) -> Result<u32, CageError> {
    restrict(rules(errand, allowed)?)
}

/// Leaves this thread, which has no sibling, one folder, and nothing of the network. Where there is no Landlock it leaves more.
pub(crate) fn enforce_as_far_as_possible(folder: &Path) -> Result<(), CageError> {
    let rules = ruleset(&Network::None).map_err(refused)?;
    let whole = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::Execute);
    allow(rules, [folder], whole)?.restrict_self().map(drop).map_err(refused)
}

fn restrict(rules: RulesetCreated) -> Result<u32, CageError> {
    let status = rules.restrict_self().map_err(refused)?;
    match (status.landlock, status.ruleset) {
        (
            LandlockStatus::Available { effective_abi, .. },
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
        ) => Ok(effective_abi as u32),
        (LandlockStatus::NotEnabled, _) => Err(missing("it is built into this kernel and not turned on")),
        _ => Err(missing("this kernel does not have it")),
    }
}

fn refused(error: impl Into<RulesetError>) -> CageError {
    CageError::new("Landlock refuses a rule", std::io::Error::other(error.into()))
}

fn missing(why: &'static str) -> CageError {
    CageError::new("there is no Landlock", std::io::Error::new(std::io::ErrorKind::Unsupported, why))
}

/// Everything that the errand allows, and nothing else.
fn rules(errand: &Errand, allowed: &Allowed) -> Result<RulesetCreated, CageError> {
    let read = AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir;
    let everything = AccessFs::from_all(NEWEST) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev | AccessFs::Truncate;
    let mut rules = ruleset(&allowed.network).map_err(refused)?;
    let system = SYSTEM_FOLDERS.map(PathBuf::from).into_iter().chain(resolver_files());
    rules = allow_what_is_there(rules, system, read)?;
    rules = allow_what_is_there(rules, KERNEL_FOLDERS, AccessFs::ReadFile | AccessFs::ReadDir)?;
    rules = allow_what_is_there(rules, DEVICES, device)?;
    if allowed.namespaces {
        rules = allow_what_is_there(rules, OWN_DEVICES, everything)?;
        rules = allow(rules, ["/tmp"], everything)?;
        // Its root shows nothing that it may not see.
        rules = allow(rules, ["/"], AccessFs::ReadDir.into())?;
    }
    rules = allow(rules, &allowed.read, read)?;
    rules = allow(rules, allowed.write.iter().chain(&errand.own), everything)?;
    if let Network::Tcp(ports) = &allowed.network {
        for port in ports {
            rules = rules.add_rule(NetPort::new(*port, AccessNet::ConnectTcp)).map_err(refused)?;
        }
    }
    Ok(rules)
}

/// All files, and the network as far as it is not open.
fn ruleset(network: &Network) -> Result<RulesetCreated, RulesetError> {
    let rules = Ruleset::default().handle_access(AccessFs::from_all(NEWEST))?.scope(Scope::from_all(NEWEST))?;
    let tcp = AccessNet::BindTcp | AccessNet::ConnectTcp;
    match network {
        Network::Open => rules,
        Network::None => rules.handle_access(tcp)?,
        // A list that would not hold is no list.
        Network::Tcp(_) => rules
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(tcp)?
            .set_compatibility(CompatLevel::BestEffort),
    }
    .create()
}

fn allow_what_is_there<P: AsRef<Path>>(
    rules: RulesetCreated,
    paths: impl IntoIterator<Item = P>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, CageError> {
    let there = paths.into_iter().filter(|path| path.as_ref().exists());
    allow(rules, there, access)
}

fn allow<P: AsRef<Path>>(
    mut rules: RulesetCreated,
    paths: impl IntoIterator<Item = P>,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, CageError> {
    for path in paths {
        let access = if path.as_ref().is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        let named = |error| {
            CageError::new(
                format!("`{}` cannot be opened, and so not be left in reach", path.as_ref().display()),
                error,
            )
        };
        let opened = PathFd::new(&path).map_err(|error| named(std::io::Error::other(error)))?;
        rules = rules.add_rule(PathBeneath::new(opened, access)).map_err(refused)?;
    }
    Ok(rules)
}
