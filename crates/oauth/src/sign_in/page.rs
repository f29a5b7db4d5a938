//! The pages that a browser is shown when it comes back. They hold no script, load nothing, and show nothing that
//! was sent to them but as escaped text.

/// What a browser is shown: the status of the answer, a title, and a text.
pub(super) struct Page(pub(super) &'static str, pub(super) &'static str, pub(super) String);

impl Page {
    /// The whole HTTP response.
    pub(super) fn response(&self) -> Vec<u8> {
        let Page(status, title, text) = self;
        let body = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
             <style>body{{font:1.1em/1.5 system-ui,sans-serif;max-width:34em;margin:4em auto;padding:0 1em}}\
             @media(prefers-color-scheme:dark){{body{{background:#111;color:#ddd}}}}</style>\
             <h1>{title}</h1><p>{}</p></html>\n",
            escaped(text)
        );
        // The address of this page holds the code: nobody is to be told of it, and nothing of it to be kept.
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
             content-security-policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'\r\n\
             referrer-policy: no-referrer\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n\
             {}connection: close\r\n\r\n{body}",
            body.len(),
            if status.starts_with("405") { "allow: GET\r\n" } else { "" },
        )
        .into_bytes()
    }
}

fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}
