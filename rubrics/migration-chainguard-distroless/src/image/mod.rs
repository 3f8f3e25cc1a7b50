//! What the stages of a Dockerfile amount to: for each the configuration and the files of its image.
//!
//! Nothing is run. Instructions are followed as a builder would, with what [`crate::facts`] says about base images, and what
//! cannot work is noted on the way: an image that does not exist, a command without a shell, a copy of nothing.

mod config;
mod copy;
mod gems;
mod run;
mod stage;

pub(crate) use config::{Config, Port, ports};

use crate::context::Context;
use crate::dockerfile::{Dockerfile, Instruction, expand};
use crate::facts::{Facts, Known, Libc, Variant};
use crate::failure::{Finding, Mode};
use crate::filesystem::{Filesystem, Installed, Kind, Node, Origin, absolute, join, relative_to};
use crate::reference::Reference;
use std::collections::{BTreeMap, BTreeSet};

/// The image that a stage makes.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    pub(crate) name: Option<String>,
    /// The image from a registry that is at the bottom of it.
    pub(crate) base: Reference,
    /// What is known about that one.
    pub(crate) variant: Option<Variant>,
    pub(crate) platform: Option<String>,
    pub(crate) config: Config,
    pub(crate) files: Filesystem,
    pub(crate) users: BTreeMap<String, u32>,
    /// What `ONBUILD` says a stage on top of this one does first.
    triggers: Vec<Instruction>,
}

impl Image {
    /// The number of a user, if it is one or its name is declared.
    pub(crate) fn uid(&self, user: &str) -> Option<u32> {
        let name = user.split(':').next().unwrap_or_default();
        match name {
            "" | "root" => Some(0),
            name => name.parse().ok().or_else(|| self.users.get(name).copied()),
        }
    }

    /// The user's home folder, by custom.
    pub(crate) fn home(&self) -> String {
        if self.config.is_root() {
            return "/root".to_owned();
        }
        let uid = self.uid(&self.config.user);
        let name = self.users.iter().find(|(_, other)| Some(**other) == uid).map(|(name, _)| name.as_str());
        join("/home", name.unwrap_or_else(|| self.config.user_name()))
    }

    /// Whether the user can write to `path`: it owns it or, if nothing is there, the folder it would be in.
    pub(crate) fn can_write(&self, path: &str) -> bool {
        let open = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|folder| relative_to(path, folder).is_some());
        if open || self.config.is_root() {
            return true;
        }
        if self.config.volumes.iter().any(|volume| self.is_new_volume(volume, path)) {
            return false;
        }
        let user = self.uid(&self.config.user);
        self.files.nearest(path).is_some_and(|node| node.world_writable || (user.is_some() && node.owner == user))
    }

    /// Whether a path is in a volume that the image has no folder for. Whoever starts the container makes one, as root.
    fn is_new_volume(&self, volume: &str, path: &str) -> bool {
        let volume = absolute("/", volume);
        relative_to(path, &volume).is_some() && self.files.find(&volume).is_none()
    }

    pub(crate) fn libc(&self) -> Option<Libc> {
        self.variant.as_ref().map(|variant| variant.libc)
    }

    /// Whether a program is there to be started. An image that nothing is known about may have any.
    pub(crate) fn has_program(&self, path: &str) -> bool {
        self.variant.is_none() || self.files.find(path).is_some()
    }

    /// The path of a program as the system finds it, if it does.
    pub(crate) fn resolve_program(&self, program: &str) -> Option<String> {
        if program.contains('/') {
            let path = absolute(&self.config.workdir, program);
            return self.files.find(&path).map(|_| path);
        }
        let folders = self.config.env.get("PATH").map(String::as_str).unwrap_or_default();
        let paths = folders.split(':').filter(|folder| !folder.is_empty());
        paths.map(|folder| join(folder, program)).find(|path| self.files.find(path).is_some())
    }
}

/// A use of an image from a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) reference: Reference,
    /// The index of the stage that uses it.
    pub(crate) stage: usize,
    /// In `FROM`, rather than in `COPY --from`.
    pub(crate) as_base: bool,
}

/// A use of an earlier stage, by indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) stage: usize,
    pub(crate) source: usize,
    /// In `FROM`, rather than as a source of files.
    pub(crate) as_base: bool,
}

