//! `Outgoing`: a request on its way out, and the work that sends it.

use futures_util::future::BoxFuture;
use http::{HeaderMap, HeaderName, HeaderValue};
use wire::http::{METHOD, NAME, PROTOCOL_VERSION};
use wire::{Revision, headers, write};

use crate::fault::Fault;

/// Has to be polled until the answer to its request is with the exchange. Fails if there will be none.
pub(crate) type Work = BoxFuture<'static, Result<(), Fault>>;

/// A request on its way out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outgoing<'a> {
    /// Its number, which is its id on the wire.
    pub id: u64,
    /// What is wanted.
    pub method: &'a str,
    /// The whole parameters as JSON text; empty for none.
    pub params: &'a [u8],
    /// True if it is framed as a modern request, and needs its headers.
    pub modern: bool,
    /// What it is about, for `Mcp-Name`.
    pub name: Option<&'a str>,
    /// Headers that repeat arguments: full names and encoded values.
    pub param_headers: &'a [(String, String)],
}

impl Outgoing<'_> {
    /// The whole message without a line end.
    pub(crate) fn message(&self) -> Vec<u8> {
        let mut message = Vec::with_capacity(self.params.len() + 80);
        let params = Some(self.params).filter(|params| !params.is_empty());
        write::numbered_request(&mut message, self.id, self.method, params);
        message
    }

    /// The standard headers of a modern request; none for a legacy one.
    pub(super) fn headers(&self) -> HeaderMap {
        let mut map = HeaderMap::new();
        if !self.modern {
            return map;
        }
        map.insert(PROTOCOL_VERSION, HeaderValue::from_static(Revision::MODERN.name()));
        // A method of an extension may be one that no header can hold; the server then refuses what lacks it.
        if let Ok(method) = HeaderValue::from_str(self.method) {
            map.insert(METHOD, method);
        }
        if let Some(name) = self.name {
            let value = HeaderValue::from_str(&headers::encode(name));
            map.insert(NAME, value.expect("an encoded value is printable ASCII"));
        }
        for (name, value) in self.param_headers {
            // What is no header was not made by the rules for them; the server says that it is missing.
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(value)) {
                map.insert(name, value);
            }
        }
        map
    }
}
