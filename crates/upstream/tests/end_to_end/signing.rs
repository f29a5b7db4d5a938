//! Servers that want us to sign in: which token goes out when, what happens when it is refused, and that it is seen
//! nowhere else.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use oauth::{InMemory, StoredRecord, TokenStore, TokenStoreError, Unfinished};
use upstream::{State, Upstream};

use crate::http::{Logs, plain};
use crate::issuer::Issuer;
use crate::web::{Answer, Feed, Request, Web};
use crate::world::*;

/// Keeps nothing: the disk is full, perhaps.
#[derive(Default)]
struct Full(Unfinished);

impl TokenStore for Full {
    fn load<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Option<StoredRecord>, TokenStoreError>> {
        full()
    }

    fn replace<'a>(
        &'a self,
        _: &'a str,
        _: Option<u64>,
        _: Option<&'a [u8]>,
    ) -> BoxFuture<'a, Result<Option<u64>, TokenStoreError>> {
        full()
    }

    fn acquire<'a>(
        &'a self,
        _: &'a str,
        _: &'a str,
        _: Duration,
    ) -> BoxFuture<'a, Result<bool, TokenStoreError>> {
        full()
    }

    fn release<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), TokenStoreError>> {
        full()
    }

    fn keys<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, TokenStoreError>> {
        full()
    }

    fn remove<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<bool, TokenStoreError>> {
        full()
    }

    fn unfinished(&self) -> &Unfinished {
        &self.0
    }
}

fn full<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, TokenStoreError>> {
    ready(Err(TokenStoreError("the disk is full".to_owned()))).boxed()
}

/// The client itself is signed in, by its secret.
const CREDENTIALS: &str = "[oauth]\ngrant = \"client_credentials\"\nclient_id = \"me\"\nclient_secret = \"planted-client-secret\"\n";

/// A person signs in.
const PERSON: &str = "";

fn at(issuer: &Issuer, rest: &str, keeper: &Arc<InMemory>) -> Arc<Upstream> {
    upstream_keeping(&format!("url = \"http://127.0.0.1:{}/mcp\"\n{rest}", issuer.web.port), keeper.clone())
}

fn serve(request: &Request) -> Answer {
    plain(request, Answer::json)
}

/// What the server was asked to connect and to list, with this token.
fn connecting(token: &str) -> Vec<String> {
    ["server/discover", "initialize", "notifications/initialized", "GET", "tools/list"]
        .map(|method| format!("{method} {token}"))
        .into()
}

/// Collects what is said while a test runs, and finds nothing of what was planted in it.
struct Watch {
    logs: Logs,
    said: String,
    _guard: tracing::subscriber::DefaultGuard,
}

impl Watch {
    fn begin() -> Watch {
        let logs = Logs::default();
        let guard = tracing::subscriber::set_default(logs.clone());
        Watch { logs, said: String::new(), _guard: guard }
    }

    fn note(&mut self, said: &dyn std::fmt::Debug) {
        self.said.push_str(&format!("{said:?}\n"));
    }

    #[track_caller]
    fn end(self, all: &[&Arc<Upstream>]) {
        let offers: String = all.iter().map(|it| format!("{:?}", it.offers().borrow())).collect();
        let accounts: String = all.iter().map(|it| format!("{:?}", it.account())).collect();
        for said in [&self.said, &self.logs.text(), &offers, &accounts] {
            assert!(!said.contains("planted"), "{said}");
        }
    }
}

#[tokio::test]
async fn a_token_is_got_once_and_sent_with_every_request() {
    let mut watch = Watch::begin();
    let issuer = Issuer::start(serve).await;
    let it = at(&issuer, CREDENTIALS, &Arc::default());
    it.connect().await.expect("connected");
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{ "content" : [] }"#);
    it.end().await;
    let mut expected = vec!["server/discover -".to_owned()];
    expected.extend(connecting("1"));
    expected.extend(["tools/call 1", "DELETE 1"].map(str::to_owned));
    assert_eq!(issuer.asked(), expected);
    assert_eq!(issuer.granted(), ["client_credentials"]);
    watch.note(&it.offers().borrow().state);
    watch.end(&[&it]);
}

