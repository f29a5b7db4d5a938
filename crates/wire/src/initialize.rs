//! The handshake of the legacy revisions, from both sides.

use crate::error::WireError;
use crate::object_writer::object_text;
use crate::relayed::invalid;
use crate::revision::Revision;
use crate::text::Text;

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
    /// Its `ClientCapabilities` object; nothing if it sent none.
    pub capabilities: Option<Text>,
    /// Its `Implementation` object as written.
    pub info: Option<Text>,
}

/// Reads the parameters of `initialize`.
///
/// # Errors
/// `InvalidParams` if `protocolVersion` is missing or no string. Everything else is optional here: real
/// clients leave out what the schema calls required.
pub fn hello(params: Option<&Text>) -> Result<Hello, WireError> {
    let object = params.and_then(Text::object);
    let Some(version) = object.and_then(|object| object.string("protocolVersion")) else {
        return Err(invalid("initialize needs the string \"protocolVersion\""));
    };
    let given = |key| {
        let written = object.and_then(|object| object.get(key)).filter(|value| value.starts_with('{'))?;
        params.map(|params| params.slice(written))
    };
    let info = given("clientInfo");
    Ok(Hello {
        revision: Revision::negotiate(&version),
        client: info.as_ref().map(|info| peer(info.as_str())).unwrap_or_default(),
        capabilities: given("capabilities"),
        info,
    })
}

/// Reads an `Implementation` object.
pub fn peer(text: &str) -> Peer {
    let cut = |key| {
        let text = crate::Object::parse(text).and_then(|object| object.string(key));
        text.unwrap_or_default().chars().take(PEER_TEXT_CHARS_MAX).collect()
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
    /// The `Implementation` object as JSON text.
    pub fn json(self) -> String {
        object_text(64, |object| object.string("name", self.name).string("version", self.version).end())
    }
}

/// The result of `initialize`. `capabilities` is a `ServerCapabilities` object as JSON text.
pub fn welcome(
    revision: Revision,
    ourselves: Ourselves<'_>,
    capabilities: &str,
    instructions: Option<&str>,
) -> Vec<u8> {
    object_text(256 + capabilities.len(), |result| {
        result
            .string("protocolVersion", revision.name())
            .json("capabilities", capabilities)
            .json("serverInfo", &*ourselves.json())
            .string("instructions", instructions)
            .end();
    })
    .into_bytes()
}

/// The parameters with which we open a connection to an upstream. `capabilities` is a `ClientCapabilities`
/// object as JSON text.
pub fn our_hello(revision: Revision, ourselves: Ourselves<'_>, capabilities: &str) -> Vec<u8> {
    object_text(160 + capabilities.len(), |params| {
        params
            .string("protocolVersion", revision.name())
            .json("capabilities", capabilities)
            .json("clientInfo", &*ourselves.json())
            .end();
    })
    .into_bytes()
}

/// What an upstream answers to `initialize`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Welcome {
    /// The revision it chose.
    pub revision: Revision,
    /// Its `ServerCapabilities` object; nothing if it sent none.
    pub capabilities: Option<Text>,
    /// Who it says it is.
    pub server: Peer,
    /// What it tells models about its use.
    pub instructions: Option<String>,
}

/// Reads an upstream's answer to `initialize`.
///
/// # Errors
/// Why its handshake cannot be used, as a sentence about it.
pub fn read_welcome(result: &Text) -> Result<Welcome, String> {
    let object = result.object();
    let named = object.and_then(|object| Some((object, object.string("protocolVersion")?)));
    let (object, name) = named.ok_or("its answer to initialize names no protocol version")?;
    let revision = Revision::parse(&name).ok_or_else(|| {
        let shown: String = name.chars().take(PEER_TEXT_CHARS_MAX).collect();
        format!("it speaks protocol version {shown:?}, which is not supported")
    })?;
    Ok(Welcome {
        revision,
        capabilities: object.object("capabilities").map(|all| result.slice(all.text())),
        server: object.get("serverInfo").map(peer).unwrap_or_default(),
        instructions: object.string("instructions").map(std::borrow::Cow::into_owned),
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::error::Code;

    fn text(json: &str) -> Text {
        Text::check(Bytes::copy_from_slice(json.as_bytes())).expect("a sample is sound")
    }

    #[test]
    fn hello_settles_on_a_revision() {
        let cases = [
            (r#"{"protocolVersion":"2024-11-05"}"#, Some(Revision::V2024_11_05)),
            (r#"{"protocolVersion":"2025-03-26","capabilities":{}}"#, Some(Revision::V2025_03_26)),
            (r#"{"protocolVersion":"2026-07-28"}"#, Some(Revision::LATEST_LEGACY)),
            (r#"{"protocolVersion":"soon"}"#, Some(Revision::LATEST_LEGACY)),
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
        let capabilities = r#"{"tools":{}}"#;
        let written = welcome(Revision::V2025_06_18, ourselves, capabilities, Some("be \"kind\""));
        let read = read_welcome(&text(std::str::from_utf8(&written).expect("UTF-8"))).expect("sound");
        let expected = Welcome {
            revision: Revision::V2025_06_18,
            capabilities: Some(text(capabilities)),
            server: Peer { name: "toolcrib".into(), version: "1".into() },
            instructions: Some("be \"kind\"".into()),
        };
        assert_eq!(read, expected);

        let written = our_hello(Revision::V2025_11_25, ourselves, r#"{"roots":{}}"#);
        let read = hello(Some(&text(std::str::from_utf8(&written).expect("UTF-8")))).expect("sound");
        assert_eq!((read.revision, read.client.name.as_str()), (Revision::V2025_11_25, "toolcrib"));
        assert_eq!(read.capabilities, Some(text(r#"{"roots":{}}"#)));
    }

    #[test]
    fn a_foreign_version_is_named() {
        let fault = read_welcome(&text(r#"{"protocolVersion":"2031-01-01"}"#)).expect_err("unknown");
        assert_eq!(fault, "it speaks protocol version \"2031-01-01\", which is not supported");
        assert_eq!(
            read_welcome(&text("[]")),
            Err("its answer to initialize names no protocol version".to_owned())
        );
    }
}
