//! The texts of a call that may be paths, by the names of their members and by what they look like.

use std::borrow::Cow;

use serde_json::Value;

use super::address;
use crate::workspace::TooMany;

/// Most arguments of one call that are paths by their names and are looked at; where rules about paths act, a call with
/// more does not run.
pub(super) const PATHS_MAX: usize = 10_000;

/// Longest text that is taken for a path, in bytes: what systems take, with every byte escaped as in an address.
pub(super) const PATH_BYTES_MAX: usize = 3 * 4_096 + 64;

/// Names of members that are paths, in small letters and without `_` and `-`; or the ends of such names.
const PATH_NAMES: [&str; 14] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "uri",
    "uris",
    "dir",
    "dirs",
    "directory",
    "folder",
    "folders",
    "directories",
];

/// The same, but only as whole names.
const PATH_WORDS: [&str; 11] =
    ["cwd", "root", "source", "destination", "src", "dst", "dest", "from", "to", "target", "url"];

/// Names of members whose words may be paths.
const COMMAND_WORDS: [&str; 6] = ["command", "cmd", "args", "argv", "arguments", "script"];

/// The user's folder, in one of the ways of commands to say it.
const BRACED_HOME: &str = "${HOME}";

/// Most words of commands that are looked at. A program can name a path in ways that nobody sees from outside, so the rest
/// is not worth a refusal.
const WORDS_MAX: usize = 200;

/// Ends of the names of members that a relative path may begin at, beside the workspace.
const FOLDERS: [&str; 13] = [
    "cwd",
    "dir",
    "directory",
    "folder",
    "root",
    "base",
    "repo",
    "repository",
    "repopath",
    "rootpath",
    "basepath",
    "projectpath",
    "workspace",
];

/// Ends of the names of members that may be such a folder or something else.
const PERHAPS_FOLDERS: [&str; 5] = ["path", "location", "parent", "prefix", "dirname"];

/// Most folders of one call that relative paths are joined to, and most that may be some.
pub(super) const FOLDERS_MAX: usize = 8;

/// Longest text that may be a path without being called one, in bytes: what systems take.
pub(super) const OTHER_BYTES_MAX: usize = 4_096;

/// Most such texts of one call that are looked at.
pub(super) const OTHERS_MAX: usize = 100_000;

/// Longest text that any other one may begin at, or go on, in bytes, and most of one call that do.
const SHORT_BYTES_MAX: usize = 256;
pub(super) const SHORT_MAX: usize = 8;

/// True for a member whose text is a path by its name.
pub(crate) fn is_path_name(name: &str) -> bool {
    is_path(&plain(name))
}

fn is_path(plain: &str) -> bool {
    PATH_WORDS.contains(&plain) || PATH_NAMES.iter().any(|end| plain.ends_with(end))
}

/// True for a text that may be a path, or the address of a file: one line, and of no other scheme.
pub(crate) fn looks_like_path(text: &str) -> bool {
    text.len() <= PATH_BYTES_MAX
        && !text.contains(['\n', '\r', '\0'])
        && (address::is_of_file(text) || !text.contains("://"))
}

fn plain(name: &str) -> Cow<'_, str> {
    match name.bytes().all(|byte| byte.is_ascii_lowercase()) {
        true => Cow::Borrowed(name),
        false => name.chars().filter(|c| !matches!(c, '_' | '-')).flat_map(char::to_lowercase).collect(),
    }
}

/// A text that another one may begin at, or go on.
pub(super) struct Short<'a> {
    pub(super) text: &'a str,
    /// The list of paths that it stands in: those do not go on each other.
    pub(super) list: Option<&'a [Value]>,
}

impl Short<'_> {
    pub(super) fn may_go_on(&self, folder: &Short<'_>) -> bool {
        let is_of_list = |list: &[Value]| folder.list.is_some_and(|other| std::ptr::eq(list, other));
        !std::ptr::eq(self.text, folder.text) && !self.list.is_some_and(is_of_list)
    }
}

/// The texts of a call that may be paths.
#[derive(Default)]
pub(super) struct Named<'a> {
    pub(super) folders: Vec<&'a str>,
    pub(super) perhaps_folders: Vec<&'a str>,
    pub(super) texts: Vec<&'a str>,
    pub(super) words: Vec<Cow<'a, str>>,
    pub(super) others: Vec<&'a str>,
    /// Short ones of whatever name, one more than are looked at if there are more.
    pub(super) short: Vec<Short<'a>>,
    /// The list of paths that is being looked at, if it is one.
    list: Option<&'a [Value]>,
    pub(super) over: Option<TooMany>,
}

impl<'a> Named<'a> {
    /// Whether every text that may be a path is a short one.
    pub(super) fn are_all_short(&self) -> bool {
        let is_short = |text: &&str| self.short.iter().any(|short| short.text == *text);
        self.words.is_empty() && self.texts.iter().chain(&self.others).all(is_short)
    }

