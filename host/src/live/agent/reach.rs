//! What an agent reaches: the rules of the registration and of the command line, resolved on this machine and held against what no
//! agent may see.
//!
//! Landlock allows and cannot subtract, so a rule that would show the answer key, the evidence or another case is an error before
//! the first case, whoever wrote it. What a rule is called in a record never says where it leads.

#![expect(clippy::disallowed_methods, reason = "rules name files anywhere, and what counts is where they lead")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

use eval_cage::{Allowed, OtherName, Resources, SYSTEM_FOLDERS};
use eval_model::advice::{Advice, Exit};
use eval_model::confinement::{Cage, Confinement, Namespace, Network};

use super::mounts::{Mounts, Place};
use super::workspace::{FOLDER_PREFIX, HomeLink};
use crate::bench::SutSettings;

/// Where files are the kernel's.
const KERNEL: [&str; 3] = ["/dev", PROCESSES, "/sys"];

/// Where they are other ones for every process.
const PROCESSES: &str = "/proc";

/// What an agent reaches, in a form that a launcher understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reach {
    /// `None`: the agent is not confined.
    pub(crate) allowed: Option<Allowed>,
    pub(crate) resources: Resources,
    pub(crate) home_links: Vec<HomeLink>,
    read: BTreeSet<String>,
    write: BTreeSet<String>,
}

/// Whether an agent is confined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confine {
    Always,
    /// The operator says knowingly that it is not.
    Never,
}

/// What the command line and the machine say of an agent's reach, over what the registration says.
#[derive(Debug)]
pub(crate) struct ReachArgs<'a> {
    pub(crate) confine: Confine,
    pub(crate) read: &'a [PathBuf],
    pub(crate) write: &'a [PathBuf],
    /// The files that its command names, which it may read and execute.
    pub(crate) command: Vec<PathBuf>,
    /// The file of this program, which no agent may change: it is what holds the next one.
    pub(crate) program: &'a Path,
    pub(crate) home: Option<&'a Path>,
    /// Where relative paths of the command line are looked for from.
    pub(crate) here: &'a Path,
    /// Where workspaces are made.
    pub(crate) scratch: &'a Path,
    pub(crate) protected: &'a [Protected],
}

/// Something that no agent may see.
#[derive(Debug, Clone)]
pub(crate) struct Protected {
    /// With its article, as in "the store".
    pub(crate) what: &'static str,
    pub(crate) path: PathBuf,
}