/// All stages of a Dockerfile, and what is wrong with them.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) images: Vec<Image>,
    pub(crate) uses: Vec<Use>,
    pub(crate) links: Vec<Link>,
    pub(crate) findings: Vec<Finding>,
    /// What is not right and can be: it is held against a patch only if that brought it.
    pub(crate) leftovers: BTreeSet<Finding>,
}

impl Built {
    /// The image that the Dockerfile makes: the last stage's.
    pub(crate) fn last(&self) -> Option<&Image> {
        self.images.last()
    }

    /// The images from registries that the Dockerfile names.
    pub(crate) fn references(&self) -> BTreeSet<Reference> {
        self.uses.iter().map(|used| used.reference.clone()).collect()
    }
}

/// What a build has around it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) context: &'a Context<'a>,
    /// Images that exist although no facts are given: those that the Dockerfile used before.
    pub(crate) existing: &'a BTreeSet<Reference>,
}

/// More than any Dockerfile needs; every one keeps its files.
const MAX_STAGES: usize = 64;

/// Nodes that are visited in all. A Dockerfile can ask for any amount of work in few lines; what a person writes takes a
/// fiftieth of this, and all of it a third of the fuel that a rubric has.
const MAX_EFFORT: usize = 40_000;
/// How much more work it is to copy a node than to look at it.
const COPY_EFFORT: usize = 4;

/// Follows all stages of a Dockerfile.
pub(crate) fn build(file: &Dockerfile, surroundings: Surroundings<'_>) -> Built {
    let mut builder = Builder {
        surroundings,
        escape: file.escape,
        globals: platform_arguments(),
        effort: MAX_EFFORT,
        built: Built {
            images: Vec::new(),
            uses: Vec::new(),
            links: Vec::new(),
            findings: Vec::new(),
            leftovers: BTreeSet::new(),
        },
    };
    for (name, default) in &file.global_args {
        builder.global_argument(name, default.as_deref());
    }
    for stage in file.stages.iter().take(MAX_STAGES) {
        stage::follow(&mut builder, stage);
    }
    let is_cut = file.stages.len() > MAX_STAGES
        || builder.effort == 0
        || builder.built.images.iter().any(|image| image.files.is_cut);
    if is_cut {
        builder.note(Mode::DockerfileInvalid, "the Dockerfile makes more than can be followed");
    }
    builder.built
}

/// The arguments that a builder sets by itself.
fn platform_arguments() -> BTreeMap<String, String> {
    let mut arguments = BTreeMap::new();
    for side in ["BUILD", "TARGET"] {
        for (name, value) in [("PLATFORM", "linux/amd64"), ("OS", "linux"), ("ARCH", "amd64"), ("VARIANT", "")] {
            arguments.insert(format!("{side}{name}"), value.to_owned());
        }
    }
    arguments
}

struct Builder<'a> {
    surroundings: Surroundings<'a>,
    escape: char,
    /// Arguments before the first `FROM`.
    globals: BTreeMap<String, String>,
    /// How many nodes may still be visited.
    effort: usize,
    built: Built,
}

