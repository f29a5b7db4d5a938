//! The patterns of a rule about paths: read as what their author means, so that each fits a path in whatever way it is
//! spelt, or refused with a word.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::workspace::{Looks, Workspace, without_dots};

/// Signs that stand for others in a pattern.
const SIGNS: [char; 7] = ['*', '?', '[', ']', '{', '}', '\\'];

/// Paths that a rule is about.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathPatterns {
    /// Held against paths from the workspace on, and against those outside in full.
    globs: GlobSet,
    /// Names in whatever folder, with all that is below them; sorted.
    names: Vec<Box<str>>,
    /// Held against paths in full, those in the workspace too.
    in_full: GlobSet,
    /// The workspace's folder by all its names, if `in_full` has any.
    roots: Vec<String>,
}

impl PathPatterns {
    /// Whether one of them fits a path.
    pub(crate) fn is_match(&self, path: &str) -> bool {
        let is_name = |name: &str| self.names.binary_search_by(|known| (**known).cmp(name)).is_ok();
        (!self.names.is_empty() && path.split('/').any(is_name))
            || self.globs.is_match(path)
            || (!self.in_full.is_empty() && self.is_match_in_full(path))
    }

    fn is_match_in_full(&self, path: &str) -> bool {
        if path.starts_with('/') {
            return self.in_full.is_match(path);
        }
        let whole = |root: &String| format!("{}/{path}", root.trim_end_matches('/'));
        self.roots.iter().any(|root| self.in_full.is_match(whole(root).trim_end_matches('/')))
    }
}

/// Patterns that are being read.
pub(crate) struct Reading {
    globs: GlobSetBuilder,
    names: Vec<Box<str>>,
    in_full: GlobSetBuilder,
}

impl Reading {
    pub(crate) fn new() -> Reading {
        Reading { globs: GlobSetBuilder::new(), names: Vec::new(), in_full: GlobSetBuilder::new() }
    }

    /// Reads one pattern. `*` does not cross a `/` of a path, `**` does. A single name is meant in whatever folder. What
    /// ends in `/`, or in a name without `*` and `?`, is about all that is below as well, as in `.gitignore`.
    ///
    /// # Errors
    /// Why it fits nothing, and what to write.
    pub(crate) fn add(&mut self, text: &str, workspace: &Workspace) -> Result<(), String> {
        let written = text.trim();
        let no_glob = |error: globset::Error| format!("{text:?} is no glob: {}", error.kind());
        if is_address(written) {
            return self.glob(written).map_err(no_glob);
        }
        let path = in_words(written, workspace.home().and_then(Path::to_str))?;
        let is_full = path.starts_with('/');
        let names: Vec<&str> = path.split('/').filter(|name| !matches!(*name, "" | ".")).collect();
        let is_folder = path.ends_with('/');
        match &names[..] {
            [] => Err(format!("{text:?} names no path; write `**` for every one")),
            names if names.contains(&"..") => Err(format!(
                "{text:?} has `..` in it; write the path from the workspace's folder on, or in full"
            )),
            [name] if !is_full && *name != "**" => self.name(name, is_folder).map_err(no_glob),
            names => {
                let mut targets = targets(names, is_full, workspace).into_iter();
                targets.try_for_each(|target| self.below(&target, is_folder)).map_err(no_glob)
            }
        }
    }

    /// All of them.
    ///
    /// # Errors
    /// Together they are too much.
    pub(crate) fn end(mut self, workspace: &Workspace) -> Result<PathPatterns, globset::Error> {
        self.names.sort_unstable();
        self.names.dedup();
        let (globs, in_full) = (self.globs.build()?, self.in_full.build()?);
        let roots = if in_full.is_empty() { Vec::new() } else { workspace.names().collect() };
        Ok(PathPatterns { globs, names: self.names, in_full, roots })
    }

    fn name(&mut self, name: &str, is_folder: bool) -> Result<(), globset::Error> {
        if !name.contains(SIGNS) {
            self.names.push(name.into());
            return Ok(());
        }
        self.glob(&format!("**/{name}"))?;
        if is_folder || !name.contains(['*', '?']) { self.glob(&format!("**/{name}/**")) } else { Ok(()) }
    }

    fn below(&mut self, target: &str, is_folder: bool) -> Result<(), globset::Error> {
        self.glob(target)?;
        // `infra/**` is about the folder itself as well.
        if let Some(folder) = target.strip_suffix("/**").filter(|folder| !matches!(*folder, "" | "**")) {
            return self.glob(folder);
        }
        let last = target.rsplit('/').next().unwrap_or(target);
        if is_folder || !last.contains(['*', '?']) { self.glob(&format!("{target}/**")) } else { Ok(()) }
    }

