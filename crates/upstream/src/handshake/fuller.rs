//! A server of both eras whose older side has more. Which eras a server has it does not say (what it names in
//! `supportedVersions` are the modern ones), so the only way to find out is a handshake. Many programs are of the era of
//! the first message that they read: it goes to another process, or over another session.
//!
//! That costs one more start or dial, so it is done once: the era is remembered from one run to the next. A server that
//! declares nothing at all is taken at its word: a hello of the legacy era is a message that the modern one has not.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use wire::message::Text;

use super::{Meeting, NoHandshake};
use crate::connection::{Connection, ServerIdentity, Subscribed, Transport};

/// How long the second hello may take at most. A program in Python needs some 2 s to start.
const HELLO_TIME_MAX: Duration = Duration::from_secs(5);

/// What clients miss where it is not declared. Tools are what everybody has; `listChanged` is no feature of its own.
const FEATURES: [(&str, Option<&str>); 6] = [
    ("completions", None),
    ("logging", None),
    ("prompts", None),
    ("resources", None),
    ("resources", Some("subscribe")),
    ("tools", None),
];

impl Meeting<'_> {
    /// The server that was `met` in the modern era, in the legacy one if it has more there.
    pub(crate) async fn fuller(&self, met: &Connection, subscribed: Arc<Subscribed>) -> Option<Connection> {
        let modern = &met.identity;
        let declared = FEATURES.iter().filter(|feature| has(modern, **feature)).count();
        if !modern.revision.is_modern() || declared == 0 || declared == FEATURES.len() {
            return None;
        }
        let limit = HELLO_TIME_MAX.min(self.settings.limits.start);
        let (line, legacy) = timeout(limit, self.second_hello()).await.ok()?.ok()?;
        let has_more = FEATURES.iter().any(|feature| has(&legacy, *feature) && !has(modern, *feature));
        if has_more && let Ok(Ok(())) = timeout(limit, line.agreed(legacy.revision)).await {
            tracing::info!(target: "upstream", upstream = self.settings.name(), "it has more in the legacy era, in which it is spoken to");
            return Some(Connection::new(line, legacy, self.ourselves(), subscribed));
        }
        // Its goodbye is bounded, and nobody need wait for it.
        tokio::spawn(async move { line.end().await });
        None
    }

    async fn second_hello(&self) -> Result<(Arc<Transport>, ServerIdentity), NoHandshake> {
        let opened = Transport::open(self.settings, self.world, self.stderr).await;
        let line = opened.map_err(NoHandshake::Unfit)?;
        let identity = self.hello(&line).await?;
        Ok((line, identity))
    }
}

/// True if a server declares it. A member that says yes or no says it by its value.
fn has(identity: &ServerIdentity, (name, member): (&str, Option<&str>)) -> bool {
    let declared = identity.capabilities.as_ref().and_then(Text::object).and_then(|all| all.object(name));
    declared.is_some_and(|declared| member.is_none_or(|member| declared.get(member) == Some("true")))
}
