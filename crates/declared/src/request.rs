//! `RequestTemplate`: the request of a manifest, and the one that a call makes of it. No argument leads to another host or out of
//! its part of the path, and a secret goes into a header alone.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sandbox::egress::{Destination, HostRules};
use serde_json::{Map, Value};
use tool_api::ToolError;

use crate::manifest::{HttpMethod, HttpTable};
use crate::template::{Piece, invalid, pieces, text};

/// Most headers, and most members of a query.
const MEMBERS_MAX: usize = 64;

/// What needs no escape in any part of an address (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Where a secret stands in a header.
const SECRET: &str = "${store:";

/// What the connection says by itself.
const NOT_OURS: [&str; 5] = ["host", "content-length", "transfer-encoding", "connection", "upgrade"];

/// A request with places for arguments.
pub(crate) struct RequestTemplate {
    method: Method,
    /// Scheme, host and port.
    origin: String,
    /// The host alone, in lower case.
    pub(crate) host: String,
    path: Vec<Piece>,
    query: Vec<(String, Vec<Piece>)>,
    headers: Vec<(HeaderName, Vec<Part>)>,
    body: Option<Value>,
}

/// A part of a header.
enum Part {
    Open(Piece),
    /// The kept secret of this name.
    Secret(String),
}

pub(crate) fn method(method: HttpMethod) -> Method {
    match method {
        HttpMethod::Get => Method::GET,
        HttpMethod::Post => Method::POST,
        HttpMethod::Put => Method::PUT,
        HttpMethod::Patch => Method::PATCH,
        HttpMethod::Delete => Method::DELETE,
    }
}