/// Why a rule does not do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReachError {
    #[error("the rule `{rule}` is not an absolute path and does not begin with `~/`")]
    Relative { rule: String },
    #[error("the rule `{rule}` is for a home, and there is no HOME")]
    NoHome { rule: String },
    #[error("the rule `{rule}` names nothing that is there")]
    NotThere { rule: String },
    #[error("the rule `{rule}` lies in `/proc`, where every process finds something else")]
    OfProcess { rule: String },
    #[error("the rule `{rule}` would show {what}, `{}`, to the agent", path.display())]
    Shows { rule: String, what: &'static str, path: PathBuf },
    #[error("`{}` lies in `{rule}`, where the agent may write: it could put anything in its place", path.display())]
    Nested { path: PathBuf, rule: String },
    #[error("the agent's command names `{}`, which lies in {what}", file.display())]
    InCommand { file: PathBuf, what: &'static str },
    #[error("{what}, `{}`, lies in `{folder}`, which every agent may read", path.display())]
    InSystem { what: &'static str, path: PathBuf, folder: &'static str },
    #[error("the kernel does not say what is mounted where, so nobody can tell what a rule would show")]
    Mounts(#[source] std::io::Error),
}

impl Advice for ReachError {
    fn exit(&self) -> Exit {
        Exit::UsageOrCap
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Relative { .. } => {
                "write the whole path, or one from the home of whoever runs it, such as `~/.config/my-agent`"
            }
            Self::NoHome { .. } => "set HOME, or write the whole path",
            Self::NotThere { .. } => "make it, or leave the rule out",
            Self::OfProcess { .. } => "name the folder itself that it leads to",
            Self::Shows { .. } => "name only what the agent needs: a folder beside it, or one further down",
            Self::Nested { .. } => "let it write to a folder of its own, beside what it reads and what it is",
            Self::InCommand { .. } => "an agent must not lie where the answers are: move it",
            Self::InSystem { .. } => "move it out of the system's folders, or unmount it there",
            Self::Mounts(_) => "mount /proc; `--unconfined` says knowingly that nothing holds the agent",
        };
        Some(hint.to_owned())
    }
}

/// A rule with where it leads.
struct Rule {
    /// What it is called in a record.
    name: String,
    /// As whoever gave it wrote it.
    given: String,
    /// Where it is, by the path that was given.
    found: PathBuf,
    path: PathBuf,
    /// Where it lies below the user's home.
    below_home: Option<PathBuf>,
}

impl Reach {
    pub(crate) fn new(settings: &SutSettings, args: &ReachArgs<'_>) -> Result<Self, ReachError> {
        let resources = Resources {
            memory_mib: settings.memory_mib,
            processes: settings.processes,
            workspace_mib: settings.workspace_mib,
        };
        if args.confine == Confine::Never {
            let none = BTreeSet::new();
            return Ok(Self { allowed: None, resources, home_links: Vec::new(), read: none.clone(), write: none });
        }
        let mounts = Mounts::of_this_process().map_err(ReachError::Mounts)?;
        let guard = Guard::new(args, &mounts);
        let read = args.rules(&settings.read, args.read)?;
        let write = args.rules(&settings.write, args.write)?;
        guard.check_system()?;
        args.command.iter().try_for_each(|file| guard.check_command(file))?;
        read.iter().chain(&write).try_for_each(|rule| guard.check(rule))?;
        let shown = read.iter().chain(&write).map(|rule| &rule.path).chain(&args.command);
        guard.check_nesting(shown, &write)?;
        guard.check_program(args.program, &write)?;
        let link = |rule: &Rule| Some(HomeLink { name: rule.below_home.clone()?, target: rule.path.clone() });
        let mut home_links: Vec<_> = read.iter().chain(&write).filter_map(link).collect();
        // Parents first: what lies below them is seen through them, and nothing is ever made behind a link.
        home_links.sort_by(|one, other| one.name.cmp(&other.name));
        home_links.dedup_by(|inner, outer| inner.name.starts_with(&outer.name));
        // Where there is a root of its own, a link that leads to something shown is not there by itself.
        let is_linked = |rule: &&Rule| rule.found != rule.path;
        let name = |rule: &Rule| OtherName { name: rule.found.clone(), of: rule.path.clone() };
        let names = read.iter().chain(&write).filter(is_linked).map(name).collect();
        let paths = |rules: &[Rule]| rules.iter().map(|rule| rule.path.clone()).collect::<Vec<_>>();
        let command = args.command.iter().filter(|file| !KERNEL.iter().any(|folder| file.starts_with(folder)));
        let shown = paths(&read).into_iter().chain(command.cloned()).collect();
        let allowed =
            Allowed { namespaces: true, network: settings.network.clone(), read: shown, write: paths(&write), names };
        let names = |rules: Vec<Rule>| rules.into_iter().map(|rule| rule.name).collect();
        Ok(Self { allowed: Some(allowed), resources, home_links, read: names(read), write: names(write) })
    }

    /// What a record says of it, once it is known which version of Landlock holds.
    pub(crate) fn confinement(&self, landlock_abi: u32) -> Confinement {
        let Some(allowed) = &self.allowed else { return Confinement::None };
        let own_network = (allowed.network == Network::None).then_some(Namespace::Net);
        let namespaces = Namespace::ALWAYS.into_iter().chain(own_network).filter(|_| allowed.namespaces);
        Confinement::Caged(Cage {
            landlock_abi,
            namespaces: namespaces.collect(),
            network: allowed.network.clone(),
            read: self.read.clone(),
            write: self.write.clone(),
            memory_mib: self.resources.memory_mib,
            processes: self.resources.processes,
            workspace_mib: self.resources.workspace_mib,
        })
    }
}

impl ReachArgs<'_> {
    fn rules(&self, registered: &[String], flags: &[PathBuf]) -> Result<Vec<Rule>, ReachError> {
        let registered = registered.iter().map(|rule| self.registered(rule));
        registered.chain(flags.iter().map(|path| self.of_flag(path))).collect()
    }

    fn registered(&self, rule: &str) -> Result<Rule, ReachError> {
        let path = match rule.strip_prefix('~') {
            Some(rest) if rest.is_empty() || rest.starts_with('/') => {
                let home = self.home.ok_or_else(|| ReachError::NoHome { rule: rule.to_owned() })?;
                home.join(rest.trim_start_matches('/'))
            }
            _ if rule.starts_with('/') => PathBuf::from(rule),
            _ => return Err(ReachError::Relative { rule: rule.to_owned() }),
        };
        self.rule(rule.to_owned(), rule.to_owned(), &path)
    }

    /// A flag names a path of this machine. The record gets it from the home, or its last name.
    fn of_flag(&self, flag: &Path) -> Result<Rule, ReachError> {
        let from_home = flag.strip_prefix("~").ok().and_then(|rest| Some(self.home?.join(rest)));
        let path = plain(&from_home.unwrap_or_else(|| self.here.join(flag)));
        let last = path.file_name().map_or_else(|| "/".to_owned(), |name| format!("…/{}", name.to_string_lossy()));
        let name = self.below_home(&path).map_or(last, |below| format!("~/{}", below.display()));
        self.rule(name, flag.display().to_string(), &path)
    }

    fn rule(&self, name: String, given: String, path: &Path) -> Result<Rule, ReachError> {
        let Ok(leads_to) = fs::canonicalize(path) else { return Err(ReachError::NotThere { rule: given }) };
        let path = plain(path);
        if [&path, &leads_to].into_iter().any(|path| path.starts_with(PROCESSES)) {
            return Err(ReachError::OfProcess { rule: given });
        }
        let below_home = self.below_home(&path);
        Ok(Rule { name, given, found: path, path: leads_to, below_home })
    }

    fn below_home(&self, path: &Path) -> Option<PathBuf> {
        let below = path.strip_prefix(self.home?).ok()?;
        let is_plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        (is_plain && below != Path::new("")).then(|| below.to_owned())
    }

    fn resolved(&self) -> Vec<Protected> {
        let all = self.protected.iter().cloned();
        all.map(|protected| Protected { path: resolved(&self.here.join(&protected.path)), ..protected }).collect()
    }
}

