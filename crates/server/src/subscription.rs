//! A resource being watched for one client. The subscription goes through the gate when it begins and when it ends, and
//! it ends however its holder does.

use std::sync::Arc;
use std::time::Duration;

use gate::{Action, Call, Caller, Cancel, Client, Earnest, Failure, Refusal, Target};
use wire::{relayed::Relayed, resources};

use crate::Server;

/// How often the end of a subscription is tried whose caller asks for too much at once, such as to end all its subscriptions.
const ATTEMPTS_MAX: u32 = 30;

/// How long the first pause between two attempts is; each further one is longer by as much.
const ATTEMPT_PAUSE: Duration = Duration::from_millis(250);

/// One subscription. Dropping it ends it in the background: nobody would know what to do if that failed.
pub(crate) struct ResourceSubscription {
    server: Arc<Server>,
    caller: Caller,
    uri: Arc<str>,
}

impl ResourceSubscription {
    /// Begins to subscribe. What is given up before it has begun has not begun.
    ///
    /// # Errors
    /// Its source cannot do that, or the caller may not have it done.
    pub(crate) async fn begin(
        server: &Arc<Server>,
        caller: &Caller,
        client: Client,
        uri: &str,
        cancel: Cancel,
    ) -> Result<ResourceSubscription, Failure> {
        act(server, caller, client, Action::Subscribe, uri, cancel).await?;
        Ok(ResourceSubscription { server: server.clone(), caller: caller.clone(), uri: uri.into() })
    }

    /// What is watched.
    pub(crate) fn uri(&self) -> &Arc<str> {
        &self.uri
    }
}

async fn act(
    server: &Server,
    caller: &Caller,
    client: Client,
    action: Action,
    uri: &str,
    cancel: Cancel,
) -> Result<(), Failure> {
    let call = Call {
        target: Target::Resource { action, uri },
        arguments: Some(resources::write_uri_params(uri, &Relayed::default()).into()),
        meta: None,
        header_check: None,
        cancel,
        listener: None,
        client,
        input: None,
        askers: Arc::default(),
        request_id: None,
        claims: None,
        earnest: Earnest::Real,
        forms: None,
        job: None,
    };
    server.gate().call(caller, call).await.map(drop)
}

impl Drop for ResourceSubscription {
    fn drop(&mut self) {
        // Without a runtime the program is ending, and every source with it.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (server, caller, uri) = (self.server.clone(), self.caller.clone(), self.uri.clone());
        // Bounded by the deadlines of its calls; there are no more of them than there were subscriptions.
        runtime.spawn(async move {
            for attempt in 1..=ATTEMPTS_MAX {
                let ended =
                    act(&server, &caller, Client::default(), Action::Unsubscribe, &uri, Cancel::new()).await;
                match ended {
                    Ok(()) => return,
                    Err(Failure::Refused(Refusal::RateLimited { .. })) => {
                        tokio::time::sleep(ATTEMPT_PAUSE * attempt).await;
                    }
                    Err(failure) => {
                        tracing::debug!(code = failure.code(), "a subscription could not be ended");
                        return;
                    }
                }
            }
        });
    }
}
