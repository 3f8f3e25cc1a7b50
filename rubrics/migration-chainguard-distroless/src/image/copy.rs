//! `COPY` and `ADD`.

use super::COPY_EFFORT;
use super::stage::Current;
use crate::context::Selected;
use crate::dockerfile::{Copied, Heredoc, Transfer, expand};
use crate::failure::Mode;
use crate::filesystem::{Destination, Filesystem, Kind, Node, Origin, Ownership, absolute, join};
use crate::glob;

/// Where the sources of a copy are.
enum Source {
    Context,
    Files(Filesystem),
}

pub(super) fn follow(current: &mut Current<'_, '_>, transfer: &Transfer) {
    let ownership = ownership(current, transfer);
    let destination = destination(current, transfer);
    current.image.files.next_step();
    let source = source(current, transfer.from.as_deref());
    let size = match &source {
        Source::Context => current.builder.surroundings.context.size(),
        Source::Files(files) => files.size(),
    };
    if !current.builder.spend(COPY_EFFORT * size * transfer.sources.len()) {
        return;
    }
    let mut found = false;
    let mut missing = Vec::new();
    for copied in &transfer.sources {
        let there = match copied {
            Copied::Inline(heredoc) => inline(current, heredoc, &destination, ownership),
            Copied::Path(path) => {
                let path = current.expanded(path);
                let there = one(current, &source, &path, transfer, &destination, ownership);
                if !there && !glob::is_pattern(&path) {
                    missing.push(path);
                }
                there
            }
        };
        found |= there;
    }
    // A pattern may fit nothing as long as another source gives something.
    if !found && missing.is_empty() {
        missing.push(transfer.destination.clone());
    }
    report(current, transfer, &missing);
    current.add_copy(said(transfer));
}

/// The copy as its author wrote it, without what changes nothing about its files.
fn said(transfer: &Transfer) -> String {
    let from = transfer.from.as_ref().map_or_else(String::new, |from| format!("--from={from} "));
    let sources = transfer.sources.iter().map(|copied| match copied {
        Copied::Path(path) => path.as_str(),
        Copied::Inline(heredoc) => heredoc.name.as_str(),
    });
    format!("COPY {from}{} {}", sources.collect::<Vec<_>>().join(" "), transfer.destination)
}

fn report(current: &mut Current<'_, '_>, transfer: &Transfer, missing: &[String]) {
    let place = transfer.from.as_ref().map_or_else(|| "the build context".to_owned(), |from| format!("`{from}`"));
    for path in missing {
        current.note(Mode::CopySourceMissing, format!("nothing in {place} makes `{path}`, which is copied"));
    }
}

fn ownership(current: &mut Current<'_, '_>, transfer: &Transfer) -> Ownership {
    let world_writable = transfer.chmod.as_deref().is_some_and(is_world_writable);
    let Some(chown) = &transfer.chown else { return Ownership { owner: Some(0), world_writable } };
    let user = current.expanded(chown);
    current.check_user(&user);
    Ownership { owner: current.image.uid(&user), world_writable }
}

/// Whether a mode lets everybody write.
pub(super) fn is_world_writable(mode: &str) -> bool {
    let octal = mode.chars().all(|c| c.is_digit(8)) && mode.len() >= 3;
    let last = mode.chars().last().and_then(|c| c.to_digit(8)).unwrap_or(0);
    let symbolic = ["a+w", "a+rw", "o+w", "o+rw", "ugo+w", "ugo+rw", "a=rw", "a+rwx", "a=rwx"];
    (octal && last & 2 != 0) || symbolic.iter().any(|prefix| mode.starts_with(prefix))
}

fn destination(current: &mut Current<'_, '_>, transfer: &Transfer) -> Destination {
    let text = current.expanded(&transfer.destination);
    let path = absolute(&current.image.config.workdir, &text);
    let named = text.ends_with('/') || matches!(text.as_str(), "." | "..") || text.ends_with("/.");
    let is_folder = named || transfer.sources.len() > 1 || current.image.files.is_folder(&path);
    Destination { path, is_folder }
}

fn source(current: &mut Current<'_, '_>, from: Option<&str>) -> Source {
    let Some(from) = from else { return Source::Context };
    if from.contains('$') {
        current.note(Mode::DockerfileInvalid, format!("no builder expands `COPY --from={from}`"));
    }
    match current.builder.source_stage(from) {
        Some(index) => Source::Files(current.builder.built.images[index].files.clone()),
        None => Source::Files(current.builder.pull(from, false).files),
    }
}

fn one(
    current: &mut Current<'_, '_>,
    source: &Source,
    path: &str,
    transfer: &Transfer,
    destination: &Destination,
    ownership: Ownership,
) -> bool {
    match source {
        Source::Files(files) => current.image.files.copy_from(files, &absolute("/", path), destination, ownership),
        Source::Context if path.contains("://") || path.starts_with("git@") => {
            current.image.files.insert(&destination.path, Node::new(Kind::Open, Origin::Made, ownership.owner));
            true
        }
        Source::Context => from_context(current, path, transfer, destination, ownership),
    }
}

fn from_context(
    current: &mut Current<'_, '_>,
    path: &str,
    transfer: &Transfer,
    destination: &Destination,
    ownership: Ownership,
) -> bool {
    let selected: Vec<Selected<'_>> = current.builder.surroundings.context.select(path);
    let kept = selected.iter().filter(|file| !transfer.exclude.iter().any(|rule| glob::matches_path(rule, file.below)));
    for file in kept {
        let at = match (transfer.parents, file.folder || destination.is_folder) {
            (true, _) => join(&destination.path, file.path),
            (false, true) => join(&destination.path, file.below),
            (false, false) => destination.path.clone(),
        };
        let origin = Origin::Context(file.path.to_owned());
        let node = Node { world_writable: ownership.world_writable, ..Node::new(Kind::File, origin, ownership.owner) };
        current.image.files.insert(&at, node);
    }
    !selected.is_empty()
}

fn inline(current: &mut Current<'_, '_>, heredoc: &Heredoc, destination: &Destination, ownership: Ownership) -> bool {
    let text = if heredoc.expands {
        expand(&heredoc.content, '\\', &|name| current.variable(name)).unwrap_or_else(|_| heredoc.content.clone())
    } else {
        heredoc.content.clone()
    };
    let at = if destination.is_folder { join(&destination.path, &heredoc.name) } else { destination.path.clone() };
    let node = Node::new(Kind::File, Origin::Inline(text), ownership.owner);
    current.image.files.insert(&at, Node { world_writable: ownership.world_writable, ..node });
    true
}
