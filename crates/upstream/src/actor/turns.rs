//! Which of a server's connections a call goes over. A server on a pipe does not say for which call it asks its client,
//! so a call that may ask, as far as is known, waits until calls of its own conversation alone are under way there.
//! One that is known to ask goes over a further connection, which for a program is a process, up to as many as the table
//! says: at once while somebody there thinks about an answer, else after a while. Any other stays with the first process,
//! which may remember what others did: it is sent after a while, and what it asks waits until it is known whose it is.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tool_api::Context;

use crate::config::Isolation;
use crate::connection::{Blocked, Caller, Connection, Turn, Waiting, caller, resumed};
use crate::error::ConnectError;
use crate::profiles::Profile;
use crate::settings::Endpoint;
use crate::upstream::{Key, Upstream};

/// Most calls are over within this time, and those that ask have asked.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where a call goes, and its request there if it had to have its turn.
type Place = (Arc<Connection>, Option<Waiting>);

impl Upstream {
    /// A connection for this call, of which `what` names the method and its habit.
    ///
    /// # Errors
    /// If there is none.
    pub(crate) async fn connection_for(
        &self,
        cx: &Context,
        what: (&str, &str),
    ) -> Result<Place, ConnectError> {
        let (method, known) = (what.0, self.habits.of(what.1));
        let has_streams = matches!(self.settings.endpoint, Endpoint::Address { .. });
        let (begun, mut may_open) = (Instant::now(), true);
        loop {
            let mut changed = pin!(self.habits.changed());
            changed.as_mut().enable();
            match self.usual(cx, known.asks_somebody()).await {
                Err(ConnectError::Crowded) => {}
                Err(error) => return Err(error),
                Ok((connection, key)) => {
                    let asks_nobody = key.profile == Profile::NOTHING;
                    if has_streams || asks_nobody || connection.is_modern() || resumed(cx).is_some() {
                        return Ok((connection, None));
                    }
                    let caller = caller(method, Some(known.clone()), cx);
                    let is_trusted = begun.elapsed() >= PATIENCE && !known.asks_somebody();
                    let blocked = match self.enter(connection, &key, caller, is_trusted) {
                        Turn::Taken(place) => return Ok(place),
                        Turn::Blocked(blocked) => blocked,
                    };
                    let is_due = blocked.by_person || begun.elapsed() >= PATIENCE;
                    if let (true, Some(key)) =
                        (may_open && is_due && known.asks_somebody(), self.further(key))
                    {
                        match self.pooled(key, cx.client.over.clone()).await {
                            Ok(_) => continue,
                            Err(ConnectError::Ended) => return Err(ConnectError::Ended),
                            Err(ConnectError::Crowded) => {}
                            Err(error) => {
                                may_open = false;
                                self.log_not_opened(&error);
                            }
                        }
                    }
                }
            }
            let left = self.waits().saturating_sub(begun.elapsed());
            if left.is_zero() {
                return Err(ConnectError::Crowded);
            }
            // Not everything that makes room is told.
            let _ = timeout(left.min(PATIENCE), changed).await;
        }
    }

    /// Opens the request on the first connection for `key` where it has its turn; on the very first, if the server
    /// `is_trusted` not to ask, although calls of others are under way.
    fn enter(&self, first: Arc<Connection>, key: &Key, caller: Caller, is_trusted: bool) -> Turn<Place> {
        let (others, _) = self.pool.further(key);
        let mut all = Blocked::default();
        for connection in std::iter::once(first.clone()).chain(others) {
            match connection.exchange().enter(&caller) {
                Ok(Turn::Taken(turn)) => return Turn::Taken((connection, Some(turn))),
                Ok(Turn::Blocked(blocked)) => all = all.and(blocked),
                // It has ended, or is overburdened: whoever sends there hears it.
                Err(_) if Arc::ptr_eq(&connection, &first) => return Turn::Taken((first, None)),
                Err(_) => {}
            }
        }
        if is_trusted
            && all.until.is_none()
            && let Ok(turn) = first.exchange().begin(Some(caller))
        {
            return Turn::Taken((first, Some(turn)));
        }
        Turn::Blocked(all)
    }

    /// The key of one more connection beside that for `key`; nothing if there may be none.
    fn further(&self, key: Key) -> Option<Key> {
        let is_shared = self.settings.life.isolation == Isolation::Shared;
        let (_, number) = self.pool.further(&key);
        let may_be = is_shared && number < self.settings.limits.processes;
        may_be.then_some(Key { number, ..key })
    }

    fn log_not_opened(&self, error: &ConnectError) {
        let error = self.settings.masked(&error.to_string());
        tracing::warn!(target: "upstream", upstream = %self.name(), error, "calls of others wait while somebody is asked, since no further process could be started");
    }
}
