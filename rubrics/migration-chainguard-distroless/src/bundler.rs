//! Where Bundler and RubyGems put gems, and where they look for them. One reading of the settings serves both, so that an
//! install and a start can only agree if the settings do.
//!
//! Bundler's order: the application's own configuration file, variables, the user's configuration file. A path that it is
//! given gets the engine's name below it; without one, gems go where RubyGems puts them.

use crate::filesystem::{absolute, join, parent};

/// What the settings are read from: an image, while it is built or when it is started.
pub(crate) struct Sources<'a> {
    pub(crate) folder: &'a str,
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file, if it is known.
    pub(crate) text: &'a dyn Fn(&str) -> Option<String>,
    pub(crate) exists: &'a dyn Fn(&str) -> bool,
}

/// Folders of RubyGems if nobody says otherwise. A later one is taken where the first is closed.
pub(crate) fn default_folders(home: &str) -> [String; 2] {
    ["/usr/lib/ruby/gems".to_owned(), join(home, ".local/share/gem/ruby")]
}

impl Sources<'_> {
    fn set(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    /// The Gemfile that Bundler works with: the one it is told, or the nearest one upwards.
    pub(crate) fn gemfile(&self) -> Option<String> {
        if let Some(path) = self.set("BUNDLE_GEMFILE") {
            return Some(absolute(self.folder, &path)).filter(|path| (self.exists)(path));
        }
        let mut folder = self.folder;
        loop {
            let path = join(folder, "Gemfile");
            if (self.exists)(&path) {
                return Some(path);
            }
            if folder == "/" {
                return None;
            }
            folder = parent(folder);
        }
    }

    fn root(&self) -> String {
        self.gemfile().map_or_else(|| self.folder.to_owned(), |path| parent(&path).to_owned())
    }

    /// The application's own configuration file.
    pub(crate) fn local_config(&self) -> String {
        let folder = self.set("BUNDLE_APP_CONFIG").unwrap_or_else(|| ".bundle".to_owned());
        join(&absolute(&self.root(), &folder), "config")
    }

    /// The user's configuration file.
    pub(crate) fn global_config(&self) -> String {
        join(&self.set("HOME").unwrap_or_else(|| "/root".to_owned()), ".bundle/config")
    }

    fn setting(&self, name: &str) -> Option<String> {
        let key = format!("BUNDLE_{name}");
        let in_file = |path: &str| value_in(&(self.text)(path)?, &key);
        in_file(&self.local_config()).or_else(|| self.set(&key)).or_else(|| in_file(&self.global_config()))
    }

    fn is_set(&self, name: &str) -> bool {
        let no = ["", "false", "f", "no", "n", "0"];
        self.setting(name).is_some_and(|value| !no.contains(&value.to_ascii_lowercase().as_str()))
    }

    /// The folder with Bundler's own layout, below which the gems of an engine are. `None`: they are where RubyGems has them.
    pub(crate) fn own_folder(&self) -> Option<String> {
        if self.is_set("PATH__SYSTEM") {
            return None;
        }
        let deployment = || self.is_set("DEPLOYMENT").then(|| "vendor/bundle".to_owned());
        let path = self.setting("PATH").or_else(deployment)?;
        Some(join(&absolute(&self.root(), &path), "ruby"))
    }

    /// The groups of the Gemfile that are left out: those that are named, and all but those that alone are wanted.
    pub(crate) fn without(&self) -> Vec<String> {
        let groups = |name: &str| -> Vec<String> {
            let listed = self.setting(name).unwrap_or_default();
            listed.split([':', ' ']).filter(|group| !group.is_empty()).map(str::to_owned).collect()
        };
        let only = groups("ONLY");
        let others = self.groups().into_iter().filter(|group| !only.is_empty() && !only.contains(group));
        groups("WITHOUT").into_iter().chain(others).collect()
    }

    /// The groups that the Gemfile names.
    pub(crate) fn groups(&self) -> Vec<String> {
        let text = self.gemfile().and_then(|path| (self.text)(&path)).unwrap_or_default();
        text.lines().map(str::trim_start).filter(|line| !line.starts_with('#')).flat_map(groups_in).collect()
    }

    /// Where RubyGems puts gems, if a variable says so.
    pub(crate) fn gem_home(&self) -> Option<String> {
        self.set("GEM_HOME").map(|path| absolute(self.folder, &path))
    }
}

