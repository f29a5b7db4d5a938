//! Begins sign-ins by a person, and ends them with a token.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, WWW_AUTHENTICATE};
use http::{HeaderMap, Request};
use http_body_util::Full;
use tokio::time::timeout;

use futures_util::FutureExt;

use super::Session;
use crate::challenge::Challenge;
use crate::document::Document;
use crate::error::{AuthError, Reason};
use crate::location;
use crate::metadata::discover;
use crate::sign_in::{Landing, Question, Redeem, Redemption, SignIn};

/// For the head of the protected server's answer to one request.
const PROBE_TIME_MAX: Duration = Duration::from_secs(10);

impl Session {
    /// Begins a sign-in by a person: finds out who issues tokens, registers if need be, and listens for the browser.
    ///
    /// # Errors
    /// A sentence about what discovery found instead, [`AuthError::NeedsRegistration`] if the server registers
    /// nobody by itself, or [`AuthError::Failed`] if the port for the browser is not free.
    pub async fn begin(self: &Arc<Session>) -> Result<SignIn, AuthError> {
        if self.is_machine() {
            return Err(AuthError::failed(
                Reason::Settings,
                format!("nobody has to sign in: it is configured to sign in by itself ({})", self.grant()),
            ));
        }
        let mut work = self.work.lock().await;
        let record = self.load().await?;
        if work.challenge.is_none() && record.wanted.is_none() {
            work.challenge = self.probe().await.1;
        }
        let discovered = self.discovered(&mut work, true).await?;
        let server = &discovered.server;
        server.sign_in_page()?;
        self.check_trust(&record, server)?;
        let before = record.step_up.as_ref().map(|step_up| step_up.scope.as_str());
        let scope = self.wanted(&work, &discovered, before);
        let registration = self.registration(&record, &server.issuer);
        let before = registration.map(|registration| registration.redirect_uri.as_str());
        let landing = Landing::open(&self.settings.redirect, before).await?;
        let client = self.client(&discovered, &landing.uri, scope.as_deref()).await?;
        let resource = self.resource(&discovered);
        let question = Question { discovered, client, resource, scope };
        Ok(SignIn::start(self.name.clone(), Session::redeem(self), question, landing)?)
    }

    /// What ends a sign-in that this session has begun.
    pub(crate) fn redeem(self: &Arc<Session>) -> Redeem {
        let me = Arc::clone(self);
        Box::new(move |redemption| async move { me.redeem_code(redemption).await }.boxed())
    }

    /// Redeems the code of a sign-in and keeps the token.
    async fn redeem_code(&self, redemption: Redemption) -> Result<(), AuthError> {
        let Redemption { question, code, verifier, redirect_uri } = redemption;
        let Question { discovered, client, resource, scope } = question;
        self.trust(&discovered.server).await?;
        let endpoint = self.endpoint(&discovered, &client, &resource).await?;
        let granted = match endpoint.code(&code, &verifier, &redirect_uri).await {
            Ok(granted) => granted,
            // The code is another sign-in's, or is used or too old by now.
            Err(why) if why.reason == Reason::GrantRefused => {
                return Err(AuthError::failed(Reason::NotFinished, why.said));
            }
            Err(failure) => {
                if failure.reason == Reason::ClientRefused {
                    self.forget_registration(&client.id).await?;
                }
                return Err(failure.into());
            }
        };
        let tokens = self.tokens(&discovered, &client, scope, granted);
        let mut work = self.work.lock().await;
        self.update(&|record| record.tokens = Some(tokens.clone())).await?;
        work.start_over();
        self.hold(&tokens).map(|_| ())
    }

    /// What discovery finds, document by document, for a person who looks for what is wrong with it. The first is
    /// the protected server's own answer to somebody who is not signed in: its challenge.
    pub async fn explore(&self) -> Vec<Document> {
        let (document, probed) = self.probe().await;
        let challenge = probed.or(self.load().await.ok().and_then(|record| record.wanted));
        let fetch = self.fetch().await;
        // What was wrong is in the documents themselves, or is said by whatever wants to use them.
        let _ = discover(&fetch, &self.resource, challenge.as_ref(), self.settings.issuer.as_ref()).await;
        let mut documents = vec![document];
        documents.extend(fetch.documents());
        documents
    }

    /// Asks the protected server for nothing, to hear its challenge. A server that answers otherwise may still be
    /// found by its metadata.
    async fn probe(&self) -> (Document, Option<Challenge>) {
        let request = Request::get(&self.resource)
            .header(ACCEPT, "application/json, text/event-stream")
            .body(Full::new(Bytes::new()))
            .expect("made of sound parts");
        let url = location::shown(&self.resource);
        match timeout(PROBE_TIME_MAX, self.client.send(request)).await {
            Err(_) => {
                let error = format!("no answer within {PROBE_TIME_MAX:?}");
                (Document { url, status: Err(error), body: String::new() }, None)
            }
            Ok(Err(error)) => (Document { url, status: Err(error.to_string()), body: String::new() }, None),
            Ok(Ok(response)) => {
                let values = challenges(response.headers());
                let body = values.iter().map(|value| format!("WWW-Authenticate: {value}\n")).collect();
                let status = Ok(response.status().as_u16());
                (Document { url, status, body }, Challenge::of(&values))
            }
        }
    }
}

fn challenges(headers: &HeaderMap) -> Vec<&str> {
    headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|value| value.to_str().ok()).collect()
}
