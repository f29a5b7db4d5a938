//! TLS handshakes in tunnels: they must be with the host that was allowed.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use tokio::io::AsyncWriteExt;

use super::program::{Program, read_to_end};
use super::servers::{echo, host};

/// The first message of our own TLS client.
pub(super) fn hello(server: &'static str) -> Vec<u8> {
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().expect("versions");
    let config = Arc::new(config.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
    let server = ServerName::try_from(server).expect("a name");
    let mut client = ClientConnection::new(config, server).expect("a client");
    let mut bytes = Vec::new();
    client.write_tls(&mut bytes).expect("written");
    bytes
}

/// Sends what an echo server would say again, and looks whether it does.
async fn check_hello(rules: &[&str], to: &str, first: &[u8], expected: &str) {
    let port = host("127.1.0.1", echo).await.port();
    let rules: Vec<String> = rules.iter().map(|rule| rule.replace("PORT", &port.to_string())).collect();
    let program = Program::new(&rules.iter().map(String::as_str).collect::<Vec<_>>());
    let to = to.replace("PORT", &port.to_string());
    let mut stream = program.tunnel(&to).await.expect("a tunnel");
    // Byte by byte, as a program may that wants to hide something.
    for byte in first {
        if stream.write_all(&[*byte]).await.is_err() {
            break;
        }
    }
    // It may be closed already.
    let _ = stream.shutdown().await;
    let got = read_to_end(&mut stream).await;
    let blocked = program.journal.blocked();
    let outcome = match blocked.first() {
        None => {
            if got == String::from_utf8_lossy(first) {
                "passed".to_owned()
            } else {
                got
            }
        }
        Some(entry) if got.is_empty() => entry.to_string().replace(&to, "it"),
        Some(entry) => panic!("{entry}, and yet there was {got:?}"),
    };
    assert_eq!(outcome, expected, "{rules:?} {to}");
    assert_eq!(program.journal.entries()[0].sent_bytes > 0, expected == "passed");
}

#[tokio::test]
async fn a_tls_handshake_names_the_host_that_was_allowed() {
    let (good, bad, nameless) = (hello("public.test"), hello("evil.test"), hello("10.0.0.1"));
    let alert_first = [b"\x15\x03\x01\0\x02\x01\0", &good[..]].concat();
    for (rules, to, first, expected) in [
        (&["public.test:PORT"][..], "public.test:PORT", &good, "passed"),
        (&["public.test:PORT"], "PUBLIC.test.:PORT", &good, "passed"),
        (
            &["public.test:PORT"],
            "public.test:PORT",
            &bad,
            "connect it (the TLS handshake names another host)",
        ),
        (&["public"], "public.test:PORT", &bad, "connect it (the TLS handshake names another host)"),
        (
            &["public.test:PORT"],
            "public.test:PORT",
            &nameless,
            "connect it (the TLS handshake names no host)",
        ),
        (
            &["*.public.test:PORT"],
            "www.public.test:PORT",
            &good,
            "connect it (the TLS handshake names another host)",
        ),
        (&["public"], "public.test:PORT", &nameless, "passed"),
        (&["127.1.0.1:PORT"], "127.1.0.1:PORT", &nameless, "passed"),
        (&["127.1.0.1:PORT"], "127.1.0.1:PORT", &bad, "passed"),
        (
            &["public"],
            "public.test:PORT",
            &alert_first,
            "connect it (the host in the TLS handshake cannot be read)",
        ),
        // What ends before it is whole begins nothing.
        (&["public.test:PORT"], "public.test:PORT", &good[..40].to_vec(), "passed"),
        (&["public.test:PORT"], "public.test:PORT", &b"SSH-2.0-x\r\n".to_vec(), "passed"),
    ] {
        check_hello(rules, to, first, expected).await;
    }
}
