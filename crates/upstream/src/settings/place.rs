//! Where a server is, for people, and how long it may take.

use http::Uri;
use sandbox::Program;

use super::checked::Settings;
use super::endpoint::Endpoint;
use crate::config::shown_url;

impl Settings {
    /// Where the server is: its command line, its address without what may be secret in it, or its socket. The
    /// values of environment variables and headers are masked.
    pub fn place(&self) -> String {
        self.masked(&match &self.endpoint {
            Endpoint::Program(program) => command_line(program),
            Endpoint::Socket(path) => path.display().to_string(),
            Endpoint::Address { url, .. } => shown_url(&url.to_string()),
        })
    }

    /// The program that is started; nothing for a server that runs already.
    pub fn program(&self) -> Option<&Program> {
        match &self.endpoint {
            Endpoint::Program(program) => Some(program),
            Endpoint::Socket(_) | Endpoint::Address { .. } => None,
        }
    }

    /// The address, for a server that is reached over HTTP. Its query may be secret.
    pub fn address(&self) -> Option<&Uri> {
        match &self.endpoint {
            Endpoint::Address { url, .. } => Some(url),
            Endpoint::Program(_) | Endpoint::Socket(_) => None,
        }
    }

    /// True if the server is signed in to without a person: by a client's own secret or key, or through an identity
    /// provider.
    pub fn signs_in_by_itself(&self) -> bool {
        match &self.endpoint {
            Endpoint::Address { sign_in: Some(sign_in), .. } => {
                sign_in.grant != oauth::Grant::AuthorizationCode
            }
            Endpoint::Program(_) | Endpoint::Socket(_) | Endpoint::Address { sign_in: None, .. } => false,
        }
    }
}

/// The command line as a shell would read it, in quotes where it needs them.
fn command_line(program: &Program) -> String {
    let words = std::iter::once(&program.command).chain(&program.args);
    words.map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

/// A word as a shell reads it as one.
pub(crate) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,~".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::config::{Config, Value};

    #[track_caller]
    fn check(config: Config, expected: &str) {
        let settled = config.settle("it", Duration::from_secs(1), &|_| unreachable!("no reference"));
        assert_eq!(settled.expect("sound").place(), expected);
    }

    #[test]
    fn a_place_can_be_read_and_holds_no_secret() {
        let program = |args: &[&str]| Config {
            command: Some("npx".to_owned()),
            args: args.iter().map(|&arg| arg.to_owned()).collect(),
            env: [("KEY".to_owned(), Value::plain("sk-12345678"))].into(),
            ..Config::default()
        };
        check(
            program(&["-y", "@scope/server@1", "/a b", "it's", ""]),
            r"npx -y @scope/server@1 '/a b' 'it'\''s' ''",
        );
        check(program(&["--key=sk-12345678"]), "npx --key=***");
        let address =
            Config { url: Some("https://host:1/mcp?key=secret-word".to_owned()), ..Config::default() };
        check(address, "https://host:1/mcp");
    }
}
