//! What a request brings to say who sends it: a key or a token, in one header, once.

use http::header::{AUTHORIZATION, HeaderMap, HeaderName};

use super::unknown::Unknown;
use gate::keys::key;

/// The header in which a key may come instead of `Authorization`.
const KEY_HEADER: &str = "x-api-key";

/// What the headers begin with by which a proxy, a tunnel or a content network says that it forwards a request.
const FORWARDED: [&str; 22] = [
    "cdn-loop",
    "cf-",
    "client-ip",
    "fastly-client-ip",
    "fly-client-ip",
    "forwarded",
    "ngrok-",
    "tailscale-",
    "true-client-ip",
    "via",
    "x-amzn-trace-id",
    "x-azure-clientip",
    "x-client-ip",
    "x-cloud-trace-context",
    "x-cluster-",
    "x-envoy-",
    "x-forwarded",
    "x-host",
    "x-nginx-proxy",
    "x-original-",
    "x-real-ip",
    "x-remote-addr",
];

/// What a request brings.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Credential<'h> {
    /// Nothing.
    None,
    /// What looks like a key of ours.
    Key(&'h str),
    /// Something else: a token, if anything.
    Token(&'h str),
}

impl<'h> Credential<'h> {
    /// Reads it.
    ///
    /// # Errors
    /// There is more than one, or what there is cannot be read. Which of two is meant is not guessed: what stands
    /// between may have looked at the other.
    pub(super) fn of(headers: &'h HeaderMap) -> Result<Credential<'h>, Unknown> {
        let mut values = headers.get_all(AUTHORIZATION).iter().map(|value| (value, true));
        let mut keys = headers.get_all(KEY_HEADER).iter().map(|value| (value, false));
        let (first, second) = (values.next(), values.next());
        let (value, is_authorization) = match (first.or_else(|| keys.next()), second.or_else(|| keys.next()))
        {
            (None, _) => return Ok(Credential::None),
            (Some(one), None) => one,
            (Some(_), Some(_)) => {
                return Err(Unknown::Malformed(
                    "send one key or token, once: there are several Authorization or X-API-Key headers"
                        .into(),
                ));
            }
        };
        let unreadable = || Unknown::Malformed("the key or token holds characters that none has".into());
        let text = value.to_str().map_err(|_| unreadable())?;
        if !is_authorization {
            return Ok(Credential::Key(text.trim()));
        }
        let bearer = text.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        let Some((_, text)) = bearer else {
            return Err(Unknown::Malformed("send the key or token as `Authorization: Bearer …`".into()));
        };
        let text = text.trim();
        Ok(if text.starts_with(key::PREFIX) { Credential::Key(text) } else { Credential::Token(text) })
    }
}

/// True if a proxy says that it only forwards the request: then the other end of the connection is not who sends it. One
/// that says nothing cannot be told from a program on this machine.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    let is_one = |name: &HeaderName| {
        let name = name.as_str();
        // Most headers begin with none of these letters.
        b"vcftxn".contains(&name.as_bytes()[0])
            && FORWARDED.iter().any(|beginning| name.starts_with(beginning))
    };
    headers.keys().any(is_one)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    type Lines<'l> = &'l [(&'l str, &'l str)];

    #[test]
    fn a_proxy_is_known_by_what_it_adds() {
        let proxies = "forwarded via x-forwarded x-forwarded-for x-forwarded-host x-original-forwarded-for x-original-url \
                       forwarded-for x-cluster-client-ip x-envoy-external-address cdn-loop fastly-client-ip \
                       x-azure-clientip client-ip x-remote-addr x-nginx-proxy ngrok-trace-id tailscale-user-login \
                       x-amzn-trace-id x-cloud-trace-context x-host x-real-ip true-client-ip cf-ray cf-connecting-ip \
                       fly-client-ip x-client-ip";
        let clients = "host accept user-agent content-type content-length connection cache-control cookie x-api-key \
                       traceparent x-request-id x-stainless-lang te transfer-encoding tracestate from forward x-for";
        for (names, expected) in [(proxies, true), (clients, false)] {
            for name in names.split_whitespace() {
                let name = HeaderName::from_static(name);
                let headers = HeaderMap::from_iter([(name.clone(), HeaderValue::from_static("1"))]);
                assert_eq!(is_forwarded(&headers), expected, "{name}");
            }
        }
    }

    #[test]
    fn one_credential_once() {
        let (key, token) = (|text| Some(Credential::Key(text)), |text| Some(Credential::Token(text)));
        let cases: [(Lines<'_>, Option<Credential<'_>>); 15] = [
            (&[], Some(Credential::None)),
            (&[("authorization", "Bearer tc_a")], key("tc_a")),
            (&[("authorization", "bearer  tc_a ")], key("tc_a")),
            (&[("authorization", "BEARER a.b.c")], token("a.b.c")),
            (&[("authorization", "Bearer tk_a")], token("tk_a")),
            (&[("x-api-key", "tc_a")], key("tc_a")),
            (&[("x-api-key", "a.b.c")], key("a.b.c")),
            (&[("authorization", "Bearer ")], token("")),
            (&[("authorization", "Bearer")], None),
            (&[("authorization", "tc_a")], None),
            (&[("authorization", "Basic dGNfYQ==")], None),
            (&[("authorization", "Bearer a"), ("authorization", "Bearer a")], None),
            (&[("authorization", "Bearer a"), ("x-api-key", "tc_a")], None),
            (&[("x-api-key", "tc_a"), ("x-api-key", "tc_a")], None),
            (&[("authorization", "Bearer a\u{7f}ä")], None),
        ];
        for (lines, expected) in cases {
            let headers: HeaderMap = lines
                .iter()
                .map(|(name, value)| {
                    let name = HeaderName::from_bytes(name.as_bytes()).expect("a sample");
                    (name, HeaderValue::from_bytes(value.replace('\u{7f}', "").as_bytes()).expect("a sample"))
                })
                .fold(HeaderMap::new(), |mut all, (name, value)| {
                    all.append(name, value);
                    all
                });
            assert_eq!(Credential::of(&headers).ok(), expected, "{lines:?}");
        }
    }
}
