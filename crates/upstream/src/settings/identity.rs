//! What identifies a server, as one hash: for what was learnt of it, and for what a person has agreed to.

use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};

use super::checked::Settings;
use super::endpoint::Endpoint;
use super::sandbox::ServerSandbox;

/// A hash of parts, each preceded by its length, so that no two servers run together into the same bytes.
#[derive(Default)]
struct Parts(Sha256);

impl Parts {
    fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    fn hex(self) -> String {
        HEXLOWER.encode(&self.0.finalize())
    }
}

impl Settings {
    /// Identifies the server that is meant, as 64 hexadecimal digits: what was learnt from one server must
    /// not be believed of another. Nothing secret can be had back from it, and it does not depend on the
    /// timeouts, the prefix or which tools are offered as what.
    pub fn fingerprint(&self) -> String {
        let mut parts = Parts::default();
        let mut part = |bytes: &[u8]| parts.add(bytes);
        match &self.endpoint {
            Endpoint::Program(program) => {
                part(b"program");
                part(program.command.as_bytes());
                part(&(program.args.len() as u64).to_le_bytes());
                program.args.iter().for_each(|argument| part(argument.as_bytes()));
                for (name, value) in &program.env {
                    part(name.as_bytes());
                    part(value.as_bytes());
                }
                if !self.inherit().is_empty() {
                    part(b"inherit");
                    self.inherit().iter().for_each(|glob| part(glob.as_bytes()));
                }
                // `./server` is another program in another project. Without a `cwd` it is the folder that the client was started
                // in, as before servers had folders of their own, and not that folder: what is remembered of them stays good.
                let cwd = program.cwd.as_ref().unwrap_or(&self.inherits.current_dir);
                part(cwd.as_os_str().as_encoded_bytes());
                // What it cannot reach it may not list. A server without a word of this is known as it always was.
                if *self.sandbox != ServerSandbox::default() {
                    part(b"sandbox");
                    self.sandbox.words().iter().for_each(|word| part(word.as_encoded_bytes()));
                }
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
        parts.hex()
    }

    /// The key of the pins of this server: its name, and what is run or dialled under it. Values of environment
    /// variables, headers and the address' query are no part of it, for a new password makes no new server; nor is
    /// the folder that it has of its own: a relative word counts as a word alone, unless there is a `cwd`. `${workspace}`
    /// counts as it is written, so that a server is accepted once for all workspaces, unless it names code that lies in one.
    /// What its sandbox lets it touch is no part of it either: whoever gives a server one host more, perhaps because the server
    /// asked for it, must not thereby drop its pins and take what is held back.
    pub fn trust_key(&self) -> String {
        let mut parts = Parts::default();
        let mut part = |bytes: &[u8]| parts.add(bytes);
        match &self.endpoint {
            Endpoint::Program(program) => {
                // What a person accepts is what is written, whatever workspace it is started for.
                let program = self.workspace.written().inspect(|_| part(b"workspace")).unwrap_or(program);
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
        format!("{}/{}", self.name, parts.hex())
    }
}
