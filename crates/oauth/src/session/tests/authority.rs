//! A small authorisation server on loopback, strict where a real one is, with the protected server beside it.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::tests::server::{bind, serve};

pub(super) type Fields = HashMap<String, String>;

/// The server, and what it does otherwise than a plain one.
pub(super) struct Authority {
    pub(super) origin: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
pub(super) struct State {
    origin: String,
    /// What happened, in order.
    pub(super) log: Vec<String>,
    /// What comes instead of the next answers of the token endpoint.
    pub(super) instead: Vec<(u16, String)>,
    /// How many seconds the token endpoint needs, and the clock that they pass on.
    pub(super) slow: Option<(u64, Arc<AtomicU64>)>,
    /// `expires_in` of tokens.
    pub(super) lifetime: Option<u64>,
    pub(super) registers_nobody: bool,
    pub(super) secret_expires_at: u64,
    /// `token_endpoint_auth_methods_supported`; clients that register get a secret if "none" is not among them.
    pub(super) methods: Vec<&'static str>,
    pub(super) names_issuer: bool,
    pub(super) takes_documents: bool,
    /// One access token is issued again and again.
    pub(super) repeats_itself: bool,
    pub(super) issues_no_refresh: bool,
    /// The issuer's path, so that another one can be put in its place.
    pub(super) issuer_path: &'static str,
    /// The scopes that each access token has.
    pub(super) scopes: HashMap<String, String>,
    codes: HashMap<String, Fields>,
    /// Refresh tokens that are still good, with the scope and the client.
    refresh: HashMap<String, (String, String)>,
    clients: HashMap<String, Option<String>>,
    issued: u64,
}

impl Authority {
    pub(super) async fn start() -> Authority {
        let (listener, origin) = bind().await;
        let state = State { origin: origin.clone(), methods: vec!["none"], ..State::default() };
        let state = Arc::new(Mutex::new(state));
        let served = Arc::clone(&state);
        serve(listener, move |request| answer(Arc::clone(&served), request));
        Authority { origin, state }
    }

    pub(super) fn resource(&self) -> Uri {
        format!("{}/mcp", self.origin).parse().unwrap()
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// What happened since the last look.
    pub(super) fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.state().log)
    }

    /// What the protected server says to a request without a token.
    pub(super) fn challenge(&self, more: &str) -> String {
        let at = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
        format!("Bearer resource_metadata=\"{at}\"{more}")
    }

    /// What the browser comes back with after a person has consented at `url`.
    pub(super) fn consent(&self, url: &str) -> String {
        let asked = fields(url.split_once('?').unwrap().1.as_bytes());
        let mut state = self.state();
        assert_eq!(asked["response_type"], "code");
        assert_eq!(asked["code_challenge_method"], "S256");
        let scope = asked.get("scope").map_or("-", String::as_str);
        let resource = asked["resource"].replace(&self.origin, "");
        let line = format!("authorize {} scope={scope} resource={resource}", asked["client_id"]);
        state.log.push(line);
        let code = state.name("code");
        let iss = if state.names_issuer { format!("&iss={}", state.issuer()) } else { String::new() };
        let callback = format!("{}?code={code}&state={}{iss}", asked["redirect_uri"], asked["state"]);
        state.codes.insert(code, asked);
        callback
    }
}

impl State {
    pub(super) fn issuer(&self) -> String {
        format!("{}{}", self.origin, self.issuer_path)
    }

    fn name(&mut self, kind: &str) -> String {
        self.issued += 1;
        format!("{kind}-{}", self.issued)
    }

    fn metadata(&self) -> Value {
        let at = |path: &str| format!("{}{path}", self.origin);
        json!({
            "issuer": self.issuer(),
            "authorization_endpoint": at("/authorize"),
            "token_endpoint": at("/token"),
            "revocation_endpoint": at("/revoke"),
            "registration_endpoint": (!self.registers_nobody).then(|| at("/register")),
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": self.methods,
            "authorization_response_iss_parameter_supported": self.names_issuer,
            "client_id_metadata_document_supported": self.takes_documents,
        })
    }

    fn register(&mut self) -> (u16, Value) {
        let id = self.name("client");
        let secret = (!self.methods.contains(&"none")).then(|| format!("{id}-secret"));
        self.log.push(format!("register {id}"));
        self.clients.insert(id.clone(), secret.clone());
        let mut answer = json!({ "client_id": id, "redirect_uris": [] });
        if let Some(secret) = secret {
            answer["client_secret"] = secret.into();
            answer["client_secret_expires_at"] = self.secret_expires_at.into();
        }
        (201, answer)
    }

