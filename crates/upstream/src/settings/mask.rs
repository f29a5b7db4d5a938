//! `Mask`: what is not shown of a server's words. A server that complains about its key must not tell it to everybody:
//! not in an error, a log line, a status or a trace, however it spells the key there.
//!
//! Words are masked whole, then cleaned, then cut: what has been cleaned or cut before cannot be found any more.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::GeneralPurpose;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::Uri;
use http::uri::PathAndQuery;
use oauth::Bearer;
use wire::message::Text;
use wire::{Revision, string};

use super::Endpoint;
use crate::clean;
use crate::signer::Signer;

/// Shorter values are too likely to be ordinary words; a secret has more.
const SECRET_BYTES_MIN: usize = 8;

/// What stands where a secret stood.
const SHOWN: &str = "***";

/// What stays as it is beside letters and digits where a text is percent-encoded: RFC 3986, JavaScript, paths, forms.
const PLAIN_SETS: [&str; 4] = ["-._~", "-_.!~*'()", "-._~/", "*-._"];

/// The secrets of one server: the values of its environment variables and headers, what references have led to, what
/// is secret in its address, and the tokens that it was sent. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Mask {
    /// Every spelling of every value, the longest first, since one may hold another.
    spellings: Arc<[Box<str>]>,
    /// Who knows the tokens; nothing before there are any.
    signer: Option<Arc<Signer>>,
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
        Mask { spellings: in_order(values.into_iter().flat_map(spellings)).into(), signer: None }
    }

    /// The same, with the tokens that `signer` sends.
    pub(super) fn signed_by(self, signer: Option<Arc<Signer>>) -> Mask {
        Mask { signer, ..self }
    }

    /// True if both hide the same, tokens aside.
    pub(super) fn same_as(&self, other: &Mask) -> bool {
        self.spellings == other.spellings
    }

    /// `text` without secrets.
    pub(crate) fn text<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.hidden(text, &self.tokens())
    }

    fn hidden<'t>(&self, text: &'t str, tokens: &[Box<str>]) -> Cow<'t, str> {
        let spellings = tokens.iter().chain(&*self.spellings);
        spellings.fold(Cow::Borrowed(text), |text, spelling| match text.contains(&**spelling) {
            true => Cow::Owned(text.replace(&**spelling, SHOWN)),
            false => text,
        })
    }

    /// `text` without secrets, on one line and at most about `bytes_max` bytes long.
    pub(crate) fn sentence(&self, text: &str, bytes_max: usize) -> String {
        clean::sentence(&self.text(text), bytes_max)
    }

    /// `text` without secrets, with its lines, at most about `bytes_max` bytes long.
    pub(crate) fn lines(&self, text: &str, bytes_max: usize) -> String {
        clean::lines(&self.text(text), bytes_max)
    }

    /// JSON `text` without secrets in its strings, whatever escapes they are written with. It is JSON of the same shape.
    pub(crate) fn json<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let (mut masked, mut kept, mut at) = (Vec::new(), 0, 0);
        let tokens = self.tokens();
        while let Some(start) = text[at..].find('"').map(|found| at + found) {
            let Ok(end) = string::end(text.as_bytes(), start) else { break };
            if let Cow::Owned(said) = self.hidden(&string::decode(&text[start..end]), &tokens) {
                masked.extend_from_slice(&text.as_bytes()[kept..start]);
                string::encode(&said, &mut masked);
                kept = end;
            }
            at = end;
        }
        if kept == 0 {
            return Cow::Borrowed(text);
        }
        masked.extend_from_slice(&text.as_bytes()[kept..]);
        Cow::Owned(String::from_utf8(masked).expect("it is made of texts"))
    }

    /// The same for a value that has been checked.
    pub(crate) fn value(&self, value: Text) -> Text {
        match self.json(value.as_str()) {
            Cow::Borrowed(_) => value,
            Cow::Owned(masked) => Text::check(Bytes::from(masked)).expect("only strings in it are others"),
        }
    }

    /// How many bytes of a text's beginning may be the rest of a secret, if the text was cut there.
    pub(crate) fn rest_bytes_max(&self) -> usize {
        let spellings = self.tokens();
        let longest = spellings.iter().chain(&*self.spellings).map(|spelling| spelling.len()).max();
        longest.unwrap_or(0).saturating_sub(1)
    }

    fn tokens(&self) -> Vec<Box<str>> {
        let sent = self.signer.as_ref().map(|signer| signer.sent());
        in_order(sent.iter().flat_map(|sent| sent.iter()).map(Bearer::secret).flat_map(spellings))
    }
}

