//! What is wrong with a server that is reached over HTTP, or at a socket.

use http::Uri;
use upstream::Obstacle;

use super::finding::{Diagnosis, Failed};

/// Phrases of the TLS library, and what they are called.
const CERTIFICATES: [(&str, &[&str]); 3] = [
    ("certificate_name", &["not valid for name", "NotValidForName"]),
    ("certificate_expired", &["expired", "Expired", "not valid yet", "NotValidYet"]),
    ("certificate_untrusted", &["UnknownIssuer", "unknown issuer", "CaUsedAsEndEntity"]),
];

/// It closed the connection without an answer.
pub(super) fn closed(failed: &Failed<'_>) -> Diagnosis {
    let is_web = failed.settings.address().is_some();
    let kind = if is_web { "closes_connection" } else { "closes_connection:socket" };
    Diagnosis::of(kind, &[("place", &failed.settings.place())])
}

/// Nothing that could be spoken to was reached.
pub(super) fn unreachable(failed: &Failed<'_>, message: &str) -> Diagnosis {
    let obstacle = failed.seen.obstacle.as_ref();
    let why = obstacle.map_or(message, |(_, why)| why);
    let kind = match obstacle.map(|(obstacle, _)| obstacle) {
        None => "unreachable",
        Some(Obstacle::Refused) => "connection_refused",
        Some(Obstacle::Name) => "unknown_host",
        Some(Obstacle::Tls) => return certificate(why),
        Some(Obstacle::Time) => "unreachable:time",
        Some(Obstacle::Private) => "private_address",
        Some(Obstacle::Closed | Obstacle::Other) => return closed(failed),
    };
    // Behind it stands what to try, but for certificates, where more is message of what is wrong.
    Diagnosis::of(kind, &[("message", &why.split_once(';').map_or(why, |(what, _)| what))])
}

/// No secure connection, as the TLS library words it.
fn certificate(why: &str) -> Diagnosis {
    let says = |(_, phrases): &&(_, &[&str])| phrases.iter().any(|phrase| why.contains(phrase));
    let kind = CERTIFICATES.iter().find(says).map_or("no_tls", |(kind, _)| kind);
    Diagnosis::of(kind, &[("why", &why)])
}

/// It refuses access, and we do not sign in there.
pub(super) fn no_access(failed: &Failed<'_>, status: u16) -> Diagnosis {
    let kind = if status == 403 { "forbidden" } else { "no_credentials" };
    Diagnosis::of(kind, &[("status", &status), ("name", &failed.settings.name())])
}

/// It answers with an HTTP error.
pub(super) fn status(failed: &Failed<'_>, status: u16, message: &str) -> Diagnosis {
    let is_page = failed.seen.head.as_ref().is_some_and(|head| head.media_type == "text/html");
    let message = if message.is_empty() || is_page { String::new() } else { format!(": {message}") };
    let path = failed.settings.address().map_or("", Uri::path);
    let kind = match status {
        404 if matches!(path, "/" | "") => "path_missing:root",
        404 => "path_missing",
        405 => "method_refused",
        429 => "too_many_requests",
        500.. => "server_error",
        _ => "http_error",
    };
    Diagnosis::of(kind, &[("status", &status), ("message", &message), ("path", &path)])
}

/// What came is no message, as its head tells; nothing if the head tells nothing.
pub(super) fn no_message(failed: &Failed<'_>) -> Option<Diagnosis> {
    let head = failed.seen.head.as_ref()?;
    match head.media_type.as_str() {
        "text/html" | "application/xhtml+xml" => {
            let is_root = matches!(failed.settings.address().map(Uri::path), Some("/" | ""));
            let kind = if is_root { "web_page:root" } else { "web_page" };
            Some(Diagnosis::of(kind, &[("status", &head.status)]))
        }
        "text/plain" if failed.seen.messages == 0 => {
            Some(Diagnosis::of("plain_text", &[("text", &failed.seen.text.as_deref().unwrap_or("nothing"))]))
        }
        _ => None,
    }
}