impl RequestTemplate {
    /// Reads the request of a manifest. `properties` are what the tool takes, `hosts` whom it may ask.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn read(
        table: &HttpTable,
        properties: Option<&Map<String, Value>>,
        hosts: Option<&HostRules>,
    ) -> Result<RequestTemplate, Vec<String>> {
        let mut problems = Vec::new();
        let known = |name: &str| properties.is_some_and(|all| all.contains_key(name));
        let mut read = |key: &str, text: &str| match pieces(text) {
            Ok(pieces) => {
                let names = pieces.iter().filter_map(Piece::argument).filter(|name| !known(name));
                problems.extend(names.map(|name| format!("{key}: {{{name}}} names no argument of `inputs`")));
                pieces
            }
            Err(why) => {
                problems.push(format!("{key}: {why}"));
                Vec::new()
            }
        };
        let (origin, path) = split(&table.url);
        let path = read("http.url", path);
        let query: Vec<_> = table
            .query
            .iter()
            .map(|(name, value)| (name.clone(), read(&format!("http.query.{name}"), value)))
            .collect();
        let mut headers = Vec::new();
        for (name, value) in &table.headers {
            let key = format!("http.headers.{name}");
            headers.push((name, parts(value, |open| read(&key, open))));
        }
        check_body(table.body.as_ref(), &mut |text| drop(read("http.body", text)));
        let host = asked(&table.url, origin, hosts).map_err(|why| problems.push(why)).unwrap_or_default();
        if table.url.contains(['?', '#']) {
            problems.push("http.url: what stands behind the `?` belongs in `http.query`".to_owned());
        }
        if table.method == HttpMethod::Get && table.body.is_some() {
            problems.push("http.body: a GET sends none".to_owned());
        }
        if query.len().max(headers.len()) > MEMBERS_MAX {
            problems.push(format!("http: at most {MEMBERS_MAX} headers and members of a query can be"));
        }
        let mut named = Vec::new();
        for (name, parts) in headers {
            match HeaderName::from_bytes(name.as_bytes())
                .ok()
                .filter(|name| !NOT_OURS.contains(&name.as_str()))
            {
                Some(name) => named.push((name, parts)),
                None => {
                    problems.push(format!("http.headers.{name}: that is no header for a manifest to say"))
                }
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let (method, origin, body) = (method(table.method), origin.to_owned(), table.body.clone());
        Ok(RequestTemplate { method, origin, host, path, query, headers: named, body })
    }

    /// Whether it asks for what is there, and sends nothing (RFC 9110, 9.2.1).
    pub(crate) fn only_asks(&self) -> bool {
        self.method.is_safe()
    }

    /// The kept secrets that it sends.
    pub(crate) fn secrets(&self) -> Vec<String> {
        let parts = self.headers.iter().flat_map(|(_, parts)| parts);
        let secrets = parts.filter_map(|part| match part {
            Part::Secret(name) => Some(name.clone()),
            Part::Open(_) => None,
        });
        secrets.collect()
    }

    /// The request of a call with these arguments. `secret` is what a kept secret says.
    ///
    /// # Errors
    /// A value cannot stand where it should.
    pub(crate) fn request(
        &self,
        arguments: &Value,
        secret: impl Fn(&str) -> String,
    ) -> Result<Request<Bytes>, ToolError> {
        let mut request = Request::builder().method(self.method.clone()).uri(self.address(arguments)?);
        request = request.header(header::ACCEPT, "application/json");
        for (name, parts) in &self.headers {
            let Some(value) = header_value(parts, arguments, &secret)? else { continue };
            let mut value = HeaderValue::from_str(&value).map_err(|_| {
                invalid(format!("the header {name} would have characters in it that none can hold"))
            })?;
            value.set_sensitive(true);
            request = request.header(name, value);
        }
        let body = self.body.as_ref().and_then(|body| filled(body, arguments)).map(|body| body.to_string());
        if body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = Bytes::from(body.unwrap_or_default());
        request.body(body).map_err(|error| invalid(format!("they make no request: {error}")))
    }

    fn address(&self, arguments: &Value) -> Result<String, ToolError> {
        let (mut address, mut is_empty) = (self.origin.clone(), false);
        for piece in &self.path {
            match piece {
                Piece::Text(text) => address.push_str(text),
                Piece::Argument(name) => {
                    let value = arguments.get(name).filter(|value| !value.is_null());
                    let value = value.ok_or_else(|| {
                        invalid(format!("`{name}` is a part of the address, and is missing"))
                    })?;
                    let value = text(name, value)?;
                    is_empty |= value.is_empty();
                    address.extend(utf8_percent_encode(&value, ESCAPED));
                }
            }
        }
        // An empty part and one of dots would lead elsewhere on the server.
        let path = address.get(self.origin.len()..).unwrap_or_default();
        if is_empty || path.split('/').any(|part| part == "." || part == "..") {
            return Err(invalid("a part of the address may not be empty, `.` or `..`".to_owned()));
        }
        let mut before = '?';
        for (name, pieces) in &self.query {
            for value in values(pieces, arguments)? {
                address.push(before);
                address.extend(utf8_percent_encode(name, ESCAPED));
                address.push('=');
                address.extend(utf8_percent_encode(&value, ESCAPED));
                before = '&';
            }
        }
        Ok(address)
    }
}

/// An address before its path, and the path.
fn split(url: &str) -> (&str, &str) {
    let begins = url.find("://").map_or(0, |at| at + 3);
    let ends = url.get(begins..).and_then(|rest| rest.find('/')).map_or(url.len(), |at| begins + at);
    url.split_at(ends)
}

/// The host of a request, which must be among those that the tool names.
fn asked(url: &str, origin: &str, hosts: Option<&HostRules>) -> Result<String, String> {
    let wrong = || {
        format!(
            "http.url: it must begin with a scheme and a host, as in \"https://api.example.com/items\", with a port perhaps \
             and no argument before the path; it is {url:?}"
        )
    };
    let uri: Uri = origin.parse().map_err(|_| wrong())?;
    let port = match uri.scheme_str() {
        Some("https") => 443,
        Some("http") => 80,
        Some(_) | None => return Err(wrong()),
    };
    let authority = uri.authority().filter(|it| !it.as_str().contains('@')).ok_or_else(wrong)?;
    let to = Destination::parse(authority.as_str(), Some(port)).map_err(|_| wrong())?;
    match hosts.and_then(|hosts| hosts.grant(&to)) {
        Some(_) => Ok(authority.host().to_ascii_lowercase()),
        None => Err(format!("hosts: it must name the host of `http.url`, {:?}", authority.as_str())),
    }
}

/// A header, cut at its secrets and its places for arguments.
fn parts(value: &str, mut read: impl FnMut(&str) -> Vec<Piece>) -> Vec<Part> {
    let (mut parts, mut rest) = (Vec::new(), value);
    while let Some((open, behind)) = rest.split_once(SECRET) {
        let Some((name, behind)) = behind.split_once('}') else { break };
        parts.extend(read(open).into_iter().map(Part::Open));
        parts.push(Part::Secret(name.to_owned()));
        rest = behind;
    }
    parts.extend(read(rest).into_iter().map(Part::Open));
    parts
}

fn header_value(
    parts: &[Part],
    arguments: &Value,
    secret: impl Fn(&str) -> String,
) -> Result<Option<String>, ToolError> {
    let mut whole = String::new();
    for part in parts {
        match part {
            Part::Open(Piece::Text(open)) => whole.push_str(open),
            Part::Secret(name) => whole.push_str(&secret(name)),
            Part::Open(Piece::Argument(name)) => match arguments.get(name).filter(|value| !value.is_null()) {
                Some(value) => whole.push_str(&text(name, value)?),
                None => return Ok(None),
            },
        }
    }
    Ok(Some(whole))
}

/// What a member of the query says: nothing if an argument is absent, each item if it is one list.
fn values(pieces: &[Piece], arguments: &Value) -> Result<Vec<String>, ToolError> {
    if let [Piece::Argument(name)] = pieces {
        let items = match arguments.get(name) {
            Some(Value::Array(items)) => &items[..],
            Some(value) => std::slice::from_ref(value),
            None => &[],
        };
        return items.iter().filter(|item| !item.is_null()).map(|item| text(name, item)).collect();
    }
    let mut whole = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(open) => whole.push_str(open),
            Piece::Argument(name) => match arguments.get(name).filter(|value| !value.is_null()) {
                Some(value) => whole.push_str(&text(name, value)?),
                None => return Ok(Vec::new()),
            },
        }
    }
    Ok(vec![whole])
}

