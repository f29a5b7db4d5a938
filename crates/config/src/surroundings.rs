//! What the configuration takes from outside its files: the environment and the current folder. Read once,
//! here and nowhere else in the program.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// The program's folder within each of the platform's own.
const FOLDER: &str = "toolcrib";

/// What says a language, a time zone or where the person has programs, by name and by the beginning of one.
const LOCALE: [&str; 4] = ["HOME", "LANG", "PATH", "TZ"];
const LOCALE_PREFIX: &str = "LC_";

/// The process's surroundings. Tests make their own.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The folder it was started in.
    pub current_dir: PathBuf,
    /// The environment.
    pub variables: BTreeMap<OsString, OsString>,
    /// What the command line says.
    pub flags: Flags,
    /// The names of variables that were asked for, whether they are set or not. Copies share it.
    pub looked_up: Arc<Mutex<BTreeSet<String>>>,
}

/// What the command line says of the configuration, beside the file that it may name.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Flags {
    /// The folder that the tools work in, whatever a file says.
    pub workspace: Option<PathBuf>,
    /// For this run, everything that a folder declares counts as agreed to.
    pub trust_folder: bool,
    /// Where HTTP is served, whatever a file says.
    pub bind: Option<SocketAddr>,
    /// The same for the port alone.
    pub port: Option<u16>,
}

impl Surroundings {
    /// Those of this process, which was given these flags.
    ///
    /// # Errors
    /// If the current folder is gone.
    #[expect(clippy::disallowed_methods, reason = "the one place where the environment is read")]
    pub fn of_process(flags: Flags) -> io::Result<Surroundings> {
        let current_dir = std::env::current_dir()?;
        Ok(Surroundings::new(current_dir, std::env::vars_os().collect(), flags))
    }

    /// Those of another process, as it told them.
    pub fn new(current_dir: PathBuf, variables: BTreeMap<OsString, OsString>, flags: Flags) -> Surroundings {
        Surroundings { current_dir, variables, flags, looked_up: Arc::default() }
    }

    /// A variable, if it is set and not empty.
    pub fn variable(&self, name: &str) -> Option<&OsStr> {
        self.looked_up.lock().expect("nothing panics while it holds the lock").insert(name.to_owned());
        self.variables.get(OsStr::new(name)).map(OsString::as_os_str).filter(|value| !value.is_empty())
    }

    /// The variables that were asked for so far, and those whose names `are_wanted` besides.
    pub fn needed(&self, are_wanted: impl Fn(&str) -> bool) -> BTreeMap<OsString, OsString> {
        let looked_up = self.looked_up.lock().expect("nothing panics while it holds the lock");
        let is_needed =
            |name: &OsStr| name.to_str().is_some_and(|name| looked_up.contains(name) || are_wanted(name));
        let variables = self.variables.iter().filter(|(name, _)| is_needed(name));
        variables.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// The variables by which programs know language and time zone, and where the person finds programs.
    pub(crate) fn locale(&self) -> Vec<(OsString, OsString)> {
        let is_of_it = |name: &OsStr| {
            name.to_str().is_some_and(|name| LOCALE.contains(&name) || name.starts_with(LOCALE_PREFIX))
        };
        let variables = self.variables.iter().filter(|(name, _)| is_of_it(name));
        variables.map(|(name, value)| (name.clone(), value.clone())).collect()
    }

    /// Where the user's own configuration lies, if they have a home.
    pub fn config_folder(&self) -> Option<PathBuf> {
        Some(self.user_folder("XDG_CONFIG_HOME", ".config")?.join(FOLDER))
    }

    /// Where the user's own units of systemd lie, if they have a home.
    pub fn units_folder(&self) -> Option<PathBuf> {
        Some(self.user_folder("XDG_CONFIG_HOME", ".config")?.join("systemd/user"))
    }

    /// Where state lies unless the configuration says otherwise, if the user has a home.
    pub fn data_folder(&self) -> Option<PathBuf> {
        Some(self.user_folder("XDG_DATA_HOME", ".local/share")?.join(FOLDER))
    }

    /// The user's home, if they have one.
    pub fn home(&self) -> Option<&Path> {
        self.variable("HOME").map(Path::new).filter(|home| home.is_absolute())
    }

    fn user_folder(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        // The XDG rule: a relative path in one of these is invalid and ignored.
        let absolute = |value: &OsStr| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
        let named = self.variable(variable).and_then(absolute);
        named.or_else(|| Some(self.variable("HOME").and_then(absolute)?.join(below_home)))
    }

    /// What the files of other clients are looked for by.
    pub fn for_clients(&self) -> clients::Surroundings {
        clients::Surroundings { current_dir: self.current_dir.clone(), variables: self.variables.clone() }
    }

    /// A path as a person wrote it, seen from the current folder.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.current_dir.join(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(variables: &[(&str, &str)], config: Option<&str>, data: Option<&str>) {
        let variables = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let surroundings = Surroundings { current_dir: "/work".into(), variables, ..Surroundings::default() };
        assert_eq!(surroundings.config_folder(), config.map(PathBuf::from));
        let units = config.map(|config| PathBuf::from(config).with_file_name("systemd/user"));
        assert_eq!(surroundings.units_folder(), units);
        assert_eq!(surroundings.data_folder(), data.map(PathBuf::from));
    }

    #[test]
    fn of_a_clients_variables_a_few_are_for_programs() {
        let variables = ["HOME", "LANG", "LC_ALL", "LC", "LANGUAGE_X", "PATH", "TOKEN", "TZ"];
        let variables = variables.map(|name| (name.into(), "x".into())).into();
        let surroundings = Surroundings { variables, ..Surroundings::default() };
        let told: Vec<_> = surroundings.locale().into_iter().map(|(name, _)| name).collect();
        assert_eq!(told, ["HOME", "LANG", "LC_ALL", "PATH", "TZ"]);
    }

    #[test]
    fn what_is_needed_is_what_was_asked_for_and_what_is_wanted() {
        let variables = [("HOME", "/h"), ("TOKEN", "t"), ("OTHER", "o"), ("AWS_X", "x"), ("EMPTY", "")];
        let variables = variables.map(|(name, value)| (name.into(), value.into())).into();
        let surroundings = Surroundings::new("/work".into(), variables, Flags::default());
        for name in ["TOKEN", "EMPTY", "NONE"] {
            surroundings.clone().variable(name);
        }
        let needed = surroundings.needed(|name| name.starts_with("AWS_"));
        let names: Vec<&str> = needed.keys().filter_map(|name| name.to_str()).collect();
        assert_eq!(names, ["AWS_X", "EMPTY", "TOKEN"]);
    }

    #[test]
    fn user_folders_follow_the_platform() {
        let home = ("HOME", "/home/u");
        check(&[home], Some("/home/u/.config/toolcrib"), Some("/home/u/.local/share/toolcrib"));
        let xdg = [home, ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "/d")];
        check(&xdg, Some("/c/toolcrib"), Some("/d/toolcrib"));
        let useless = [home, ("XDG_CONFIG_HOME", ""), ("XDG_DATA_HOME", "relative")];
        check(&useless, Some("/home/u/.config/toolcrib"), Some("/home/u/.local/share/toolcrib"));
        check(&[], None, None);
    }
}
