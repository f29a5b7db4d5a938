//! `Ask`: the request by which a service is asked.

use bytes::Bytes;
use http::{Method, Request, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use tool_api::ToolError;

/// By what services know us; several answer nobody who does not say who they are.
const USER_AGENT: &str = concat!("toolcrib/", env!("CARGO_PKG_VERSION"), " (MCP gateway)");

/// What needs no escape in any part of an address (RFC 3986, 2.3).
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What services answer in.
const DATA: &str = "application/json, application/atom+xml;q=0.9";

/// The same of those that answer in pages for people.
const PAGES: &str = "text/html, application/xhtml+xml;q=0.9";

/// A request of a service.
#[derive(Debug)]
pub(super) struct Ask {
    address: String,
    headers: Vec<(String, String)>,
    body: Option<Value>,
    accept: &'static str,
}

impl Ask {
    /// For what is at this address, which may have a query already.
    pub(super) fn get(url: &str) -> Ask {
        Ask { address: url.to_owned(), headers: Vec::new(), body: None, accept: DATA }
    }

    /// For what comes of sending this there.
    pub(super) fn post(url: &str, body: Value) -> Ask {
        Ask { body: Some(body), ..Ask::get(url) }
    }

    /// For a page.
    pub(super) fn page(self) -> Ask {
        Ask { accept: PAGES, ..self }
    }

    /// Adds a member to the query of the address.
    pub(super) fn with(mut self, name: &str, value: &str) -> Ask {
        self.address.push(if self.address.contains('?') { '&' } else { '?' });
        self.address.push_str(name);
        self.address.push('=');
        self.address.push_str(&escaped(value));
        self
    }

    pub(super) fn header(mut self, name: &str, value: impl Into<String>) -> Ask {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// As it is sent.
    ///
    /// # Errors
    /// The key has characters that no header can hold.
    pub(super) fn request(self) -> Result<Request<Bytes>, ToolError> {
        let method = if self.body.is_some() { Method::POST } else { Method::GET };
        let mut request = Request::builder()
            .method(method)
            .uri(self.address)
            .header(header::USER_AGENT, USER_AGENT)
            .header(header::ACCEPT, self.accept)
            .header(header::ACCEPT_ENCODING, "gzip");
        for (name, value) in self.headers {
            request = request.header(name, value);
        }
        if self.body.is_some() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        let body = self.body.map(|body| Bytes::from(body.to_string())).unwrap_or_default();
        // What is wrong may quote the key.
        request.body(body).map_err(|_| ToolError::new("bad_request", "its address or its key is unusable"))
    }
}

/// A value as a part of an address.
pub(super) fn escaped(value: &str) -> String {
    utf8_percent_encode(value, ESCAPED).to_string()
}
