//! Leaving the host's namespaces without rights: a user namespace in which this process has every right over nothing that is the
//! host's, and with it PID, mount and IPC namespaces, and a network namespace where there is to be no network.
//!
//! The user is the same inside as outside, so that programs find the files to be theirs. Capabilities would be lost with the next
//! program that is executed, so they are made ambient; the last stage gives them up for good.

#![expect(clippy::disallowed_methods, reason = "the kernel is told of users in files of its own")]

use std::fs;

use rustix::process::{getegid, geteuid};
use rustix::thread::{
    CapabilitySet, UnshareFlags, capabilities, configure_capability_in_ambient_set, set_capabilities,
};

use crate::{CageError, failed};
use eval_model::confinement::Network;

/// What the keeper needs in its own namespaces: to mount, to measure folders that the agent has locked, to look at the agent's
/// processes, to set limits of the namespace, and to give all this up again.
const KEEPERS: [CapabilitySet; 6] = [
    CapabilitySet::SYS_ADMIN,
    CapabilitySet::DAC_OVERRIDE,
    CapabilitySet::SYS_PTRACE,
    CapabilitySet::SYS_RESOURCE,
    CapabilitySet::NET_ADMIN,
    CapabilitySet::SETPCAP,
];

/// Moves this process, and as for PIDs the next that it starts, into namespaces of their own. It must have one thread.
pub(crate) fn leave(network: &Network) -> Result<(), CageError> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let mut flags = UnshareFlags::NEWUSER | UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if *network == Network::None {
        flags |= UnshareFlags::NEWNET;
    }
    unshare(flags).map_err(failed("the kernel gives no user, PID, mount and IPC namespaces"))?;
    let tell = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text).map_err(failed("the user cannot be mapped into the namespace"))
    };
    tell("setgroups", "deny".to_owned())?;
    tell("uid_map", format!("{user} {user} 1"))?;
    tell("gid_map", format!("{group} {group} 1"))?;
    keep_capabilities().map_err(failed("the capabilities of the namespace cannot be handed on"))
}

#[expect(deprecated, reason = "the safe call: none of these flags concerns memory or descriptors that threads share")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

fn keep_capabilities() -> rustix::io::Result<()> {
    let mut sets = capabilities(None)?;
    for capability in KEEPERS {
        sets.inheritable |= capability;
    }
    set_capabilities(None, sets)?;
    KEEPERS.into_iter().try_for_each(|capability| configure_capability_in_ambient_set(capability, true))
}
