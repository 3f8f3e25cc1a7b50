//! The only files that there are for a confined agent: a root of its own, in which nothing is but what it may see.
//!
//! Landlock forbids to open; this forbids to name. What is not there has no size, no time and no mode that could be asked for or
//! changed, and no socket that could be connected to. Everything but the agent's own is read-only here as well.

#![expect(clippy::disallowed_methods, reason = "a root is put together from the paths that are to be seen in it")]

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change, mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use crate::errand::{Allowed, Errand, OtherName};
use crate::mounts::Mount;
use crate::report::Report;
use crate::rules::{DEVICES, SYSTEM_FOLDERS, resolver_files};
use crate::{CageError, failed};

/// Where the root is put together, below the case's folder.
const PLACE: &str = "root";

/// What the root itself, its `/dev` and shared memory may take. The files that are shown in it lie elsewhere.
const ROOT_SIZE: &str = "size=4m,mode=755";
const SHARED_MEMORY_SIZE: &str = "size=64m,mode=1777";
const TERMINALS: &str = "newinstance,ptmxmode=0666,mode=600";

const DEVICE_LINKS: [(&str, &str); 5] = [
    ("/dev/fd", "/proc/self/fd"),
    ("/dev/ptmx", "pts/ptmx"),
    ("/dev/stdin", "/proc/self/fd/0"),
    ("/dev/stdout", "/proc/self/fd/1"),
    ("/dev/stderr", "/proc/self/fd/2"),
];

/// A root in the making.
#[derive(Debug)]
pub(crate) struct Root {
    place: PathBuf,
}

impl Root {
    /// Makes the root of the errand's agent that of this process, which is the first of its PID namespace and alone in its mount
    /// namespace. What the kernel does not give is told apart from what the errand asks for and cannot be shown.
    pub(crate) fn build(errand: &Errand) -> Result<(), Report> {
        let Some(allowed) = &errand.allowed else { return Ok(()) };
        let not_given = |error: CageError| Report::NoNamespaces { message: error.told() };
        let root = Self::begin(errand).map_err(not_given)?;
        let not_shown = |error: CageError| Report::NoCage { message: error.told() };
        root.show_own(errand, allowed).map_err(not_shown)?;
        root.enter(&errand.directory).and_then(|()| limit_namespace(errand.resources.processes)).map_err(not_given)?;
        // A rule may not make the cage weaker for all that is not its own.
        let is_of_rule = |point: &Path| allowed.read.iter().chain(&allowed.write).any(|rule| point.starts_with(rule));
        make_read_only(&writable(errand, allowed), &allowed.read)
            .map_err(|(point, error)| if is_of_rule(&point) { not_shown(error) } else { not_given(error) })
    }

    fn begin(errand: &Errand) -> Result<Self, CageError> {
        let everything = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", everything).map_err(failed("the mounts cannot be made private"))?;
        let root = Self { place: errand.folder.join(PLACE) };
        fs::create_dir(&root.place).map_err(failed("the new root has no place"))?;
        let safe = MountFlags::NOSUID | MountFlags::NODEV;
        let mounted = mount("root", &root.place, "tmpfs", safe, Some(&*c(ROOT_SIZE)));
        mounted.map_err(failed("the new root cannot be mounted"))?;
        root.show_system()?;
        root.show_kernel()?;
        Ok(root)
    }

    /// A path as it lies below the new root.
    fn inside(&self, path: &Path) -> PathBuf {
        self.place.join(path.strip_prefix("/").unwrap_or(path))
    }

    fn show_system(&self) -> Result<(), CageError> {
        for path in SYSTEM_FOLDERS.map(Path::new) {
            match fs::read_link(path) {
                Ok(target) => self.link(path, &target)?,
                Err(_) if path.exists() => self.show(path)?,
                Err(_) => {}
            }
        }
        resolver_files().iter().try_for_each(|path| self.show(path))
    }

    fn show_kernel(&self) -> Result<(), CageError> {
        let safe = MountFlags::NOSUID | MountFlags::NOEXEC;
        self.mount("/proc", "proc", safe | MountFlags::NODEV, "")?;
        for device in DEVICES.iter().chain(&["/dev/tty"]).map(Path::new).filter(|path| path.exists()) {
            self.show(device)?;
        }
        self.mount("/dev/pts", "devpts", safe, TERMINALS)?;
        self.mount("/dev/shm", "tmpfs", safe | MountFlags::NODEV, SHARED_MEMORY_SIZE)?;
        DEVICE_LINKS.iter().try_for_each(|(path, target)| self.link(Path::new(path), Path::new(target)))?;
        let processors = Path::new("/sys/devices/system/cpu");
        if processors.exists() { self.show(processors) } else { Ok(()) }
    }

    /// Parents come before what lies in them, so that nothing is covered.
    fn show_own(&self, errand: &Errand, allowed: &Allowed) -> Result<(), CageError> {
        let mut paths: Vec<_> = errand.own.iter().chain(&allowed.read).chain(&allowed.write).collect();
        paths.sort_unstable();
        paths.dedup();
        self.show_at(&errand.temporary, Path::new("/tmp"))?;
        // Before anything is there that an earlier agent wrote: it may have put links where these names would lead.
        for OtherName { name, of } in &allowed.names {
            self.name(name, of, &paths)?;
        }
        paths.into_iter().try_for_each(|path| self.show(path))
    }

