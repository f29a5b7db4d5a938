//! `Mask`: what is not shown of a server's words. A server that complains about its key must not tell it to everybody:
//! not in an error, a log line, a status or a trace, however it spells the key there.
//!
//! Words are masked whole, then cleaned, then cut: what has been cleaned or cut before cannot be found any more.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::Uri;
use http::uri::PathAndQuery;
use oauth::AccessToken;
use redact::{Known, Redactor};
use wire::Revision;
use wire::message::Text;

use super::endpoint::Endpoint;
use crate::clean;
use crate::signer::Signer;
use crate::vocabulary::redaction_vocabulary;

/// Shorter values are too likely to be ordinary words; a secret has more.
const SECRET_BYTES_MIN: usize = 8;

/// Longest name or URI that is repeated to people, in bytes.
const SHOWN_NAME_BYTES_MAX: usize = 100;

/// What is left of JSON that would be none without the secrets in it.
const HIDDEN: &str = "{}";

/// The secrets of one server: the values of its environment variables and headers, what references have led to, what
/// is secret in its address, and the tokens that it was sent. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Mask {
    /// All but the tokens, in order.
    values: Arc<[Arc<str>]>,
    /// Nothing where nothing is hidden.
    redactor: Option<Redactor>,
    /// Who knows the tokens; nothing before there are any.
    tokens: Option<Arc<Tokens>>,
}

/// The tokens that a server was sent.
struct Tokens {
    signer: Arc<Signer>,
    /// Those that are looked for.
    known: Mutex<Arc<Vec<AccessToken>>>,
}

impl Mask {
    /// For a server at `endpoint` and what else is `secret` about it.
    pub(super) fn of(endpoint: &Endpoint, secrets: &[Box<str>]) -> Mask {
        let mut values: Vec<&str> = match endpoint {
            Endpoint::Program(program) => program.env.iter().map(|(_, value)| value.as_str()).collect(),
            Endpoint::Socket(_) => Vec::new(),
            Endpoint::Address { url, headers, .. } => {
                // Of `Bearer KEY` the key alone is the secret.
                let words = headers.values().filter_map(|value| std::str::from_utf8(value.as_bytes()).ok());
                let words = words.flat_map(|value| [value, value.rsplit(' ').next().unwrap_or(value)]);
                words.chain(secrets_of(url)).collect()
            }
        };
        values.extend(secrets.iter().map(|secret| &**secret));
        let mut values: Vec<&str> =
            values.into_iter().flat_map(and_lines).filter(|value| is_secret(value)).collect();
        values.sort_unstable();
        values.dedup();
        Mask::hiding(values.into_iter().map(Arc::from).collect())
    }

    /// Somebody else's name or URI, fit for a message.
    pub(crate) fn shown_name(&self, name: &str) -> String {
        self.sentence(name, SHOWN_NAME_BYTES_MAX)
    }

    fn hiding(values: Arc<[Arc<str>]>) -> Mask {
        let redactor = (!values.is_empty()).then(|| redactor(&values));
        Mask { values, redactor, tokens: None }
    }

    /// The same, with the tokens that `signer` sends.
    pub(super) fn signed_by(self, signer: Option<Arc<Signer>>) -> Mask {
        let Some(signer) = signer else { return self };
        // Others with the same settings know other tokens.
        let tokens = Some(Arc::new(Tokens { signer, known: Mutex::default() }));
        Mask { redactor: Some(redactor(&self.values)), tokens, ..self }
    }

    /// All that it hides but the tokens, in order.
    pub(super) fn values(&self) -> &[Arc<str>] {
        &self.values
    }

