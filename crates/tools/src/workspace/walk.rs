//! Goes through a folder, and the folders below it if asked, in an order that can be taken up again.
//!
//! The order is that of paths, name by name, so that "after this path" says exactly what has been shown,
//! also when files have come and gone meanwhile. Folders are opened one in the other, never by path, and links
//! are shown and not followed: a walk cannot leave the workspace or run in circles.

use std::cmp::Ordering;
use std::ops::ControlFlow::{self, Break, Continue};
use std::vec;

use tool_api::{Cancel, Entry, FileError, Folder, Inside, Kind, Root, ToolError};

use super::file_error::refused;
use super::ignore_rules::IgnoreRules;
use super::listing::{Item, Listing, Unlisted};
use super::name_filter::NameFilter;

/// Folders below the listed one that are gone into; each holds a file handle.
pub(super) const DEPTH_MAX: usize = 64;

/// Entries looked at in one call, shown or not: a second or two of work.
pub(super) const LOOKED_AT_MAX: usize = 200_000;

/// Folders that could not be listed and are named; the rest is like them.
const UNLISTED_MAX: usize = 20;

/// The folder whose content is never wanted in a walk.
const GIT_FOLDER: &str = ".git";

/// What is asked for.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) recursive: bool,
    pub(super) filter: NameFilter,
    /// Names that begin with a dot.
    pub(super) hidden: bool,
    /// What ignore rules leave out.
    pub(super) ignored: bool,
    /// Their sizes and times as well, which takes as long again as finding them.
    pub(super) meta: bool,
    pub(super) entries_max: usize,
    /// Bytes of their paths.
    pub(super) paths_bytes_max: usize,
    /// Entries that are looked at before the call ends, shown or not.
    pub(super) looked_at_max: usize,
    pub(super) after: Option<Inside>,
}

/// Lists `start` as `wanted`.
pub(super) fn walk(
    files: &Root,
    start: &Inside,
    wanted: &Wanted,
    cancel: &Cancel,
) -> Result<Listing, ToolError> {
    let folder = files.folder(start).map_err(refused)?;
    let rules = (!wanted.ignored).then(|| IgnoreRules::above(start, files));
    let start_bytes = if start.is_root() { 0 } else { start.as_str().len() + 1 };
    let listing = Listing { entries: Vec::new(), next_after: None, unlisted: Vec::new() };
    let mut walk =
        Walk { wanted, start_bytes, rules, levels: Vec::new(), listing, looked_at: 0, paths_bytes: 0 };
    walk.enter(folder).map_err(refused)?;
    walk.go(cancel)?;
    if walk.listing.entries.is_empty() {
        // A folder that was deleted looks like an empty one.
        files.check_present().map_err(refused)?;
    }
    Ok(walk.listing)
}

struct Walk<'a> {
    wanted: &'a Wanted,
    start_bytes: usize,
    rules: Option<IgnoreRules>,
    levels: Vec<Level>,
    listing: Listing,
    looked_at: usize,
    paths_bytes: usize,
}

/// A folder on the way from the listed one to where the walk is.
struct Level {
    folder: Folder,
    entries: vec::IntoIter<Entry>,
}

