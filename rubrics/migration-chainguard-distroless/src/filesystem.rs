//! What is known to be in an image: paths, whose they are, and where they come from.
//!
//! A build cannot be run here, so some places are open: a command made something there, and what exactly cannot be told.
//! A path that nothing known made, and that is in no open place, is not there.

use crate::facts::Libc;
use crate::glob;
use std::collections::BTreeMap;
use std::rc::Rc;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    /// A folder with exactly what is known to be in it.
    Folder,
    /// A folder in which anything may be.
    OpenFolder,
    /// A file, or a folder in which anything may be.
    Open,
}

impl Kind {
    fn is_open(self) -> bool {
        matches!(self, Self::OpenFolder | Self::Open)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Part of a base image, which has this C library.
    Image(Libc),
    /// A file of the build context.
    Context(String),
    /// Text in the Dockerfile itself.
    Inline(String),
    /// Made by an instruction or a command.
    Made,
}

/// Whether a program needs the C library it was built with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Linkage {
    Static,
    Dynamic,
    /// Not a compiler that is known, or nothing that is linked.
    Unknown,
}

/// A command that made something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Making {
    /// The program's name and its arguments.
    pub(crate) words: Vec<String>,
    pub(crate) linkage: Linkage,
    /// Whether what it makes may hold machine code for the image it ran in.
    pub(crate) native: bool,
    /// The C library of the image that it ran in, if known.
    pub(crate) libc: Option<Libc>,
    /// The path that it made.
    pub(crate) path: String,
    /// The program that a virtual environment links to, if it is one and that is known.
    pub(crate) interpreter: Option<String>,
    /// How gems were installed, if they were.
    pub(crate) gems: Option<Gems>,
}

/// How a command installed gems.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Gems {
    /// Whether what it made has a folder for each version of Ruby, rather than the gems themselves.
    pub(crate) scoped: bool,
    /// The groups of the Gemfile that it left out.
    pub(crate) without: Vec<String>,
}

impl Making {
    /// Whether the command has the words of `pattern`: its program, then the others in that order.
    pub(crate) fn is(&self, pattern: &str) -> bool {
        let mut wanted = pattern.split_whitespace();
        if wanted.next() != self.words.first().map(String::as_str) {
            return false;
        }
        let mut rest = self.words.iter().skip(1);
        // A file is the same one by a longer path.
        let fits =
            |have: &String, word: &str| have == word || have.strip_suffix(word).is_some_and(|rest| rest.ends_with('/'));
        wanted.all(|word| rest.any(|have| fits(have, word)))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) kind: Kind,
    pub(crate) origin: Origin,
    /// Not known: a name that nobody declared.
    pub(crate) owner: Option<u32>,
    pub(crate) world_writable: bool,
    /// The commands that made it or wrote into it.
    pub(crate) made_by: Vec<Rc<Making>>,
    /// Which part it is of what the commands made, relative to the path they made: empty for all of it.
    pub(crate) part: String,
    /// How many copies there were when it came there, with the one that brought it.
    pub(crate) step: usize,
}

impl Node {
    /// Whether it is what was there, or takes the place of all of it: a file that of a file, and what may be a folder only that
    /// of the same thing.
    pub(crate) fn replaces(&self, old: &Self) -> bool {
        let mut makers = self.made_by.iter().zip(&old.made_by);
        let by_same = self.made_by.len() == old.made_by.len() && makers.all(|(new, old)| Rc::ptr_eq(new, old));
        let is_same = !self.made_by.is_empty() && by_same && self.part == old.part;
        self.step != old.step && (is_same || (self.kind == Kind::File && old.kind == Kind::File))
    }

    pub(crate) fn new(kind: Kind, origin: Origin, owner: Option<u32>) -> Self {
        Self { kind, origin, owner, world_writable: false, made_by: Vec::new(), part: String::new(), step: 0 }
    }
}

/// A package, and below which folder it is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installed {
    pub(crate) package: String,
    pub(crate) root: String,
}

/// More than any image needs to be understood. Copies of copies grow without bounds otherwise.
const MAX_NODES: usize = 4096;
/// Longer paths are not looked at, since every folder that they are in would be.
const MAX_PATH: usize = 256;

#[derive(Clone, Debug, Default)]
pub(crate) struct Filesystem {
    nodes: BTreeMap<String, Node>,
    pub(crate) installed: Vec<Installed>,
    /// Whether there was more than could be kept.
    pub(crate) is_cut: bool,
    /// How many copies there were.
    step: usize,
}

/// Who owns what is copied, and whether everybody may write it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ownership {
    pub(crate) owner: Option<u32>,
    pub(crate) world_writable: bool,
}

