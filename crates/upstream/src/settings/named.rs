//! The secrets of a table by name, for whoever strikes them out of everything that leaves the program; and which names
//! and values tell that they are one, since an ordinary word that were taken for a secret would be struck out everywhere.

use std::fmt;

use super::workspace_words::WORKSPACE;

/// Words in a name that tell of a secret.
const WORDS: &str = "\
    apikey auth authentication authorization bearer cookie credential credentials creds dsn jwt key pass passphrase \
    passw passwd password pat pgpass pgpassw pwd secret secrets sig sk tok token tokens webhook";

/// How words end that tell of one, where people do not separate them.
const ENDS: [&str; 5] = ["apikey", "password", "secret", "token", "accesskey"];

/// What settings say that go by such a name, and passwords that are none.
const SETTINGS: &str = "\
    anonymous auto basic bearer default digest disabled enabled false guest header none null oauth oauth2 optional \
    password required true undefined";

/// Shorter values are ordinary unless their name says otherwise, in characters.
const SECRET_CHARS_MIN: usize = 8;

/// Shorter values within a text are not taken for a secret by their looks, in characters.
const LOOKS_CHARS_MIN: usize = 12;

/// Secrets and what they are called. Prints nothing of them.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Named {
    secrets: Vec<(Box<str>, Box<str>)>,
    /// Variables that are referred to as a secret is, and say nothing that is one.
    ordinary: Vec<Box<str>>,
}

impl Named {
    /// Notes one, unless it is there under the same name.
    pub(super) fn add(&mut self, name: &str, text: &str) {
        if !text.is_empty() && !self.iter().any(|it| it == (name, text)) {
            self.secrets.push((name.into(), text.into()));
        }
    }

    /// Notes a variable that is none.
    pub(super) fn add_ordinary(&mut self, name: &str) {
        if !self.ordinary().any(|it| it == name) {
            self.ordinary.push(name.into());
        }
    }

    /// The variables that are none.
    pub(super) fn ordinary(&self) -> impl Iterator<Item = &str> {
        self.ordinary.iter().map(|name| &**name)
    }

    /// True if it is there, whatever it is called.
    pub(super) fn has(&self, text: &str) -> bool {
        self.iter().any(|(_, noted)| noted == text)
    }

    /// Each with its name.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.secrets.iter().map(|(name, text)| (&**name, &**text))
    }
}

impl fmt::Debug for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Named")
    }
}

/// Whether what goes by this name, of a variable or a header, is most likely secret.
pub(super) fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    words.any(|word| {
        // `SENTRY_DSN2` is another one.
        let word = word.trim_end_matches(|c: char| c.is_ascii_digit());
        WORDS.split(' ').any(|one| one == word) || ENDS.iter().any(|end| word.ends_with(end))
    })
}

/// Whether a value says how something is done, and is no secret whatever it is called.
pub(super) fn is_setting(text: &str) -> bool {
    SETTINGS.split(' ').any(|setting| setting.eq_ignore_ascii_case(text))
}

/// Whether a value is a short one, a word, a number or a path: nothing that anybody would guess to be a secret.
pub(super) fn is_ordinary(text: &str) -> bool {
    text.chars().count() < SECRET_CHARS_MIN
        || text.chars().all(char::is_alphabetic)
        || text.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | ',' | ':' | '-'))
        || is_path(text)
}

/// Whether a value looks like a secret whatever it is called: long, of letters and digits, and neither words nor a host
/// nor an address.
pub(super) fn looks_secret(text: &str) -> bool {
    let has = |is: fn(&char) -> bool| text.chars().any(|c| is(&c));
    // `my-project-2` and `db1.example.org`.
    let is_name = !has(char::is_ascii_uppercase)
        && text
            .split(['-', '_', '.', ':'])
            .all(|part| part.len() < SECRET_CHARS_MIN || !part.contains(|c: char| !c.is_ascii_alphabetic()));
    text.chars().count() >= LOOKS_CHARS_MIN
        && has(char::is_ascii_digit)
        && has(char::is_ascii_alphabetic)
        && !has(|c| c.is_whitespace())
        && !text.contains("://")
        && !is_path(text)
        && !is_name
}

