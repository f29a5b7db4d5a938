//! Addresses, good and bad.

use expect_test::{Expect, expect};
use http::Uri;

use super::{ADDRESS_BYTES_MAX, endpoint, origin, shown};

fn check(texts: &[&str], expected: Expect) {
    let outcomes = texts.iter().map(|text| match endpoint("the token endpoint", text) {
        Ok(uri) => format!("{uri}\n"),
        Err(failure) => format!("{failure}\n"),
    });
    expected.assert_eq(&outcomes.collect::<String>());
}

#[test]
fn good_addresses() {
    check(
        &[
            "https://a.example/token",
            "HTTPS://A.example:8443/a/b?p=B2C_1_x&q=%20",
            "http://localhost:3000/token",
            "http://127.0.0.1/token",
            "http://127.8.8.8:1/token",
            "http://[::1]:9000/token",
        ],
        expect![[r#"
            https://a.example/token
            https://A.example:8443/a/b?p=B2C_1_x&q=%20
            http://localhost:3000/token
            http://127.0.0.1/token
            http://127.8.8.8:1/token
            http://[::1]:9000/token
        "#]],
    );
}

#[test]
fn other_schemes_and_plain_http() {
    check(
        &[
            "javascript:alert(1)",
            "javascript:a",
            "JavaScript://a.example/%0aalert",
            "file:///etc/passwd",
            "ftp://a.example/",
            "data:text/html,x",
            "http://a.example/token",
            "http://localhost.a.example/token",
            "http://10.0.0.1/token",
            "http://169.254.169.254/latest",
            "http://0x7f000001/",
        ],
        expect![[r#"
            the token endpoint is refused: it is a "javascript:" address, not an https one
            the token endpoint is refused: it is a "javascript:" address, not an https one
            the token endpoint is refused: it is a "JavaScript:" address, not an https one
            the token endpoint is refused: it is a "file:" address, not an https one
            the token endpoint is refused: it is a "ftp:" address, not an https one
            the token endpoint is refused: it is a "data:" address, not an https one
            the token endpoint is refused: it is not an https one, and only those of localhost, 127.0.0.1 and [::1] need not be
            the token endpoint is refused: it is not an https one, and only those of localhost, 127.0.0.1 and [::1] need not be
            the token endpoint is refused: it is not an https one, and only those of localhost, 127.0.0.1 and [::1] need not be
            the token endpoint is refused: it is not an https one, and only those of localhost, 127.0.0.1 and [::1] need not be
            the token endpoint is refused: it is not an https one, and only those of localhost, 127.0.0.1 and [::1] need not be
        "#]],
    );
}

#[test]
fn what_is_no_whole_address() {
    check(
        &[
            "",
            "/token",
            "a.example",
            "https://",
            "https:///token",
            "https://a.example:port/",
            "https://a.example:99999/",
            "https://a.example:/",
            "//a.example/",
            "https://[::1/",
        ],
        expect![[r#"
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it is not a whole address
        "#]],
    );
}

#[test]
fn what_no_endpoint_needs() {
    check(
        &[
            "https://a.example/\"&calc",
            "https://a.example/`id`",
            "https://a.example/$(id)",
            "https://a.example/;id",
            "https://a.example/|id",
            "https://a.example/'",
            "https://a.example/ --flag",
            " https://a.example/",
            "https://a.example/\n",
            "https://a.example/\u{0}",
            "https://a.example\\@b.example/",
            "https://ä.example/",
            "https://user@a.example/",
            "https://a.example:secret@b.example/",
            "https://a.example/#x",
        ],
        expect![[r#"
            the token endpoint is refused: it holds the character '"'
            the token endpoint is refused: it holds the character '`'
            the token endpoint is refused: it holds the character '$'
            the token endpoint is refused: it holds the character ';'
            the token endpoint is refused: it holds the character '|'
            the token endpoint is refused: it holds the character '\''
            the token endpoint is refused: it holds the character ' '
            the token endpoint is refused: it is not a whole address
            the token endpoint is refused: it holds the character '\n'
            the token endpoint is refused: it holds the character '\0'
            the token endpoint is refused: it holds the character '\\'
            the token endpoint is refused: it holds the character 'ä'
            the token endpoint is refused: it holds a user name or password
            the token endpoint is refused: it holds a user name or password
            the token endpoint is refused: it has a fragment
        "#]],
    );
    let long = format!("https://a.example/{}", "a".repeat(ADDRESS_BYTES_MAX));
    check(
        &[&long],
        expect![[r#"
        the token endpoint is refused: it is longer than 2048 bytes
    "#]],
    );
}

#[test]
fn origins_have_one_spelling() {
    for (text, expected) in [
        ("https://A.Example/x?y", "https://a.example"),
        ("https://a.example:443", "https://a.example"),
        ("http://a.example:80/", "http://a.example"),
        ("http://a.example:443/", "http://a.example:443"),
        ("https://[::1]:8443/", "https://[::1]:8443"),
    ] {
        assert_eq!(origin(&text.parse::<Uri>().unwrap()), expected);
    }
    assert_eq!(shown(&"https://a.example/x?key=secret".parse().unwrap()), "https://a.example/x");
}