fn check_body(body: Option<&Value>, read: &mut dyn FnMut(&str)) {
    match body {
        Some(Value::String(text)) => read(text),
        Some(Value::Array(items)) => items.iter().for_each(|item| check_body(Some(item), read)),
        Some(Value::Object(members)) => members.values().for_each(|member| check_body(Some(member), read)),
        Some(Value::Null | Value::Bool(_) | Value::Number(_)) | None => {}
    }
}

/// A body with its arguments; nothing where one is absent.
fn filled(body: &Value, arguments: &Value) -> Option<Value> {
    match body {
        Value::String(text) => {
            let pieces = pieces(text).ok()?;
            if let [Piece::Argument(name)] = &pieces[..] {
                return arguments.get(name).cloned();
            }
            let mut whole = String::new();
            for piece in &pieces {
                match piece {
                    Piece::Text(open) => whole.push_str(open),
                    Piece::Argument(name) => match arguments.get(name)? {
                        Value::String(value) => whole.push_str(value),
                        value => whole.push_str(&value.to_string()),
                    },
                }
            }
            Some(Value::String(whole))
        }
        Value::Array(items) => Some(items.iter().filter_map(|item| filled(item, arguments)).collect()),
        Value::Object(members) => {
            let filled = |(name, member): (&String, &Value)| Some((name.clone(), filled(member, arguments)?));
            Some(Value::Object(members.iter().filter_map(filled).collect()))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(body.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn template(table: &Value) -> Result<RequestTemplate, Vec<String>> {
        let table: HttpTable = serde_json::from_value(table.clone()).expect("a table");
        let properties = json!({ "id": {}, "q": {}, "list": {}, "n": {} });
        let hosts = HostRules::parse(["api.test", "127.0.0.1:8080"]).expect("hosts");
        RequestTemplate::read(&table, properties.as_object(), Some(&hosts))
    }

    /// The request as text: its line, its headers but those that each has, and its body.
    fn made(table: &Value, arguments: &Value) -> Result<String, String> {
        let template = template(table).map_err(|problems| problems.join("\n"))?;
        let request =
            template.request(arguments, |name| format!("<{name}>")).map_err(|error| error.to_string())?;
        let headers = request.headers().iter().filter(|(name, _)| **name != header::ACCEPT);
        let headers: Vec<_> =
            headers.map(|(name, value)| format!(" {name}: {}", value.to_str().expect("text"))).collect();
        let body = String::from_utf8_lossy(request.body()).into_owned();
        Ok(format!("{} {}{} {body}", request.method(), request.uri(), headers.concat()).trim_end().to_owned())
    }

    #[track_caller]
    fn check(table: Value, arguments: Value, expected: Result<&str, &str>) {
        match (made(&table, &arguments), expected) {
            (Ok(made), Ok(expected)) => assert_eq!(made, expected),
            (Err(why), Err(part)) => assert!(why.contains(part), "{why}"),
            (made, _) => panic!("{table} {arguments}: {made:?}"),
        }
    }

    #[test]
    fn arguments_stay_in_their_places() {
        let url = |url: &str| json!({ "url": url });
        let item = || url("https://api.test/items/{id}");
        check(
            item(),
            json!({ "id": "a b/../c?x=1#y" }),
            Ok("GET https://api.test/items/a%20b%2F..%2Fc%3Fx%3D1%23y"),
        );
        check(item(), json!({ "id": 7 }), Ok("GET https://api.test/items/7"));
        for id in ["", ".", ".."] {
            check(item(), json!({ "id": id }), Err("may not be empty, `.` or `..`"));
        }
        check(item(), json!({}), Err("`id` is a part of the address, and is missing"));
        check(item(), json!({ "id": [1] }), Err("must be a text, a number or a boolean"));
        let query =
            json!({ "url": "https://api.test/", "query": { "q": "{q}", "l": "{list}", "f": "x{n}" } });
        check(
            query.clone(),
            json!({ "q": "a&b=c", "list": [1, 2] }),
            Ok("GET https://api.test/?l=1&l=2&q=a%26b%3Dc"),
        );
        check(query, json!({ "n": null }), Ok("GET https://api.test/"));
        let body = json!({ "method": "POST", "url": "https://api.test/", "body": { "a": "{list}", "b": "{q}", "c": ["n={n}"], "d": 1 } });
        check(
            body,
            json!({ "list": [true], "n": 2 }),
            Ok(r#"POST https://api.test/ content-type: application/json {"a":[true],"c":["n=2"],"d":1}"#),
        );
    }

    #[test]
    fn a_secret_stands_in_a_header_and_an_argument_ends_none() {
        let headers = |value: &str| json!({ "url": "https://api.test/", "headers": { "x-key": value } });
        check(headers("Bearer ${store:TOKEN}"), json!({}), Ok("GET https://api.test/ x-key: Bearer <TOKEN>"));
        check(headers("a{q}b"), json!({ "q": "c" }), Ok("GET https://api.test/ x-key: acb"));
        check(headers("{q}"), json!({}), Ok("GET https://api.test/"));
        check(headers("{q}"), json!({ "q": "a\r\nhost: b" }), Err("the header x-key would have characters"));
        // A secret that somebody else's text names is none.
        check(
            headers("{q}"),
            json!({ "q": "${store:TOKEN}" }),
            Ok("GET https://api.test/ x-key: ${store:TOKEN}"),
        );
        check(
            json!({ "url": "https://api.test/", "headers": { "host": "x" } }),
            json!({}),
            Err("no header for a manifest"),
        );
        let secret = json!({ "url": "https://api.test/${store:TOKEN}" });
        check(secret, json!({}), Err("names no argument of `inputs`"));
    }

    #[test]
    fn a_request_goes_to_a_host_that_is_named_and_to_no_other() {
        for (url, part) in [
            ("https://other.test/", "hosts: it must name the host of `http.url`, \"other.test\""),
            ("https://api.test:8443/", "hosts: it must name"),
            ("https://{id}/", "it must begin with a scheme and a host"),
            ("https://api.test.{id}/", "it must begin with a scheme and a host"),
            ("https://u:p@api.test/", "it must begin with a scheme and a host"),
            ("ftp://api.test/", "it must begin with a scheme and a host"),
            ("/items", "before the path; it is \"/items\""),
            ("", "it is \"\""),
            ("api.test/items", "it is \"api.test/items\""),
            ("https:///items", "it is \"https:///items\""),
            ("https://api.test/x?y={id}", "belongs in `http.query`"),
            ("https://api.test/{other}", "{other} names no argument"),
        ] {
            check(json!({ "url": url }), json!({ "id": "x" }), Err(part));
        }
        check(json!({ "url": "http://127.0.0.1:8080/x" }), json!({}), Ok("GET http://127.0.0.1:8080/x"));
        check(json!({ "url": "https://api.test/", "body": {} }), json!({}), Err("a GET sends none"));
    }
}