/// The symbols and strings after the word `group` in a line of a Gemfile.
fn groups_in(line: &str) -> Vec<String> {
    let Some((_, rest)) = line.split_once("group") else { return Vec::new() };
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let words = rest.split(|c: char| !is_name(c)).filter(|word| !word.is_empty() && *word != "do");
    words.map(str::to_owned).collect()
}

/// A value in a configuration file: flat YAML, of which Bundler itself reads no more.
fn value_in(text: &str, key: &str) -> Option<String> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    Some(line.trim().trim_matches(['"', '\'']).to_owned())
}

/// The settings that a command keeps in a configuration file, as its lines, and whether that is the user's own.
pub(crate) fn kept_settings(words: &[&str]) -> Option<(String, bool)> {
    let ["bundle" | "bundler", "config", rest @ ..] = words else { return None };
    let is_global = rest.contains(&"--global");
    let operands: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with("--")).collect();
    let (name, values) = match operands.as_slice() {
        ["get" | "list" | "unset", ..] => return None,
        ["set", name, values @ ..] | [name, values @ ..] if !values.is_empty() => (*name, values),
        _ => return None,
    };
    let key = name.to_ascii_uppercase().replace('.', "__").replace('-', "___");
    Some((format!("BUNDLE_{key}: \"{}\"\n", values.join(":")), is_global))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(config: &str, variables: &[(&str, &str)]) -> Option<String> {
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let text = |path: &str| (path == "/work/.bundle/config").then(|| config.to_owned());
        let exists = |path: &str| path == "/work/Gemfile";
        Sources { folder: "/work/bin", variable: &variable, text: &text, exists: &exists }.own_folder()
    }

    #[test]
    fn the_applications_settings_come_before_variables() {
        assert_eq!(folder("", &[]), None);
        assert_eq!(folder("", &[("BUNDLE_PATH", "/gems")]).as_deref(), Some("/gems/ruby"));
        assert_eq!(folder("BUNDLE_PATH: \"g\"\n", &[("BUNDLE_PATH", "/x")]).as_deref(), Some("/work/g/ruby"));
        assert_eq!(folder("", &[("BUNDLE_DEPLOYMENT", "1")]).as_deref(), Some("/work/vendor/bundle/ruby"));
        assert_eq!(folder("", &[("BUNDLE_DEPLOYMENT", "false")]), None);
        assert_eq!(folder("BUNDLE_PATH__SYSTEM: \"true\"\n", &[("BUNDLE_PATH", "/x")]), None);
    }

    #[test]
    fn groups_are_left_out_by_name_or_by_wanting_others() {
        let gemfile =
            "gem \"a\"\n# group :none\ngroup :test, :development do\n  gem \"b\"\nend\ngem \"c\", group: \"ci\"\n";
        let without = |variables: &[(&str, &str)]| {
            let variable =
                |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
            let text = |path: &str| (path == "/work/Gemfile").then(|| gemfile.to_owned());
            let exists = |path: &str| path == "/work/Gemfile";
            Sources { folder: "/work", variable: &variable, text: &text, exists: &exists }.without()
        };
        assert_eq!(without(&[]), Vec::<String>::new());
        assert_eq!(without(&[("BUNDLE_WITHOUT", "test:ci")]), ["test", "ci"]);
        assert_eq!(without(&[("BUNDLE_ONLY", "default:ci")]), ["test", "development"]);
    }

    #[test]
    fn commands_keep_settings_for_the_application_or_for_the_user() {
        let kept = |text: &str| kept_settings(&text.split(' ').collect::<Vec<_>>());
        assert_eq!(kept("bundle config set --local path v"), Some(("BUNDLE_PATH: \"v\"\n".to_owned(), false)));
        assert_eq!(kept("bundle config --global without a b"), Some(("BUNDLE_WITHOUT: \"a:b\"\n".to_owned(), true)));
        assert_eq!(kept("bundle config path"), None);
        assert_eq!(kept("bundle install"), None);
    }
}
