//! Meeting a server: finding out whether it wants a handshake, and shaking hands if so.
//!
//! The one way to find out is to ask something that only modern servers know (`server/discover`). What was
//! learnt last time is tried first, and found out anew when it proves wrong.

mod address;
mod discovered;
mod fuller;
mod program;

use std::sync::{Arc, Mutex, PoisonError};

use wire::Revision;
use wire::initialize;
use wire::message::Text;
use wire::meta::{self, OwnEnvelope};

use crate::answer;
use crate::config::EraChoice;
use crate::connection::{
    Connection, Era, Reply, SandboxReport, ServerIdentity, Stderr, Subscribed, Transport, ask,
};
use crate::error::ConnectError;
use crate::fault::Fault;
use crate::profiles::Profile;
use crate::settings::{Endpoint, Settings};
use crate::world::World;

/// Said of a server that does not speak what its table asks for.
const NOT_MODERN: &str = "it does not speak 2026-07-28, which `era = \"modern\"` in its table asks for";

/// Everything that is needed to meet a server.
pub(crate) struct Meeting<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) world: &'a World,
    pub(crate) stderr: &'a Arc<Stderr>,
    /// Where it is left what a program may touch.
    pub(crate) confined: &'a Mutex<Option<Arc<SandboxReport>>>,
    /// What a legacy server is told that its clients can do.
    pub(crate) profile: Profile,
    /// False for a further connection: what earlier ones have written on stderr is then kept.
    pub(crate) is_first: bool,
    /// The way to the server that was begun last.
    pub(crate) begun: Mutex<Option<Arc<Transport>>>,
}

/// A server that has been met.
struct Met {
    line: Arc<Transport>,
    identity: ServerIdentity,
    /// False if next time it should be found out anew.
    is_certain: bool,
}

/// Why a legacy handshake failed.
enum NoHandshake {
    /// The server answered with an error.
    Refused(Text),
    /// There was no answer that could be used.
    Failed(Fault),
    /// Its answer is not one we can go on with.
    Unfit(ConnectError),
}

impl Meeting<'_> {
    /// Meets the server, beginning with what is known of it. Returns the connection, which watches `subscribed`, and its
    /// era unless that should be found out anew next time.
    pub(crate) async fn meet(
        &self,
        known: Option<Era>,
        subscribed: Arc<Subscribed>,
    ) -> Result<(Connection, Option<Era>), ConnectError> {
        if let Some(why) = self.settings.lacks() {
            return Err(ConnectError::Lacking(why.to_owned()));
        }
        let met = match (self.settings.era, &self.settings.endpoint) {
            (EraChoice::Modern, _) => self.meet_modern().await?,
            (EraChoice::Legacy, Endpoint::Address { dialect, .. }) => self.meet_legacy(*dialect).await?,
            (EraChoice::Legacy, Endpoint::Program(_) | Endpoint::Socket(_)) => {
                let line = self.line().await?;
                let identity = self.shake(&line).await?;
                met(line, identity)
            }
            (EraChoice::Auto, Endpoint::Program(_) | Endpoint::Socket(_)) => self.meet_program(known).await?,
            (EraChoice::Auto, Endpoint::Address { dialect, .. }) => {
                self.meet_address(*dialect, known).await?
            }
        };
        let Met { line, identity, is_certain } = met;
        let era = if identity.revision.is_modern() { Era::Modern } else { Era::Legacy };
        if era == Era::Modern {
            line.exchange.set_modern();
        }
        let connection = Connection::new(line, identity, self.ourselves(), subscribed);
        Ok((connection, is_certain.then_some(era)))
    }

    fn ourselves(&self) -> String {
        self.world.ourselves.json()
    }

    /// Meets a server that is to be modern.
    async fn meet_modern(&self) -> Result<Met, ConnectError> {
        let line = self.line().await?;
        let reply = self.discover(&line).await.map_err(ConnectError::Request)?;
        match discovered::read(&reply, self.settings.mask())? {
            Some(identity) => Ok(met(line, identity)),
            None => Err(ConnectError::Request(Fault::Broken(NOT_MODERN.to_owned()))),
        }
    }

    /// Starts the program, connects to the socket, or gets ready to dial.
    async fn line(&self) -> Result<Arc<Transport>, ConnectError> {
        if self.is_first {
            self.stderr.clear();
        }
        let transport = Transport::open(self.settings, self.world, self.stderr).await?;
        if let Some(report) = &transport.sandbox {
            *self.confined.lock().unwrap_or_else(PoisonError::into_inner) = Some(report.clone());
        }
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(transport.clone());
        Ok(transport)
    }

    /// Ends what was begun, and waits for that, for a bounded time.
    pub(crate) async fn end(&self) {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(transport) = begun {
            transport.end().await;
        }
    }

    /// Asks what only a modern server knows.
    async fn discover(&self, line: &Arc<Transport>) -> Result<Reply, Fault> {
        let ourselves = self.ourselves();
        let envelope = OwnEnvelope {
            revision: Revision::MODERN,
            client: &ourselves,
            capabilities: "{}",
            log_level: None,
            progress_token: None,
        };
        let meta = meta::write(None, &envelope).unwrap_or_default();
        let params = format!("{{\"_meta\":{meta}}}");
        let discover = || ask(line, "server/discover", params.as_bytes(), true);
        match discover().await {
            // It names the very revision that it refuses. A client picks one of those and asks again, once.
            Ok(Err(error)) if discovered::refuses_its_own(&error) => discover().await,
            reply => reply,
        }
    }

    /// Shakes hands and settles on a legacy revision.
    async fn shake(&self, line: &Arc<Transport>) -> Result<ServerIdentity, NoHandshake> {
        let welcome = self.hello(line).await?;
        line.agreed(welcome.revision).await.map_err(NoHandshake::Failed)?;
        Ok(welcome)
    }

    /// The first half of a handshake, by which nothing has begun yet.
    async fn hello(&self, line: &Arc<Transport>) -> Result<ServerIdentity, NoHandshake> {
        let capabilities = self.profile.json();
        let hello = initialize::our_hello(Revision::LATEST_LEGACY, self.world.ourselves, &capabilities);
        let reply = ask(line, "initialize", &hello, false).await;
        let result = reply.map_err(NoHandshake::Failed)?.map_err(NoHandshake::Refused)?;
        let mut welcome = initialize::read_welcome(&result)
            .map_err(|fault| NoHandshake::Unfit(ConnectError::Request(Fault::Broken(fault))))?;
        // Some servers name their newest revision here, although it has no handshake.
        welcome.revision = welcome.revision.min(Revision::LATEST_LEGACY);
        Ok(welcome)
    }
}

impl From<NoHandshake> for ConnectError {
    fn from(why: NoHandshake) -> ConnectError {
        match why {
            NoHandshake::Refused(error) => answer::refused("initialize", &error),
            NoHandshake::Failed(fault) => ConnectError::Request(fault),
            NoHandshake::Unfit(error) => error,
        }
    }
}

/// A server that has been met as this.
fn met(line: Arc<Transport>, identity: ServerIdentity) -> Met {
    Met { line, identity, is_certain: true }
}