    /// `text` without secrets.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.redactor().map_or(Cow::Borrowed(text), |redactor| redactor.text(text))
    }

    /// `text` without secrets, on one line and at most about `bytes_max` bytes long.
    pub(crate) fn sentence(&self, text: &str, bytes_max: usize) -> String {
        clean::sentence(&self.text(text), bytes_max)
    }

    /// `text` without secrets, with its lines, at most about `bytes_max` bytes long.
    pub(crate) fn lines(&self, text: &str, bytes_max: usize) -> String {
        clean::lines(&self.text(text), bytes_max)
    }

    /// JSON `text` without secrets in its strings and numbers, whatever escapes they are written with. It is JSON again.
    pub(crate) fn json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.struck(text) {
            None => Cow::Borrowed(text),
            Some(struck) => Cow::Owned(String::from_utf8_lossy(&struck).into_owned()),
        }
    }

    /// The same for a value that has been checked.
    pub(crate) fn value(&self, value: Text) -> Text {
        let Some(struck) = self.struck(value.as_str()) else { return value };
        // Whatever a server may have come upon to make it something else: nothing of it is shown then.
        Text::check(struck).unwrap_or_else(|_| Text::known(HIDDEN.into()).expect("it is a text"))
    }

    /// How many bytes of a text's beginning may be the rest of a secret, if the text was cut there.
    pub(crate) fn rest_bytes_max(&self) -> usize {
        self.redactor().map_or(0, Redactor::encoding_bytes_max).saturating_sub(1)
    }

    fn struck(&self, json: &str) -> Option<Bytes> {
        Some(self.redactor()?.json(json.as_bytes())?.bytes)
    }

    /// What hides, with the tokens that were sent until now.
    fn redactor(&self) -> Option<&Redactor> {
        let redactor = self.redactor.as_ref()?;
        if let Some(Tokens { signer, known }) = self.tokens.as_deref() {
            let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
            let sent = signer.sent();
            if !Arc::ptr_eq(&known, &sent) {
                let tokens = sent.iter().map(AccessToken::secret).filter(|token| is_secret(token));
                redactor.know("tokens", tokens.map(|token| nameless(token.into())).collect());
                *known = sent;
            }
        }
        Some(redactor)
    }
}

fn redactor(values: &[Arc<str>]) -> Redactor {
    let config = redact::Config { patterns: false, ..redact::Config::default() };
    let redactor = Redactor::with_vocabulary(&config, redaction_vocabulary());
    redactor.know("settings", values.iter().cloned().map(nameless).collect());
    redactor
}

/// What shows a key may indent its lines, and a short one may be a password.
fn and_lines(value: &str) -> impl Iterator<Item = &str> {
    std::iter::once(value).chain(value.lines().map(str::trim))
}

/// The name of a revision is needed to speak with a server, and no secret.
fn is_secret(value: &str) -> bool {
    value.len() >= SECRET_BYTES_MIN && Revision::parse(value).is_none()
}

fn nameless(value: Arc<str>) -> Known {
    Known { name: Arc::default(), value }
}

/// What an address holds that not everybody should read: its query, whole and value by value, and with the path
/// before it, as servers repeat it. It has no user information; see `check`.
fn secrets_of(url: &Uri) -> impl Iterator<Item = &str> {
    let query = url.query().unwrap_or_default();
    let whole = url.query().and(url.path_and_query()).map(PathAndQuery::as_str);
    let values = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    whole.into_iter().chain([query]).chain(values)
}

#[cfg(test)]
pub(crate) mod tests {
    use sandbox::Program;

    use super::*;

    /// Hides `secret`.
    pub(crate) fn mask(secret: &str) -> Mask {
        let env = vec![("KEY".to_owned(), secret.to_owned())];
        Mask::of(&Endpoint::Program(Program { env, ..Program::default() }), &[])
    }

    #[track_caller]
    fn check(secret: &str, said: &str, shown: &str) {
        assert_eq!(mask(secret).text(said), shown, "{said}");
    }

