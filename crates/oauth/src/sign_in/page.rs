//! The pages that a browser is shown when it comes back. They hold no script, load nothing, and show nothing that
//! was sent to them but as escaped text.

/// What a browser is shown.
pub(super) enum Page {
    /// It came back with what we wait for.
    Done,
    /// The sign-in has failed; why.
    Failed(String),
    /// It did not come back from our sign-in; why. We go on waiting.
    Foreign(&'static str),
    /// It asked for something else.
    NotFound,
    /// It did not only ask.
    WrongMethod,
    /// What it sent is no request, or too long a one.
    Unreadable,
}

impl Page {
    /// The whole HTTP response. `name` is what people call the server that is signed in to.
    pub(super) fn response(&self, name: &str) -> Vec<u8> {
        let (status, title, text) = match self {
            Page::Done => (
                "200 OK",
                "Almost done",
                format!(
                    "The browser's part of signing in to {name} is done. You can close this page and go back to \
                     Toolcrib, which says whether it worked."
                ),
            ),
            Page::Failed(why) => {
                ("200 OK", "Not signed in", format!("Signing in to {name} did not work: {why}."))
            }
            Page::Foreign(why) => (
                "400 Bad Request",
                "Not this one",
                format!("This does not finish the sign-in to {name}, which still waits: {why}."),
            ),
            Page::NotFound => ("404 Not Found", "Nothing here", "There is nothing here.".to_owned()),
            Page::WrongMethod => {
                ("405 Method Not Allowed", "Not like this", "This address is only to be opened.".to_owned())
            }
            Page::Unreadable => {
                ("400 Bad Request", "Not like this", "This request cannot be read.".to_owned())
            }
        };
        let body = format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
             <style>body{{font:1.1em/1.5 system-ui,sans-serif;max-width:34em;margin:4em auto;padding:0 1em}}\
             @media(prefers-color-scheme:dark){{body{{background:#111;color:#ddd}}}}</style>\
             <h1>{title}</h1><p>{}</p></html>\n",
            escaped(&text)
        );
        // The address of this page holds the code: nobody is to be told of it, and nothing of it to be kept.
        format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\n\
             content-security-policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'\r\n\
             referrer-policy: no-referrer\r\ncache-control: no-store\r\nx-content-type-options: nosniff\r\n\
             {}connection: close\r\n\r\n{body}",
            body.len(),
            if matches!(self, Page::WrongMethod) { "allow: GET\r\n" } else { "" },
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
