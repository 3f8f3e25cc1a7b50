//! Who the container runs as.

use super::Subject;
use crate::failure::{Finding, Mode};

pub(super) fn judge(subject: &Subject<'_>) -> Vec<Finding> {
    let image = subject.after;
    // Of an image that nothing is known about, the user is not known either, unless the Dockerfile sets it.
    let is_known = image.variant.is_some() || !image.config.user.is_empty();
    if is_known && image.config.is_root() && !subject.last.root {
        return vec![Finding::new(Mode::RunsAsRoot, "the container runs as root")];
    }
    let users = &subject.last.users;
    let uid = image.uid(&image.config.user);
    let accepted = users.is_empty() || !is_known || users.iter().any(|user| image.uid(user) == uid && uid.is_some());
    if accepted {
        return Vec::new();
    }
    vec![Finding::new(Mode::WrongUser, format!("the container runs as `{}`", image.config.user))]
}
