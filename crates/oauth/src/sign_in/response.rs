//! What an authorisation server sends back through the browser, and whether it is the answer to our question.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::clean_text;
use crate::error::{Failure, Reason};
use crate::secret::Secret;

/// Longer codes and addresses than this are no server's.
pub(super) const RESPONSE_BYTES_MAX: usize = 8 * 1024;

/// What the answer to our question must be like.
pub(super) struct Expected {
    /// What only the browser that we sent there brings back.
    pub(super) state: Secret,
    /// Whom we asked.
    pub(super) issuer: String,
    /// The server names itself in every answer (RFC 9207), so that one without its name is not its.
    pub(super) names_issuer: bool,
}

/// Whose answer it is.
pub(super) enum Verdict {
    /// Ours, with the code to redeem.
    Code(Secret),
    /// Not ours; it changes nothing. Why, for a person.
    Foreign(&'static str),
    /// Ours, and the sign-in has failed.
    Failed(Failure),
}

/// The parameters that matter.
const PARAMETERS: [&str; 5] = ["state", "code", "iss", "error", "error_description"];

impl Expected {
    /// Judges the query of an address that the browser came back with.
    pub(super) fn judge(&self, query: &str) -> Verdict {
        if query.len() > RESPONSE_BYTES_MAX {
            return Verdict::Foreign("the address is too long");
        }
        let Some(parameters) = parameters(query) else {
            return Verdict::Foreign("a part of the address stands in it twice");
        };
        let given = |name: &str| parameters.get(name).map(String::as_str);
        match given("state") {
            None => return Verdict::Foreign("the address has no \"state\""),
            Some(state) if !same(state, self.state.expose()) => {
                return Verdict::Foreign("the address belongs to another sign-in (its \"state\" is another)");
            }
            Some(_) => {}
        }
        // Before anything else is believed: the answer may be another server's (RFC 9207, 2.4).
        if let Err(failure) = self.check_issuer(given("iss")) {
            return Verdict::Failed(failure);
        }
        if let Some(error) = given("error") {
            return Verdict::Failed(self.refusal(error, given("error_description")));
        }
        match given("code") {
            Some(code) => Verdict::Code(Secret::new(code)),
            None => Verdict::Foreign("the address has no \"code\""),
        }
    }

    /// Judges a code that a person has copied without the rest of its address.
    pub(super) fn judge_code(&self, code: &str) -> Result<Secret, Failure> {
        if self.names_issuer {
            return Err(not_finished(format!(
                "the code alone does not do, since {} names itself beside it: paste the whole address",
                self.issuer
            )));
        }
        if code.is_empty()
            || code.len() > RESPONSE_BYTES_MAX
            || !code.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(not_finished(
                "this is neither a code nor the address that the browser came back with",
            ));
        }
        Ok(Secret::new(code))
    }

    /// Compares letter by letter, as the RFC wants it: what a URL library takes for the same may be somebody else's.
    fn check_issuer(&self, said: Option<&str>) -> Result<(), Failure> {
        let issuer = &self.issuer;
        let why = match said {
            Some(said) if said != issuer => {
                format!("it comes from {}, not from {issuer}", clean_text::cleaned(said))
            }
            None if self.names_issuer => {
                format!("{issuer} names itself in its answers (\"iss\"), and this one names nobody")
            }
            _ => return Ok(()),
        };
        Err(Failure::new(Reason::Impostor, format!("the answer is refused: {why}")))
    }

    fn refusal(&self, error: &str, description: Option<&str>) -> Failure {
        let said = match description {
            Some(description) => format!("{error}: {description}"),
            None => error.to_owned(),
        };
        let said = clean_text::cleaned(&said);
        let reason = Reason::of(error);
        let said = match reason {
            Reason::Denied => format!("the sign-in at {} was refused ({said})", self.issuer),
            _ => format!("{} could not sign you in ({said})", self.issuer),
        };
        Failure::new(reason, said)
    }
}

/// The parameters that matter; nothing if one of them stands there twice.
fn parameters(query: &str) -> Option<HashMap<String, String>> {
    let mut parameters = HashMap::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        if PARAMETERS.contains(&&*name) && parameters.insert(name.into(), value.into()).is_some() {
            return None;
        }
    }
    Some(parameters)
}

/// Whether both are the same, in a time that says nothing of where they differ.
fn same(one: &str, other: &str) -> bool {
    Sha256::digest(one.as_bytes()) == Sha256::digest(other.as_bytes())
}

pub(super) fn not_finished(why: impl Into<String>) -> Failure {
    Failure::new(Reason::NotFinished, why)
}