/// A path without `.` and `..`, as people read it.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Where a path leads, also one of which only the beginning is there yet.
fn resolved(path: &Path) -> PathBuf {
    if let Ok(path) = fs::canonicalize(path) {
        return path;
    }
    match (path.parent(), path.components().next_back()) {
        // What is not there has no links.
        (Some(parent), Some(Component::ParentDir)) => {
            let above = resolved(parent);
            above.parent().map_or_else(|| above.clone(), Path::to_owned)
        }
        (Some(parent), Some(name)) => resolved(parent).join(name),
        _ => path.to_owned(),
    }
}

/// What no agent may see, by all the names that it has on this machine.
struct Guard<'a> {
    mounts: &'a Mounts,
    guarded: Vec<Guarded>,
}

struct Guarded {
    protected: Protected,
    places: Vec<Place>,
    /// Anybody's files may lie beside workspaces.
    is_scratch: bool,
}

impl<'a> Guard<'a> {
    fn new(args: &ReachArgs<'_>, mounts: &'a Mounts) -> Self {
        let guarded = |protected: Protected, is_scratch| Guarded {
            places: mounts.places(&protected.path),
            is_scratch,
            protected,
        };
        let scratch = Protected { what: "the workspaces of other cases", path: resolved(args.scratch) };
        let all = args.resolved().into_iter().map(|protected| guarded(protected, false));
        Self { mounts, guarded: all.chain([guarded(scratch, true)]).collect() }
    }

