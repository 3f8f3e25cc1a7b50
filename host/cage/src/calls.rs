//! System calls that no agent makes: those by which it would reach past Landlock and past its namespaces. And those that a process
//! does not make that only computes.
//!
//! A list of what is forbidden and not of what is allowed: agents are programs of all kinds. What protects files and processes are
//! the other layers; this closes what they leave open.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, apply_filter,
};

use crate::CageError;
use eval_model::confinement::Network;

/// The kernel's keys: a keyring is inherited, shows what the operator keeps in it, and carries notes from case to case.
const KEYS: [i64; 3] = [libc::SYS_add_key, libc::SYS_keyctl, libc::SYS_request_key];

/// Families of sockets that an agent without an open network may use. Of others, such as those between a virtual machine and its
/// host, neither Landlock nor a network namespace knows.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];

/// What goes over the internet where TCP ports are held. Others connect without Landlock being asked: MPTCP, SMC, SCTP.
const PROTOCOLS: [i32; 5] = [0, libc::IPPROTO_TCP, libc::IPPROTO_UDP, libc::IPPROTO_ICMP, libc::IPPROTO_ICMPV6];

/// Kinds of sockets that stand for another protocol if none is named: SCTP, DCCP.
const KINDS: [i32; 2] = [libc::SOCK_SEQPACKET, libc::SOCK_DCCP];
const KIND_BITS: u64 = 0xf;

/// The calls that send, with where their flags stand. One of the flags connects without Landlock being asked.
const SENDING: [(i64, u8); 3] = [(libc::SYS_sendto, 3), (libc::SYS_sendmsg, 2), (libc::SYS_sendmmsg, 3)];

/// The bit by which programs for the 32-bit form of x86-64 call, and their own numbers for two of the calls.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
#[cfg(target_arch = "x86_64")]
const X32_SENDING: [(i64, u8); 2] = [(518, 2), (538, 3)];

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// By which a process becomes another program, or talks to any that is not its own: nothing that computing needs.
const REACHING_OUT: [i64; 8] = [
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_io_uring_setup,
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
];

/// Forbids them to this thread, which has no sibling, and to what it becomes.
pub(crate) fn forbid(network: &Network) -> Result<(), CageError> {
    apply(agent_rules(network))
}

/// Forbids this thread, which has no sibling, to reach out.
pub(crate) fn forbid_reaching_out() -> Result<(), CageError> {
    let reaching_out = REACHING_OUT.into_iter().map(|call| (call, Vec::new()));
    apply(common_rules().map(|rules| rules.into_iter().chain(reaching_out).collect()))
}

fn apply(rules: Result<Rules, BackendError>) -> Result<(), CageError> {
    let refused = |error: String| CageError::new("system calls cannot be forbidden", std::io::Error::other(error));
    let program = rules.and_then(filter).map_err(|error| refused(error.to_string()))?;
    apply_filter(&program).map_err(|error| refused(error.to_string()))
}

fn filter(rules: Rules) -> Result<BpfProgram, BackendError> {
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(by_every_number(rules), SeccompAction::Allow, refusal, arch)?.try_into()
}

fn common_rules() -> Result<Rules, BackendError> {
    let mut rules: Rules = KEYS.into_iter().map(|call| (call, Vec::new())).collect();
    // The limits of another process, such as its keeper or its host: nobody asks who is confined by whom.
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![differs(0, 0)?])?]);
    Ok(rules)
}

fn agent_rules(network: &Network) -> Result<Rules, BackendError> {
    let mut rules = common_rules()?;
    if *network != Network::Open {
        rules.insert(libc::SYS_socket, vec![SeccompRule::new(none_of(0, &FAMILIES)?)?]);
        // A ring makes the calls that are forbidden here.
        rules.insert(libc::SYS_io_uring_setup, Vec::new());
    }
    if matches!(network, Network::Tcp(_)) {
        hold_tcp(&mut rules)?;
    }
    Ok(rules)
}

/// Whatever would connect to a port without Landlock being asked.
fn hold_tcp(rules: &mut Rules) -> Result<(), BackendError> {
    let local = [libc::AF_UNIX, libc::AF_NETLINK];
    let other_protocol = [none_of(0, &local)?, none_of(2, &PROTOCOLS)?].concat();
    let mut sockets = vec![SeccompRule::new(other_protocol)?];
    for kind in KINDS {
        let is_kind = condition(1, SeccompCmpOp::MaskedEq(KIND_BITS), kind)?;
        sockets.push(SeccompRule::new([none_of(0, &local)?, vec![is_kind]].concat())?);
    }
    rules.entry(libc::SYS_socket).or_default().extend(sockets);
    for (call, flags) in sending() {
        let connects =
            condition(flags, SeccompCmpOp::MaskedEq(u64::from(libc::MSG_FASTOPEN.unsigned_abs())), libc::MSG_FASTOPEN)?;
        rules.insert(call, vec![SeccompRule::new(vec![connects])?]);
    }
    Ok(())
}

fn sending() -> Vec<(i64, u8)> {
    #[cfg(target_arch = "x86_64")]
    return SENDING.into_iter().chain(X32_SENDING.map(|(call, flags)| (call | X32, flags))).collect();
    #[cfg(not(target_arch = "x86_64"))]
    return SENDING.to_vec();
}

/// The same rules for the numbers by which the same calls are made in another way.
#[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "calls have one number there"))]
fn by_every_number(mut rules: Rules) -> Rules {
    #[cfg(target_arch = "x86_64")]
    rules.extend(rules.clone().into_iter().map(|(call, rule)| (call | X32, rule)));
    rules
}

/// That an argument is none of some values.
fn none_of(argument: u8, values: &[i32]) -> Result<Vec<SeccompCondition>, BackendError> {
    values.iter().map(|value| differs(argument, *value)).collect()
}

fn differs(argument: u8, value: i32) -> Result<SeccompCondition, BackendError> {
    condition(argument, SeccompCmpOp::Ne, value)
}

fn condition(argument: u8, operator: SeccompCmpOp, value: i32) -> Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, u64::from(value.unsigned_abs()))
}
