//! What is wrong with a server that is reached over HTTP, or at a socket.

use http::Uri;
use upstream::Obstacle;

use super::finding::{Diagnosis, Failed};

/// It closed the connection without an answer.
pub(super) fn closed(failed: &Failed<'_>) -> Diagnosis {
    Diagnosis::new(
        "closes_connection",
        format!("{} closes the connection without an answer", failed.settings.place()),
        match failed.settings.address() {
            Some(_) => {
                "check that it speaks HTTP there, and http or https as `url` says; its own log may say more"
            }
            None => "check that an MCP server listens at this socket; its own log may say more",
        },
    )
}

/// Nothing that could be spoken to was reached.
pub(super) fn unreachable(failed: &Failed<'_>, said: &str) -> Diagnosis {
    let Some((obstacle, why)) = &failed.seen.obstacle else {
        let sentence = said.split_once(';').map_or(said, |(what, _)| what);
        return Diagnosis::new("unreachable", sentence, "check that the server is running, and where");
    };
    // Behind it stands what to try, but for certificates, where more is said of what is wrong.
    let said = why.split_once(';').map_or(why.as_str(), |(what, _)| what);
    match obstacle {
        Obstacle::Refused => {
            Diagnosis::new("connection_refused", said, "start the server, and check the port in `url`")
        }
        Obstacle::Name => Diagnosis::new(
            "unknown_host",
            said,
            "check the host's name in `url`, and the connection to the network",
        ),
        Obstacle::Tls => certificate(why),
        Obstacle::Time => {
            Diagnosis::new("unreachable", said, "check the address, and whether a firewall is in between")
        }
        Obstacle::Private => Diagnosis::new("private_address", said, "set `url` to a public address"),
        Obstacle::Closed | Obstacle::Other => closed(failed),
    }
}

/// No secure connection, as the TLS library words it.
fn certificate(why: &str) -> Diagnosis {
    let says = |phrase: &str| why.contains(phrase);
    if says("not valid for name") || says("NotValidForName") {
        return Diagnosis::new(
            "certificate_name",
            format!("its certificate is for another name: {why}"),
            "use the name that the certificate is for in `url`",
        );
    }
    if says("expired") || says("Expired") || says("not valid yet") || says("NotValidYet") {
        return Diagnosis::new(
            "certificate_expired",
            format!("its certificate is out of date: {why}"),
            "renew the server's certificate; check this machine's clock",
        );
    }
    if says("UnknownIssuer") || says("unknown issuer") || says("CaUsedAsEndEntity") {
        return Diagnosis::new(
            "certificate_untrusted",
            format!("its certificate is not trusted on this machine: {why}"),
            "install the certificate of whoever issued it on this machine, or name the file in SSL_CERT_FILE",
        );
    }
    Diagnosis::new(
        "no_tls",
        why,
        "check whether the server speaks https there; if it does not, write http in `url`",
    )
}

/// It refuses access, and we do not sign in there.
pub(super) fn no_access(failed: &Failed<'_>, status: u16) -> Diagnosis {
    let name = failed.settings.name();
    match status {
        403 => Diagnosis::new(
            "forbidden",
            "it refuses access to whoever we are (HTTP status 403)",
            "give other credentials with `headers`, or ask its owner for access",
        ),
        _ => Diagnosis::new(
            "no_credentials",
            format!("it wants credentials (HTTP status {status})"),
            format!(
                "give them with `headers` in [mcp.{name}], or correct those that stand there; a server without an \
                 `Authorization` header and without `oauth = false` can be signed in to with `toolcrib mcp auth {name}`"
            ),
        ),
    }
}

/// It answers with an HTTP error.
pub(super) fn status(failed: &Failed<'_>, status: u16, said: &str) -> Diagnosis {
    let is_page = failed.seen.head.as_ref().is_some_and(|head| head.media_type == "text/html");
    let said = if said.is_empty() || is_page { String::new() } else { format!(": {said}") };
    let path = failed.settings.address().map_or("", Uri::path);
    match status {
        404 => Diagnosis::new(
            "path_missing",
            format!("there is nothing at the path {path} (HTTP status 404){said}"),
            match path {
                "/" | "" => "add the path to `url`; most servers are at /mcp, older ones at /sse",
                _ => "check the path in `url`; most servers are at /mcp, older ones at /sse",
            },
        ),
        405 => Diagnosis::new(
            "method_refused",
            format!("it takes no POST at the path {path} (HTTP status 405){said}"),
            "check the path in `url`; most servers are at /mcp, older ones at /sse",
        ),
        429 => Diagnosis::new(
            "too_many_requests",
            format!("it is asked too often (HTTP status 429){said}"),
            "wait a while and test again",
        ),
        500.. => Diagnosis::new(
            "server_error",
            format!("it is in trouble (HTTP status {status}){said}"),
            "try again later; the server's own log says more",
        ),
        _ => Diagnosis::new(
            "http_error",
            format!("it answers with HTTP status {status}{said}"),
            "check `url` and `headers`; `toolcrib mcp debug` shows all that was said",
        ),
    }
}

/// What came is no message, as its head tells; nothing if the head tells nothing.
pub(super) fn no_message(failed: &Failed<'_>) -> Option<Diagnosis> {
    let head = failed.seen.head.as_ref()?;
    match head.media_type.as_str() {
        "text/html" | "application/xhtml+xml" => Some(Diagnosis::new(
            "web_page",
            format!("it answers with a web page (HTTP status {})", head.status),
            match failed.settings.address().map(Uri::path) {
                Some("/" | "") => "add the server's path to `url`; is it /mcp?",
                _ => "check `url`: it leads to a page for people, not to an MCP server",
            },
        )),
        "text/plain" if failed.seen.messages == 0 => Some(Diagnosis::new(
            "plain_text",
            format!("it answers with text: {}", failed.seen.text.as_deref().unwrap_or("nothing")),
            "check `url`: it leads to something else than an MCP server",
        )),
        _ => None,
    }
}
