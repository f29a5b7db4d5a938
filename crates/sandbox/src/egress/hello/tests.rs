//! The first message of TLS connections: made by hand, and by the library that our own client uses.

use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::*;

fn sized(length_bytes: usize, value: &[u8]) -> Vec<u8> {
    [&value.len().to_be_bytes()[8 - length_bytes..], value].concat()
}

fn record(kind: u8, fragment: &[u8]) -> Vec<u8> {
    [&[kind, 3, 1][..], &sized(2, fragment)].concat()
}

fn server_name(name: &[u8]) -> Vec<u8> {
    extension(0, &sized(2, &[&[0][..], &sized(2, name)].concat()))
}

fn extension(kind: u16, data: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &sized(2, data)].concat()
}

/// The body of a message with these extensions, or none at all.
fn body(extensions: Option<&[u8]>) -> Vec<u8> {
    let mut body = vec![3, 3];
    body.extend_from_slice(&[7; 32]);
    body.extend_from_slice(&sized(1, &[1; 32]));
    body.extend_from_slice(&sized(2, &[0x13, 1]));
    body.extend_from_slice(&sized(1, &[0]));
    body.extend(extensions.map(|extensions| sized(2, extensions)).unwrap_or_default());
    body
}

fn message(body: &[u8]) -> Vec<u8> {
    [&[1][..], &sized(3, body)].concat()
}

fn hello(extensions: &[u8]) -> Vec<u8> {
    record(22, &message(&body(Some(extensions))))
}

/// Reads the bytes in every cut: nothing is decided before it is certain, and never otherwise.
fn check(what: &str, bytes: &[u8], expected: &Hello) {
    assert_eq!(read(bytes), *expected, "{what}");
    for length in 0..bytes.len() {
        let early = read(&bytes[..length]);
        assert!(early == Hello::Incomplete || early == *expected, "{what}: {early:?} after {length} bytes");
    }
}

fn named(name: &str) -> Hello {
    Hello::Name(name.to_owned())
}

#[test]
fn our_own_client_names_its_host() {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    for versions in [&[&rustls::version::TLS13][..], &[&rustls::version::TLS12]] {
        let config =
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions);
        let config =
            config.expect("versions").with_root_certificates(RootCertStore::empty()).with_no_client_auth();
        let config = Arc::new(config);
        for (server, expected) in
            [("www.example.com", named("www.example.com")), ("10.0.0.1", Hello::Nameless)]
        {
            let server = ServerName::try_from(server).expect("a name");
            let mut client = ClientConnection::new(Arc::clone(&config), server).expect("a client");
            let mut bytes = Vec::new();
            client.write_tls(&mut bytes).expect("written");
            check("rustls", &bytes, &expected);
        }
    }
}

#[test]
fn a_message_may_be_cut_into_records() {
    let whole = message(&body(Some(&[extension(16, b"\0\x03\x02h2"), server_name(b"example.com")].concat())));
    for size in [1, 3, 50, whole.len() - 1] {
        let records: Vec<u8> = whole.chunks(size).flat_map(|fragment| record(22, fragment)).collect();
        check("cut", &records, &named("example.com"));
    }
}

#[test]
fn what_is_tls_but_cannot_be_read_is_told_from_what_is_none() {
    let name = server_name(b"example.com");
    let whole = message(&body(Some(&name)));
    let two =
        extension(0, &sized(2, &[&b"\0"[..], &sized(2, b"a.test"), b"\0", &sized(2, b"b.test")].concat()));
    for (what, bytes, expected) in [
        ("a name", hello(&name), named("example.com")),
        ("a name and more behind it", [hello(&name), record(20, &[1])].concat(), named("example.com")),
        ("a name with a dot", hello(&server_name(b"example.com.")), named("example.com.")),
        ("no extensions", record(22, &message(&body(None))), Hello::Nameless),
        ("no name among them", hello(&extension(16, b"\0\x03\x02h2")), Hello::Nameless),
        ("SSL 2", b"\x80\x2e\x01\x03\x01\0\x15".to_vec(), Hello::Nameless),
        ("two names in a list", hello(&two), Hello::Unreadable),
        ("two lists", hello(&[name.clone(), name.clone()].concat()), Hello::Unreadable),
        ("a name of another kind", hello(&extension(0, &sized(2, b"\x01\0\x01a"))), Hello::Unreadable),
        ("letters of no name", hello(&server_name("é".as_bytes())), Hello::Unreadable),
        ("an empty list", hello(&extension(0, b"\0\0")), Hello::Unreadable),
        ("a list that is too long", hello(&extension(0, b"\0\x09\0\0\x01a")), Hello::Unreadable),
        (
            "bytes behind the extensions",
            record(22, &message(&[body(Some(&name)), vec![0]].concat())),
            Hello::Unreadable,
        ),
        ("a message that is cut short", record(22, &message(&body(Some(&name))[..40])), Hello::Unreadable),
        ("another message", record(22, &[2, 0, 0, 0]), Hello::Unreadable),
        ("an alert before it", [record(21, &[1, 0]), record(22, &whole)].concat(), Hello::Unreadable),
        ("nothing before it", [record(22, &[]), record(22, &whole)].concat(), Hello::Unreadable),
        (
            "something else within it",
            [record(22, &whole[..20]), record(23, &[0]), record(22, &whole[20..])].concat(),
            Hello::Unreadable,
        ),
        (
            "no record within it",
            [record(22, &whole[..20]), b"GET / HTTP/1.1".to_vec()].concat(),
            Hello::Unreadable,
        ),
        ("HTTP", b"GET / HTTP/1.1\r\n".to_vec(), Hello::None),
        ("SSH", b"SSH-2.0-OpenSSH\r\n".to_vec(), Hello::None),
        ("Postgres asking for TLS", b"\0\0\0\x08\x04\xd2\x16\x2f".to_vec(), Hello::None),
        ("a record of a version to come", b"\x16\x03\x05".to_vec(), Hello::None),
        ("anything", b"\xff\xff\xff\xff".to_vec(), Hello::None),
        ("nothing", vec![], Hello::Incomplete),
    ] {
        check(what, &bytes, &expected);
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let whole = hello(&[extension(16, b"\0\x03\x02h2"), server_name(b"example.com")].concat());
    for length in 0..=whole.len() {
        for at in 0..length {
            for byte in 0..=255 {
                let mut bytes = whole[..length].to_vec();
                bytes[at] = byte;
                read(&bytes);
            }
        }
    }
}
