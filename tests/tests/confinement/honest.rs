//! Programs that real agents use, in a cage with nothing more in reach than they need.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;

use eval_host_tests::Eval;
use serde_json::json;

use super::desk::{Desk, Machine, all_scored, confinement, shell};

#[track_caller]
fn works(lines: &str, eval: impl Fn(Eval) -> Eval) {
    let desk = Desk::on(Machine::AsIs, "", &shell(&format!("exec 3>&1 1>&2\n{lines}\nexec 1>&3")));
    let ended = eval(desk.live(1, [])).run().expect_code(5);
    all_scored(&ended);
    assert!(confinement(&ended, &desk)["caged"].is_object());
}

#[test]
fn git_works() {
    works(
        r#"
git init --quiet .
git add -A
git -c user.name=Agent -c user.email=agent@example.org commit --quiet --message=Begin
git stash list
git config --global user.name Agent
test "$(git log --format=%s)" = Begin
"#,
        |eval| eval,
    );
}

#[test]
fn node_and_npm_work() {
    works(
        r#"
test "$(node -e 'console.log([1, 2].map(n => n * 2).join())')" = 2,4
mkdir -p lib app
echo '{"name":"lib","version":"1.0.0","main":"index.js"}' > lib/package.json
echo 'module.exports = 42' > lib/index.js
echo '{"name":"app","version":"1.0.0"}' > app/package.json
(cd lib && npm pack --offline)
(cd app && npm install --offline --no-audit --no-fund ../lib/lib-1.0.0.tgz && test "$(node -p 'require("lib")')" = 42)
"#,
        |eval| eval,
    );
}

#[test]
fn python_and_its_environments_work() {
    works(
        r#"
/usr/bin/python3 -m venv environment
test "$(environment/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)')" = True
environment/bin/python -c 'import multiprocessing, tempfile; multiprocessing.Lock(); tempfile.TemporaryFile()'
"#,
        |eval| eval,
    );
}

/// Where the developer's Rust is: the tests run in it.
fn of_developer(variable: &str, folder: &str) -> OsString {
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(folder).into();
    std::env::var_os(variable).unwrap_or_else(home)
}

#[test]
fn cargo_works_with_the_folders_that_it_is_shown() {
    let (cargo, rustup) = (of_developer("CARGO_HOME", ".cargo"), of_developer("RUSTUP_HOME", ".rustup"));
    works(
        r#"
mkdir -p crate/src
printf '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2024"\n' > crate/Cargo.toml
echo 'fn main() { println!("built"); }' > crate/src/main.rs
cd crate
"$CARGO_HOME/bin/cargo" build --offline --quiet
test "$(target/debug/tiny)" = built
cd ..
"#,
        |eval| {
            let eval = eval.env("CARGO_HOME", &cargo).env("RUSTUP_HOME", &rustup);
            let eval = eval.args(["--sut-env", "CARGO_HOME", "--sut-env", "RUSTUP_HOME"]);
            [&cargo, &rustup]
                .iter()
                .fold(eval, |eval, folder| eval.args([OsStr::new("--sut-read"), folder.as_os_str()]))
        },
    );
}

#[test]
fn a_shell_script_finds_its_temporary_files_and_its_streams() {
    works(
        r#"
file=$(mktemp)
folder=$(mktemp -d)
echo text > "$file"
cp "$file" "$folder/copy"
test "$(cat "$folder/copy")" = text
echo heard > /dev/stderr
test "$(echo x | cat /dev/stdin)" = x
echo nothing > /dev/null
head -c 16 /dev/urandom > "$HOME/random"
test "$(wc -c < "$HOME/random")" = 16
test "$HOME" != "$DESK"
sh -c 'echo $$' | grep -q .
ps -e > /dev/null || test ! -x /usr/bin/ps
"#,
        |eval| eval,
    );
}

#[test]
fn a_program_that_is_a_link_is_found_by_both_its_names() {
    let desk = Desk::new("", &shell("true"));
    let tools = desk.path().join("tools");
    fs::create_dir(&tools).expect("a folder");
    fs::write(tools.join("real"), shell("test \"${0##*/}\" = link")).expect("a program");
    fs::set_permissions(tools.join("real"), fs::Permissions::from_mode(0o755)).expect("it can be run");
    symlink("real", tools.join("link")).expect("a link");
    let ended = desk.live(1, ["--sut", "tools/link"]).run().expect_code(5);
    all_scored(&ended);
}

#[test]
fn a_file_of_the_kernel_in_a_command_takes_nothing_from_the_cage() {
    let desk = Desk::new("", &shell("true"));
    let ended = desk.live(
        1,
        ["--sut", "cat /proc/self/status >&2; echo '{\"output\":{\"action\":\"patch\",\"diff\":\"\"},\"cost_usd\":0}'"],
    );
    let ended = ended.run().expect_code(5);
    all_scored(&ended);
    assert_eq!(confinement(&ended, &desk)["caged"]["namespaces"], json!(["ipc", "mount", "pid", "user"]));
}
