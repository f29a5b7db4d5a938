//! A protected server on loopback, and who issues tokens for it, in one. Whatever it issues begins with `planted`, and
//! must turn up nowhere but in requests to it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use oauth::{InMemory, Session, TokenStore};
use upstream::Upstream;

use crate::web::{Answer, Request, Web};

/// A running server. It ends with the test's runtime.
pub(crate) struct Issuer {
    pub(crate) web: Web,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
pub(crate) struct State {
    issued: usize,
    /// What each token that is accepted is good for.
    good: HashMap<String, String>,
    /// The one refresh token that is accepted.
    refresh: String,
    /// What was asked of the token endpoint: the grant, and the scope if there is any.
    granted: Vec<String>,
    /// A scope that calls of tools want.
    pub(crate) wanted: Option<&'static str>,
    /// Accepts none of the tokens it issues.
    pub(crate) refuses_all: bool,
    /// Answers for the token endpoint.
    pub(crate) instead: Option<fn() -> Answer>,
}

impl Issuer {
    /// A server that does `serve` for whoever is signed in.
    pub(crate) async fn start(serve: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Issuer {
        let state: Arc<Mutex<State>> = Arc::default();
        let shared = state.clone();
        let web = Web::start(move |request| {
            let mut state = shared.lock().expect("sound");
            match place(request) {
                "/.well-known/oauth-protected-resource/mcp" => Answer::json(&resource(request)),
                "/.well-known/oauth-authorization-server" => Answer::json(&metadata(request)),
                "/register" => Answer { status: 201, ..Answer::json(&registered(request)) },
                "/token" => state.instead.map_or_else(|| state.token(&request.body), |instead| instead()),
                "/mcp" | "/messages" => state.refusal(request).unwrap_or_else(|| serve(request)),
                _ => Answer::new(404, "", ""),
            }
        })
        .await;
        Issuer { web, state }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("sound")
    }

    /// Accepts no token any more that it has issued so far, which was a while ago: that is what `keeper` is made to
    /// say, since a token that is refused at once is not replaced.
    pub(crate) async fn revoke(&self, keeper: &InMemory) {
        self.state().good.clear();
        let key = Session::key(
            "it",
            &format!("http://127.0.0.1:{}/mcp", self.web.port).parse().expect("an address"),
        );
        let kept = keeper.load(&key).await.expect("sound").expect("it is signed in to");
        let mut record: serde_json::Value = serde_json::from_slice(&kept.record).expect("JSON");
        record["tokens"]["issued_at"] = 1.into();
        let record = serde_json::to_vec(&record).expect("JSON");
        assert!(keeper.replace(&key, Some(kept.version), Some(&record)).await.expect("sound").is_some());
    }

    /// Forgets the sign-in, too.
    pub(crate) async fn sign_out(&self, keeper: &InMemory) {
        self.revoke(keeper).await;
        self.state().refresh.clear();
    }

    /// What was asked of the token endpoint since the last look.
    pub(crate) fn granted(&self) -> Vec<String> {
        std::mem::take(&mut self.state().granted)
    }

    /// What was asked at the server itself, with the token that was sent.
    pub(crate) fn asked(&self) -> Vec<String> {
        let seen = self.web.seen();
        let seen = seen.iter().filter(|request| ["/mcp", "/messages"].contains(&place(request)));
        seen.map(|request| {
            let method = Some(request.asked().0).filter(|method| !method.is_empty());
            let token = bearer(request).map_or("-", |token| token.trim_start_matches("planted-access-"));
            format!("{} {token}", method.unwrap_or_else(|| request.method.clone()))
        })
        .collect()
    }

    /// Signs in as a person with a browser would.
    pub(crate) async fn sign_in(&self, it: &Upstream) {
        let account = it.account().expect("it may want a sign-in");
        let sign_in = account.begin().await.expect("it can be signed in to");
        let state = sign_in.url().split(['?', '&']).find_map(|pair| pair.strip_prefix("state="));
        let state = state.expect("a state").to_owned();
        let callback = format!("{}?code=planted-code&state={state}", sign_in.redirect_uri());
        sign_in.finish(&callback).await.expect("signed in");
    }
}

impl State {
    /// Why a request is not served.
    fn refusal(&self, request: &Request) -> Option<Answer> {
        let token = bearer(request).unwrap_or_default();
        let metadata =
            format!("resource_metadata=\"{}\"", at(request, "/.well-known/oauth-protected-resource/mcp"));
        let Some(scope) = self.good.get(token).filter(|_| !self.refuses_all) else {
            let error = if token.is_empty() { "" } else { "error=\"invalid_token\", " };
            let challenge = format!("WWW-Authenticate: Bearer {error}{metadata}\r\n");
            return Some(Answer::new(401, &challenge, &format!("no, {token} is not good")));
        };
        let wanted = self.wanted.filter(|_| request.asked().0 == "tools/call")?;
        if scope.split(' ').any(|scope| scope == wanted) {
            return None;
        }
        let challenge = format!(
            "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"{wanted}\", {metadata}\r\n"
        );
        Some(Answer::new(403, &challenge, ""))
    }