    fn token(&mut self, headers: &HeaderMap, fields: &Fields) -> (u16, String) {
        let (client, how) = who(headers, fields);
        let grant = fields["grant_type"].rsplit(':').next().unwrap().to_owned();
        let scope = fields.get("scope").map_or(String::new(), |scope| format!(" scope={scope}"));
        self.log.push(format!("token {grant} {client} by {how}{scope}"));
        if let Some((seconds, clock)) = &self.slow {
            clock.fetch_add(*seconds, Ordering::Relaxed);
        }
        if !self.instead.is_empty() {
            return self.instead.remove(0);
        }
        if fields.get("resource").map(String::as_str) != Some(&format!("{}/mcp", self.origin)) {
            return refuse("invalid_target");
        }
        match self.grant(&grant, &client, fields) {
            Ok((scope, renews)) => (200, self.issue(&client, scope, renews).to_string()),
            Err(error) => refuse(error),
        }
    }

    fn grant(&mut self, grant: &str, client: &str, fields: &Fields) -> Result<(String, bool), &'static str> {
        match grant {
            "authorization_code" => {
                let asked = self.codes.remove(&fields["code"]).ok_or("invalid_grant")?;
                let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(fields["code_verifier"].as_bytes()));
                let is_same = |name: &str| asked[name] == fields[name];
                if asked["code_challenge"] != hash
                    || !is_same("redirect_uri")
                    || !is_same("resource")
                    || asked["client_id"] != client
                {
                    return Err("invalid_grant");
                }
                Ok((asked.get("scope").cloned().unwrap_or_default(), !self.issues_no_refresh))
            }
            "refresh_token" => match self.refresh.remove(&fields["refresh_token"]) {
                Some((scope, owner)) if owner == client => Ok((scope, true)),
                _ => {
                    // Used twice: whoever has the other one may be a thief, so nobody keeps any.
                    self.refresh.clear();
                    Err("invalid_grant")
                }
            },
            "client_credentials" | "jwt-bearer" => {
                Ok((fields.get("scope").cloned().unwrap_or_default(), false))
            }
            "token-exchange" => Ok((String::new(), false)),
            _ => Err("unsupported_grant_type"),
        }
    }

    fn issue(&mut self, client: &str, scope: String, renews: bool) -> Value {
        let access = if self.repeats_itself { "access".to_owned() } else { self.name("access") };
        self.scopes.insert(access.clone(), scope.clone());
        let mut answer = json!({ "access_token": access, "token_type": "bearer", "scope": scope });
        if let Some(lifetime) = self.lifetime {
            answer["expires_in"] = lifetime.into();
        }
        if renews {
            let refresh = self.name("refresh");
            self.refresh.insert(refresh.clone(), (scope, client.to_owned()));
            answer["refresh_token"] = refresh.into();
        }
        answer
    }
}

fn refuse(error: &str) -> (u16, String) {
    (400, json!({ "error": error, "error_description": "no <b>such\u{1b}[1m luck" }).to_string())
}

/// Which client asks, and how it proves it.
fn who(headers: &HeaderMap, fields: &Fields) -> (String, &'static str) {
    if let Some(value) = headers.get("authorization") {
        let pair = STANDARD.decode(value.to_str().unwrap().strip_prefix("Basic ").unwrap()).unwrap();
        let (id, _) = std::str::from_utf8(&pair).unwrap().split_once(':').unwrap();
        return (id.to_owned(), "header");
    }
    let id = || fields["client_id"].clone();
    match (fields.contains_key("client_secret"), fields.get("client_assertion")) {
        (true, _) => (id(), "body"),
        (false, Some(assertion)) => {
            let claims = URL_SAFE_NO_PAD.decode(assertion.split('.').nth(1).unwrap()).unwrap();
            let claims: Value = serde_json::from_slice(&claims).unwrap();
            (claims["sub"].as_str().unwrap().to_owned(), "assertion")
        }
        (false, None) => (id(), "nothing"),
    }
}

fn fields(form: &[u8]) -> Fields {
    form_urlencoded::parse(form).into_owned().collect()
}

async fn answer(
    state: Arc<Mutex<State>>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let mut state = state.lock().unwrap();
    let (status, text) = match head.uri.path() {
        "/.well-known/oauth-protected-resource/mcp" => {
            let (resource, issuer) = (format!("{}/mcp", state.origin), state.issuer());
            let document = json!({ "resource": resource, "authorization_servers": [issuer] });
            (200, document.to_string())
        }
        path if path == format!("/.well-known/oauth-authorization-server{}", state.issuer_path) => {
            state.log.push("metadata".to_owned());
            (200, state.metadata().to_string())
        }
        "/register" => {
            let (status, answer) = state.register();
            (status, answer.to_string())
        }
        "/token" => state.token(&head.headers, &fields(&body)),
        "/revoke" => {
            let fields = fields(&body);
            let line = format!("revoke {} {}", fields["token_type_hint"], fields["token"]);
            state.log.push(line);
            (200, String::new())
        }
        "/mcp" => {
            state.log.push("probe".to_owned());
            (401, String::new())
        }
        _ => (404, "<p>Not found</p>".to_owned()),
    };
    let kind = if text.starts_with('<') { "text/html" } else { "application/json" };
    let response = Response::builder().status(status).header("content-type", kind);
    Ok(response.body(Full::new(Bytes::from(text))).unwrap())
}