impl Builder<'_> {
    fn note(&mut self, mode: Mode, note: impl Into<String>) {
        self.built.findings.push(Finding::new(mode, note));
    }

    fn note_leftover(&mut self, mode: Mode, note: impl Into<String>) {
        self.built.leftovers.insert(Finding::new(mode, note));
    }

    /// Notes that the stage that is followed uses an earlier one.
    fn link(&mut self, source: usize, as_base: bool) {
        self.built.links.push(Link { stage: self.built.images.len(), source, as_base });
    }

    /// Takes the effort of going through `size` nodes. `false`: there is none left, and nothing more is followed.
    fn spend(&mut self, size: usize) -> bool {
        self.effort = self.effort.saturating_sub(size + 1);
        self.effort > 0
    }

    fn global_argument(&mut self, name: &str, default: Option<&str>) {
        let Some(default) = default else { return };
        let value = self.expanded_globally(default);
        self.globals.insert(name.to_owned(), value);
    }

    fn expanded_globally(&mut self, word: &str) -> String {
        let globals = &self.globals;
        match expand(word, self.escape, &|name| globals.get(name).cloned()) {
            Ok(text) => text,
            Err(error) => {
                self.note(Mode::DockerfileInvalid, format!("`{word}`: {error}"));
                String::new()
            }
        }
    }

    /// The index of an earlier stage by its name.
    fn stage_named(&self, name: &str) -> Option<usize> {
        let lower = name.to_ascii_lowercase();
        self.built.images.iter().position(|image| image.name.as_deref() == Some(lower.as_str()))
    }

    /// The index of an earlier stage by its number or its name, as a source of files.
    fn source_stage(&mut self, name: &str) -> Option<usize> {
        let by_number = name.parse::<usize>().ok().filter(|index| *index < self.built.images.len());
        let index = by_number.or_else(|| self.stage_named(name))?;
        self.link(index, false);
        Some(index)
    }

    /// An image from a registry, as the start of a stage or as the source of a copy.
    fn pull(&mut self, text: &str, as_base: bool) -> Image {
        let reference = Reference::parse(text);
        let facts = self.surroundings.facts;
        let known = facts.find(&reference);
        let existing = self.surroundings.existing.contains(&reference);
        let variant = match known {
            Known::Variant(variant) => Some(variant.clone()),
            _ if reference.name == "scratch" => Some(Variant::scratch()),
            _ => None,
        };
        if variant.is_none() && !existing && !as_base && is_stage_name(text, known) {
            self.note(Mode::UnknownStage, format!("`COPY --from={text}` names no earlier stage"));
        } else {
            let stage = self.built.images.len();
            self.built.uses.push(Use { reference: reference.clone(), stage, as_base });
            if variant.is_none() && !existing {
                self.note(Mode::UnknownImage, format!("`{text}` is not in the image facts"));
            }
        }
        let mut image = image_of(facts, reference, variant);
        if !as_base && image.variant.is_none() {
            // Any path may be in an image that nothing is known about; a stage on top of one must make its own.
            image.files.insert("/", Node::new(Kind::OpenFolder, Origin::Made, Some(0)));
        }
        image
    }
}

/// Whether the source of a copy is meant as a stage: a plain word that is no image that is known.
fn is_stage_name(text: &str, known: Known<'_>) -> bool {
    !text.contains(['/', ':', '@']) && matches!(known, Known::Nothing)
}

fn image_of(facts: &Facts, base: Reference, variant: Option<Variant>) -> Image {
    let mut image = Image {
        name: None,
        base,
        variant: None,
        platform: None,
        config: variant.as_ref().map_or_else(Config::unknown, Config::of),
        files: Filesystem::default(),
        users: BTreeMap::new(),
        triggers: Vec::new(),
    };
    match &variant {
        Some(variant) => fill(&mut image, facts, variant),
        None => open_system(&mut image.files),
    }
    image.variant = variant;
    image
}

fn fill(image: &mut Image, facts: &Facts, variant: &Variant) {
    image.users = variant.users.iter().map(|user| (user.name.clone(), user.uid)).collect();
    let user = image.uid(&variant.user);
    let file = |kind| Node::new(kind, Origin::Image(variant.libc), Some(0));
    for folder in &variant.prepared_dirs {
        image.files.make_folder(folder, Some(0), false);
        image.files.insert(folder, Node::new(Kind::Folder, Origin::Image(variant.libc), user));
    }
    for path in variant.programs.iter().chain(&variant.shells) {
        image.files.insert(path, file(Kind::File));
    }
    let contents = variant.packages.iter().filter_map(|package| facts.packages.apk.get(package)).flatten();
    for path in contents {
        image.files.insert(path, file(Kind::Open));
    }
    let installed = variant.packages.iter().map(|package| Installed { package: package.clone(), root: "/".to_owned() });
    image.files.installed.extend(installed);
    image.files.make_folder(&variant.workdir, Some(0), false);
}

/// An image that nothing is known about has the usual folders, with anything in them.
fn open_system(files: &mut Filesystem) {
    const FOLDERS: [&str; 11] =
        ["/bin", "/etc", "/go", "/home", "/lib", "/lib64", "/opt", "/root", "/sbin", "/usr", "/var"];
    for folder in FOLDERS {
        files.make(folder, Kind::OpenFolder, Some(0), None);
    }
}

#[cfg(test)]
mod tests;
