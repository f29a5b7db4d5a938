//! Where an issuer's keys come from: found by its metadata, fetched when they are needed, fetched again when they are
//! old or a token names one that is not there. An issuer that cannot be reached is not asked with every request.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use http::header::ACCEPT;
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, Limited};
use sandbox::Client;
use serde::Deserialize;
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::config::Issuer;
use super::jwks::KeySet;
use super::resource;
use super::unknown::Unknown;

/// What is younger is used without asking again.
pub(super) const FRESH: Duration = Duration::from_secs(60 * 60);

/// What is older is not used, even if the issuer cannot be reached: a key that was withdrawn must end some time.
const KEPT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// The shortest time between two questions to an issuer, whoever sends tokens with whatever names of keys.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// From the request to the last byte of an answer.
const TIME_MAX: Duration = Duration::from_secs(5);

/// More than any metadata document or key set needs, in bytes.
const BODY_BYTES_MAX: usize = 256 * 1024;

/// The keys of one issuer.
pub(super) struct KeySource {
    issuer: String,
    configured: Option<Uri>,
    client: Client,
    held: ArcSwapOption<Held>,
    /// When the issuer was last asked. Held while it is.
    asked: Mutex<Option<Instant>>,
}

/// Keys as they were fetched.
pub(super) struct Held {
    /// The keys.
    pub(super) set: KeySet,
    at: Instant,
}

impl Held {
    /// True if they are used without asking again.
    pub(super) fn is_fresh(&self) -> bool {
        self.at.elapsed() < FRESH
    }
}

#[cfg(test)]
impl Held {
    pub(super) fn sample() -> Held {
        let document =
            br#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}]}"#;
        Held { set: KeySet::parse(document).expect("one key"), at: Instant::now() }
    }
}

#[derive(Deserialize)]
struct Metadata {
    issuer: String,
    jwks_uri: Option<String>,
}

impl KeySource {
    /// The keys of this issuer. Nothing is fetched yet.
    pub(super) fn of(issuer: &Issuer, client: Client) -> KeySource {
        KeySource {
            issuer: issuer.issuer.clone(),
            configured: issuer.jwks_uri.as_ref().and_then(|uri| uri.parse().ok()),
            client,
            held: ArcSwapOption::empty(),
            asked: Mutex::new(None),
        }
    }

    /// Those that are held now.
    pub(super) fn held(&self) -> Option<Arc<Held>> {
        self.held.load_full()
    }

    /// Keys among which there is what is wanted, if the issuer has it.
    ///
    /// # Errors
    /// The issuer cannot be asked, and there is nothing to go by without.
    pub(super) async fn with(&self, has: impl Fn(&KeySet) -> bool) -> Result<Arc<Held>, Unknown> {
        let held = self.held().filter(|held| held.at.elapsed() < KEPT_MAX && has(&held.set));
        match held {
            Some(held) if held.is_fresh() => Ok(held),
            // One request asks, while the others go by what there is.
            Some(held) => match self.asked.try_lock() {
                Ok(mut asked) => Ok(self.ask(&mut asked).await.unwrap_or(held)),
                Err(_) => Ok(held),
            },
            None => {
                let mut asked = self.asked.lock().await;
                // Somebody else may have asked while this waited.
                match self.held().filter(|held| held.is_fresh() && has(&held.set)) {
                    Some(held) => Ok(held),
                    None => self.ask(&mut asked).await,
                }
            }
        }
    }

    /// Asks the issuer, unless it was just asked. Without a new answer what is held is good until it is too old.
    async fn ask(&self, asked: &mut Option<Instant>) -> Result<Arc<Held>, Unknown> {
        let kept = || self.held().filter(|held| held.at.elapsed() < KEPT_MAX);
        let unreachable = || {
            let issuer = &self.issuer;
            Unknown::unavailable(format!(
                "tokens of {issuer} cannot be checked at the moment: its keys could not be fetched; try again soon"
            ))
        };
        if asked.is_some_and(|asked| asked.elapsed() < ASK_AGAIN) {
            return kept().ok_or_else(unreachable);
        }
        *asked = Some(Instant::now());
        match self.fetch().await {
            Ok(set) => {
                let held = Arc::new(Held { set, at: Instant::now() });
                self.held.store(Some(held.clone()));
                Ok(held)
            }
            Err(why) => {
                tracing::warn!(issuer = self.issuer, %why, "the keys of an issuer could not be fetched");
                kept().ok_or_else(unreachable)
            }
        }
    }