/// Where copied things go.
#[derive(Clone, Debug)]
pub(crate) struct Destination {
    pub(crate) path: String,
    /// Whether a file is put into `path` rather than at it.
    pub(crate) is_folder: bool,
}

impl Destination {
    fn of_file(&self, name: &str) -> String {
        if self.is_folder { join(&self.path, name) } else { self.path.clone() }
    }
}

/// `path` as an absolute path without `.` and `..`, taken from `base` if it is relative.
pub(crate) fn absolute(base: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let from_base = if path.starts_with('/') { "" } else { base };
    for part in from_base.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// A path below a folder.
pub(crate) fn join(folder: &str, below: &str) -> String {
    absolute(folder, below.trim_start_matches('/'))
}

/// The folder that a path is in.
pub(crate) fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(end) => &path[..end],
    }
}

/// What is left of `path` below `folder`: empty for the folder itself.
pub(crate) fn relative_to<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder == "/" {
        return Some(path.trim_start_matches('/'));
    }
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

impl Filesystem {
    /// Begins another copy.
    pub(crate) fn next_step(&mut self) {
        self.step += 1;
    }

    /// What the last copy put there.
    pub(crate) fn copied(&self) -> Vec<(String, Node)> {
        let copied = self.nodes.iter().filter(|(_, node)| node.step == self.step);
        copied.map(|(path, node)| (path.clone(), node.clone())).collect()
    }

