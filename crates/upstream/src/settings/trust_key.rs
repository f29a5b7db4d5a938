//! What is run under a server's name, as far as consent is bound to it.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::checked::Settings;
use super::endpoint::Endpoint;

impl Settings {
    /// The key of the pins of this server: its name, and what is run or dialled under it. Values of environment
    /// variables, headers and the address' query are no part of it, for a new password makes no new server; nor is
    /// the folder that it has of its own: a relative word counts as a word alone, unless there is a `cwd`.
    pub fn trust_key(&self) -> String {
        let mut hash = Sha256::new();
        // Every part is preceded by its length, so that no two servers run together into the same bytes.
        let mut part = |bytes: &[u8]| {
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        };
        match &self.endpoint {
            Endpoint::Program(program) => {
                part(b"program");
                part(program.command.as_bytes());
                part(&(program.args.len() as u64).to_le_bytes());
                program.args.iter().for_each(|argument| part(self.masked(argument).as_bytes()));
                part(&(program.env.len() as u64).to_le_bytes());
                program.env.iter().for_each(|(name, _)| part(name.as_bytes()));
                if let Some(cwd) = &program.cwd {
                    part(b"cwd");
                    part(cwd.as_os_str().as_encoded_bytes());
                }
                // `./server` is another program in another project.
                self.named_files().iter().for_each(|file| part(file.as_os_str().as_encoded_bytes()));
            }
            Endpoint::Socket(path) => {
                part(b"socket");
                part(path.as_os_str().as_encoded_bytes());
            }
            Endpoint::Address { url, headers: _, sign_in: _, dialect: _ } => {
                part(b"address");
                part(self.place().as_bytes());
                let names = url.query().unwrap_or_default().split('&');
                names.for_each(|pair| part(pair.split('=').next().unwrap_or_default().as_bytes()));
            }
        }
        format!("{}/{}", self.name, HEXLOWER.encode(&hash.finalize()))
    }
}