/// What is secret in an address: a password before its host, and values of its query whose names or looks tell so.
pub(super) fn secrets_in_address(text: &str) -> impl Iterator<Item = &str> {
    let rest = text.split_once("://").map_or("", |(_, rest)| rest);
    let (authority, _) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let user = authority.rsplit_once('@').and_then(|(user, _)| user.split_once(':'));
    let password = user.filter(|(user, password)| user != password).map(|(_, password)| password);
    let query = rest.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let values = query.split('&').filter_map(|pair| pair.split_once('='));
    let values = values.filter(|(name, value)| sounds_secret(name) || looks_secret(value));
    password.into_iter().chain(values.map(|(_, value)| value)).filter(|value| !is_setting(value))
}

/// Whether it is the path of something secret, perhaps, but itself no secret.
pub(super) fn is_path(text: &str) -> bool {
    ["/", "~/", "./", "../", WORKSPACE].iter().any(|start| text.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_names_tell_of_secrets() {
        for name in [
            "GITHUB_TOKEN",
            "Authorization",
            "X-API-Key",
            "apiKey",
            "accessToken",
            "DB_PASSWORD",
            "Cookie",
            "SENTRY_DSN",
            "aws_secret_access_key",
            "headers.Authorization",
            "PGPASS_PWD",
            "PGPASS",
            "SENTRY_DSN2",
            "STRIPE_SK",
            "SLACK_WEBHOOK_URL",
        ] {
            assert!(sounds_secret(name), "{name}");
        }
        for name in [
            "",
            "HOME",
            "GIT_AUTHOR_NAME",
            "MODE",
            "KEYBOARD",
            "MONKEY",
            "X-Passenger",
            "PATH",
            "env.NODE_ENV",
        ] {
            assert!(!sounds_secret(name), "{name}");
        }
        for (text, expected) in [("/run/key", true), ("~/key", true), ("s3cret/x", false), ("", false)] {
            assert_eq!(is_path(text), expected, "{text}");
        }
    }

    #[test]
    fn values_are_told_apart() {
        for (text, ordinary, looks) in [
            ("text", true, false),
            ("8080", true, false),
            ("production", true, false),
            ("/home/somebody/x1", true, false),
            ("s3cret-s3cret", false, false),
            ("pg-Pass-Word-5519", false, true),
            ("4f9a1c7be2d84f", false, true),
            ("my-project-123456", false, false),
            ("db1.internal.example", false, false),
            ("https://a1.example/x", false, false),
            ("two words 123456", false, false),
        ] {
            assert_eq!((is_ordinary(text), looks_secret(text)), (ordinary, looks), "{text}");
        }
        for (text, expected) in [
            ("postgres://u:pg-Pass@h/db", "pg-Pass"),
            ("postgres://postgres:postgres@h/db", ""),
            ("https://h/mcp?token=abcd&x=1&y=q8Zr5Lm2Xw9T#z", "abcd q8Zr5Lm2Xw9T"),
            ("https://h/a@b:c?auth=basic", ""),
            ("no address", ""),
        ] {
            assert_eq!(secrets_in_address(text).collect::<Vec<_>>().join(" "), expected, "{text}");
        }
        assert!(SETTINGS.split(' ').is_sorted() && WORDS.split(' ').is_sorted());
    }

    #[test]
    fn it_is_noted_once_under_each_name_and_never_printed() {
        let mut named = Named::default();
        for (name, text) in [("A", "s3cret"), ("A", "s3cret"), ("B", "s3cret"), ("C", "")] {
            named.add(name, text);
        }
        assert_eq!(named.iter().collect::<Vec<_>>(), [("A", "s3cret"), ("B", "s3cret")]);
        assert!(named.has("s3cret") && !named.has("other"));
        assert_eq!(format!("{named:?}"), "Named");
    }
}
