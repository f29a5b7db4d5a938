//! The handshake of the legacy revisions, from both sides.

use crate::error::{Code, WireError};
use crate::message::Text;
use crate::revision::Revision;
use crate::string;

/// Longest name or version of a peer that we keep, in characters.
const PEER_TEXT_CHARS_MAX: usize = 200;

/// Who a peer says it is. For logs only; nothing is decided by it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Peer {
    /// `name` of its `Implementation`.
    pub name: String,
    /// `version` of its `Implementation`.
    pub version: String,
}

/// What a client opens with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The revision we settle on: the one asked for, or our latest.
    pub revision: Revision,
    /// Who asks.
    pub client: Peer,
}

/// Reads the parameters of `initialize`.
///
/// # Errors
/// `InvalidParams` if `protocolVersion` is missing or no string. Everything else is optional here: real
/// clients leave out what the schema calls required.
pub fn hello(params: Option<&Text>) -> Result<Hello, WireError> {
    let object = params.and_then(Text::object);
    let Some(version) = object.and_then(|object| object.string("protocolVersion")) else {
        let why = "Invalid params: initialize needs the string \"protocolVersion\"";
        return Err(WireError::new(Code::InvalidParams, why));
    };
    let client = object.and_then(|object| object.get("clientInfo")).map(peer).unwrap_or_default();
    Ok(Hello { revision: Revision::negotiate(&version), client })
}

fn peer(text: &str) -> Peer {
    let cut = |key| {
        let said = crate::Object::parse(text).and_then(|object| object.string(key));
        said.unwrap_or_default().chars().take(PEER_TEXT_CHARS_MAX).collect()
    };
    Peer { name: cut("name"), version: cut("version") }
}

/// What we say of ourselves, as server or as client.
#[derive(Debug, Clone, Copy)]
pub struct Ourselves<'a> {
    /// Our name.
    pub name: &'a str,
    /// Our version.
    pub version: &'a str,
}

impl Ourselves<'_> {
    fn write(self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"name\":");
        string::encode(self.name, out);
        out.extend_from_slice(b",\"version\":");
        string::encode(self.version, out);
        out.push(b'}');
    }
}

/// The result of `initialize`: we offer tools, and say when they change.
pub fn welcome(revision: Revision, ourselves: Ourselves<'_>, instructions: Option<&str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(256);
    out.extend_from_slice(b"{\"protocolVersion\":");
    string::encode(revision.name(), &mut out);
    out.extend_from_slice(b",\"capabilities\":{\"tools\":{\"listChanged\":true}},\"serverInfo\":");
    ourselves.write(&mut out);
    if let Some(instructions) = instructions {
        out.extend_from_slice(b",\"instructions\":");
        string::encode(instructions, &mut out);
    }
    out.push(b'}');
    out
}

/// The parameters with which we open a connection to an upstream.
pub fn our_hello(revision: Revision, ourselves: Ourselves<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(160);
    out.extend_from_slice(b"{\"protocolVersion\":");
    string::encode(revision.name(), &mut out);
    out.extend_from_slice(b",\"capabilities\":{},\"clientInfo\":");
    ourselves.write(&mut out);
    out.push(b'}');
    out
}

/// What an upstream answers to `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The revision it chose.
    pub revision: Revision,
    /// True if it has tools at all.
    pub has_tools: bool,
    /// Who it says it is.
    pub server: Peer,
}

/// Why an upstream's handshake cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WelcomeFault {
    /// The answer has no `protocolVersion`.
    #[error("its answer to initialize names no protocol version")]
    NoVersion,
    /// It wants a revision that we do not speak.
    #[error("it speaks protocol version {0:?}, which is not supported")]
    UnknownVersion(String),
}

/// Reads an upstream's answer to `initialize`.
pub fn read_welcome(result: &Text) -> Result<Welcome, WelcomeFault> {
    let object = result.object().ok_or(WelcomeFault::NoVersion)?;
    let name = object.string("protocolVersion").ok_or(WelcomeFault::NoVersion)?;
    let revision = Revision::parse(&name)
        .ok_or_else(|| WelcomeFault::UnknownVersion(name.chars().take(PEER_TEXT_CHARS_MAX).collect()))?;
    let capabilities = object.object("capabilities");
    Ok(Welcome {
        revision,
        has_tools: capabilities.is_some_and(|all| all.get("tools").is_some()),
        server: object.get("serverInfo").map(peer).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[test]
    fn hello_settles_on_a_revision() {
        let cases = [
            (r#"{"protocolVersion":"2024-11-05"}"#, Some(Revision::V2024_11_05)),
            (r#"{"protocolVersion":"2025-03-26","capabilities":{}}"#, Some(Revision::V2025_03_26)),
            (r#"{"protocolVersion":"2026-07-28"}"#, Some(Revision::LATEST)),
            (r#"{"protocolVersion":"soon"}"#, Some(Revision::LATEST)),
            (r#"{"protocolVersion":5}"#, None),
            ("{}", None),
        ];
        for (params, expected) in cases {
            let settled = hello(Some(&text(params))).ok().map(|hello| hello.revision);
            assert_eq!(settled, expected, "{params}");
        }
        assert_eq!(hello(None).expect_err("nothing was asked").code, Code::InvalidParams);
    }

    #[test]
    fn what_one_side_says_the_other_reads() {
        let ourselves = Ourselves { name: "toolcrib", version: "1" };
        let said = welcome(Revision::V2025_06_18, ourselves, Some("be \"kind\""));
        let read = read_welcome(&text(std::str::from_utf8(&said).expect("UTF-8"))).expect("sound");
        let server = Peer { name: "toolcrib".into(), version: "1".into() };
        assert_eq!(read, Welcome { revision: Revision::V2025_06_18, has_tools: true, server });

        let said = our_hello(Revision::V2025_11_25, ourselves);
        let read = hello(Some(&text(std::str::from_utf8(&said).expect("UTF-8")))).expect("sound");
        assert_eq!((read.revision, read.client.name.as_str()), (Revision::V2025_11_25, "toolcrib"));
    }

    #[test]
    fn a_foreign_version_is_named() {
        let fault = read_welcome(&text(r#"{"protocolVersion":"2031-01-01"}"#)).expect_err("unknown");
        assert_eq!(fault.to_string(), "it speaks protocol version \"2031-01-01\", which is not supported");
        assert_eq!(read_welcome(&text("[]")), Err(WelcomeFault::NoVersion));
    }
}
