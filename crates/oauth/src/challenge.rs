//! `Challenge`: what a server says in `WWW-Authenticate` when it refuses a request.

use serde::{Deserialize, Serialize};

/// A parameter is a short list, an address or a sentence. A longer one is as if it were not there: nothing of it goes
/// into an address, or is kept.
const PARAMETER_BYTES_MAX: usize = 4096;

/// What a `Bearer` challenge says (RFC 6750, 3; RFC 9728, 5.1). Nothing of it is checked yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Challenge {
    /// Why the request was refused, as `invalid_token` or `insufficient_scope`.
    #[serde(skip)]
    pub(crate) error: Option<String>,
    /// The scopes that the request needs.
    pub(crate) scope: Option<String>,
    /// Where the metadata of the protected resource lies.
    pub(crate) resource_metadata: Option<String>,
    /// Why, in the server's words.
    #[serde(skip)]
    pub(crate) error_description: Option<String>,
}

impl Challenge {
    /// The `Bearer` challenge among all values of all `WWW-Authenticate` headers of an answer: of several the first
    /// that says anything. What cannot be read is as if it were not there.
    pub(crate) fn of(values: &[&str]) -> Option<Challenge> {
        let mut bearers = Vec::new();
        for value in values {
            read(value, &mut bearers);
        }
        let telling = bearers.iter().position(|challenge| *challenge != Challenge::default());
        bearers.into_iter().nth(telling.unwrap_or(0))
    }

    /// Takes a parameter; what stands twice counts as it stood first.
    fn take(&mut self, name: &str, value: String) {
        if value.len() > PARAMETER_BYTES_MAX {
            return;
        }
        let field = match name.to_ascii_lowercase().as_str() {
            "error" => &mut self.error,
            "scope" => &mut self.scope,
            "resource_metadata" => &mut self.resource_metadata,
            "error_description" => &mut self.error_description,
            _ => return,
        };
        field.get_or_insert(value);
    }
}

/// Adds the `Bearer` challenges of one header (RFC 9110, 11.6.1). The grammar uses the comma both between challenges
/// and between their parameters; a word is a parameter's name if `=` follows, and else a scheme.
fn read(value: &str, bearers: &mut Vec<Challenge>) {
    let mut rest = value;
    let mut is_bearer = false;
    loop {
        let begins = rest.trim_start_matches([' ', '\t', ',']);
        let is_separated = rest.len() == value.len() || rest[..rest.len() - begins.len()].contains(',');
        if begins.is_empty() {
            return;
        }
        let (word, after) = split_word(begins);
        if word.is_empty() {
            let mut characters = begins.chars();
            characters.next();
            rest = characters.as_str();
            continue;
        }
        if let Some(after) = after.trim_start_matches([' ', '\t']).strip_prefix('=') {
            let (argument, after) = split_argument(after.trim_start_matches([' ', '\t']));
            if let (true, Some(argument), Some(bearer)) = (is_bearer, argument, bearers.last_mut()) {
                bearer.take(word, argument);
            }
            rest = after;
        } else {
            if is_separated {
                is_bearer = word.eq_ignore_ascii_case("bearer");
                if is_bearer {
                    bearers.push(Challenge::default());
                }
            }
            rest = after;
        }
    }
}

/// The characters of words, and of the credentials that may stand in their place.
fn split_word(text: &str) -> (&str, &str) {
    let is_word =
        |character: char| character.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~/:".contains(character);
    text.split_at(text.find(|character| !is_word(character)).unwrap_or(text.len()))
}

/// What follows a parameter's `=`; nothing if it is empty or its quotes do not end.
fn split_argument(text: &str) -> (Option<String>, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (word, after) = split_word(text);
        return ((!word.is_empty()).then(|| word.to_owned()), after);
    };
    let mut argument = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return (Some(argument), &quoted[at + 1..]),
            '\\' => argument.extend(characters.next().map(|(_, escaped)| escaped)),
            _ => argument.push(character),
        }
    }
    (None, "")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::{Challenge, PARAMETER_BYTES_MAX};

    fn check(values: &[&str], expected: Expect) {
        let shown = match Challenge::of(values) {
            None => "none".to_owned(),
            Some(challenge) => {
                let fields = [
                    ("error", challenge.error),
                    ("scope", challenge.scope),
                    ("resource_metadata", challenge.resource_metadata),
                    ("error_description", challenge.error_description),
                ];
                let said = fields.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", value?)));
                format!("bearer {}", said.collect::<Vec<_>>().join(" | "))
            }
        };
        expected.assert_eq(&shown);
    }

    #[test]
    fn what_servers_send() {
        check(&[], expect!["none"]);
        check(&["Bearer"], expect!["bearer "]);
        check(&["bearer realm=\"x\""], expect!["bearer "]);
        check(
            &["Bearer scope=\"mcp:basic a\", resource_metadata=\"https://a.example/.well-known/x\""],
            expect!["bearer scope=mcp:basic a | resource_metadata=https://a.example/.well-known/x"],
        );
        check(
            &["Bearer error=insufficient_scope,scope = \"w\" , error_description=\"say \\\"please\\\", do\""],
            expect!["bearer error=insufficient_scope | scope=w | error_description=say \"please\", do"],
        );
        check(
            &["Bearer resource_metadata=https://a.example/m"],
            expect!["bearer resource_metadata=https://a.example/m"],
        );
    }

    #[test]
    fn among_other_challenges() {
        check(
            &["Basic realm=\"Bearer scope=\\\"x\\\"\", Bearer scope=\"y\", Digest scope=\"z\""],
            expect!["bearer scope=y"],
        );
        check(&["Basic YWJj==, Bearer scope=a"], expect!["bearer scope=a"]);
        check(&["Negotiate Bearer", "DPoP scope=\"a\""], expect!["none"]);
        check(&["Negotiate", "BEARER Error=\"invalid_token\""], expect!["bearer error=invalid_token"]);
        check(&["Bearer", "Bearer realm=\"r\", scope=\"a\""], expect!["bearer scope=a"]);
    }

    #[test]
    fn what_cannot_be_read() {
        check(&["Bearer scope=\"a\", scope=\"b\""], expect!["bearer scope=a"]);
        check(&["Bearer scope=, error=\"e\""], expect!["bearer error=e"]);
        check(&["Bearer error=\"e\", scope=\"never ends"], expect!["bearer error=e"]);
        check(&["Bearer error=\"e\\"], expect!["bearer "]);
        let long = format!("Bearer error=\"e\", scope=\"{}\"", "a ".repeat(PARAMETER_BYTES_MAX / 2 + 1));
        check(&[&long], expect!["bearer error=e"]);
        check(&["", ",,,", "=\"x\"", "é Bearer scope=a", "\u{0} {}"], expect!["none"]);
    }
}
