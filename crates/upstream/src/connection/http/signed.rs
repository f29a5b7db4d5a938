//! The one place through which requests go to a server. Here they get the token that is due, and a request
//! whose token is refused is repeated with a better one. The server has not looked at it, so repeating it is safe.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use oauth::{AccessToken, AuthError, Reason};
use sandbox::NetError;

use super::peer::Peer;
use crate::fault::Fault;
use crate::signer::Signer;

/// How often one request is repeated with another token. A server may want a first one, a renewed one, and one that
/// is good for more; whatever it wants beyond that it will not get.
const REPEATS_MAX: u32 = 3;

impl Peer {
    /// Sends the request that `head` makes, and again with another token as long as that may help.
    ///
    /// # Errors
    /// If there is no answer, or no token that the server accepts. A server that refuses us for another reason has
    /// answered.
    pub(super) async fn send(
        &self,
        head: impl Fn() -> Request<()>,
        body: Bytes,
    ) -> Result<Response<Incoming>, Fault> {
        let Some(signer) = &self.signer else { return self.pass(head(), body).await };
        let mut bearer = self.bearer(signer).await?;
        let mut repeats = 0;
        loop {
            let response = self.pass(with(head(), bearer.as_ref()), body.clone()).await?;
            let Some((status, challenges)) = refusal(&response) else {
                if bearer.is_none() {
                    self.is_open.store(true, Ordering::Relaxed);
                }
                return Ok(response);
            };
            self.is_open.store(false, Ordering::Relaxed);
            if repeats == REPEATS_MAX {
                return Err(refused(status, exhausted(status)));
            }
            repeats += 1;
            let better = signer.refused(status.as_u16(), &challenges, bearer.as_ref()).await;
            bearer = Some(better.map_err(|error| refused(status, error))?);
        }
    }

    /// Sends a request whose answer is of no interest, once.
    pub(super) async fn send_once(&self, head: Request<()>) -> Result<Response<Incoming>, Fault> {
        let bearer = match &self.signer {
            Some(signer) => self.bearer(signer).await?,
            None => None,
        };
        self.pass(with(head, bearer.as_ref()), Bytes::new()).await
    }

    async fn bearer(&self, signer: &Signer) -> Result<Option<AccessToken>, Fault> {
        if self.is_open.load(Ordering::Relaxed) {
            return Ok(None);
        }
        signer.bearer().await.map_err(Fault::SignIn)
    }

    async fn pass(&self, head: Request<()>, body: Bytes) -> Result<Response<Incoming>, Fault> {
        if let Some(tap) = &self.exchange.tap {
            tap.request(&head, &body);
        }
        let response = self.client.send(head.map(|()| Full::new(body))).await;
        if let Some(tap) = &self.exchange.tap {
            tap.response(&response);
        }
        response.map_err(|error| not_answered(&error))
    }
}

fn with(mut head: Request<()>, bearer: Option<&AccessToken>) -> Request<()> {
    if let Some(bearer) = bearer {
        head.headers_mut().insert(AUTHORIZATION, bearer.header().clone());
    }
    head
}

/// The status and the challenges of an answer that says that the token will not do. A 403 without a challenge is not
/// about the token: a firewall says it, too.
fn refusal(response: &Response<Incoming>) -> Option<(StatusCode, Vec<&str>)> {
    let status = response.status();
    let challenges = response.headers().get_all(WWW_AUTHENTICATE).iter();
    let challenges: Vec<&str> = challenges.filter_map(|value| value.to_str().ok()).collect();
    let is_ours =
        status == StatusCode::UNAUTHORIZED || (status == StatusCode::FORBIDDEN && !challenges.is_empty());
    is_ours.then_some((status, challenges))
}

fn refused(status: StatusCode, error: AuthError) -> Fault {
    match status {
        StatusCode::FORBIDDEN => Fault::Scope(error),
        _ => Fault::SignIn(error),
    }
}

fn exhausted(status: StatusCode) -> AuthError {
    let status = status.as_u16();
    AuthError::failed(
        Reason::Other,
        format!("it refuses every token that it is given (HTTP status {status}), a new one as well"),
    )
}

/// A request that failed before an answer began.
fn not_answered(error: &NetError) -> Fault {
    match error {
        NetError::Address
        | NetError::Refused { .. }
        | NetError::Dns { .. }
        | NetError::Private { .. }
        | NetError::Tls { .. }
        | NetError::Timeout { .. }
        | NetError::Company { .. } => Fault::NotSent(error.to_string()),
        NetError::Closed { .. } | NetError::Other { .. } => {
            Fault::Gone("closed the connection without an answer".to_owned())
        }
    }
}