fn in_order(spellings: impl Iterator<Item = String>) -> Vec<Box<str>> {
    let long_enough = spellings.filter(|spelling| spelling.len() >= SECRET_BYTES_MIN);
    let mut ordered: Vec<Box<str>> = long_enough.map(String::into_boxed_str).collect();
    ordered.sort_unstable_by(|a, b| (Reverse(a.len()), a).cmp(&(Reverse(b.len()), b)));
    ordered.dedup();
    ordered
}

/// How a server may write `secret`: as it is, line by line, inside JSON, in an address, and as base64 of itself or of
/// something longer.
fn spellings(secret: &str) -> Vec<String> {
    // The name of a revision is needed to speak with a server, and no secret.
    if secret.len() < SECRET_BYTES_MIN || Revision::parse(secret).is_some() {
        return Vec::new();
    }
    let mut all = vec![secret.to_owned()];
    if secret.contains(['\n', '\r']) {
        all.extend(secret.lines().map(|line| line.trim().to_owned()));
    }
    for escaped in [in_json(secret), in_ascii_json(secret)] {
        all.push(escaped.replace('/', "\\/"));
        all.push(escaped);
    }
    all.extend(PLAIN_SETS.map(|plain| in_address(secret, plain)));
    all.push(in_address(secret, PLAIN_SETS[3]).replace("%20", "+"));
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        all.extend((0..3).map(|before| in_base64(secret, before, &engine)));
    }
    all
}

/// As between the quotes of a JSON string.
fn in_json(secret: &str) -> String {
    let mut literal = Vec::with_capacity(secret.len() + 2);
    string::encode(secret, &mut literal);
    String::from_utf8_lossy(&literal[1..literal.len() - 1]).into_owned()
}

/// The same where everything beyond ASCII is escaped too.
fn in_ascii_json(secret: &str) -> String {
    let mut units = [0; 2];
    in_json(secret).chars().fold(String::new(), |mut text, character| {
        match character.is_ascii() {
            true => text.push(character),
            false => character.encode_utf16(&mut units).iter().for_each(|unit| {
                write!(text, "\\u{unit:04x}").expect("writing to a string cannot fail");
            }),
        }
        text
    })
}

fn in_address(secret: &str, plain: &str) -> String {
    secret.bytes().fold(String::new(), |mut text, byte| {
        let character = char::from(byte);
        match character.is_ascii_alphanumeric() || (character.is_ascii() && plain.contains(character)) {
            true => text.push(character),
            false => write!(text, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
        text
    })
}

/// The digits that `secret` alone settles where it stands behind `before` other bytes (modulo 3).
fn in_base64(secret: &str, before: usize, engine: &GeneralPurpose) -> String {
    let whole = [&b"..."[..before], secret.as_bytes()].concat();
    let digits = engine.encode(&whole);
    let (first, end) = ((before * 8).div_ceil(6), whole.len() * 8 / 6);
    digits[first..end].to_owned()
}

/// What an address holds that not everybody should read: its query, whole and value by value, and with the path
/// before it, as servers repeat it. It has no user information; see `check`.
fn secrets_of(url: &Uri) -> impl Iterator<Item = &str> {
    let query = url.query().unwrap_or_default();
    let whole = url.query().and(url.path_and_query()).map(PathAndQuery::as_str);
    let values = query.split('&').map(|pair| pair.split_once('=').map_or(pair, |(_, value)| value));
    whole.into_iter().chain([query]).chain(values)
}

/// Shows nothing.
impl fmt::Debug for Mask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Mask")
    }
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
        ] {
            check(SECRET, &format!("bad key {said}!"), "bad key ***!");
        }
        check("it's-(a)-key!", "?k=it's-(a)-key!&l=it%27s-%28a%29-key%21", "?k=***&l=***");
    }

    #[test]
    fn base64_is_found_wherever_it_begins() {
        // What comes before and behind settles some digits, which say little.
        for (said, shown) in [
            ("c2stMTIzNDU2Nzg=", "***g="),
            ("dXNlcjpzay0xMjM0NTY3OA==", "dXNlcjp***A=="),
            ("bWU6c2stMTIzNDU2Nzg6eA==", "bWU6***g6eA=="),
            ("eHg6eHg6eHg6eDpzay0xMjM0NTY3ODp4", "eHg6eHg6eHg6eDp***Dp4"),
        ] {
            check("sk-12345678", said, shown);
        }
        check("??>>??>>", "Pz8-Pj8_Pj4 Pz8+Pj8/Pj4", "***4 ***4");
    }

    #[test]
    fn each_line_of_a_secret_is_one() {
        let key = "-----BEGIN KEY-----\nMIIE0001\r\n  MIIE0002 \nshort\n";
        check(key, &format!("{key}!"), "***!");
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
    }

    #[test]
    fn what_is_short_or_a_revision_is_no_secret() {
        check("1234567", "1234567", "1234567");
        check("2025-11-25", "2025-11-25", "2025-11-25");
    }
}
