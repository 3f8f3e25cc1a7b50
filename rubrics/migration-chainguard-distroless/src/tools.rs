//! What well-known commands leave behind: which paths they make, and whether a program they build needs a C library.
//!
//! A command that is not known here may have made anything in the folder it ran in, and at the absolute paths it names.
//! So an unknown build tool never makes an answer wrong; a known one is held to what it does.

use crate::filesystem::{Kind, Linkage, absolute, join, parent};
use crate::shell::{Command, file_name};

/// Where a command runs.
pub(crate) struct Place<'a> {
    pub(crate) folder: &'a str,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

impl Place<'_> {
    fn path(&self, path: &str) -> String {
        absolute(self.folder, path)
    }

    fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}

/// A path that a command makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) path: String,
    pub(crate) kind: Kind,
    /// Whether the command surely writes there, rather than perhaps.
    pub(crate) is_sure: bool,
}

impl Made {
    pub(crate) fn sure(path: String, kind: Kind) -> Self {
        Self { path, kind, is_sure: true }
    }

    pub(crate) fn perhaps(path: String, kind: Kind) -> Self {
        Self { path, kind, is_sure: false }
    }
}

/// The paths that a command makes.
pub(crate) fn made(command: &Command, place: &Place<'_>) -> Vec<Made> {
    let words = command.plain_words();
    let mut made = by_tool(&words, command, place);
    made.extend(command.redirects.iter().map(|path| Made::sure(place.path(path), Kind::File)));
    made
}

fn by_tool(words: &[&str], command: &Command, place: &Place<'_>) -> Vec<Made> {
    match words {
        ["venv" | "virtualenv", ..] => open_folders([place.path(last_operand(words).unwrap_or(".venv"))]),
        ["uv", rest @ ..] => uv(rest, command, place),
        ["pip" | "pip3", "install", ..] => pip(command, place),
        // Its settings are in files, which are not looked at here.
        ["bundle" | "bundler" | "gem"]
        | ["bundle" | "bundler" | "gem", "install" | "config" | "check" | "clean", ..] => Vec::new(),
        ["npm" | "pnpm" | "yarn", rest @ ..] => node_packages(rest, command, place),
        ["go", rest @ ..] => go(rest, command, place),
        ["cargo", rest @ ..] => cargo(rest, command, place),
        ["composer", "install" | "update" | "require", ..] => {
            let folder = command.option("--working-dir").or_else(|| command.option("-d")).unwrap_or(".");
            open_folders([join(&place.path(folder), "vendor")])
        }
        ["dotnet", "restore", ..] => open_folders([join(&dotnet_project(command, place), "obj")]),
        ["dotnet", "publish" | "build", ..] => {
            let folder = command.option("-o").or_else(|| command.option("--output")).unwrap_or(".");
            open_folders([place.path(folder)])
        }
        ["jlink", ..] => open_folders(command.option("--output").map(|path| place.path(path))),
        ["mvn" | "mvnw" | "gradle" | "gradlew", ..] => build_tool(words, place),
        _ => by_file_tool(words, command, place),
    }
}

/// The commands that handle files one by one.
fn by_file_tool(words: &[&str], command: &Command, place: &Place<'_>) -> Vec<Made> {
    match words {
        ["mkdir", ..] => command.operands().map(|path| Made::sure(place.path(path), Kind::Folder)).collect(),
        ["touch" | "tee", ..] => command.operands().map(|path| Made::sure(place.path(path), Kind::File)).collect(),
        ["install", ..] if command.has("-d") => {
            vec![Made::sure(place.path(last_operand(words).unwrap_or(".")), Kind::Folder)]
        }
        ["cp" | "mv" | "ln" | "install" | "rsync", ..] => {
            last_operand(words).map(|path| Made::sure(place.path(path), Kind::Open)).into_iter().collect()
        }
        ["update-ca-certificates", ..] => open_folders(["/etc/ssl/certs".to_owned()]),
        [name, ..] if makes_nothing(name) => Vec::new(),
        [] => Vec::new(),
        _ => unknown(command, place),
    }
}