    /// Gives something that is shown another name, unless that lies in something else that is shown and is found there.
    fn name(&self, name: &Path, of: &Path, shown: &[&PathBuf]) -> Result<(), CageError> {
        let is_found =
            shown.iter().any(|path| name.starts_with(path)) || SYSTEM_FOLDERS.iter().any(|path| name.starts_with(path));
        let place = self.inside(name);
        if is_found || fs::symlink_metadata(&place).is_ok() {
            return Ok(());
        }
        let made = place.parent().map_or(Ok(()), fs::create_dir_all);
        made.map_err(failed("a rule's folder cannot be made in the new root"))?;
        self.link(name, of)
    }

    fn show(&self, path: &Path) -> Result<(), CageError> {
        self.show_at(path, path)
    }

    fn show_at(&self, source: &Path, path: &Path) -> Result<(), CageError> {
        let named =
            |error: io::Error| CageError::new(format!("`{}` cannot be shown to the agent", source.display()), error);
        let target = self.inside(path);
        make_place(&target, source.is_dir()).map_err(named)?;
        mount_bind_recursive(source, &target).map_err(|error| named(error.into()))
    }

    fn mount(&self, path: &str, kind: &str, flags: MountFlags, data: &str) -> Result<(), CageError> {
        let named = |error: io::Error| CageError::new(format!("`{path}` cannot be mounted"), error);
        let target = self.inside(Path::new(path));
        make_place(&target, true).map_err(named)?;
        mount(kind, &target, kind, flags, Some(&*c(data))).map_err(|error| named(error.into()))
    }

    fn link(&self, path: &Path, target: &Path) -> Result<(), CageError> {
        let made = symlink(target, self.inside(path));
        made.map_err(|error| CageError::new(format!("the link `{}` cannot be made", path.display()), error))
    }

    /// Makes it the root, and lets go of the old one.
    fn enter(&self, directory: &Path) -> Result<(), CageError> {
        let entered = chdir(&self.place)
            .and_then(|()| pivot_root(".", "."))
            .and_then(|()| unmount(".", UnmountFlags::DETACH))
            .and_then(|()| chdir(directory));
        entered.map_err(failed("the new root cannot be entered"))
    }
}

/// A text for the kernel.
fn c(text: &str) -> std::ffi::CString {
    std::ffi::CString::new(text).unwrap_or_default()
}

/// Makes a folder or a file to mount something on, unless it is there.
fn make_place(path: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return fs::create_dir_all(path);
    }
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    if path.exists() { Ok(()) } else { File::create_new(path).map(drop) }
}

/// No further user namespaces, in which an agent would have rights again, and as many processes as it may have, on kernels that
/// hold that by namespace. The keeper watches their number everywhere.
fn limit_namespace(processes: u64) -> Result<(), CageError> {
    let forbidden = fs::write("/proc/sys/user/max_user_namespaces", "0");
    forbidden.map_err(failed("further user namespaces cannot be forbidden"))?;
    // Before 6.14 the number would be the machine's. The kernel takes none below 301.
    if kernel() >= (6, 14) {
        let most = processes.saturating_add(16).max(301).to_string();
        fs::write("/proc/sys/kernel/pid_max", most).map_err(failed("the number of processes cannot be held"))?;
    }
    Ok(())
}

/// The kernel's version, as far as it matters here.
fn kernel() -> (u32, u32) {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let mut numbers = release.split(|character: char| !character.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok).unwrap_or(0);
    (next(), next())
}

/// Where a confined agent may write. What it writes to a device goes there also where its mount is read-only.
fn writable(errand: &Errand, allowed: &Allowed) -> Vec<PathBuf> {
    let own = ["/dev/pts", "/dev/shm", "/tmp"].map(PathBuf::from);
    own.into_iter().chain(errand.own.iter().chain(&allowed.write).cloned()).collect()
}

/// Makes every mount read-only but those where the agent may write. Of all that is shown, what lies nearest above a mount decides.
///
/// What fails is said with where.
fn make_read_only(writable: &[PathBuf], readable: &[PathBuf]) -> Result<(), (PathBuf, CageError)> {
    let mounts =
        Mount::all().map_err(failed("the mounts cannot be listed")).map_err(|error| (PathBuf::new(), error))?;
    let nearest = |paths: &[PathBuf], mounted: &Path| {
        let above = paths.iter().filter(|path| mounted.starts_with(path));
        above.map(|path| path.components().count()).max().unwrap_or(0)
    };
    for Mount { point, options, .. } in mounts {
        if nearest(writable, &point) <= nearest(readable, &point) {
            let flags = options.split(',').map(flag).fold(MountFlags::BIND | MountFlags::RDONLY, MountFlags::union);
            let named = |error| CageError::new(format!("`{}` cannot be made read-only", point.display()), error);
            mount_remount(&point, flags, c"").map_err(|error| (point.clone(), named(error)))?;
        }
    }
    Ok(())
}

/// What a mount has besides being writable must stay: the kernel refuses to take it away.
fn flag(option: &str) -> MountFlags {
    match option {
        "nosuid" => MountFlags::NOSUID,
        "nodev" => MountFlags::NODEV,
        "noexec" => MountFlags::NOEXEC,
        "noatime" => MountFlags::NOATIME,
        "nodiratime" => MountFlags::NODIRATIME,
        "relatime" => MountFlags::RELATIME,
        "nosymfollow" => MountFlags::NOSYMFOLLOW,
        _ => MountFlags::empty(),
    }
}