    fn token(&mut self, form: &str) -> Answer {
        let field = |name: &str| {
            let pairs = form.split('&').filter_map(|pair| pair.split_once('='));
            let value = pairs.clone().find(|(key, _)| *key == name).map(|(_, value)| value);
            value.unwrap_or_default().replace('+', " ").replace("%3A", ":")
        };
        let (grant, scope) = (field("grant_type"), field("scope"));
        self.granted.push(format!("{grant} {scope}").trim_end().to_owned());
        let is_good = match grant.as_str() {
            "authorization_code" => field("code") == "planted-code",
            "refresh_token" => !self.refresh.is_empty() && field("refresh_token") == self.refresh,
            "client_credentials" => true,
            _ => false,
        };
        if !is_good {
            // As strict servers do: who uses an old token signs everybody out.
            self.good.clear();
            self.refresh.clear();
            return Answer { status: 400, ..Answer::json(r#"{"error":"invalid_grant"}"#) };
        }
        self.issued += 1;
        let access = format!("planted-access-{}", self.issued);
        let kept = match grant.as_str() {
            "client_credentials" => String::new(),
            _ => {
                self.refresh = format!("planted-refresh-{}", self.issued);
                format!(",\"refresh_token\":\"{}\"", self.refresh)
            }
        };
        let said = format!(r#"{{"access_token":"{access}","token_type":"Bearer","expires_in":3600{kept}}}"#);
        self.good.insert(access, scope);
        Answer::json(&said)
    }
}

fn place(request: &Request) -> &str {
    let target = request.head.split(' ').nth(1).unwrap_or_default();
    target.split('?').next().unwrap_or_default()
}

fn bearer(request: &Request) -> Option<&str> {
    request.header("authorization")?.strip_prefix("bearer ")
}

/// The address of a path here.
fn at(request: &Request, path: &str) -> String {
    format!("http://{}{path}", request.header("host").unwrap_or_default())
}

fn resource(request: &Request) -> String {
    let (resource, issuer) = (at(request, "/mcp"), at(request, ""));
    format!(r#"{{"resource":"{resource}","authorization_servers":["{issuer}"]}}"#)
}

fn metadata(request: &Request) -> String {
    let [issuer, authorize, token, register] =
        ["", "/authorize", "/token", "/register"].map(|path| at(request, path));
    format!(
        r#"{{"issuer":"{issuer}","authorization_endpoint":"{authorize}","token_endpoint":"{token}",
            "registration_endpoint":"{register}","response_types_supported":["code"],
            "grant_types_supported":["authorization_code","refresh_token","client_credentials"],
            "token_endpoint_auth_methods_supported":["none","client_secret_basic"],
            "code_challenge_methods_supported":["S256"]}}"#
    )
}

/// The registration as it was asked for, with a name of its own.
fn registered(request: &Request) -> String {
    let asked = request.body.trim_start_matches('{');
    format!(r#"{{"client_id":"client-1",{asked}"#)
}