/// The file that a command cannot do without, as far as it surely is that one.
pub(crate) fn needed_file(command: &Command) -> Option<&str> {
    let is_elsewhere =
        ["--prefix", "--dir", "--cwd", "-C", "--working-dir", "-d"].iter().any(|name| command.option(name).is_some());
    match command.plain_words().as_slice() {
        ["pip" | "pip3", "install", ..] | ["uv", "pip", "install", ..] => {
            let file = command.option("-r").or_else(|| command.option("--requirement"));
            file.filter(|file| !file.contains(['$', ':']) && *file != "-")
        }
        _ if is_elsewhere => None,
        ["bundle" | "bundler"] | ["bundle" | "bundler", "install", ..] if command.option("--gemfile").is_none() => {
            Some("Gemfile")
        }
        ["npm", "ci", ..] => Some("package.json"),
        ["composer", "install", ..] => Some("composer.json"),
        ["dotnet", "restore" | "build" | "publish", ..] => command.operands().find(|word| word.ends_with("proj")),
        ["mvn", ..] if !command.has("-f") && !command.has("--file") => command.operands().next().map(|_| "pom.xml"),
        ["cargo", "build" | "b" | "fetch" | "test", ..] if command.option("--manifest-path").is_none() => {
            Some("Cargo.toml")
        }
        _ => None,
    }
}

/// Whether a tool also takes the file that it needs from a folder above.
pub(crate) fn looks_above(command: &Command) -> bool {
    matches!(command.name(), "cargo" | "bundle" | "bundler")
}

/// What a compiler must find: a file with one of these endings, in this folder or below it.
pub(crate) struct Sources {
    pub(crate) folder: String,
    pub(crate) endings: &'static [&'static str],
}

/// Whether a command makes nothing that a compiler could read.
pub(crate) fn is_build(words: &[String]) -> bool {
    let mut words = words.iter().map(String::as_str);
    match words.next() {
        Some("mvn") => true,
        Some("dotnet" | "go" | "cargo") => {
            words.next().is_some_and(|verb| ["restore", "build", "publish", "fetch", "mod"].contains(&verb))
        }
        _ => false,
    }
}

pub(crate) fn needed_sources(command: &Command, place: &Place<'_>) -> Option<Sources> {
    let words = command.plain_words();
    let (folder, endings): (String, &[&str]) = match words.as_slice() {
        ["dotnet", "publish" | "build", ..] => (dotnet_project(command, place), &[".cs", ".fs", ".vb"]),
        ["go", "build", ..] if command.option("-C").is_none() && !command.operands().any(|word| word.contains('@')) => {
            (place.folder.to_owned(), &[".go"])
        }
        ["mvn", ..] if words.contains(&"package") && !command.has("-f") && !command.has("--file") => {
            (place.folder.to_owned(), &[".java", ".kt", ".scala", ".groovy"])
        }
        ["cargo", "build" | "b", ..] if command.option("--manifest-path").is_none() => {
            (place.folder.to_owned(), &[".rs"])
        }
        _ => return None,
    };
    Some(Sources { folder, endings })
}

/// What an install or a build does, by its words: options that only say how loud, how fast or how careful it is are left out.
/// `None`: another kind of command.
pub(crate) fn install_key(command: &Command) -> Option<Vec<String>> {
    let words = command.plain_words();
    let installs = match words.as_slice() {
        ["pip" | "pip3" | "npm" | "gem" | "bundle" | "bundler" | "composer", "install", ..]
        | ["npm", "ci", ..]
        | ["uv", "sync" | "venv", ..]
        | ["uv", "pip", "install", ..]
        | ["venv" | "virtualenv", ..]
        | ["go" | "cargo", "build", ..]
        | ["dotnet", "restore" | "build" | "publish", ..] => true,
        ["mvn" | "mvnw" | "gradle" | "gradlew", ..] => words.len() > 1,
        _ => false,
    };
    let is_manner =
        |word: &str| word.starts_with('-') && (word.len() == 2 || (word.starts_with("--") && !word.contains('=')));
    let keeps = |word: &&String| !is_manner(word) || matches!(word.as_str(), "-m" | "-r" | "-o" | "-t" | "-c");
    installs.then(|| command.words.iter().filter(keeps).cloned().collect())
}