    pub(super) fn look(&mut self, value: &'a Value, name: Option<&str>) {
        match value {
            Value::Object(members) => {
                let is_table = name.is_some_and(is_path_name);
                for (name, value) in members {
                    // Some tools take a table of contents by their paths.
                    if is_table || name.contains(['/', '.']) {
                        self.add(name);
                    }
                    self.look(value, Some(name));
                }
            }
            Value::Array(items) => {
                let outer = self.list;
                self.list = outer.or(name.is_some_and(is_path_name).then_some(items));
                items.iter().for_each(|item| self.look(item, name));
                self.list = outer;
            }
            Value::String(text) => self.text(text, name.unwrap_or_default()),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn text(&mut self, text: &'a str, name: &str) {
        let plain = plain(name);
        let is_one = |ends: &[&str]| ends.iter().any(|end| plain.ends_with(end));
        if is_one(&FOLDERS) && !self.folders.contains(&text) {
            match self.folders.len() < FOLDERS_MAX {
                true => self.folders.push(text),
                false => self.over = Some(TooMany::Folders),
            }
        } else if is_one(&PERHAPS_FOLDERS)
            && self.perhaps_folders.len() < FOLDERS_MAX
            && !self.perhaps_folders.contains(&text)
        {
            self.perhaps_folders.push(text);
        }
        if self.short.len() <= SHORT_MAX
            && !text.is_empty()
            && text.len() <= SHORT_BYTES_MAX
            && !text.trim().contains(['\n', '\r'])
            && !self.short.iter().any(|short| short.text == text)
        {
            self.short.push(Short { text, list: self.list });
        }
        if is_path(&plain) {
            return self.add(text);
        }
        if COMMAND_WORDS.contains(&&*plain) {
            self.command(text);
        }
        if may_be_path(text) && !self.others.ends_with(&[text]) {
            match self.others.len() < OTHERS_MAX {
                true => self.others.push(text),
                false => self.over = Some(TooMany::Texts),
            }
        }
    }

    fn command(&mut self, text: &'a str) {
        let ends = |c: char| c.is_whitespace() || "\"'`=;|&<>(){},:".contains(c);
        let left = WORDS_MAX - self.words.len();
        match text.contains(BRACED_HOME) {
            false => self.words.extend(words(text, ends).take(left).map(Cow::Borrowed)),
            // Braces are between words.
            true => {
                let text = text.replace(BRACED_HOME, "$HOME");
                self.words.extend(words(&text, ends).take(left).map(|word| Cow::Owned(word.to_owned())));
            }
        }
    }

    fn add(&mut self, text: &'a str) {
        if self.texts.ends_with(&[text]) {
            return;
        }
        match self.texts.len() < PATHS_MAX {
            true => self.texts.push(text),
            false => self.over = Some(TooMany::Paths),
        }
    }
}

fn words(text: &str, ends: impl Fn(char) -> bool) -> impl Iterator<Item = &str> {
    text.split(ends).filter(|word| !word.is_empty())
}

/// True for a text that may be a path though nothing says so. Words with blanks between them are prose, and lines are
/// content, unless they end as a path once the dots are out; so does what is longer than any system takes.
pub(super) fn may_be_path(text: &str) -> bool {
    let text = text.trim();
    if text.is_empty() {
        return false;
    }
    if text.len() > OTHER_BYTES_MAX {
        return is_path_without_dots(text);
    }
    if address::is_of_file_to_browsers(text) {
        return true;
    }
    if text.contains(['\n', '\r']) {
        return text.contains("..") && is_path_without_dots(text);
    }
    text.contains('/') || !text.contains(char::is_whitespace)
}

/// True for a text that is one short line once the dots and empty names are out.
fn is_path_without_dots(text: &str) -> bool {
    let climbs = text.contains("/..") || text.starts_with("../");
    let may_be = match text.contains(['\n', '\r']) {
        true => climbs,
        false => climbs || text.contains("//") || text.contains("/./") || text.starts_with("./"),
    };
    if !may_be {
        return false;
    }
    // Where each name that is left ends, in bytes, and where the last line but one does.
    let mut left: Vec<(usize, bool)> = Vec::new();
    let (mut bytes, mut lines) = (0, 0);
    for name in text.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                if let Some((length, has_lines)) = left.pop() {
                    bytes -= length;
                    lines -= usize::from(has_lines);
                }
            }
            name => {
                let has_lines = name.contains(['\n', '\r']);
                left.push((name.len() + 1, has_lines));
                bytes += name.len() + 1;
                lines += usize::from(has_lines);
            }
        }
    }
    lines == 0 && bytes > 0 && bytes <= OTHER_BYTES_MAX
}
