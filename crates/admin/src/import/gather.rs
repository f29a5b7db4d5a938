//! Looking at the files of other clients.

use std::path::{Path, PathBuf};

use clients::{CLIENTS, Client, ClientFile, FoundServer, Origin, Surroundings};
use sandbox::text_file;

use crate::fault::Fault;
use crate::nearest::nearest;

/// What was found.
#[derive(Default)]
pub struct Gathered {
    /// Every server, in the order in which the clients are looked at.
    pub candidates: Vec<Candidate>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// What else there is to say about them.
    pub notes: Vec<String>,
    /// The files that could not be read, and why.
    pub errors: Vec<String>,
}

/// A server in a client's file.
pub struct Candidate {
    pub client: &'static Client,
    pub place: ClientFile,
    pub found: FoundServer,
}

/// Looks at the clients and files that were named; at all clients if none was.
///
/// # Errors
/// If a name is no client's and no file's.
pub(super) fn gather(from: &[String], surroundings: &Surroundings) -> Result<Gathered, Fault> {
    let mut gathered = Gathered::default();
    let everywhere = CLIENTS.iter().filter(|_| from.is_empty()).map(|client| client.id.to_owned());
    for name in everywhere.chain(from.iter().cloned()) {
        let path = surroundings.current_dir.join(&name);
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
            None => return Err(unknown(&name)),
        }
    }
    Ok(gathered)
}

impl Gathered {
    pub(super) fn look(&mut self, client: &'static Client, place: &ClientFile, surroundings: &Surroundings) {
        match clients::read(&place.path) {
            Ok(Some(text)) => self.read(client, place, &text, surroundings),
            Ok(None) => {}
            Err(why) => self.errors.push(format!("{}: {why}", place.path.display())),
        }
    }

    fn look_at_named(&mut self, path: &Path, surroundings: &Surroundings) -> Result<(), Fault> {
        let refused = |why: &str| Fault::failed(format!("{}: {why}", path.display()));
        let text = clients::read(path).map_err(|why| refused(&why))?;
        let text = text.ok_or_else(|| refused("there is no such file"))?;
        let client = clients::client_of(path, &text);
        let client = client.ok_or_else(|| refused("nothing in it says which client's it is"))?;
        self.read(client, &ClientFile::named(path.to_owned()), &text, surroundings);
        Ok(())
    }

    pub(super) fn read(
        &mut self,
        client: &'static Client,
        place: &ClientFile,
        text: &str,
        surroundings: &Surroundings,
    ) {
        // Two clients may share a file, and a file may be named twice.
        if self.files.contains(&place.path) {
            return;
        }
        let path = &place.path;
        match client.servers(text, &Origin { place, surroundings }) {
            Ok((found, notes)) => {
                let candidate = |found| Candidate { client, place: place.clone(), found };
                self.candidates.extend(found.into_iter().map(candidate));
                self.notes.extend(notes.into_iter().map(|note| format!("{}: {note}", path.display())));
                self.files.push(path.clone());
            }
            Err(why) => self.errors.push(format!("{}: {why}", path.display())),
        }
    }
}

fn nowhere(client: &Client, places: &[ClientFile]) -> String {
    if places.is_empty() {
        return format!("there is no home folder to look for {} in", client.title);
    }
    let places: Vec<String> = places.iter().map(|place| place.path.display().to_string()).collect();
    format!("{} has no file at {}", client.title, places.join(" or "))
}

/// A name that is no client's.
pub fn unknown(name: &str) -> Fault {
    let known: Vec<&str> = CLIENTS.iter().map(|client| client.id).collect();
    let near = nearest(name, known.iter().copied());
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    Fault::misused(format!("{name:?} is no client that is known here; known are {}{hint}", known.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::{CLIENTS, unknown};

    #[test]
    fn the_nearest_client_is_named() {
        let last = CLIENTS.last().expect("some are known").id;
        for (name, ending) in [("cursr", "; did you mean cursor?"), ("emacs-at-home", last)] {
            let message = unknown(name).message;
            assert!(message.ends_with(ending), "{message}");
        }
    }
}
