//! Browsers that come back, others that come instead, and the address that a browser is sent to.
#![expect(clippy::disallowed_methods, reason = "the tests stand in for browsers")]

use std::net::SocketAddr;

use expect_test::{Expect, expect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::*;
use crate::fixtures::InMemory;
use crate::metadata::{ResourceMetadata, ServerMetadata};
use crate::session::Session;
use crate::settings::{Redirect, Settings};

/// A sign-in at `https://as.example`, which waits for the browser.
async fn waiting(redirect: Redirect, scope: Option<&str>) -> SignIn {
    let server = ServerMetadata {
        issuer: "https://as.example".to_owned(),
        authorization_endpoint: Some("https://as.example/authorize?tenant=1".parse().unwrap()),
        token_endpoint: "https://as.example/token".parse().unwrap(),
        registration_endpoint: None,
        revocation_endpoint: None,
        scopes_supported: Vec::new(),
        token_auth_methods: Vec::new(),
        token_auth_algorithms: Vec::new(),
        grant_types: Vec::new(),
        challenge_methods: Some(vec!["S256".to_owned()]),
        names_issuer_in_response: false,
        takes_client_documents: false,
        is_assumed: false,
    };
    let uri = "https://a.example/mcp".parse().unwrap();
    let token_store = Arc::new(InMemory::default());
    let session =
        Session::new("<the & server>", &uri, Settings::default(), sandbox::Client::new(), token_store);
    let client = Client { id: "me".to_owned(), secret: None, method: None };
    let discovered = Arc::new(Discovered { resource: None::<ResourceMetadata>, server });
    let resource = "https://a.example/mcp".to_owned();
    let scope = scope.map(str::to_owned);
    let landing = Landing::open(&redirect, None).await.unwrap();
    let question = Question { discovered, client, resource, scope };
    SignIn::start("<the & server>".into(), session.redeem(), question, landing).unwrap()
}

/// The whole answer to `request`, in which `STATE` stands for the right one.
async fn ask(sign_in: (SocketAddr, String), request: &str) -> String {
    let (address, state) = sign_in;
    let mut stream = TcpStream::connect(address).await.unwrap();
    // A visitor that is turned away before it has said everything is one of the cases.
    let _ = stream.write_all(request.replace("STATE", &state).as_bytes()).await;
    let _ = stream.shutdown().await;
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8(answer).unwrap()
}

fn place(sign_in: &SignIn) -> (SocketAddr, String) {
    let address = sign_in.listener.as_ref().unwrap().local_addr().unwrap();
    (address, sign_in.expected.state.expose().to_owned())
}

/// The first line of an answer, and what a person reads.
fn read(answer: &str) -> String {
    let status = answer.lines().next().unwrap_or("nothing");
    let text = answer.split_once("<p>").map_or("", |(_, rest)| rest.split("</p>").next().unwrap());
    format!("{status} | {text}")
}

/// What visitors are told one after the other, and what comes of the sign-in in the end.
async fn check(requests: &[&str], expected: Expect) {
    let mut sign_in = waiting(Redirect::AnyPort, None).await;
    let place = place(&sign_in);
    let redirect_uri = sign_in.redirect_uri().to_owned();
    let waiting = tokio::spawn(async move { (sign_in.callback().await, sign_in) });
    let mut told = String::new();
    for request in requests {
        told += &read(&ask(place.clone(), request).await);
        told += "\n";
    }
    let outcome = match waiting.await.unwrap() {
        (Ok(address), _) => address.replace(&redirect_uri, "REDIRECT_URI"),
        (Err(AuthError::Failed(failure)), _) => format!("{:?}: {failure}", failure.reason),
        (Err(error), _) => error.to_string(),
    };
    expected.assert_eq(&(told + &outcome).replace(&place.1, "STATE"));
}

#[tokio::test]
async fn the_browser_comes_back() {
    check(
        &["GET /callback?code=c%20d&state=STATE HTTP/1.1\r\nHost: x\r\n\r\n"],
        expect![[r#"
            HTTP/1.1 200 OK | The browser&#39;s part of signing in to &lt;the &amp; server&gt; is done. You can close this page and go back to Toolcrib, which says whether it worked.
            REDIRECT_URI?code=c%20d&state=STATE"#]],
    )
    .await;
}

#[tokio::test]
async fn whoever_else_comes_changes_nothing() {
    check(
        &[
            "GET /favicon.ico HTTP/1.1\r\n\r\n",
            "GET /callback/ HTTP/1.1\r\n\r\n",
            "GET /callback HTTP/1.1\r\n\r\n",
            "GET /callback?code=x HTTP/1.1\r\n\r\n",
            "GET /callback?code=x&state=wrong HTTP/1.1\r\n\r\n",
            "GET /callback?code=x&state= HTTP/1.1\r\n\r\n",
            "GET /callback?code=x&state=wrong&state=STATE HTTP/1.1\r\n\r\n",
            "GET /callback?code=x&code=y&state=STATE HTTP/1.1\r\n\r\n",
            "GET /callback?error=access_denied&state=wrong HTTP/1.1\r\n\r\n",
            "GET /callback?state=STATE HTTP/1.1\r\n\r\n",
            "POST /callback?code=x&state=STATE HTTP/1.1\r\n\r\n",
            "GET http://evil.example/callback?code=x&state=STATE HTTP/1.1\r\n\r\n",
            "hello\r\n\r\n",
            "\u{0}\r\n\r\n",
            "",
            "GET /callback?code=right&state=STATE HTTP/1.1\r\n\r\n",
        ],
        expect![[r#"
            HTTP/1.1 404 Not Found | There is nothing here.
            HTTP/1.1 404 Not Found | There is nothing here.
            HTTP/1.1 400 Bad Request | This does not finish the sign-in to &lt;the &amp; server&gt;, which still waits: the address has no &quot;state&quot;.
            HTTP/1.1 400 Bad Request | This does not finish the sign-in to &lt;the &amp; server&gt;, which still waits: the address has no &quot;state&quot;.
            HTTP/1.1 400 Bad Request | This does not finish the sign-in to &lt;the &amp; server&gt;, which still waits: the address belongs to another sign-in (its &quot;state&quot; is another).
            HTTP/1.1 400 Bad Request | This does not finish the sign-in to &lt;the &amp; server&gt;, which still waits: the address belongs to another sign-in (its &quot;state&quot; is another).
            HTTP/1.1 400 Bad Request | This does not finish the sign-in to &lt;the &amp; server&gt;, which still waits: a part of the address stands in it twice.
            HTTP/1.1 400 Bad Request | This does not finish the sign-in to &lt;the &amp; server&gt;, which still waits: a part of the address stands in it twice.
            HTTP/1.1 400 Bad Request | This does not finish the sign-in to &lt;the &amp; server&gt;, which still waits: the address belongs to another sign-in (its &quot;state&quot; is another).
            HTTP/1.1 400 Bad Request | This does not finish the sign-in to &lt;the &amp; server&gt;, which still waits: the address has no &quot;code&quot;.
            HTTP/1.1 405 Method Not Allowed | This address is only to be opened.
            HTTP/1.1 400 Bad Request | This request cannot be read.
            HTTP/1.1 400 Bad Request | This request cannot be read.
            HTTP/1.1 400 Bad Request | This request cannot be read.
            HTTP/1.1 400 Bad Request | This request cannot be read.
            HTTP/1.1 200 OK | The browser&#39;s part of signing in to &lt;the &amp; server&gt; is done. You can close this page and go back to Toolcrib, which says whether it worked.
            REDIRECT_URI?code=right&state=STATE"#]],
    )
    .await;
}

#[tokio::test]
async fn a_refusal_ends_the_sign_in() {
    check(
        &["GET /callback?error=access_denied&error_description=%3Cb%3E+no%1b%5B1m&state=STATE HTTP/1.1\r\n\r\n"],
        expect![[r#"
            HTTP/1.1 200 OK | Signing in to &lt;the &amp; server&gt; did not work: the sign-in at https://as.example was refused (access_denied: &lt;b&gt; no [1m).
            Denied: the sign-in at https://as.example was refused (access_denied: <b> no [1m)"#]],
    )
    .await;
    check(&["GET /callback?error=server_error&state=STATE HTTP/1.1\r\n\r\n"], expect![[r#"
        HTTP/1.1 200 OK | Signing in to &lt;the &amp; server&gt; did not work: https://as.example could not sign you in (server_error).
        Other: https://as.example could not sign you in (server_error)"#]]).await;
    // Another server's answer is not even read, be it an error or a code.
    let foreign = "iss=https://evil.example/%3Cx%3E&state=STATE HTTP/1.1\r\n\r\n";
    check(&[&format!("GET /callback?error=access_denied&{foreign}")], expect![[r#"
        HTTP/1.1 200 OK | Signing in to &lt;the &amp; server&gt; did not work: the answer is refused: it comes from https://evil.example/&lt;x&gt;, not from https://as.example.
        Impostor: the answer is refused: it comes from https://evil.example/<x>, not from https://as.example"#]]).await;
    check(&[&format!("GET /callback?code=x&{foreign}")], expect![[r#"
        HTTP/1.1 200 OK | Signing in to &lt;the &amp; server&gt; did not work: the answer is refused: it comes from https://evil.example/&lt;x&gt;, not from https://as.example.
        Impostor: the answer is refused: it comes from https://evil.example/<x>, not from https://as.example"#]]).await;
}

#[tokio::test]
async fn the_page_runs_nothing_and_is_kept_by_nobody() {
    let mut sign_in = waiting(Redirect::AnyPort, None).await;
    let place = place(&sign_in);
    let waiting = tokio::spawn(async move { sign_in.callback().await });
    let answer = ask(place, "GET /callback?code=c&state=STATE HTTP/1.1\r\n\r\n").await;
    waiting.await.unwrap().unwrap();
    expect![[r#"
        HTTP/1.1 200 OK
        content-type: text/html; charset=utf-8
        content-length: 485
        content-security-policy: default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
        referrer-policy: no-referrer
        cache-control: no-store
        x-content-type-options: nosniff
        connection: close

        <!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Almost done</title><style>body{font:1.1em/1.5 system-ui,sans-serif;max-width:34em;margin:4em auto;padding:0 1em}@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}}</style><h1>Almost done</h1><p>The browser&#39;s part of signing in to &lt;the &amp; server&gt; is done. You can close this page and go back to Toolcrib, which says whether it worked.</p></html>
    "#]].assert_eq(&answer.replace('\r', ""));
}

#[tokio::test]
async fn visitors_who_say_nothing_or_too_much_hold_nobody_up() {
    let mut sign_in = waiting(Redirect::AnyPort, None).await;
    let place = place(&sign_in);
    let waiting = tokio::spawn(async move { sign_in.callback().await });
    let mut silent = Vec::new();
    for _ in 0..4 * VISITS_MAX {
        silent.push(TcpStream::connect(place.0).await.unwrap());
    }
    // No time passes from here on, so nobody goes because theirs is over. A clock that is only paused goes on as soon as
    // there is nothing else to do, unless a thread is at work.
    let (_at_work, work) = std::sync::mpsc::sync_channel::<()>(0);
    tokio::task::spawn_blocking(move || work.recv());
    tokio::time::pause();
    // Who came first made room for the others.
    assert_eq!(silent[0].read(&mut [0]).await.unwrap_or(0), 0);
    let endless = format!("GET /callback?{} HTTP/1.1\r\n", "x".repeat(64 * 1024));
    let answer = ask(place.clone(), &endless).await;
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 Bad Request"), "{answer}");
    ask(place, "GET /callback?code=c&state=STATE HTTP/1.1\r\n\r\n").await;
    assert!(waiting.await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn nobody_comes() {
    for redirect in [Redirect::AnyPort, Redirect::Uri("https://my.example/back".to_owned())] {
        let began = tokio::time::Instant::now();
        let mut sign_in = waiting(redirect, None).await;
        let error = sign_in.callback().await.unwrap_err();
        assert_eq!(error.to_string(), "the browser did not come back within 5 minutes");
        assert_eq!(began.elapsed().as_secs(), 300);
    }
}

#[tokio::test]
async fn the_question() {
    let sign_in = waiting(Redirect::AnyPort, Some("read offline_access")).await;
    let (base, query) = sign_in.url().split_once('?').unwrap();
    assert_eq!(base, "https://as.example/authorize");
    let mut shown = String::new();
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let value = match &*name {
            "state" => format!("{} characters", value.len()),
            "code_challenge" => format!("{} characters", value.len()),
            "redirect_uri" => value.replace(&place(&sign_in).0.port().to_string(), "PORT"),
            _ => value.into_owned(),
        };
        shown += &format!("{name}: {value}\n");
    }
    expect![[r#"
        tenant: 1
        response_type: code
        client_id: me
        state: 43 characters
        code_challenge: 43 characters
        code_challenge_method: S256
        redirect_uri: http://127.0.0.1:PORT/callback
        scope: read offline_access
        resource: https://a.example/mcp
        prompt: consent
    "#]]
    .assert_eq(&shown);
}

#[tokio::test]
async fn a_configured_address_is_where_somebody_waits_if_it_is_here() {
    let free = waiting(Redirect::AnyPort, None).await;
    let port = place(&free).0.port();
    drop(free);
    for (uri, waits) in [
        (format!("http://localhost:{port}/a/b?c=d"), true),
        (format!("http://127.0.0.1:{port}"), true),
        (format!("https://localhost:{port}/x"), false),
        ("http://192.0.2.1/x".to_owned(), false),
        ("https://my.example/back".to_owned(), false),
    ] {
        let sign_in = waiting(Redirect::Uri(uri.clone()), None).await;
        assert_eq!((sign_in.redirect_uri(), sign_in.listener.is_some()), (&*uri, waits));
    }
    let error = Landing::open(&Redirect::Uri("/back".to_owned()), None).await.err().unwrap();
    assert_eq!(error.to_string(), "\"redirect_uri\" is not a whole address");
}
