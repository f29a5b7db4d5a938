//! The files of clients: read within bounds, and told apart.

use std::io::ErrorKind;
use std::path::Path;

use sandbox::text_file;
use serde_json::Value;

use crate::client::Client;
use crate::form::Form;
use crate::known::CLIENTS;

/// Clients write into their files themselves, some of them a lot, in bytes.
const FILE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What stands in a client's file; nothing if it is not there.
///
/// # Errors
/// A sentence, if it cannot be read or is larger than any client writes.
pub fn read(path: &Path) -> Result<Option<String>, String> {
    match text_file::read(path, FILE_BYTES_MAX) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("it cannot be read: {error}")),
    }
}

/// The client of this name.
pub fn client(id: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.id == id)
}

/// Whose form a file has that somebody named: by its path, else by what is in it.
pub fn client_of(path: &Path, text: &str) -> Option<&'static Client> {
    if let Some(client) = CLIENTS.iter().find(|client| client.files.iter().any(|file| file.may_be(path))) {
        return Some(client);
    }
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    let form = if is_toml { Form::Toml } else { Form::Json };
    let Ok(Value::Object(root)) = form.read(text) else { return None };
    CLIENTS.iter().find(|client| client.form == form && (client.knows)(&root))
}

#[cfg(test)]
mod tests;
