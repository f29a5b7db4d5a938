//! `Client`: what differs between clients, and what is done with all of them alike.

use std::path::PathBuf;

use sandbox::text_file;
use serde_json::{Map, Value};

use crate::entry::{self, Spellings};
use crate::fields::Fields;
use crate::form::{ClientEntry, Form};
use crate::origin::{self, ClientFile, Location, Origin, Surroundings};
use crate::server::Server;
use crate::variables::{Findings, Syntax};

/// A client: what differs between them.
pub struct Client {
    /// What it is called on the command line.
    pub id: &'static str,
    /// What it is called.
    pub title: &'static str,
    /// The files it may read, the user's before projects'.
    pub(crate) files: &'static [Location],
    pub(crate) form: Form,
    pub(crate) syntax: Syntax,
    /// Whether a file of unknown name may be one of its.
    pub(crate) knows: fn(&Map<String, Value>) -> bool,
    /// The keys that lead to the table of servers in a file.
    pub(crate) table: fn(&Value) -> &'static [&'static str],
    /// The tables of servers for single projects in it.
    pub(crate) projects: for<'v> fn(&'v Value, &Origin<'_>) -> Vec<ProjectTable<'v>>,
    pub(crate) spellings: Spellings,
    /// What else there is to say about a file.
    pub(crate) notes: fn(&Value, &Origin<'_>) -> Vec<String>,
    /// The entry for a server with a command, in a file that holds this.
    pub(crate) write: fn(&Value, &Server) -> ClientEntry,
    /// The entry for a server with an address.
    pub(crate) remote: Remote,
    /// A new file.
    pub(crate) fresh: &'static str,
}

/// The table of servers for one project in a file that has more than that.
pub(crate) struct ProjectTable<'v> {
    /// The project's path.
    pub project: &'v str,
    /// The keys that lead to the table.
    pub keys: Vec<&'v str>,
    pub servers: &'v Value,
}

/// How a client writes a server with an address.
pub(crate) enum Remote {
    /// Not at all.
    Never,
    /// By its address alone.
    Plain,
    /// With this type before it.
    Typed(&'static str),
}

impl Remote {
    fn entry(&self, url: &str) -> Option<ClientEntry> {
        let url = ("url", url.into());
        match *self {
            Remote::Never => None,
            Remote::Plain => Some(vec![url]),
            Remote::Typed(kind) => Some(vec![("type", kind.into()), url]),
        }
    }
}

/// A server in a client's file.
#[derive(Debug)]
pub struct FoundServer {
    /// Its name there.
    pub name: String,
    /// The keys that lead to the table that it stands in.
    pub table: Vec<String>,
    /// What it is, or why it cannot be taken over.
    pub server: Result<Server, String>,
    /// What came up.
    pub findings: Findings,
}

/// What a client's file becomes by an export.
pub struct FileChange {
    /// The keys that lead to the table of servers in it.
    pub table: &'static [&'static str],
    /// Whether something else stands there under the name.
    pub replaces: bool,
    /// What is to stand there.
    pub new: ClientEntry,
    /// The same in the file's own form.
    pub shown: String,
    /// The whole text, if it changes.
    pub text: Option<String>,
}

impl Client {
    /// The files it may read on this machine, the user's before projects'. They need not exist.
    pub fn places(&self, surroundings: &Surroundings) -> Vec<ClientFile> {
        self.files.iter().filter_map(|file| file.file(surroundings)).collect()
    }

    /// The file that an export goes to: the user's that is there, else the one that the client would make.
    pub fn target(&self, surroundings: &Surroundings) -> Option<PathBuf> {
        let users = || self.places(surroundings).into_iter().filter(|place| place.project.is_none());
        users()
            .find(|place| text_file::is_file(&place.path))
            .or_else(|| users().next())
            .map(|place| place.path)
    }

    /// The file of the current folder's project that an export goes to, if it has one for projects: the one that is
    /// there, else the one that it would look for first.
    pub fn project_target(&self, surroundings: &Surroundings) -> Option<ClientFile> {
        let there = self.places(surroundings).into_iter().rev().find(|place| place.project.is_some());
        there.or_else(|| self.files.iter().find_map(|file| file.new_in_project(surroundings)))
    }