    /// What an agent may write it can put links into, which the next case's cage would follow.
    fn check_nesting<'b>(&self, shown: impl Iterator<Item = &'b PathBuf>, write: &[Rule]) -> Result<(), ReachError> {
        for path in shown {
            if let Some(rule) = write.iter().find(|rule| *path != rule.path && self.lies_in(path, rule)) {
                return Err(ReachError::Nested { path: path.clone(), rule: rule.given.clone() });
            }
        }
        Ok(())
    }

    /// The operator's next command would be whatever an agent put in its place.
    fn check_program(&self, program: &Path, write: &[Rule]) -> Result<(), ReachError> {
        match write.iter().find(|rule| self.lies_in(&resolved(program), rule)) {
            Some(rule) => Err(ReachError::Nested { path: program.to_owned(), rule: rule.given.clone() }),
            None => Ok(()),
        }
    }

    fn lies_in(&self, path: &Path, rule: &Rule) -> bool {
        let shown = self.mounts.places(&rule.path);
        self.mounts.places_of(path).iter().any(|place| shown.iter().any(|shown| place.lies_in(shown)))
    }

    /// A rule must neither contain what is protected nor lie in it.
    fn check(&self, rule: &Rule) -> Result<(), ReachError> {
        let shown = self.mounts.places(&rule.path);
        let shows = |guarded: &&Guarded| guarded.is_shown_in(&shown) || guarded.holds(&rule.path, &shown);
        match self.guarded.iter().find(shows) {
            Some(Guarded { protected: Protected { what, path }, .. }) => {
                Err(ReachError::Shows { rule: rule.given.clone(), what, path: path.clone() })
            }
            None => Ok(()),
        }
    }

    fn check_command(&self, file: &Path) -> Result<(), ReachError> {
        let shown = self.mounts.places(file);
        match self.guarded.iter().find(|guarded| !guarded.is_scratch && guarded.holds(file, &shown)) {
            Some(guarded) => Err(ReachError::InCommand { file: file.to_owned(), what: guarded.protected.what }),
            None => Ok(()),
        }
    }

    fn check_system(&self) -> Result<(), ReachError> {
        for folder in SYSTEM_FOLDERS {
            let shown = self.mounts.places(&resolved(Path::new(folder)));
            if let Some(guarded) = self.guarded.iter().find(|guarded| guarded.is_shown_in(&shown)) {
                let Protected { what, path } = guarded.protected.clone();
                return Err(ReachError::InSystem { what, path, folder });
            }
        }
        Ok(())
    }
}

impl Guarded {
    fn is_shown_in(&self, shown: &[Place]) -> bool {
        self.places.iter().any(|place| shown.iter().any(|shown| place.lies_in(shown)))
    }

    /// Whether a path lies in it.
    fn holds(&self, path: &Path, shown: &[Place]) -> bool {
        if self.is_scratch {
            is_in_workspace(path, &self.protected.path)
        } else {
            shown.iter().any(|shown| self.places.iter().any(|place| shown.lies_in(place)))
        }
    }
}

