//! `ServerSandbox`: what a server's program may touch beside what every server's may, as plain data. Whoever starts programs
//! makes a profile of it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use sandbox::egress::{HostRuleError, HostRules};
use sandbox::text_file;

use crate::config::Network;

/// What a server's program may touch beside what every server's may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSandbox {
    /// True if nothing confines it, whatever else is said here.
    pub is_open: bool,
    /// Files and folders that it reads, as absolute paths; they need not exist.
    pub read: Vec<PathBuf>,
    /// Files and folders that it reads and writes, as absolute paths; they need not exist.
    pub write: Vec<PathBuf>,
    /// What it reaches.
    pub network: HostRules,
    /// Unix sockets that it may use, as absolute paths; they need not exist.
    pub sockets: Vec<PathBuf>,
    /// The memory of all its processes together; as much as other programs get if absent.
    pub memory_bytes: Option<u64>,
    /// Its processes and threads at once; as many as other programs get if absent.
    pub processes: Option<u64>,
    /// The open files of each of its processes; as many as other programs get if absent.
    pub open_files: Option<u64>,
}

impl Default for ServerSandbox {
    fn default() -> ServerSandbox {
        ServerSandbox {
            is_open: false,
            read: Vec::new(),
            write: Vec::new(),
            network: HostRules::public(),
            sockets: Vec::new(),
            memory_bytes: None,
            processes: None,
            open_files: None,
        }
    }
}

impl ServerSandbox {
    /// What it touches, each kind behind its name.
    pub(super) fn words(&self) -> Vec<&OsStr> {
        let paths = [("read", &self.read), ("write", &self.write), ("sockets", &self.sockets)];
        let profile = if self.is_open { "open" } else { "confined" };
        let mut words = vec![OsStr::new(profile), OsStr::new("network")];
        words.extend(self.network.words().iter().map(OsStr::new));
        for (key, paths) in paths {
            words.push(OsStr::new(key));
            words.extend(paths.iter().map(|path| path.as_os_str()));
        }
        words
    }

    /// Its paths by the key that names them.
    pub(super) fn paths_mut(&mut self) -> [(&'static str, &mut Vec<PathBuf>); 3] {
        [("read", &mut self.read), ("write", &mut self.write), ("sockets", &mut self.sockets)]
    }
}

/// True if a path really lies in `folder`, wherever links on the way lead.
pub(super) fn is_within(path: &Path, folder: &Path) -> bool {
    text_file::real(path).starts_with(text_file::real(folder))
}

impl Network {
    /// The rules that it comes to.
    ///
    /// # Errors
    /// Everything that is wrong, each with the number of the word it is about, if it is about one.
    pub fn rules(&self) -> Result<HostRules, Vec<(Option<usize>, String)>> {
        match self {
            Network::Public => Ok(HostRules::public()),
            Network::None => Ok(HostRules::none()),
            Network::Hosts(words) => host_rules(words),
        }
    }
}

/// The rules that a list of hosts comes to.
///
/// # Errors
/// Everything that is wrong, each with the number of the word it is about, if it is about one.
pub fn host_rules(words: &[String]) -> Result<HostRules, Vec<(Option<usize>, String)>> {
    let mut problems: Vec<_> =
        words.iter().enumerate().filter_map(|(nth, word)| Some((Some(nth), wrong_word(word)?))).collect();
    match HostRules::parse(words) {
        Ok(rules) if problems.is_empty() => return Ok(rules),
        Err(error @ (HostRuleError::TooMany(_) | HostRuleError::TooManyPorts(_))) => {
            problems.push((None, error.to_string()));
        }
        // Told already, by its number.
        Ok(_) | Err(_) => {}
    }
    Err(problems)
}

fn wrong_word(word: &str) -> Option<String> {
    // It would be taken for a host of that name.
    if word == "none" {
        return Some("`none` is no host; a list without hosts reaches nothing".to_owned());
    }
    HostRules::parse([word]).err().map(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use sandbox::egress::RULES_MAX;

    use super::*;

    #[track_caller]
    fn check(words: &[&str], expected: &[(Option<usize>, &str)]) {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        let problems = host_rules(&words).map(|rules| assert_eq!(rules.words(), words)).err();
        let problems = problems.unwrap_or_default();
        let told: Vec<_> = problems.iter().map(|(nth, why)| (*nth, why.as_str())).collect();
        assert_eq!(told, expected, "{words:?}");
    }

    #[test]
    fn each_word_that_is_no_host_is_told_by_its_number() {
        check(&[], &[]);
        check(&["public", "db.internal:5432", "*.example.com", "localhost:1"], &[]);
        check(
            &["a.example", "none", "http://b", "localhost"],
            &[
                (Some(1), "`none` is no host; a list without hosts reaches nothing"),
                (
                    Some(2),
                    "`http://b` names no host: only the host is written and, behind a colon, its port: no http://, no \
                     path and no user",
                ),
                (
                    Some(3),
                    "`localhost` needs a port, as in localhost:5432: nobody should get at everything on this machine",
                ),
            ],
        );
    }

    #[test]
    fn too_many_are_told_once() {
        let many = vec!["a.example"; RULES_MAX + 1];
        let why = format!(
            "{} hosts are too many, at most {RULES_MAX} can be named; try a wildcard such as *.example.com, or `public`",
            many.len()
        );
        check(&many, &[(None, &why)]);
    }
}