/// Whether a command cannot make an install or a build that comes after it another one.
pub(crate) fn is_neutral(command: &Command) -> bool {
    const NAMES: [&str; 12] =
        ["apk", "apt", "apt-get", "bundle", "bundler", "chmod", "chown", "echo", "gem", "ls", "mkdir", "set"];
    NAMES.contains(&command.name())
}

fn makes_nothing(name: &str) -> bool {
    const NAMES: [&str; 38] = [
        ".",
        ":",
        "[",
        "addgroup",
        "adduser",
        "apk",
        "apt",
        "apt-get",
        "cat",
        "cd",
        "chgrp",
        "chmod",
        "chown",
        "date",
        "dnf",
        "dpkg",
        "echo",
        "exit",
        "export",
        "false",
        "groupadd",
        "id",
        "ldconfig",
        "locale-gen",
        "ls",
        "microdnf",
        "printf",
        "rm",
        "rmdir",
        "set",
        "sleep",
        "strip",
        "test",
        "true",
        "useradd",
        "usermod",
        "which",
        "yum",
    ];
    NAMES.contains(&name)
}

fn last_operand<'a>(words: &[&'a str]) -> Option<&'a str> {
    words.iter().skip(1).rev().find(|word| !word.starts_with('-')).copied()
}

fn open_folders(paths: impl IntoIterator<Item = String>) -> Vec<Made> {
    paths.into_iter().map(|path| Made::sure(path, Kind::OpenFolder)).collect()
}

/// Anything in its folder, and what it names by an absolute path or as its output.
fn unknown(command: &Command, place: &Place<'_>) -> Vec<Made> {
    let named = command.operands().filter(|word| word.starts_with('/'));
    let output = ["-o", "-O", "--output"].iter().filter_map(|option| command.option(option));
    let mut made: Vec<Made> = named.chain(output).map(|path| Made::perhaps(place.path(path), Kind::Open)).collect();
    made.push(Made::perhaps(place.folder.to_owned(), Kind::OpenFolder));
    made
}

fn uv(rest: &[&str], command: &Command, place: &Place<'_>) -> Vec<Made> {
    let project = || place.path(&place.variable("UV_PROJECT_ENVIRONMENT").unwrap_or_else(|| ".venv".to_owned()));
    match rest {
        ["venv", ..] => open_folders([place.path(last_operand(rest).unwrap_or(".venv"))]),
        ["sync", ..] => open_folders([project()]),
        ["pip", "install" | "sync", ..] => uv_pip(command, place),
        _ => Vec::new(),
    }
}

/// Like pip, but without an environment that is told it takes the one beside it.
fn uv_pip(command: &Command, place: &Place<'_>) -> Vec<Made> {
    if command.option("--python").is_some() {
        return pip(command, place);
    }
    let is_told =
        ["--target", "--prefix", "--system"].iter().any(|option| command.words.iter().any(|w| w.starts_with(option)));
    match environment(command, place) {
        None if !is_told => open_folders([place.path(".venv")]),
        _ => pip(command, place),
    }
}

/// Where pip installs to: what it is told, else the virtual environment it belongs to, else the system.
fn pip(command: &Command, place: &Place<'_>) -> Vec<Made> {
    let told = ["--target", "-t", "--prefix", "--root"].iter().find_map(|option| command.option(option));
    if let Some(folder) = told {
        return open_folders([place.path(folder)]);
    }
    if command.has("--user") {
        return open_folders(home(place));
    }
    match environment(command, place) {
        Some(folder) => open_folders([folder]),
        // Where the system's folders are closed, pip goes to the home folder by itself.
        None => {
            let system = ["/usr/lib", "/usr/local/lib", "/usr/local/bin"].map(str::to_owned);
            system.into_iter().chain(home(place)).map(|path| Made::perhaps(path, Kind::OpenFolder)).collect()
        }
    }
}

/// Where the user's own packages are.
fn home(place: &Place<'_>) -> Option<String> {
    place.variable("HOME").map(|home| join(&home, ".local"))
}

/// The folder of the project that a dotnet command is for.
fn dotnet_project(command: &Command, place: &Place<'_>) -> String {
    let project = command.operands().find(|word| word.ends_with("proj"));
    project.map_or_else(|| place.folder.to_owned(), |project| parent(&place.path(project)).to_owned())
}

