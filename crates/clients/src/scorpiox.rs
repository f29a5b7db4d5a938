//! The settings of scorpiox code: files of `KEY=VALUE` lines, laid over each other. Its documentation of March 2026 says which.
//! It lets the environment win over all of them; that is not looked at here, since names such as `TOOLS` and `MODEL` may mean
//! something else in it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::client_files::read;
use crate::origin::Location::{Home, Project};
use crate::origin::{ClientFile, Location, Surroundings};

/// Longest key and longest value that it reads, in characters.
const KEY_CHARS_MAX: usize = 64;
const VALUE_CHARS_MAX: usize = 512;

/// Longest name of a profile, in characters.
const PROFILE_CHARS_MAX: usize = 64;

/// Most lines that are spoken of, so that a file of something else does not fill the screen.
const NOTES_MAX: usize = 20;

/// What says something for all folders, the least first.
const USERS: [Location; 2] = [Home(".scorpiox/scorpiox-env.txt"), Home(".claude/scorpiox-env.txt")];

/// What says something for a project alone.
const PROJECTS: [Location; 2] = [Project(".claude/scorpiox-env.txt"), Project(".scorpiox/scorpiox-env.txt")];

/// Where profiles lie beside these files.
const PROFILES: &str = "scorpiox-env";

/// A setting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScorpioxSetting {
    /// May be secret.
    pub value: String,
    /// The file that says it last.
    pub place: ClientFile,
}

/// The settings that were found: the user's, and the project's, which are not laid over them here.
#[derive(Debug, Default)]
pub struct ScorpioxSettings {
    /// The user's, by their keys.
    pub users: BTreeMap<String, ScorpioxSetting>,
    /// The project's.
    pub projects: BTreeMap<String, ScorpioxSetting>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// What is no setting in them.
    pub notes: Vec<String>,
    /// What could not be read, and why.
    pub errors: Vec<String>,
}

impl ScorpioxSettings {
    /// Those that there are where this is called. Blocks on the disk.
    pub fn read(surroundings: &Surroundings) -> ScorpioxSettings {
        let mut all = ScorpioxSettings::default();
        all.users = all.laid_over(&USERS, surroundings);
        all.projects = all.laid_over(&PROJECTS, surroundings);
        all
    }

    fn laid_over(
        &mut self,
        files: &[Location],
        surroundings: &Surroundings,
    ) -> BTreeMap<String, ScorpioxSetting> {
        let mut settings = BTreeMap::new();
        let places: Vec<ClientFile> = files.iter().filter_map(|file| file.file(surroundings)).collect();
        for place in &places {
            self.lay_over(place, &mut settings);
        }
        if let Some(profile) = settings.get("ACTIVE_PROFILE").cloned() {
            self.profile(&profile, &places, &mut settings);
        }
        settings
    }

    fn profile(
        &mut self,
        profile: &ScorpioxSetting,
        places: &[ClientFile],
        settings: &mut BTreeMap<String, ScorpioxSetting>,
    ) {
        let name = &profile.value;
        if name.chars().count() > PROFILE_CHARS_MAX || name.contains(['/', '\\']) || name.contains("..") {
            self.errors
                .push(format!("{}: ACTIVE_PROFILE is no name of a profile", profile.place.path.display()));
            return;
        }
        let beside = places.iter().rev().map(|place| {
            let path = place.path.with_file_name(PROFILES).join(format!("{name}.txt"));
            ClientFile { path, ..place.clone() }
        });
        if !beside.into_iter().any(|place| self.lay_over(&place, settings)) {
            self.errors.push(format!(
                "{}: the profile {name} is in no folder {PROFILES} beside it",
                profile.place.path.display()
            ));
        }
    }

    /// Whether the file is there.
    fn lay_over(&mut self, place: &ClientFile, settings: &mut BTreeMap<String, ScorpioxSetting>) -> bool {
        let path = place.path.display();
        let text = match read(&place.path) {
            Ok(Some(text)) => text,
            Ok(None) => return false,
            Err(why) => {
                self.errors.push(format!("{path}: {why}"));
                return true;
            }
        };
        for (number, line) in text.lines().enumerate() {
            match setting(line) {
                Ok(None) => {}
                Ok(Some((key, value))) => {
                    let setting = ScorpioxSetting { value: value.to_owned(), place: place.clone() };
                    settings.insert(key.to_owned(), setting);
                }
                Err(why) if self.notes.len() < NOTES_MAX => {
                    self.notes.push(format!("{path}:{}: {why}; the line is left out", number + 1));
                }
                Err(_) => {}
            }
        }
        self.files.push(place.path.clone());
        true
    }
}

