//! What a `RUN` does besides building: installing system packages, and preparing users and folders.

use crate::dockerfile::Stage;
use crate::images::Images;

/// Whether a stage installs system packages.
pub(crate) fn installs(stage: &Stage) -> bool {
    stage.body.iter().any(|instruction| instruction.keyword == "RUN" && !installed(&instruction.arguments).is_empty())
}

/// The commands of a `RUN` that neither manage packages nor prepare users and folders.
pub(crate) fn without_preparation(arguments: &str) -> String {
    let prepares = |command: &str| {
        let program = command.split_whitespace().next().unwrap_or_default();
        manages_packages(command)
            || matches!(program, "useradd" | "groupadd" | "adduser" | "addgroup" | "mkdir" | "chown" | "chmod")
    };
    join(commands(arguments).filter(|command| !prepares(command)).map(str::to_owned))
}

/// The commands of a `RUN` with its packages installed by `apk`, under the names that they have there.
pub(crate) fn with_apk(arguments: &str, images: &Images) -> String {
    let packages: Vec<String> = installed(arguments).iter().flat_map(|package| images.apk_names(package)).collect();
    let install = (!packages.is_empty()).then(|| format!("apk add --no-cache {}", packages.join(" ")));
    let rest = commands(arguments).filter(|command| !manages_packages(command)).map(str::to_owned);
    join(install.into_iter().chain(rest))
}

/// The system packages that a `RUN` installs.
fn installed(arguments: &str) -> Vec<&str> {
    let packages = |command| {
        let command: &str = command;
        let mut words = command.split_whitespace();
        let installs = manages_packages(command) && words.any(|word| word == "install" || word == "add");
        words.filter(move |word| installs && !word.starts_with('-'))
    };
    commands(arguments).flat_map(packages).collect()
}

fn manages_packages(command: &str) -> bool {
    ["apt-get ", "apt ", "apk ", "rm -rf /var/lib/apt", "rm -rf /var/cache/apk"]
        .iter()
        .any(|start| command.starts_with(start))
}

fn commands(arguments: &str) -> impl Iterator<Item = &str> {
    arguments.split("&&").map(str::trim)
}

fn join(commands: impl Iterator<Item = String>) -> String {
    commands.collect::<Vec<_>>().join(" && ")
}