    fn glob(&mut self, pattern: &str) -> Result<(), globset::Error> {
        let glob = GlobBuilder::new(pattern).literal_separator(true).build()?;
        let set = if pattern.starts_with('/') { &mut self.in_full } else { &mut self.globs };
        set.add(glob);
        Ok(())
    }
}

/// True for the address of something that is no file, which is held against texts as they are written.
fn is_address(text: &str) -> bool {
    text.contains("://") && !is_of_file(text)
}

fn is_of_file(text: &str) -> bool {
    text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("file:"))
}

/// The pattern without what only stands for a path: `file:`, and the user's folder.
fn in_words(text: &str, home: Option<&str>) -> Result<String, String> {
    if text.contains(char::is_control) {
        return Err(format!("{text:?} has control characters, which no path here has"));
    }
    if text.starts_with('!') {
        return Err(format!(
            "{text:?} begins with `!`, but a pattern takes nothing away; write what the rule is about"
        ));
    }
    let is_odd = |at: usize| !text[at + 1..].starts_with(['[', ']', '{', '}', '!']);
    if text.match_indices('\\').any(|(at, _)| is_odd(at)) {
        return Err(format!("{text:?} has a `\\`; write `/` between names, and `[*]` for a `*` in one"));
    }
    let path = match text.get(5..).filter(|_| is_of_file(text)) {
        None => text,
        Some(rest) => match rest.strip_prefix("//") {
            None => rest,
            Some(rest) if rest.starts_with(['/', '~', '$']) => rest,
            Some(_) => {
                return Err(format!("{text:?} names a machine; write the path itself, without `file:`"));
            }
        },
    };
    by_home(path, home)
}

fn by_home(text: &str, home: Option<&str>) -> Result<String, String> {
    let unknown =
        |what: &str| Err(format!("what `{what}` stands for is not known here; write the path in full"));
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with('/');
    for name in ["~", "$HOME", "${HOME}"] {
        if let Some(rest) = text.strip_prefix(name).filter(|rest| is_end(rest)) {
            return match home {
                Some(home) => Ok(format!("{}{rest}", globset::escape(home))),
                None => unknown(name),
            };
        }
    }
    let first = text.split('/').next().unwrap_or(text);
    let is_upper = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
    };
    let is_variable =
        first.strip_prefix('$').is_some_and(|name| is_upper(name) || name.starts_with(['{', '(']));
    if is_variable || (first.starts_with('~') && first != text) {
        return unknown(first);
    }
    Ok(text.to_owned())
}

/// What the names mean: from the workspace on, if they lie in it; and where a link on the way leads.
fn targets(names: &[&str], is_full: bool, workspace: &Workspace) -> Vec<String> {
    let path = names.join("/");
    let mut targets = Vec::new();
    if is_full {
        let whole = format!("/{path}");
        for inside in workspace.below(Path::new(&whole)) {
            let inside = inside.to_string_lossy();
            targets.push(if inside.is_empty() { "**".to_owned() } else { inside.into_owned() });
        }
        if targets.is_empty() {
            // As in `.gitignore`, the workspace may be meant.
            targets.extend([whole, path]);
        }
    } else {
        targets.push(path);
    }
    for nth in 0..targets.len() {
        let found = through_links(&targets[nth], workspace);
        targets.extend(found);
    }
    targets.sort_unstable();
    targets.dedup();
    targets
}

/// The same pattern by where the links lead that are on its way now.
fn through_links(target: &str, workspace: &Workspace) -> Vec<String> {
    let names: Vec<&str> = target.split('/').collect();
    let plain = names.iter().take_while(|name| !name.contains(SIGNS)).count();
    let way = workspace.folder().join(names[..plain].join("/"));
    let mut places = Vec::new();
    if plain == 0 || workspace.follow(&way, &mut Looks::default(), &mut places).is_err() {
        return Vec::new();
    }
    places.retain(|place| *place != without_dots(&way));
    let rest = &names[plain..];
    let patterns = places.iter().map(|place| {
        let inside = place.strip_prefix(workspace.folder()).unwrap_or(place).to_string_lossy();
        let mut names = vec![globset::escape(inside.trim_end_matches('/'))];
        names.extend(rest.iter().map(|name| (*name).to_owned()));
        names.retain(|name| !name.is_empty() || inside == "/");
        if names.is_empty() { "**".to_owned() } else { names.join("/") }
    });
    patterns.collect()
}
