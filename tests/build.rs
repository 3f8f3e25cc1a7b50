//! Builds the test guests into constants: `tests/guests/examples/*.rs` with cargo, `tests/guests/wat/*.wat` here.
//!
//! The guests have a target directory and an environment of their own, so that neither the flags of this build (coverage,
//! sanitizers) nor its profile leak into them. Beside the constants a macro `for_each_guest!` is written, by which the tests
//! make a guest without a test an error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const TARGET: &str = "wasm32-wasip2";

/// What the inner cargo needs of the environment; everything else stays outside.
const KEPT_VARIABLES: [&str; 11] = [
    "PATH",
    "HOME",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "TMPDIR",
    "CARGO_NET_OFFLINE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "http_proxy",
    "https_proxy",
];

fn main() {
    let guests = Path::new(env!("CARGO_MANIFEST_DIR")).join("guests");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    for watched in ["src", "examples", "shared", "wat", "Cargo.toml", "Cargo.lock", "../../wit"] {
        println!("cargo::rerun-if-changed={}", guests.join(watched).display());
    }
    let mut components = rust_guests(&guests, &out);
    components.extend(text_guests(&guests, &out));
    fs::write(out.join("guests.rs"), constants(&components)).expect("cargo's output directory is writable");
}

/// Guest names and the files of their components.
type Components = BTreeMap<String, PathBuf>;

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let paths = entries.map(|entry| entry.expect("a directory entry").path());
    paths.filter(|path| path.extension().is_some_and(|found| found == extension)).collect()
}

fn name(path: &Path) -> String {
    path.file_stem().and_then(|stem| stem.to_str()).expect("guests have plain names").to_owned()
}

fn rust_guests(guests: &Path, out: &Path) -> Components {
    build(guests, out, &["--release", "--examples"]);
    let [flag, small] = SMALL;
    build(guests, out, &["--profile=rubric", "--features=json", flag, small]);
    let built = out.join("guests-target").join(TARGET);
    let component = |source: PathBuf| {
        let name = name(&source);
        let profile = if name == small { "rubric" } else { "release" };
        let component = built.join(profile).join("examples").join(format!("{name}.wasm"));
        assert!(component.exists(), "`{}` is not an `[[example]]` of tests/guests/Cargo.toml", source.display());
        (name, component)
    };
    files(&guests.join("examples"), "rs").into_iter().map(component).collect()
}

/// The rubric of the benchmarks has a build of its own: with a feature, whose dependencies would change the bytes of all others,
/// and with the profile of the rubrics.
const SMALL: [&str; 2] = ["--example", "judges_a_version"];

fn build(guests: &Path, out: &Path, arguments: &[&str]) {
    let mut cargo = Command::new(env::var_os("CARGO").expect("cargo sets it"));
    cargo.env_clear().envs(KEPT_VARIABLES.iter().filter_map(|name| Some((*name, env::var_os(name)?))));
    cargo.env("RUSTFLAGS", remapped(guests));
    cargo.args(["build", "--locked", "--target", TARGET]).args(arguments);
    cargo.arg("--manifest-path").arg(guests.join("Cargo.toml")).arg("--target-dir").arg(out.join("guests-target"));
    let status = cargo.status().expect("cargo starts");
    assert!(status.success(), "the test guests do not build; `rustup target add {TARGET}` may be missing");
}

/// Flags that keep this machine's paths out of the guests: a rubric's digest seeds its random numbers, and the tests compare
/// those with what another machine saw.
fn remapped(guests: &Path) -> String {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let home = home.expect("cargo has a home");
    format!("--remap-path-prefix={}=/cargo --remap-path-prefix={}=/guests", home.display(), guests.display())
}

/// A text in which the lines between `;;REPEAT <n>` and `;;END` stand n times, with `{i}` counted from 0 and `{p}` going through the
/// same numbers in another order.
fn repeated(text: &str) -> String {
    let Some((before, rest)) = text.split_once(";;REPEAT ") else { return text.to_owned() };
    let (count, rest) = rest.split_once('\n').expect("a count");
    let (lines, after) = rest.split_once(";;END\n").expect("an end");
    let count: u64 = count.trim().parse().expect("a number");
    let line = |i: u64| lines.replace("{i}", &i.to_string()).replace("{p}", &(i * 7_919 % count).to_string());
    format!("{before}{}{}", (0..count).map(line).collect::<String>(), repeated(after))
}

/// A text that is not a whole component or module holds what goes into the template of a rubric.
fn text_guests(guests: &Path, out: &Path) -> Components {
    let template = fs::read_to_string(guests.join("wat/rubric.wat.in")).expect("the template of a rubric");
    let component = |source: PathBuf| {
        let text = repeated(&fs::read_to_string(&source).expect("a readable guest"));
        let whole = text.lines().any(|line| line.starts_with("(component") || line.starts_with("(module"));
        let text = if whole { text } else { template.replace(";;MARKER;;", &text) };
        let binary = wat::parse_str(text).unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        let component = out.join(format!("{}.wat.wasm", name(&source)));
        fs::write(&component, binary).expect("cargo's output directory is writable");
        (name(&source), component)
    };
    files(&guests.join("wat"), "wat").into_iter().map(component).collect()
}

fn constants(components: &Components) -> String {
    let constant = |(name, path): (&String, &PathBuf)| {
        format!("/// `tests/guests`: `{name}`.\npub const {}: &[u8] = include_bytes!({path:?});\n", name.to_uppercase())
    };
    let entry = |name: &String| format!("    ({name:?}, {}),\n", name.to_uppercase());
    let all: String = components.keys().map(entry).collect();
    let names: String = components.keys().map(|name| format!("            {name}\n")).collect();
    format!(
        "{}\n/// Every guest by its name.\npub const ALL: &[(&str, &[u8])] = &[\n{all}];\n\n/// Hands the name of every guest to a macro.\n#[macro_export]\nmacro_rules! for_each_guest {{\n    \
         ($with:ident) => {{\n        $with! {{\n{names}        }}\n    }};\n}}\n",
        components.iter().map(constant).collect::<String>(),
    )
}