/// Anybody's files may lie beside workspaces; what lies in one is a case's.
fn is_in_workspace(path: &Path, scratch: &Path) -> bool {
    let below = path.strip_prefix(scratch).ok().and_then(|below| below.components().next());
    below.is_some_and(|first| first.as_os_str().to_string_lossy().starts_with(FOLDER_PREFIX))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Machine {
        temp: tempfile::TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let temp = tempfile::tempdir().expect("a folder");
            for folder in
                ["home/.config/agent", "home/.local/state/eval-host", "repo/.git", "repo/bench/a/cases", "tmp"]
            {
                fs::create_dir_all(temp.path().join(folder)).expect("a folder");
            }
            Self { temp }
        }

        fn path(&self, name: &str) -> PathBuf {
            fs::canonicalize(self.temp.path()).expect("a folder").join(name)
        }

        fn reach(&self, registered: &[&str], flags: &[&str]) -> Result<Reach, ReachError> {
            let mut settings = SutSettings::of_command(vec!["agent".to_owned()]);
            settings.read = registered.iter().map(|rule| (*rule).to_owned()).collect();
            let protected = [
                ("the bench", "repo/bench"),
                ("the store", "repo/.codegenie/eval"),
                ("the repository", "repo/.git"),
                ("the state folder", "home/.local/state/eval-host"),
            ];
            let protected = protected.map(|(what, path)| Protected { what, path: self.path(path) });
            let flags: Vec<_> = flags.iter().map(PathBuf::from).collect();
            Reach::new(
                &settings,
                &ReachArgs {
                    confine: Confine::Always,
                    read: &flags,
                    write: &[],
                    command: Vec::new(),
                    program: Path::new("/usr/bin/eval-host"),
                    home: Some(&self.path("home")),
                    here: &self.path("repo"),
                    scratch: &self.path("tmp"),
                    protected: &protected,
                },
            )
        }

        #[track_caller]
        fn refuses(&self, registered: &[&str], flags: &[&str], expected: &str) {
            let said = self.reach(registered, flags).expect_err("it shows too much").to_string();
            assert_eq!(said.replace(&self.path("").display().to_string(), "/"), expected);
        }
    }

    #[test]
    fn a_rule_leads_where_it_says_and_is_recorded_by_its_name() {
        let machine = Machine::new();
        let reach = machine.reach(&["~/.config/agent"], &["../home/.config"]).expect("it shows nothing");
        let allowed = reach.allowed.clone().expect("confined");
        assert_eq!(
            allowed.read.iter().collect::<Vec<_>>(),
            [&machine.path("home/.config/agent"), &machine.path("home/.config")]
        );
        let Confinement::Caged(cage) = reach.confinement(7) else { panic!("confined") };
        assert_eq!(cage.read.iter().collect::<Vec<_>>(), ["~/.config", "~/.config/agent"]);
        let links: Vec<_> = reach.home_links.iter().map(|link| link.name.clone()).collect();
        assert_eq!(links, [Path::new(".config")], "what lies below it is seen through it");
    }

    #[test]
    fn a_rule_that_would_show_what_no_agent_may_see_is_refused_by_name() {
        let machine = Machine::new();
        machine.refuses(
            &["~"],
            &[],
            "the rule `~` would show the state folder, `/home/.local/state/eval-host`, to the agent",
        );
        machine.refuses(&[], &["."], "the rule `.` would show the bench, `/repo/bench`, to the agent");
        machine.refuses(
            &[],
            &["bench/a/cases"],
            "the rule `bench/a/cases` would show the bench, `/repo/bench`, to the agent",
        );
        machine.refuses(&["/"], &[], "the rule `/` would show the bench, `/repo/bench`, to the agent");
        machine.refuses(&["config"], &[], "the rule `config` is not an absolute path and does not begin with `~/`");
        machine.refuses(&["~/nothing"], &[], "the rule `~/nothing` names nothing that is there");
        machine.refuses(
            &[],
            &["../tmp"],
            "the rule `../tmp` would show the workspaces of other cases, `/tmp`, to the agent",
        );
        machine.refuses(
            &[],
            &["/proc/self/cwd"],
            "the rule `/proc/self/cwd` lies in `/proc`, where every process finds something else",
        );
        std::os::unix::fs::symlink(machine.path("repo"), machine.path("home/link")).expect("a link");
        machine.refuses(&["~/link"], &[], "the rule `~/link` would show the bench, `/repo/bench`, to the agent");
    }

    #[test]
    fn files_beside_workspaces_may_be_shown_and_workspaces_may_not() {
        let machine = Machine::new();
        fs::create_dir_all(machine.path("tmp/tools")).expect("a folder");
        machine.reach(&[], &["../tmp/tools"]).expect("it is nobody's workspace");
        fs::create_dir_all(machine.path("tmp/eval-host-1-2/workspace")).expect("a folder");
        assert!(machine.reach(&[], &["../tmp/eval-host-1-2/workspace"]).is_err());
    }

    #[test]
    fn a_path_of_which_nothing_is_there_yet_is_resolved_as_it_will_be() {
        let machine = Machine::new();
        let later = machine.path("home/later/../.config/store");
        assert_eq!(resolved(&later), machine.path("home/.config/store"));
    }

    #[test]
    fn what_lies_in_the_systems_folders_cannot_be_protected() {
        let in_system = Protected { what: "the bench", path: PathBuf::from("/usr/src/bench") };
        let mounts = Mounts::of_this_process().expect("the kernel's list");
        let args = ReachArgs {
            confine: Confine::Always,
            read: &[],
            write: &[],
            command: Vec::new(),
            program: Path::new("/usr/bin/eval-host"),
            home: None,
            here: Path::new("/"),
            scratch: Path::new("/tmp"),
            protected: &[in_system],
        };
        let guard = Guard::new(&args, &mounts);
        let said = guard.check_system().expect_err("every agent reads it").to_string();
        assert_eq!(said, "the bench, `/usr/src/bench`, lies in `/usr`, which every agent may read");
    }
}
