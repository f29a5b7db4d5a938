//! Looking at the files of other clients.

use std::path::{Path, PathBuf};

use crate::clients::{self, CLIENTS, Client, ClientFile, FoundServer, Origin};
use crate::config::Surroundings;
use crate::config::text_file;
use crate::ending::Trouble;

/// What was found.
#[derive(Default)]
pub(super) struct Gathered {
    /// Every server, in the order in which the clients are looked at.
    pub(super) candidates: Vec<Candidate>,
    /// The files that were read.
    pub(super) files: Vec<PathBuf>,
    /// What else there is to say about them.
    pub(super) notes: Vec<String>,
    /// The files that could not be read, and why.
    pub(super) errors: Vec<String>,
}

/// A server in a client's file.
pub(super) struct Candidate {
    pub(super) client: &'static Client,
    pub(super) path: PathBuf,
    pub(super) found: FoundServer,
}

/// Looks at the clients and files that were named; at all clients if none was.
///
/// # Errors
/// If a name is no client's and no file's.
pub(super) fn gather(from: &[String], surroundings: &Surroundings) -> Result<Gathered, Trouble> {
    let mut gathered = Gathered::default();
    let everywhere = CLIENTS.iter().filter(|_| from.is_empty()).map(|client| client.id.to_owned());
    for name in everywhere.chain(from.iter().cloned()) {
        let path = surroundings.absolute(Path::new(&name));
        match clients::client(&name) {
            Some(client) => {
                let before = gathered.files.len() + gathered.errors.len();
                let places = client.places(surroundings);
                places.iter().for_each(|place| gathered.look(client, place, surroundings));
                if before == gathered.files.len() + gathered.errors.len() && !from.is_empty() {
                    gathered.notes.push(nowhere(client, &places));
                }
            }
            None if text_file::exists(&path) || name.contains(['/', '.']) => {
                gathered.look_at_named(&path, surroundings)?
            }
            None => return Err(Trouble::Misused(unknown(&name))),
        }
    }
    Ok(gathered)
}

impl Gathered {
    fn look(&mut self, client: &'static Client, place: &ClientFile, surroundings: &Surroundings) {
        match clients::read(&place.path) {
            Ok(Some(text)) => self.read(client, place, &text, surroundings),
            Ok(None) => {}
            Err(why) => self.errors.push(format!("{}: {why}", place.path.display())),
        }
    }

    fn look_at_named(&mut self, path: &Path, surroundings: &Surroundings) -> Result<(), Trouble> {
        let refused = |why: &str| Trouble::Failed(format!("{}: {why}", path.display()));
        let text = clients::read(path).map_err(|why| refused(&why))?;
        let text = text.ok_or_else(|| refused("there is no such file"))?;
        let client = clients::client_of(path, &text);
        let client = client.ok_or_else(|| refused("nothing in it says which client's it is"))?;
        self.read(client, &ClientFile::named(path.to_owned()), &text, surroundings);
        Ok(())
    }

    fn read(&mut self, client: &'static Client, place: &ClientFile, text: &str, surroundings: &Surroundings) {
        // Two clients may share a file, and a file may be named twice.
        if self.files.contains(&place.path) {
            return;
        }
        let path = &place.path;
        match client.servers(text, &Origin { place, surroundings }) {
            Ok((found, notes)) => {
                let candidate = |found| Candidate { client, path: path.clone(), found };
                self.candidates.extend(found.into_iter().map(candidate));
                self.notes.extend(notes.into_iter().map(|note| format!("{}: {note}", path.display())));
                self.files.push(path.clone());
            }
            Err(why) => self.errors.push(format!("{}: {why}", path.display())),
        }
    }
}

fn nowhere(client: &Client, places: &[ClientFile]) -> String {
    let places: Vec<String> = places.iter().map(|place| place.path.display().to_string()).collect();
    format!("{} has no file at {}", client.title, places.join(" or "))
}

/// What is said of a name that is no client's.
pub(in super::super) fn unknown(name: &str) -> String {
    let known: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    format!("{name:?} is no client that is known here; known are {}", known.join(", "))
}
