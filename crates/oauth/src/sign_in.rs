//! `SignIn`: a sign-in by a person, from the address to open to the token that is kept.

mod page;
mod redirect;
mod response;
mod visit;

use std::collections::VecDeque;
use std::future;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use form_urlencoded::Serializer;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use http::Uri;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::assertion::random_name;
use crate::error::{AuthError, Failure};
use crate::metadata::Discovered;
use crate::record::Client;
use crate::scope::OFFLINE_ACCESS;
use crate::secret::Secret;

pub(crate) use redirect::Landing;
use response::{Expected, Verdict, not_finished};
use visit::Door;

/// How long we wait for the browser. A person may have to look for a password meanwhile.
const CALLBACK_TIME_MAX: Duration = Duration::from_mins(5);

/// Browsers open a few connections in advance; of more visitors the one that has been here longest is sent away.
const VISITS_MAX: usize = 16;

/// When no connection can be accepted, as with too many open files, it is tried again after this.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A sign-in that has begun. Dropped without [`SignIn::finish`], it leaves nothing behind but a registration.
pub struct SignIn {
    name: Box<str>,
    redeem: Redeem,
    question: Question,
    url: String,
    expected: Expected,
    verifier: Secret,
    redirect_uri: String,
    listener: Option<TcpListener>,
}

/// Redeems the code of a sign-in and keeps the token.
pub(crate) type Redeem =
    Box<dyn FnOnce(Redemption) -> BoxFuture<'static, Result<(), AuthError>> + Send + Sync>;

/// Who asks whom for what.
pub(crate) struct Question {
    pub(crate) discovered: Arc<Discovered>,
    pub(crate) client: Client,
    pub(crate) resource: String,
    pub(crate) scope: Option<String>,
}

/// A code, with what is needed to redeem it.
pub(crate) struct Redemption {
    pub(crate) question: Question,
    pub(crate) code: Secret,
    pub(crate) verifier: Secret,
    pub(crate) redirect_uri: String,
}

impl SignIn {
    pub(crate) fn start(
        name: Box<str>,
        redeem: Redeem,
        question: Question,
        landing: Landing,
    ) -> Result<SignIn, Failure> {
        let server = &question.discovered.server;
        let page = server.sign_in_page()?;
        let (state, verifier) = (Secret::new(random_name()?), Secret::new(random_name()?));
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.expose()));
        let mut query = Serializer::new(page.query().unwrap_or_default().to_owned());
        query.extend_pairs([
            ("response_type", "code"),
            ("client_id", &question.client.id),
            ("state", state.expose()),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
            ("redirect_uri", &landing.uri),
        ]);
        query.extend_pairs(question.scope.as_deref().map(|scope| ("scope", scope)));
        query.append_pair("resource", &question.resource);
        // OpenID Connect gives a refresh token only if the person is asked again (Core, 11).
        if question.scope.iter().flat_map(|scope| scope.split_whitespace()).any(|one| one == OFFLINE_ACCESS) {
            query.append_pair("prompt", "consent");
        }
        let page = page.to_string();
        let url = format!("{}?{}", page.split('?').next().unwrap_or_default(), query.finish());
        let expected =
            Expected { state, issuer: server.issuer.clone(), names_issuer: server.names_issuer_in_response };
        let (redirect_uri, listener) = (landing.uri, landing.listener);
        Ok(SignIn { name, redeem, question, url, expected, verifier, redirect_uri, listener })
    }

    /// The address to open in a browser.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Where the browser comes back to.
    pub fn redirect_uri(&self) -> &str {
        &self.redirect_uri
    }

    /// Waits until the browser comes back, for at most five minutes, and returns the whole address it came with,
    /// which is secret. What does not belong to this sign-in gets an error page and changes nothing. If the browser
    /// comes back to another machine, this only waits.
    ///
    /// # Errors
    /// [`AuthError::Failed`]: the sign-in was refused, its answer is another server's, or nobody came.
    pub async fn callback(&mut self) -> Result<String, AuthError> {
        let came = timeout(CALLBACK_TIME_MAX, self.visited()).await.unwrap_or_else(|_| {
            let minutes = CALLBACK_TIME_MAX.as_secs() / 60;
            Err(not_finished(format!("the browser did not come back within {minutes} minutes")))
        });
        Ok(came?)
    }

    async fn visited(&self) -> Result<String, Failure> {
        let Some(listener) = &self.listener else {
            return future::pending().await;
        };
        let path = self.redirect_uri.parse::<Uri>().map(|uri| uri.path().to_owned()).unwrap_or_default();
        let door = Door { path: &path, expected: &self.expected, name: &self.name };
        let mut visits = FuturesUnordered::new();
        // The visitors that are here, in the order in which they came; one leaves when its sender is dropped.
        let mut here: VecDeque<oneshot::Sender<()>> = VecDeque::new();
        loop {
            tokio::select! {
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => {
                        here.retain(|visitor| !visitor.is_closed());
                        if here.len() >= VISITS_MAX {
                            here.pop_front();
                        }
                        let (stays, sent_away) = oneshot::channel();
                        here.push_back(stays);
                        visits.push(door.receive(stream, sent_away));
                    }
                    Err(_) => sleep(ACCEPT_PAUSE).await,
                },
                Some(outcome) = visits.next(), if !visits.is_empty() => match outcome {
                    Some(Ok(query)) => {
                        let base = self.redirect_uri.split(['?', '#']).next().unwrap_or_default();
                        return Ok(format!("{base}?{query}"));
                    }
                    Some(Err(failure)) => return Err(failure),
                    None => {}
                },
            }
        }
    }

    /// Ends the sign-in with the address that the browser came back with, or with the code alone: redeems the code
    /// and keeps the token.
    ///
    /// # Errors
    /// [`AuthError::Failed`]: the address belongs to another sign-in or another server, the sign-in was refused, or
    /// the code cannot be redeemed; [`AuthError::Keep`] if the token cannot be kept.
    pub async fn finish(self, callback_url_or_code: &str) -> Result<(), AuthError> {
        let code = self.code(callback_url_or_code.trim())?;
        let SignIn { redeem, question, verifier, redirect_uri, .. } = self;
        redeem(Redemption { question, code, verifier, redirect_uri }).await
    }

    fn code(&self, text: &str) -> Result<Secret, Failure> {
        let query = text.split_once('?').map(|(_, query)| query);
        let Some(query) = query.or_else(|| text.contains("code=").then_some(text)) else {
            return self.expected.judge_code(text);
        };
        match self.expected.judge(query.split('#').next().unwrap_or_default()) {
            Verdict::Code(code) => Ok(code),
            Verdict::Foreign(why) => Err(not_finished(format!("this does not finish the sign-in: {why}"))),
            Verdict::Failed(failure) => Err(failure),
        }
    }
}

/// Shows neither the state nor the address, which holds it.
impl std::fmt::Debug for SignIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SignIn").field("redirect_uri", &self.redirect_uri).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