/// The virtual environment that a Python tool works in.
fn environment(command: &Command, place: &Place<'_>) -> Option<String> {
    let program = command.words.first()?;
    if let Some(python) = command.option("--python") {
        let path = place.path(python);
        let is_program = file_name(&path).starts_with("python");
        return Some(if is_program { parent(parent(&path)).to_owned() } else { path });
    }
    if program.contains('/') && !program.starts_with("/usr/") && !program.starts_with("/bin/") {
        return Some(parent(parent(&place.path(program))).to_owned());
    }
    if let Some(folder) = place.variable("VIRTUAL_ENV") {
        return Some(folder);
    }
    let path = place.variable("PATH")?;
    let first = path.split(':').next()?.to_owned();
    let system = ["/usr", "/bin", "/sbin"].iter().any(|folder| first.starts_with(folder));
    (!system && first.ends_with("/bin")).then(|| parent(&first).to_owned())
}

fn node_packages(rest: &[&str], command: &Command, place: &Place<'_>) -> Vec<Made> {
    let folder = command.option("--prefix").or_else(|| command.option("--dir")).unwrap_or(".");
    let global = command.has("-g") || command.has("--global");
    let verb = rest.iter().find(|word| !word.starts_with('-')).copied().unwrap_or("install");
    match verb {
        "ci" | "install" | "i" | "add" if global => {
            open_folders(["/usr/lib/node_modules", "/usr/local"].map(str::to_owned))
        }
        "ci" | "install" | "i" | "add" => open_folders([join(&place.path(folder), "node_modules")]),
        "test" | "t" | "cache" | "config" | "prune" | "audit" => Vec::new(),
        _ => unknown(command, place),
    }
}

fn go(rest: &[&str], command: &Command, place: &Place<'_>) -> Vec<Made> {
    match rest {
        ["build", ..] => match command.option("-o") {
            Some(path) if path.ends_with('/') => open_folders([place.path(path)]),
            Some(path) => vec![Made::sure(place.path(path), Kind::Open)],
            None => unknown(command, place),
        },
        ["install", ..] => {
            let path = |name: &str| place.variable(name);
            let bin = path("GOBIN").or_else(|| path("GOPATH").map(|path| join(&path, "bin")));
            open_folders(bin.map_or_else(|| vec!["/go/bin".to_owned(), "/root/go/bin".to_owned()], |bin| vec![bin]))
        }
        ["generate" | "run", ..] => unknown(command, place),
        _ => Vec::new(),
    }
}

fn cargo(rest: &[&str], command: &Command, place: &Place<'_>) -> Vec<Made> {
    let verb = rest.iter().find(|word| !word.starts_with(['-', '+'])).copied();
    match verb {
        Some("build" | "b" | "rustc") => {
            let variable = place.variable("CARGO_TARGET_DIR");
            let folder = command.option("--target-dir").map(str::to_owned).or(variable);
            open_folders([place.path(folder.as_deref().unwrap_or("target"))])
        }
        Some("install") => {
            let root = command.option("--root").map(|root| place.path(root));
            let roots =
                root.map_or_else(|| vec!["/root/.cargo".to_owned(), "/usr/local/cargo".to_owned()], |r| vec![r]);
            open_folders(roots.iter().map(|root| join(root, "bin")))
        }
        Some("new" | "init") => unknown(command, place),
        _ => Vec::new(),
    }
}

/// Tools that build in the folders of the sources.
fn build_tool(words: &[&str], place: &Place<'_>) -> Vec<Made> {
    const GOALS: [&str; 9] =
        ["package", "install", "verify", "compile", "build", "assemble", "jar", "bootJar", "installDist"];
    let builds = words.iter().any(|word| GOALS.contains(&word.rsplit(':').next().unwrap_or(word)));
    if builds { open_folders([place.folder.to_owned()]) } else { Vec::new() }
}