/// The setting in a line, if it has one. The line itself is not spoken of, since it may hold a key.
fn setting(line: &str) -> Result<Option<(&str, &str)>, String> {
    let line = line.trim_start_matches('\u{feff}').trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let (key, value) = line.split_once('=').ok_or("it is no KEY=VALUE")?;
    // A comment may stand behind a value.
    let value = [" #", "\t#"]
        .iter()
        .fold(value, |value, comment| value.split_once(comment).map_or(value, |(value, _)| value));
    let (key, value) = (key.trim(), value.trim());
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_key || key.len() > KEY_CHARS_MAX {
        return Err(format!("a key has letters, digits and underscores, at most {KEY_CHARS_MAX}"));
    }
    if value.chars().count() > VALUE_CHARS_MAX || value.contains('\0') {
        return Err(format!("the value of {key} is longer than {VALUE_CHARS_MAX} characters or has a NUL"));
    }
    Ok(Some((key, value)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "files to be read")]

    use super::*;

    /// The user's settings and the project's with these files below a home with a project, from its folder `home/project/below`.
    #[track_caller]
    fn check(files: &[(&str, &str)], users: &[(&str, &str)], projects: &[(&str, &str)], said: &[&str]) {
        let disk = tempfile::tempdir().expect("a folder");
        let below = |path: &str| disk.path().join(path);
        std::fs::create_dir_all(below("home/project/below")).expect("a folder");
        for (path, text) in files {
            let path = below(path);
            std::fs::create_dir_all(path.parent().expect("it has one")).expect("a folder");
            std::fs::write(path, text).expect("writable");
        }
        let variables = [("HOME".into(), below("home").into()), ("TOOLS".into(), "no".into())].into();
        let surroundings = Surroundings { current_dir: below("home/project/below"), variables };
        let all = ScorpioxSettings::read(&surroundings);
        for (found, expected) in [(&all.users, users), (&all.projects, projects)] {
            let found: Vec<_> =
                found.iter().map(|(key, setting)| (key.as_str(), setting.value.as_str())).collect();
            assert_eq!(found, expected);
        }
        let root = format!("{}/", disk.path().display());
        let told: Vec<String> =
            all.notes.iter().chain(&all.errors).map(|line| line.replace(&root, "")).collect();
        assert_eq!(told, said);
    }

    #[test]
    fn files_are_laid_over_each_other_and_a_projects_over_no_users() {
        let files = [
            ("home/.scorpiox/scorpiox-env.txt", "TOOLS=1\nMODEL=a\n"),
            ("home/.claude/scorpiox-env.txt", "MODEL=b # mine\n"),
            ("home/project/.claude/scorpiox-env.txt", "TOOL_BASH=0\nMODEL=c\r\n"),
            ("home/project/.scorpiox/scorpiox-env.txt", "# theirs\n\n MODEL = d#e \n"),
        ];
        let users = [("MODEL", "b"), ("TOOLS", "1")];
        check(&files, &users, &[("MODEL", "d#e"), ("TOOL_BASH", "0")], &[]);
        check(&files[..2], &users, &[], &[]);
        check(&[], &[], &[], &[]);
    }

    #[test]
    fn a_profile_is_one_file() {
        let users = ("home/.claude/scorpiox-env.txt", "ACTIVE_PROFILE=work\n");
        let profile = ("home/.claude/scorpiox-env/work.txt", "MODEL=w\nTOOLS=0\n");
        let projects = [
            ("home/project/.claude/scorpiox-env.txt", "ACTIVE_PROFILE=work\n"),
            ("home/project/.claude/scorpiox-env/work.txt", "MODEL=p\n"),
        ];
        let with_profile = [("ACTIVE_PROFILE", "work"), ("MODEL", "w"), ("TOOLS", "0")];
        check(&[users, profile], &with_profile, &[], &[]);
        let theirs = [("ACTIVE_PROFILE", "work"), ("MODEL", "p")];
        check(&[users, profile, projects[0], projects[1]], &with_profile, &theirs, &[]);
        check(
            &[users],
            &[("ACTIVE_PROFILE", "work")],
            &[],
            &["home/.claude/scorpiox-env.txt: the profile work is in no folder scorpiox-env beside it"],
        );
        check(
            &[("home/.claude/scorpiox-env.txt", "ACTIVE_PROFILE=../x\n")],
            &[("ACTIVE_PROFILE", "../x")],
            &[],
            &["home/.claude/scorpiox-env.txt: ACTIVE_PROFILE is no name of a profile"],
        );
    }

    #[test]
    fn what_is_no_setting_is_said_without_it() {
        let file = "home/.claude/scorpiox-env.txt";
        let long = format!("LONG={}\nFITS={}\n", "x".repeat(513), "y".repeat(512));
        let said = |line: usize, why: &str| format!("{file}:{line}: {why}; the line is left out");
        check(
            &[(file, &long)],
            &[("FITS", &"y".repeat(512))],
            &[],
            &[&said(1, "the value of LONG is longer than 512 characters or has a NUL")],
        );
        let no_key = "a key has letters, digits and underscores, at most 64";
        check(
            &[(file, "sk-secret\nA B=1\n=2\n")],
            &[],
            &[],
            &[&said(1, "it is no KEY=VALUE"), &said(2, no_key), &said(3, no_key)],
        );
    }
}