    #[test]
    fn a_secret_is_found_in_every_spelling() {
        const SECRET: &str = "p\"q\\b/é 0002";
        for said in [
            SECRET,
            r#"p\"q\\b/é 0002"#,
            r#"p\"q\\b\/é 0002"#,
            r#"p\"q\\b/\u00e9 0002"#,
            r#"p\"q\\b\/\u00e9 0002"#,
            "p%22q%5Cb%2F%C3%A9%200002",
            "p%22q%5Cb/%C3%A9%200002",
            "p%22q%5Cb%2F%C3%A9+0002",
            "p%22q%5cb%2f%c3%a9%200002",
            "%70%22%71%5C%62%2F%C3%A9%20%30%30%30%32",
            r#"p\\\"q\\\\b/é 0002"#,
            "7022715c622fc3a92030303032",
            "7022715C622FC3A92030303032",
        ] {
            check(SECRET, &format!("bad key {said}!"), "bad key ***!");
        }
        check("it's-(a)-key!", "?k=it's-(a)-key!&l=it%27s-%28a%29-key%21", "?k=***&l=***");
    }

    #[test]
    fn base64_is_found_wherever_it_begins() {
        // What comes before settles a digit, which says little; the last one goes with the padding.
        for (said, shown) in [
            ("c2stMTIzNDU2Nzg=", "***"),
            ("dXNlcjpzay0xMjM0NTY3OA==", "dXNlcjp***"),
            ("bWU6c2stMTIzNDU2Nzg6eA==", "bWU6***6eA=="),
            ("eHg6eHg6eHg6eDpzay0xMjM0NTY3ODp4", "eHg6eHg6eHg6eDp***p4"),
        ] {
            check("sk-12345678", said, shown);
        }
        check("??>>??>>", "Pz8-Pj8_Pj4 Pz8+Pj8/Pj4", "*** ***");
    }

    #[test]
    fn each_line_of_a_secret_is_one() {
        let key = "-----BEGIN KEY-----\nMIIE0001\r\n  MIIE0002 \nshort\n";
        check(key, &format!("{key}!"), "***\n!");
        check(key, "MIIE0001 MIIE0002 short -----BEGIN KEY-----", "*** *** short ***");
    }

    #[test]
    fn it_is_masked_before_it_is_cleaned_and_cut() {
        let mask = mask("line one\nline two");
        assert_eq!(mask.sentence("no line one\nline two\nhere", 12), "no *** here");
        assert_eq!(mask.sentence("no line one\nline two", 8), "no ***");
        assert_eq!(mask.lines("no line one\nline two\nhere", 8), "no ***\nh…");
    }

    #[test]
    fn json_stays_json() {
        let mask = mask("se\"cret-\u{e9}");
        let check = |said, shown| assert_eq!(mask.json(said), shown);
        check(r#"{"a":[1,"x"]}"#, r#"{"a":[1,"x"]}"#);
        check(
            r#"{"k\u0065y":"a s\u0065\u0022cret-\u00E9 \n","se\"cret-é":[true]}"#,
            r#"{"k\u0065y":"a *** \n","***":[true]}"#,
        );
        check(r#"{"a":"{\"b\":\"se\\\"cret-é\"}"}"#, r#"{"a":"{\"b\":\"***\"}"}"#);
        check(r#"no "json at all"#, r#"no "json at all"#);
        // Of names that would be one, the later ones get numbers, or it would be no JSON that may be sent.
        let names = r#"{"se\"cret-é":1,"736522637265742dc3a9":2,"***":3}"#;
        check(names, r#"{"***":1,"***#2":2,"***#3":3}"#);
        let names = mask.value(Text::check(Bytes::from(names)).expect("JSON"));
        assert_eq!(names.as_str(), r#"{"***":1,"***#2":2,"***#3":3}"#);
        // Nobody sends this by chance.
        let escaped = r#"{"se\"cret-é":1,"\u002a**":2}"#;
        assert_eq!(mask.value(Text::check(Bytes::from(escaped)).expect("JSON")).as_str(), "{}");
    }

    #[test]
    fn a_number_may_be_a_secret() {
        assert_eq!(mask("1234567890").json(r#"{"id":1234567890,"n":12}"#), r#"{"id":"***","n":12}"#);
    }

    #[test]
    fn what_is_short_or_a_revision_is_no_secret() {
        check("1234567", "1234567", "1234567");
        check("2025-11-25", "2025-11-25", "2025-11-25");
    }
}