    /// The servers in a file of its, and what else there is to say about it.
    ///
    /// # Errors
    /// A sentence with line and column, if the text is broken.
    pub fn servers(
        &self,
        text: &str,
        origin: &Origin<'_>,
    ) -> Result<(Vec<FoundServer>, Vec<String>), String> {
        let root = self.form.read(text)?;
        let keys = (self.table)(&root);
        let users = at(&root, keys).map(|servers| (origin.place.project.clone(), keys.to_vec(), servers));
        let projects = (self.projects)(&root, origin).into_iter();
        let projects = projects.map(|of| (Some(of.project.into()), of.keys, of.servers));
        let mut all = Vec::new();
        for (project, keys, servers) in users.into_iter().chain(projects) {
            let place = ClientFile { project, ..origin.place.clone() };
            let origin = Origin { place: &place, surroundings: origin.surroundings };
            let servers = servers.as_object().into_iter().flatten();
            all.extend(servers.map(|(name, entry)| self.found(name, &keys, entry, &origin)));
        }
        Ok((all, (self.notes)(&root, origin)))
    }

    fn found(&self, name: &str, keys: &[&str], entry: &Value, origin: &Origin<'_>) -> FoundServer {
        let (name, table) = (name.to_owned(), keys.iter().map(|&key| key.to_owned()).collect());
        let Some(entry) = entry.as_object() else {
            return FoundServer {
                name,
                table,
                server: Err("its entry is no table".to_owned()),
                findings: Findings::default(),
            };
        };
        let mut fields = Fields::new(entry, self.syntax, origin);
        let server = entry::read(&mut fields, &self.spellings).map(|server| settled(server, origin));
        FoundServer { name, table, server, findings: fields.finish("") }
    }

    /// The file without the server of this name in the table that the keys lead to; nothing if it has none.
    ///
    /// # Errors
    /// A sentence, with line and column if the text is broken.
    pub fn without(&self, text: &str, table: &[String], name: &str) -> Result<Option<String>, String> {
        let keys: Vec<&str> = table.iter().map(String::as_str).collect();
        self.form.without(text, &keys, name)
    }

    /// The file with a server in it, in the client's own words. No text: the file is not there yet.
    ///
    /// # Errors
    /// A sentence, with line and column if the text is broken.
    pub fn export(
        &self,
        text: Option<&str>,
        name: &str,
        server: &Server,
        origin: &Origin<'_>,
    ) -> Result<FileChange, String> {
        let text = text.filter(|text| !text.trim().is_empty()).unwrap_or(self.fresh);
        let root = self.form.read(text)?;
        let keys = (self.table)(&root);
        let new = match &server.url {
            None => (self.write)(&root, server),
            Some(url) => self.remote.entry(url).ok_or("it takes programs only, and no address")?,
        };
        let old = at(&root, keys).and_then(|servers| servers.get(name));
        let is_same = old.is_some_and(|old| {
            let found = self.found(name, keys, old, origin);
            found.findings == Findings::default() && found.server.as_ref() == Ok(server)
        });
        let shown = self.form.shown(keys, name, &new)?;
        let text = if is_same { None } else { Some(self.form.put(text, keys, name, &new)?) };
        Ok(FileChange { table: keys, replaces: old.is_some() && !is_same, new, shown, text })
    }
}

/// What these keys lead to.
fn at<'v>(root: &'v Value, keys: &[&str]) -> Option<&'v Value> {
    keys.iter().try_fold(root, |table, key| table.get(key))
}

/// Paths that begin at home or at the project are made whole, since neither is known where the server is started.
fn settled(mut server: Server, origin: &Origin<'_>) -> Server {
    let home = origin::home(origin.surroundings);
    let project = origin.place.project.as_deref();
    let whole = |path: &str| match (path.strip_prefix("~/"), &home, project) {
        (Some(below), Some(home), _) => home.join(below).display().to_string(),
        (None, _, Some(project)) => {
            project.join(path).components().collect::<PathBuf>().display().to_string()
        }
        _ => path.to_owned(),
    };
    let is_relative = |word: &String| word.starts_with("./") || word.starts_with("../");
    if server.args.iter().any(is_relative) && server.cwd.is_none() {
        server.cwd = project.map(|project| project.display().to_string());
    }
    // A word such as `.` or `server.py` was meant from there, too.
    project.iter().for_each(|project| _ = server.place_in(project));
    server.cwd = server.cwd.map(|cwd| if cwd.starts_with("${") { cwd } else { whole(&cwd) });
    let is_whole = |command: &String| !command.starts_with("~/") && !is_relative(command);
    server.command = server.command.map(|command| if is_whole(&command) { command } else { whole(&command) });
    server
}