    /// How much work it is to go through all of it.
    pub(crate) fn size(&self) -> usize {
        self.nodes.len() + self.installed.len()
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(path)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// What is at `path`: the node itself, or the nearest open place that it is in.
    pub(crate) fn find(&self, path: &str) -> Option<(&str, &Node)> {
        if path.len() > MAX_PATH {
            return None;
        }
        if let Some((found, node)) = self.nodes.get_key_value(path) {
            return Some((found, node));
        }
        let mut folder = path;
        while folder != "/" {
            folder = parent(folder);
            if let Some((found, node)) = self.nodes.get_key_value(folder).filter(|(_, node)| node.kind.is_open()) {
                return Some((found, node));
            }
        }
        None
    }

    /// The commands that made what is at `path`, and which part of what they made it is.
    pub(crate) fn made_at(&self, path: &str) -> Option<(&[Rc<Making>], String)> {
        let (found, node) = self.find(path)?;
        Some((&node.made_by, part_of(node, relative_to(path, found)?)))
    }

    /// The node at `path` or, if there is none, that of the nearest folder above it.
    pub(crate) fn nearest(&self, path: &str) -> Option<&Node> {
        let mut place = if path.len() > MAX_PATH { "/" } else { path };
        while place != "/" {
            if let Some(node) = self.nodes.get(place) {
                return Some(node);
            }
            place = parent(place);
        }
        None
    }

    /// Whether there is, or may be, something at `path`.
    #[cfg(test)]
    pub(crate) fn exists(&self, path: &str) -> bool {
        path == "/" || self.find(path).is_some() || self.has_below(path)
    }

    fn has_below(&self, path: &str) -> bool {
        self.nodes.keys().any(|other| relative_to(other, path).is_some())
    }

    pub(crate) fn is_folder(&self, path: &str) -> bool {
        let folder = |node: &Node| matches!(node.kind, Kind::Folder | Kind::OpenFolder);
        path == "/" || self.get(path).map_or_else(|| self.has_below(path), folder)
    }

    /// Puts a node at `path`, and folders of the same owner where there are none yet.
    pub(crate) fn insert(&mut self, path: &str, node: Node) {
        if self.nodes.len() >= MAX_NODES || path.len() > MAX_PATH {
            self.is_cut = true;
            return;
        }
        self.make_folder(parent(path), node.owner, node.world_writable);
        self.nodes.insert(path.to_owned(), Node { step: self.step, ..node });
    }

    /// Makes a folder and those it is in, unless they are there.
    pub(crate) fn make_folder(&mut self, path: &str, owner: Option<u32>, world_writable: bool) {
        self.is_cut |= path.len() > MAX_PATH;
        let mut folder = if path.len() > MAX_PATH { "/" } else { path };
        while folder != "/" && !self.nodes.contains_key(folder) {
            let node = Node { world_writable, ..Node::new(Kind::Folder, Origin::Made, owner) };
            self.nodes.insert(folder.to_owned(), node);
            folder = parent(folder);
        }
    }

    /// Notes that a command made something at `path`. What is there already stays, and has one more maker.
    pub(crate) fn make(&mut self, path: &str, kind: Kind, owner: Option<u32>, making: Option<Rc<Making>>) {
        if path == "/" {
            return;
        }
        if let Some(node) = self.nodes.get_mut(path) {
            node.kind = wider(node.kind, kind);
            node.made_by.extend(making);
            return;
        }
        let mut node = Node::new(kind, Origin::Made, owner);
        node.made_by.extend(making);
        self.insert(path, node);
    }

    pub(crate) fn remove(&mut self, path: &str) {
        self.nodes.retain(|other, _| relative_to(other, path).is_none());
    }

    /// Gives `path` and all below it to another owner.
    pub(crate) fn change_owner(&mut self, path: &str, owner: Option<u32>) {
        self.make_folder(path, owner, false);
        for node in self.at_and_below(path) {
            node.owner = owner;
        }
    }

    pub(crate) fn make_writable(&mut self, path: &str) {
        for node in self.at_and_below(path) {
            node.world_writable = true;
        }
    }

    fn at_and_below(&mut self, path: &str) -> impl Iterator<Item = &mut Node> {
        self.nodes.iter_mut().filter(move |(other, _)| relative_to(other, path).is_some()).map(|(_, node)| node)
    }

    /// Copies `source` out of another filesystem. `false`: nothing there could be it.
    pub(crate) fn copy_from(
        &mut self,
        other: &Self,
        source: &str,
        destination: &Destination,
        ownership: Ownership,
    ) -> bool {
        if glob::is_pattern(source) {
            return self.copy_pattern(other, source, destination, ownership);
        }
        if source == "/" || other.is_folder(source) {
            self.copy_folder(other, source, &destination.path, ownership);
            return true;
        }
        let Some((found, node)) = other.find(source) else { return false };
        let kind = if found == source { node.kind } else { Kind::Open };
        let part = part_of(node, relative_to(source, found).unwrap_or_default());
        let node =
            Node { kind, part, owner: ownership.owner, world_writable: ownership.world_writable, ..node.clone() };
        self.copy_node(source, node, destination);
        true
    }

    /// A single thing that is a file, or may be one.
    fn copy_node(&mut self, source: &str, node: Node, destination: &Destination) {
        let name = source.rsplit('/').next().unwrap_or(source);
        let at = destination.of_file(name);
        // It may as well be a folder, whose content then goes straight into the destination. A name with an extension is
        // taken for a file.
        if node.kind == Kind::Open && destination.is_folder && !name.contains('.') {
            self.insert(&destination.path, Node { kind: Kind::OpenFolder, ..node.clone() });
        }
        self.insert(&at, node);
    }

    fn copy_folder(&mut self, other: &Self, source: &str, to: &str, ownership: Ownership) {
        self.make_folder(to, ownership.owner, ownership.world_writable);
        for (path, node) in &other.nodes {
            let Some(below) = relative_to(path, source) else { continue };
            let at = join(to, below);
            let node = Node {
                owner: ownership.owner,
                world_writable: ownership.world_writable || node.world_writable,
                ..node.clone()
            };
            if at != "/" && !(below.is_empty() && node.kind == Kind::Folder) {
                self.insert(&at, node);
            }
        }
        let packages = other.installed.iter().filter_map(|installed| {
            let below = relative_to(&installed.root, source)?;
            Some(Installed { package: installed.package.clone(), root: join(to, below) })
        });
        let room = MAX_NODES.saturating_sub(self.installed.len());
        let packages: Vec<Installed> = packages.take(room).collect();
        self.is_cut |= packages.len() == room;
        self.installed.extend(packages);
    }

    fn copy_pattern(&mut self, other: &Self, source: &str, destination: &Destination, ownership: Ownership) -> bool {
        let fitting: Vec<String> =
            other.nodes.keys().filter(|path| glob::matches_path(source, path)).cloned().collect();
        for path in &fitting {
            self.copy_from(other, path, destination, ownership);
        }
        if !fitting.is_empty() {
            return true;
        }
        // Nothing known fits; it may be in an open place.
        let fixed: Vec<&str> = source.split('/').take_while(|part| !glob::is_pattern(part)).collect();
        let folder = absolute("/", &fixed.join("/"));
        match other.find(&folder) {
            Some((found, node)) if node.kind.is_open() => {
                let part = part_of(node, relative_to(source, found).unwrap_or_default());
                let node = Node { kind: Kind::Open, part, owner: ownership.owner, ..node.clone() };
                self.insert(&destination.path, node);
                true
            }
            _ => false,
        }
    }
}

/// A part of a part: what is `below` a node, as a part of what the node is part of.
fn part_of(node: &Node, below: &str) -> String {
    join(&format!("/{}", node.part), below).trim_start_matches('/').to_owned()
}

fn wider(old: Kind, new: Kind) -> Kind {
    match (old, new) {
        (Kind::Folder, Kind::Open | Kind::OpenFolder) => Kind::OpenFolder,
        (Kind::File, new) if new.is_open() => Kind::File,
        (old, _) => old,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Ownership = Ownership { owner: Some(0), world_writable: false };
    const NOBODY: Ownership = Ownership { owner: Some(65532), world_writable: false };

    fn to(path: &str) -> Destination {
        Destination { path: absolute("/", path), is_folder: path.ends_with('/') }
    }

    fn build() -> Filesystem {
        let mut build = Filesystem::default();
        build.insert("/src/app.py", Node::new(Kind::File, Origin::Context("app.py".to_owned()), Some(0)));
        build.make("/venv", Kind::OpenFolder, Some(0), None);
        build.make("/src/out/server", Kind::File, Some(0), None);
        build
    }

    #[test]
    fn paths_are_made_absolute_without_dots() {
        assert_eq!(absolute("/app", "x/../y/./z"), "/app/y/z");
        assert_eq!(absolute("/app", "/x/"), "/x");
        assert_eq!(absolute("/app", "../../.."), "/");
        assert_eq!(relative_to("/app/x", "/app"), Some("x"));
        assert_eq!(relative_to("/apple", "/app"), None);
        assert_eq!(relative_to("/app", "/"), Some("app"));
    }

    #[test]
    fn a_file_goes_into_a_folder_or_to_a_name() {
        let mut image = Filesystem::default();
        assert!(image.copy_from(&build(), "/src/app.py", &to("/app/"), ROOT));
        assert!(image.copy_from(&build(), "/src/out/server", &to("/usr/bin/run"), NOBODY));
        assert_eq!(image.get("/app/app.py").map(|node| node.owner), Some(Some(0)));
        assert_eq!(image.get("/usr/bin/run").map(|node| node.owner), Some(Some(65532)));
        assert!(!image.exists("/app/other.py"));
    }

    #[test]
    fn a_folder_gives_its_content_and_its_owner_is_the_new_one() {
        let mut image = Filesystem::default();
        assert!(image.copy_from(&build(), "/src", &to("/app"), NOBODY));
        assert!(image.get("/app/app.py").is_some() && image.get("/app/out/server").is_some());
        assert_eq!(image.get("/app").map(|node| node.owner), Some(Some(65532)));
    }

    #[test]
    fn an_open_folder_may_hold_anything_and_a_plain_one_what_is_known() {
        let mut image = Filesystem::default();
        let copies = [
            ("/venv", "/venv", true),
            ("/venv/bin/tool", "/bin/tool", true),
            ("/venv/*.jar", "/app.jar", true),
            ("/src/*.py", "/p/", true),
            ("/src/dist", "/dist", false),
            ("/src/*.jar", "/app.jar", false),
        ];
        for (source, destination, there) in copies {
            assert_eq!(image.copy_from(&build(), source, &to(destination), ROOT), there, "{source}");
        }
        assert!(image.exists("/venv/bin/python"));
        assert!(image.get("/p/app.py").is_some());
    }

    #[test]
    fn packages_move_with_the_root_they_are_in() {
        let mut stage = Filesystem::default();
        stage.make("/rootfs", Kind::Folder, Some(0), None);
        stage.installed.push(Installed { package: "libpq".to_owned(), root: "/rootfs".to_owned() });
        stage.installed.push(Installed { package: "git".to_owned(), root: "/".to_owned() });
        let mut image = Filesystem::default();
        assert!(image.copy_from(&stage, "/rootfs", &to("/"), ROOT));
        assert_eq!(image.installed, [Installed { package: "libpq".to_owned(), root: "/".to_owned() }]);
    }

    #[test]
    fn copies_of_copies_end_somewhere() {
        let mut files = build();
        for name in 0..64 {
            let old = files.clone();
            files.copy_from(&old, "/", &to(&format!("/{name}")), ROOT);
        }
        assert!(files.is_cut);
        assert!(files.iter().count() <= MAX_NODES + 64);
    }

    #[test]
    fn removing_takes_all_below_and_changing_the_owner_too() {
        let mut build = build();
        build.change_owner("/src", Some(7));
        assert_eq!(build.get("/src/app.py").map(|node| node.owner), Some(Some(7)));
        build.remove("/src");
        assert!(!build.exists("/src/app.py"));
        assert!(build.exists("/venv"));
    }
}
