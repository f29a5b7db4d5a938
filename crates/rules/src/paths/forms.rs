//! Every form of a path: as it is written, read, joined to folders, and where links lead.

use std::borrow::Cow;
use std::path::{Component, Path};

use super::address;
use super::named::{Named, OTHER_BYTES_MAX, PATH_BYTES_MAX, SHORT_MAX, Short};
use crate::variables::{self, Spelt};
use crate::workspace::{Looks, TooMany, Workspace, without_dots};

/// Most paths of one call that are made of a folder and a text.
pub(super) const JOINS_MAX: usize = 200_000;

/// Most short texts of which three together may be one path.
const THREES_MAX: usize = 4;

/// Collects them.
pub(super) struct Forms<'a> {
    pub(super) found: Vec<String>,
    workspace: &'a Workspace,
    folders: Vec<Folder<'a>>,
    looks: Looks,
    joins_left: usize,
}

/// What a relative path may begin at.
struct Folder<'a> {
    written: &'a str,
    path: Cow<'a, str>,
    there: There,
}

/// What a relative path is that no link is on the way of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum There {
    /// Nothing, so that there are no links below it.
    Missing,
    /// A file, which nothing is below.
    File,
    /// Something else, or it is not known.
    Other,
}

impl<'a> Forms<'a> {
    pub(super) fn new(workspace: &'a Workspace) -> Forms<'a> {
        Forms {
            found: Vec::new(),
            workspace,
            folders: Vec::new(),
            looks: Looks::default(),
            joins_left: JOINS_MAX,
        }
    }

    /// Adds all that the call names, as far as that is not too much.
    pub(super) fn all(&mut self, named: &mut Named<'a>) -> Result<(), TooMany> {
        self.found.reserve(named.texts.len() + named.others.len() + 2);
        named.others.sort_unstable();
        named.others.dedup();
        // Few short texts are joined below, each with each. What else there is begins at what is called a folder.
        let are_few = named.short.len() <= SHORT_MAX;
        if !are_few || !named.are_all_short() {
            let perhaps = named.perhaps_folders.iter().filter(|text| !named.folders.contains(text));
            for written in named.folders.iter().chain(perhaps) {
                let folder = self.folder(written);
                self.folders.push(folder);
            }
        }
        let texts = named.texts.iter().map(|text| Cow::Borrowed(*text));
        let others = named.others.iter().map(|text| Cow::Borrowed(*text));
        for text in texts.chain(named.words.drain(..)).chain(others) {
            self.add(&text)?;
        }
        if are_few && named.short.len() > 1 { self.joined(&named.short) } else { Ok(()) }
    }

    /// Adds a text by all its readings.
    fn add(&mut self, text: &str) -> Result<(), TooMany> {
        let trimmed = text.trim();
        if trimmed.len() < text.len() {
            self.spelt(trimmed)?;
        }
        self.spelt(text)
    }

    fn spelt(&mut self, text: &str) -> Result<(), TooMany> {
        if text.len() <= PATH_BYTES_MAX
            && text.contains(['~', '$', '`'])
            && let Spelt::ByHome(path) = variables::read(text, self.workspace.home())
        {
            self.written(&path)?;
        }
        self.written(text)
    }

    fn written(&mut self, text: &str) -> Result<(), TooMany> {
        self.path(text)?;
        if text.contains(':') {
            for path in address::paths(text) {
                self.path(&path)?;
            }
        }
        for nth in 0..self.folders.len() {
            if self.folders[nth].written != text {
                self.below(nth, text)?;
            }
        }
        Ok(())
    }

    /// Adds a path as it is written, and every place that it means from the workspace on.
    fn path(&mut self, text: &str) -> Result<(), TooMany> {
        if text.len() <= PATH_BYTES_MAX {
            self.found.push(text.to_owned());
        }
        if is_plain(text) && self.workspace.is_plain(text, &mut self.looks)?.is_some() {
            return Ok(());
        }
        let path = Path::new(text);
        self.place(&self.workspace.folder().join(path))?;
        for inside in self.workspace.below(path) {
            self.place(&self.workspace.folder().join(inside))?;
        }
        Ok(())
    }

    /// Adds every place that an absolute path means, to programs that take dots out before they open it, and to the
    /// system, which follows links first.
    fn place(&mut self, path: &Path) -> Result<(), TooMany> {
        let mut places = Vec::new();
        let plain = without_dots(path);
        // What is longer without its dots is opened by no system; with them, some programs make a short path of it.
        if plain.as_os_str().len() <= PATH_BYTES_MAX {
            self.workspace.follow(&plain, &mut self.looks, &mut places)?;
        }
        let climbs = || path.components().any(|component| component == Component::ParentDir);
        if path.as_os_str().len() <= PATH_BYTES_MAX && climbs() {
            self.workspace.follow(path, &mut self.looks, &mut places)?;
        }
        for place in places.iter().filter(|place| place.as_os_str().len() <= PATH_BYTES_MAX) {
            add_below(&mut self.found, place, self.workspace);
        }
        Ok(())
    }

    /// Adds a relative path as it is meant from a folder.
    fn below(&mut self, folder: usize, text: &str) -> Result<(), TooMany> {
        let Folder { path: folder, there, .. } = &self.folders[folder];
        if *there == There::File {
            return Ok(());
        }
        self.joins_left = self.joins_left.checked_sub(1).ok_or(TooMany::Joins)?;
        let joined = join(folder, text);
        if *there == There::Missing && is_plain(text) {
            self.found.push(joined);
            return Ok(());
        }
        self.path(&joined)
    }

    /// Adds each of some short texts as it is meant from each other one, and of very few from two others.
    fn joined(&mut self, short: &[Short<'a>]) -> Result<(), TooMany> {
        let before = self.folders.len();
        for short in short {
            let folder = self.folder(short.text);
            self.folders.push(folder);
        }
        for nth in 0..short.len() {
            for (second, next) in short.iter().enumerate().filter(|(_, next)| next.may_go_on(&short[nth])) {
                self.below(before + nth, next.text.trim())?;
                if short.len() > THREES_MAX {
                    continue;
                }
                let is_other =
                    |last: &&Short<'_>| last.may_go_on(&short[nth]) && last.may_go_on(&short[second]);
                for last in short.iter().filter(is_other) {
                    self.below(before + nth, &join(next.text.trim(), last.text.trim()))?;
                }
            }
        }
        self.folders.truncate(before);
        Ok(())
    }

    /// A text as the folder that a path begins at.
    fn folder(&mut self, written: &'a str) -> Folder<'a> {
        let trimmed = written.trim();
        let by_home = trimmed.contains(['~', '$']).then(|| variables::read(trimmed, self.workspace.home()));
        let path = match by_home {
            Some(Spelt::ByHome(path)) => Cow::Owned(path),
            Some(Spelt::Plain | Spelt::Unknown) | None => Cow::Borrowed(trimmed),
        };
        let of_address = path.contains(':').then(|| address::paths(&path).into_iter().next()).flatten();
        let path = of_address.map_or(path, Cow::Owned);
        let is_there = match is_plain(&path) {
            true => self.workspace.is_plain(&path, &mut self.looks),
            false => Ok(None),
        };
        let there = match is_there {
            Ok(Some(false)) => There::Missing,
            Ok(Some(true)) if self.workspace.is_file(&path) => There::File,
            // Where it cannot be asked any more, it is asked again for what is below it, and that is too much.
            Ok(Some(true) | None) | Err(_) => There::Other,
        };
        Folder { written, path, there }
    }
}

/// A path below a folder. Programs that put a slash between two texts make one path of two that begin with one.
fn join(folder: &str, path: &str) -> String {
    let mut joined = String::with_capacity(folder.len() + path.len() + 1);
    joined.push_str(folder);
    if !folder.ends_with('/') {
        joined.push('/');
    }
    joined.push_str(path.trim_start_matches('/'));
    joined
}

/// True for a relative path without dots and empty names.
fn is_plain(text: &str) -> bool {
    text.len() <= OTHER_BYTES_MAX
        && !text.contains('\0')
        && text.split('/').all(|name| !matches!(name, "" | "." | ".."))
}

/// The path from the workspace's folder on, or in full, once with and once without its first slash.
fn add_below(forms: &mut Vec<String>, path: &Path, workspace: &Workspace) {
    match path.strip_prefix(workspace.folder()) {
        Ok(inside) => forms.push(inside.to_string_lossy().into_owned()),
        Err(_) => {
            let whole = path.to_string_lossy().into_owned();
            forms.push(whole.trim_start_matches('/').to_owned());
            forms.push(whole);
        }
    }
}
