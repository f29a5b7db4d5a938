//! What identifies a server, as one hash.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::endpoint::Endpoint;

/// The SHA-256 of everything that says which server is meant. Every part is preceded by its length, so that
/// no two endpoints run together into the same bytes.
pub(super) fn of(endpoint: &Endpoint) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    match endpoint {
        Endpoint::Program(program) => {
            part(b"program");
            part(program.command.as_bytes());
            part(&(program.args.len() as u64).to_le_bytes());
            program.args.iter().for_each(|argument| part(argument.as_bytes()));
            for (name, value) in &program.env {
                part(name.as_bytes());
                part(value.as_bytes());
            }
            if !program.inherit.is_empty() {
                part(b"inherit");
                program.inherit.iter().for_each(|glob| part(glob.as_bytes()));
            }
            // `./server` is another program in another project. Without a `cwd` it is the folder that we were started in, as
            // before servers had folders of their own, and not that folder: what is remembered of them stays good.
            let cwd = program.cwd.clone().map_or_else(std::env::current_dir, Ok).unwrap_or_default();
            part(cwd.as_os_str().as_encoded_bytes());
        }
        Endpoint::Socket(path) => {
            part(b"socket");
            part(path.as_os_str().as_encoded_bytes());
        }
        // Whichever way it is spoken to, it is the same server.
        Endpoint::Address { url, headers, sign_in, dialect: _ } => {
            part(b"address");
            part(url.to_string().as_bytes());
            for (name, value) in headers {
                part(name.as_str().as_bytes());
                part(value.as_bytes());
            }
            // Whom we sign in as, since a server may show each client other tools.
            let sign_in = sign_in.as_deref();
            let issuer = sign_in.and_then(|sign_in| sign_in.issuer.as_ref()).map(ToString::to_string);
            let registered = sign_in.and_then(|sign_in| sign_in.client.as_ref()).map(|client| &client.id);
            let client = registered.or(sign_in.and_then(|sign_in| sign_in.metadata_url.as_ref()));
            if issuer.is_some() || client.is_some() {
                part(b"signed in");
                part(issuer.unwrap_or_default().as_bytes());
                part(client.map(String::as_str).unwrap_or_default().as_bytes());
            }
        }
    }
    HEXLOWER.encode(&hash.finalize())
}