impl Walk<'_> {
    fn go(&mut self, cancel: &Cancel) -> Result<(), ToolError> {
        while let Some(level) = self.levels.last_mut() {
            if cancel.is_cancelled() {
                return Err(ToolError::cancelled());
            }
            let Some(entry) = level.entries.next() else {
                self.leave();
                continue;
            };
            let path = below(level.folder.path(), &entry.name);
            if self.look_at(path, &entry).is_break() {
                return Ok(());
            }
        }
        Ok(())
    }

    fn look_at(&mut self, path: String, entry: &Entry) -> ControlFlow<()> {
        let place = self.wanted.after.as_ref().map_or(Place::After, |after| Place::of(&path, after.as_str()));
        if place == Place::Before || self.is_left_out(&path, entry) {
            return Continue(());
        }
        let inside = (entry.kind == Kind::Folder && self.wanted.recursive).then(|| path.clone());
        if place == Place::After {
            self.show(path, entry)?;
        }
        if let Some(path) = inside {
            self.enter_child(path, entry);
        }
        Continue(())
    }

    fn is_left_out(&self, path: &str, entry: &Entry) -> bool {
        let is_folder = entry.kind == Kind::Folder;
        (!self.wanted.hidden && entry.name.starts_with('.'))
            || (self.wanted.recursive && entry.name == GIT_FOLDER)
            || self.rules.as_ref().is_some_and(|rules| rules.leaves_out(path, is_folder))
    }

    /// Ends the walk with the last entry that there is room for.
    fn show(&mut self, path: String, entry: &Entry) -> ControlFlow<()> {
        self.looked_at += 1;
        let fits = self.wanted.filter.fits(&path[self.start_bytes..]);
        if fits && self.is_full(&path) {
            self.listing.next_after = self.listing.entries.last().map(|last| last.path.clone());
            return Break(());
        }
        if self.looked_at == self.wanted.looked_at_max {
            self.listing.next_after = Some(path.clone());
        }
        if fits {
            self.paths_bytes += path.len();
            self.listing.entries.push(Item::new(path, entry));
        }
        if self.looked_at == self.wanted.looked_at_max { Break(()) } else { Continue(()) }
    }

    /// Whether one more entry would be too much. The first always fits, so that every answer goes on.
    fn is_full(&self, path: &str) -> bool {
        let entries = self.listing.entries.len();
        entries >= self.wanted.entries_max
            || (entries > 0 && self.paths_bytes + path.len() > self.wanted.paths_bytes_max)
    }

    fn enter_child(&mut self, path: String, entry: &Entry) {
        if self.levels.len() > DEPTH_MAX {
            return self.note(path, format!("more than {DEPTH_MAX} folders deep; list it by itself"));
        }
        if !entry.name_is_exact {
            return self.note(path, "its name is not UTF-8".to_owned());
        }
        let Some(level) = self.levels.last() else { return };
        match level.folder.child(&entry.name).and_then(|folder| self.enter(folder)) {
            // Gone meanwhile.
            Ok(()) | Err(FileError::NotFound { .. }) => {}
            Err(error) => self.note(path, error.to_string()),
        }
    }

    fn enter(&mut self, folder: Folder) -> Result<(), FileError> {
        let entries = if self.wanted.meta { folder.entries_with_meta() } else { folder.entries() };
        let entries = entries?.into_iter();
        if let Some(rules) = &mut self.rules {
            rules.enter(&folder);
        }
        self.levels.push(Level { folder, entries });
        Ok(())
    }

    fn leave(&mut self) {
        self.levels.pop();
        if let Some(rules) = &mut self.rules {
            rules.leave();
        }
    }

    fn note(&mut self, path: String, reason: String) {
        if self.listing.unlisted.len() < UNLISTED_MAX {
            self.listing.unlisted.push(Unlisted { path, reason });
        }
    }
}

fn below(folder: &Inside, name: &str) -> String {
    if folder.is_root() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// Where an entry lies, seen from the path after which the listing goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It and all below it were shown before.
    Before,
    /// It was shown before; what is below it not yet, or not all.
    Around,
    /// It comes now.
    After,
}

impl Place {
    fn of(path: &str, after: &str) -> Place {
        let mut names = after.split('/');
        for name in path.split('/') {
            match names.next().map(|other| name.cmp(other)) {
                Some(Ordering::Equal) => {}
                Some(Ordering::Less) => return Place::Before,
                Some(Ordering::Greater) | None => return Place::After,
            }
        }
        Place::Around
    }
}

#[cfg(test)]
mod tests {
    use testkit::Workspace;
    use tool_api::Access;

    use super::*;

    /// Many entries and few that fit: every call ends, and all together find them.
    #[test]
    fn long_searches_go_on_too() {
        let files: String = (0..20).map(|n| format!("{n:02}/a.txt: x\n{n:02}/b.md: x\n")).collect();
        let workspace = Workspace::new(&files);
        let files = workspace.root(Access::Read);
        let (mut found, mut calls, mut after) = (Vec::new(), 0, None);
        loop {
            let wanted = Wanted {
                recursive: true,
                filter: NameFilter::new(Some("*7/*.md")).expect("a glob"),
                hidden: true,
                ignored: false,
                meta: false,
                entries_max: 100,
                paths_bytes_max: usize::MAX,
                looked_at_max: 4,
                after,
            };
            let listing = walk(&files, &Inside::root(), &wanted, &Cancel::new()).expect("it is listed");
            found.extend(listing.entries.into_iter().map(|item| item.path));
            calls += 1;
            let Some(next) = listing.next_after else { break };
            after = Some(files.locate(&next).expect("a path of ours"));
        }
        assert_eq!((found.join(" ").as_str(), calls), ("07/b.md 17/b.md", 16));
    }

    #[test]
    fn the_order_is_that_of_names() {
        let check = |path, expected| assert_eq!(Place::of(path, "b/c"), expected, "{path}");
        check("a", Place::Before);
        check("a/z", Place::Before);
        check("b", Place::Around);
        check("b/b", Place::Before);
        check("b/c", Place::Around);
        check("b/c/a", Place::After);
        check("b/d", Place::After);
        check("b-c", Place::After);
        check("c", Place::After);
    }
}