/// Whether what a command builds needs the C library of the image it runs in.
pub(crate) fn linkage(command: &Command, place: &Place<'_>) -> Linkage {
    let has_static = command.words.iter().any(|word| word.contains("-static"));
    let variable = |name: &str| place.variable(name).unwrap_or_default();
    let is_static = match command.plain_words().as_slice() {
        ["go", "build" | "install", ..] => has_static || variable("CGO_ENABLED") == "0",
        ["cargo", rest @ ..] if rest.iter().any(|word| matches!(*word, "build" | "b" | "install" | "rustc")) => {
            let target = command.option("--target").map_or_else(|| variable("CARGO_BUILD_TARGET"), str::to_owned);
            target.contains("musl") || variable("RUSTFLAGS").contains("crt-static")
        }
        ["gcc" | "g++" | "cc" | "c++" | "clang" | "clang++" | "musl-gcc" | "native-image", ..] => has_static,
        _ => return Linkage::Unknown,
    };
    if is_static { Linkage::Static } else { Linkage::Dynamic }
}

/// Whether what a command makes may hold machine code for the image it runs in.
pub(crate) fn is_native(command: &Command) -> bool {
    const NAMES: [&str; 12] = ["bundle", "gem", "go", "cargo", "gcc", "g++", "cc", "npm", "pnpm", "yarn", "pip", "uv"];
    command.plain_words().first().is_some_and(|name| NAMES.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::commands;

    fn variable(name: &str) -> Option<String> {
        match name {
            "CGO_ENABLED" => Some("0".to_owned()),
            "PATH" => Some("/opt/venv/bin:/usr/bin".to_owned()),
            _ => None,
        }
    }

    fn made_by(script: &str) -> Vec<String> {
        let place = Place { folder: "/src", variable: &variable };
        let command = commands(script, &|_| None).remove(0);
        made(&command, &place).into_iter().map(|made| made.path).collect()
    }

    #[test]
    fn known_tools_make_what_they_make_and_nothing_else() {
        let table: [(&str, &[&str]); 19] = [
            ("python3 -m venv /opt/venv", &["/opt/venv"]),
            ("pip install -r requirements.txt", &["/opt/venv"]),
            ("/v/bin/pip install x", &["/v"]),
            ("pip install --target=deps x", &["/src/deps"]),
            ("pip --python /v/bin/python3 install x", &["/v"]),
            ("uv pip install --python /v x", &["/v"]),
            ("npm ci --omit=dev", &["/src/node_modules"]),
            ("go build -o /out/app ./cmd/app", &["/out/app"]),
            ("go mod download", &[]),
            ("cargo build --release", &["/src/target"]),
            ("mvn -B package -DskipTests", &["/src"]),
            ("mvn dependency:go-offline", &[]),
            ("dotnet publish -c Release -o /out", &["/out"]),
            ("dotnet restore src/W/W.csproj", &["/src/src/W/obj"]),
            ("composer install --no-dev", &["/src/vendor"]),
            ("mkdir -p /data logs", &["/data", "/src/logs"]),
            ("echo x > /etc/y", &["/etc/y"]),
            ("uv sync --frozen", &["/src/.venv"]),
            ("uv pip install --python /v/bin/python x", &["/v"]),
        ];
        for (script, paths) in table {
            assert_eq!(made_by(script), paths, "{script}");
        }
    }

    #[test]
    fn an_unknown_tool_may_make_anything_where_it_runs_and_what_it_names() {
        assert_eq!(made_by("make all"), ["/src"]);
        assert_eq!(made_by("npm run build"), ["/src"]);
        assert_eq!(made_by("tar -xzf x.tgz -C /opt"), ["/opt", "/src"]);
        assert_eq!(made_by("curl -fsSL -o tool https://x"), ["/src/tool", "/src"]);
    }

    #[test]
    fn linkage_follows_flags_and_variables() {
        let place = Place { folder: "/src", variable: &variable };
        let none = Place { folder: "/src", variable: &|_| None };
        let of = |script: &str, place: &Place<'_>| linkage(&commands(script, &|_| None)[0], place);
        assert_eq!(of("go build .", &place), Linkage::Static);
        assert_eq!(of("go build .", &none), Linkage::Dynamic);
        assert_eq!(of("go build -ldflags '-extldflags \"-static\"' .", &none), Linkage::Static);
        assert_eq!(of("cargo build --release", &none), Linkage::Dynamic);
        assert_eq!(of("cargo build --target x86_64-unknown-linux-musl", &none), Linkage::Static);
        assert_eq!(of("npm ci", &none), Linkage::Unknown);
    }
}
