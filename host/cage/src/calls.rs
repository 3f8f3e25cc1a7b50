//! System calls that no agent makes: those by which it would reach past Landlock and past its namespaces because they ask for
//! nothing but the same user.
//!
//! A list of what is forbidden and not of what is allowed: agents are programs of all kinds. What protects files and processes are
//! the other layers; this closes what they leave open.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use crate::CageError;

/// The kernel's keys: a keyring is inherited, shows what the operator keeps in it, and carries notes from case to case.
const KEYS: [i64; 3] = [libc::SYS_add_key, libc::SYS_keyctl, libc::SYS_request_key];

/// Forbids them to this thread, which has no sibling, and to what it becomes.
pub(crate) fn forbid() -> Result<(), CageError> {
    let refused = |error: String| CageError::new("system calls cannot be forbidden", std::io::Error::other(error));
    let program = filter().map_err(|error| refused(error.to_string()))?;
    apply_filter(&program).map_err(|error| refused(error.to_string()))
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    // The limits of another process, such as its keeper or its host: nobody asks who is confined by whom.
    let of_another = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, 0)?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = KEYS.into_iter().map(|call| (call, Vec::new())).collect();
    rules.insert(libc::SYS_prlimit64, vec![SeccompRule::new(vec![of_another])?]);
    let refusal = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, refusal, std::env::consts::ARCH.try_into()?)?.try_into()
}