    async fn fetch(&self) -> Result<KeySet, String> {
        let (uri, client) = match &self.configured {
            Some(uri) => (uri.clone(), self.client.clone()),
            None => {
                let uri = self.discover().await?;
                // The issuer was configured by a person; where its keys are it says itself.
                let issuer: Uri = self.issuer.parse().map_err(|_| "its address cannot be read".to_owned())?;
                let client = timeout(TIME_MAX, self.client.guarded_like(&issuer)).await;
                (uri, client.unwrap_or_else(|_| self.client.public()))
            }
        };
        let document = get(&client, &uri).await.map_err(|why| format!("{uri}: {why}"))?;
        KeySet::parse(&document).map_err(|why| format!("{uri} {why}"))
    }

    /// Where the issuer says that its keys are.
    async fn discover(&self) -> Result<Uri, String> {
        let mut said = Vec::new();
        for uri in metadata_of(&self.issuer) {
            match get(&self.client, &uri).await.and_then(|document| self.keys_at(&document)) {
                Ok(keys) => return Ok(keys),
                Err(why) => said.push(format!("{uri}: {why}")),
            }
        }
        Err(said.join("; "))
    }

    fn keys_at(&self, document: &[u8]) -> Result<Uri, String> {
        let metadata: Metadata =
            serde_json::from_slice(document).map_err(|_| "answered with no metadata".to_owned())?;
        if metadata.issuer != self.issuer {
            return Err("is the metadata of another issuer".to_owned());
        }
        let uri: Option<Uri> = metadata.jwks_uri.and_then(|uri| uri.parse().ok());
        let is_as_safe = |uri: &Uri| uri.scheme_str() == Some("https") || self.issuer.starts_with("http://");
        uri.filter(is_as_safe).ok_or_else(|| "names no https address of keys (jwks_uri)".to_owned())
    }
}

/// Where an issuer's metadata may be (OpenID Connect Discovery 1.0; RFC 8414).
fn metadata_of(issuer: &str) -> Vec<Uri> {
    let bare = issuer.trim_end_matches('/');
    let (origin, path) = resource::split_origin(bare);
    [
        format!("{bare}/.well-known/openid-configuration"),
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
    ]
    .iter()
    .filter_map(|uri| uri.parse().ok())
    .collect()
}

async fn get(client: &Client, uri: &Uri) -> Result<Vec<u8>, String> {
    let request = Request::get(uri).header(ACCEPT, "application/json").body(Full::default());
    let request = request.map_err(|_| "cannot be asked".to_owned())?;
    let answered = timeout(TIME_MAX, async {
        let answer = client.send(request).await.map_err(|error| error.to_string())?;
        match answer.status() {
            StatusCode::OK => {}
            status => return Err(format!("answered {}", status.as_u16())),
        }
        let body = Limited::new(answer.into_body(), BODY_BYTES_MAX).collect().await;
        body.map(|body| body.to_bytes().to_vec()).map_err(|_| "sent too much, or broke off".to_owned())
    });
    answered.await.unwrap_or_else(|_| Err("did not answer in time".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_looked_for_in_two_places() {
        for (issuer, expected) in [
            (
                "https://i.example",
                [
                    "https://i.example/.well-known/openid-configuration",
                    "https://i.example/.well-known/oauth-authorization-server",
                ],
            ),
            (
                "https://i.example/realms/a/",
                [
                    "https://i.example/realms/a/.well-known/openid-configuration",
                    "https://i.example/.well-known/oauth-authorization-server/realms/a",
                ],
            ),
        ] {
            assert_eq!(metadata_of(issuer).iter().map(Uri::to_string).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn metadata_is_believed_only_from_its_issuer() {
        let source = |issuer: &str| {
            KeySource::of(&Issuer { issuer: issuer.to_owned(), ..Issuer::default() }, Client::new())
        };
        let document = |issuer: &str, keys: &str| format!(r#"{{"issuer":"{issuer}","jwks_uri":"{keys}"}}"#);
        let (https, http) = ("https://i.example", "http://127.0.0.1:9");
        for (issuer, text, good) in [
            (https, document(https, "https://keys.example/x"), true),
            (https, document(https, "http://keys.example/x"), false),
            (https, document("https://i.example/", "https://keys.example/x"), false),
            (https, document("https://evil.example", "https://keys.example/x"), false),
            (https, format!(r#"{{"issuer":"{https}"}}"#), false),
            (https, "<html>".into(), false),
            (http, document(http, "http://127.0.0.1:9/x"), true),
        ] {
            assert_eq!(source(issuer).keys_at(text.as_bytes()).is_ok(), good, "{issuer} {text}");
        }
    }
}