#[tokio::test]
async fn a_person_is_asked_once_and_the_server_is_asked_once() {
    let mut watch = Watch::begin();
    let issuer = Issuer::start(serve).await;
    let keeper: Arc<InMemory> = Arc::default();
    let it = at(&issuer, PERSON, &keeper);
    let error = it.connect().await.expect_err("nobody is signed in");
    assert!(
        matches!(
            error,
            upstream::ConnectError::Request(upstream::Fault::SignIn(oauth::AuthError::NeedsSignIn { .. }))
        ),
        "{error:?}"
    );
    watch.note(&error);
    assert_eq!(it.offers().borrow().state, State::NeedsAuth);
    assert_eq!(issuer.asked(), ["server/discover -"], "it is no old server");
    assert_eq!(issuer.granted(), [""; 0]);

    issuer.sign_in(&it).await;
    assert_eq!(issuer.granted(), ["authorization_code"]);
    it.connect().await.expect("connected");
    // Another process has the token from where it is kept.
    let other = at(&issuer, PERSON, &keeper);
    other.connect().await.expect("connected");
    let mut expected = vec!["server/discover -".to_owned()];
    expected.extend(connecting("1"));
    expected.extend(connecting("1"));
    assert_eq!(issuer.asked(), expected);
    assert_eq!(issuer.granted(), [""; 0]);
    watch.end(&[&it, &other]);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once_for_all_who_share_it() {
    let mut watch = Watch::begin();
    let issuer = Issuer::start(serve).await;
    let keeper: Arc<InMemory> = Arc::default();
    let [first, second] = [at(&issuer, PERSON, &keeper), at(&issuer, PERSON, &keeper)];
    issuer.sign_in(&first).await;
    for it in [&first, &second] {
        it.connect().await.expect("connected");
    }
    issuer.granted();
    for round in 2..6 {
        issuer.revoke(&keeper).await;
        let calls = [&first, &second, &first, &second].map(|it| call(it, "it_echo", "{}"));
        for called in futures_util::future::join_all(calls).await {
            assert_eq!(shown(called), r#"{ "content" : [] }"#, "round {round}");
        }
        assert_eq!(issuer.granted(), ["refresh_token"], "round {round}");
        assert_eq!(issuer.asked().last().map(String::as_str), Some(&*format!("tools/call {round}")));
    }
    assert!(matches!(first.offers().borrow().state, State::Connected { .. }));

    issuer.sign_out(&keeper).await;
    let error = call(&first, "it_echo", "{}").await.expect_err("signed out");
    assert_eq!(error.code(), "needs_auth");
    watch.note(&error);
    until(&first, |offer| offer.state == State::NeedsAuth).await;
    assert_eq!(names(&first), ["it_echo"], "its tools stay");
    watch.end(&[&first, &second]);
}

#[tokio::test]
async fn a_scope_that_is_missing_is_asked_for() {
    let watch = Watch::begin();
    let issuer = Issuer::start(serve).await;
    let it = at(&issuer, CREDENTIALS, &Arc::default());
    it.connect().await.expect("connected");
    issuer.state().wanted = Some("files:write");
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{ "content" : [] }"#);
    assert_eq!(issuer.granted(), ["client_credentials", "client_credentials files:write"]);
    assert_eq!(issuer.asked()[6..], ["tools/call 1", "tools/call 2"]);
    watch.end(&[&it]);
}

#[tokio::test]
async fn a_scope_that_a_person_must_grant_stops_one_call_only() {
    let mut watch = Watch::begin();
    let issuer = Issuer::start(serve).await;
    let it = at(&issuer, PERSON, &Arc::default());
    issuer.sign_in(&it).await;
    it.connect().await.expect("connected");
    issuer.state().wanted = Some("files:write");
    let error = call(&it, "it_echo", "{}").await.expect_err("it is not granted");
    assert_eq!(error.code(), "needs_auth");
    watch.note(&error);
    assert!(error.to_string().ends_with("; a person must sign in to it again"), "{error}");
    assert!(matches!(it.offers().borrow().state, State::Connected { .. }));
    issuer.state().wanted = None;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{ "content" : [] }"#);
    watch.end(&[&it]);
}

#[tokio::test]
async fn a_server_that_refuses_every_token_is_not_asked_for_ever() {
    let mut watch = Watch::begin();
    let issuer = Issuer::start(serve).await;
    issuer.state().refuses_all = true;
    let it = at(&issuer, CREDENTIALS, &Arc::default());
    let error = it.connect().await.expect_err("no token is good");
    watch.note(&error);
    assert!(matches!(error, upstream::ConnectError::Request(upstream::Fault::SignIn(_))), "{error:?}");
    assert!(issuer.asked().len() <= 4, "{:?}", issuer.asked());
    assert!(issuer.granted().len() <= 3);
    watch.end(&[&it]);
}

#[tokio::test]
async fn what_a_server_says_of_a_token_is_masked() {
    let mut watch = Watch::begin();
    let issuer = Issuer::start(|request| match request.asked() {
        (method, id) if method == "tools/call" => {
            let token = request.header("authorization").unwrap_or_default();
            let error = format!(r#"{{"code":-32000,"message":"no luck with {token}"}}"#);
            Answer::json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#))
        }
        _ => serve(request),
    })
    .await;
    let it = at(&issuer, CREDENTIALS, &Arc::default());
    it.connect().await.expect("connected");
    let error = call(&it, "it_echo", "{}").await.expect_err("no luck");
    assert_eq!(error.to_string(), "`it` answered with error -32000: no luck with bearer ***");
    watch.note(&error);
    watch.end(&[&it]);
}

#[tokio::test]
async fn a_token_endpoint_in_trouble_is_named_and_nothing_else_told() {
    for instead in [
        || Answer::new(200, "Content-Type: text/html\r\n", "<html>planted</html>"),
        || Answer::new(500, "", "planted"),
        || Answer::new(302, "Location: http://127.0.0.1:1/?planted\r\n", ""),
        || Answer::json(r#"{"access_token":"planted\u0007","token_type":"Bearer"}"#),
    ] as [fn() -> Answer; 4]
    {
        let mut watch = Watch::begin();
        let issuer = Issuer::start(serve).await;
        issuer.state().instead = Some(instead);
        let it = at(&issuer, CREDENTIALS, &Arc::default());
        let error = it.connect().await.expect_err("no token");
        assert!(matches!(error, upstream::ConnectError::Request(upstream::Fault::SignIn(_))), "{error:?}");
        watch.note(&error.to_string());
        watch.note(&error);
        watch.end(&[&it]);
    }
}

#[tokio::test]
async fn a_keeper_in_trouble_matters_only_where_a_token_is_wanted() {
    let web = Web::start(serve).await;
    let open =
        upstream_keeping(&format!("url = \"http://127.0.0.1:{}/mcp\"", web.port), Arc::new(Full::default()));
    open.connect().await.expect("connected");
    assert_eq!(shown(call(&open, "it_echo", "{}").await), r#"{ "content" : [] }"#);

    let issuer = Issuer::start(serve).await;
    let url = format!("url = \"http://127.0.0.1:{}/mcp\"", issuer.web.port);
    let error =
        upstream_keeping(&url, Arc::new(Full::default())).connect().await.expect_err("it wants a token");
    assert_eq!(error.to_string(), "sign-ins cannot be kept: the disk is full");
}

#[tokio::test]
async fn the_old_transport_carries_the_token_both_ways() {
    let feed = Feed::new();
    let issuer = Issuer::start(move |request| match request.method.as_str() {
        "GET" => Answer::stream("event: endpoint\ndata: /messages?session_id=1\n\n").fed(&feed),
        _ => crate::sse::accept(request, &feed),
    })
    .await;
    let keeper: Arc<InMemory> = Arc::default();
    let it = at(&issuer, &format!("transport = \"sse\"\n{CREDENTIALS}"), &keeper);
    it.connect().await.expect("connected");
    issuer.revoke(&keeper).await;
    assert_eq!(shown(call(&it, "it_echo", "{}").await), r#"{"content":[]}"#);
    assert_eq!(
        issuer.asked(),
        [
            "GET -",
            "GET 1",
            "initialize 1",
            "notifications/initialized 1",
            "tools/list 1",
            "tools/call 1",
            "tools/call 2"
        ]
    );
}

#[tokio::test]
async fn who_has_other_credentials_or_wants_none_never_signs_in() {
    for (rest, token) in [("oauth = false", "-"), ("headers = { Authorization = \"Bearer own\" }", "own")] {
        let issuer = Issuer::start(serve).await;
        let it = at(&issuer, rest, &Arc::default());
        assert!(it.account().is_none());
        let error = it.connect().await.expect_err("no access");
        assert_eq!(error, upstream::ConnectError::Request(upstream::Fault::Access(401)));
        assert_eq!(issuer.asked(), [format!("server/discover {token}"), format!("initialize {token}")]);
        assert_eq!(issuer.web.seen().len(), 2, "nothing else is asked for");
    }
}
