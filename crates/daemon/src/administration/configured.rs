//! The servers that are configured, by what earlier runs remember. None is started.

use std::sync::Arc;

use admin::Fault;
use admin::servers::{KnownServers, ListedServer, RememberedServer, SandboxFacts, ServerReport};
use config::Kept;
use futures_util::future::join_all;
use oauth::Status;
use serde_json::{Value, json};
use store::{DefinitionStore as _, SqliteStore};
use terminal::runtime;
use terminal::times::now_ms;
use upstream::{SandboxState, Settings, Upstream, World};

use super::remembered::Remembered;
use crate::shared;

/// The servers of a configuration.
pub(super) struct Configured {
    pub(super) remembered: Remembered,
    /// The file that each stands in.
    pub(super) files: Vec<Option<String>>,
}

impl KnownServers for Configured {
    fn configured(&self) -> Result<Vec<ListedServer>, Fault> {
        let settings = &self.remembered.0;
        let listed = runtime::run(async {
            let world = shared::world(settings.kept.sealed());
            let world = world.map_err(|trouble| Fault::failed(trouble.to_string()))?;
            let all = settings.upstreams.iter().zip(&self.files);
            Ok(join_all(all.map(|(one, file)| listed(&settings.kept, one, file.clone(), &world))).await)
        });
        listed.map_err(Fault::because)?
    }

    fn resting(&self) -> Result<Vec<ServerReport>, Fault> {
        self.remembered.look(|crib| {
            crib.upstreams.iter().map(|upstream| ServerReport::of(json!(upstream.status()))).collect()
        })
    }
}

/// One of them, which runs nowhere as far as is known here.
async fn listed(kept: &Kept, settings: &Settings, file: Option<String>, world: &World) -> ListedServer {
    let upstream = Upstream::new(settings.clone(), world.clone());
    ListedServer {
        name: settings.name().to_owned(),
        transport: upstream.status().transport.to_owned(),
        place: settings.place(),
        enabled: settings.enabled,
        running: Vec::new(),
        remembered: remembered(kept.store(), settings).await,
        sandbox: SandboxState::of(settings, None).map(SandboxFacts::from),
        signed_in: is_signed_in(&upstream).await,
        file,
    }
}

/// What is remembered, if anything is and it can be read.
async fn remembered(store: &SqliteStore, settings: &Settings) -> Option<RememberedServer> {
    let known = store.definitions(settings.name(), &settings.fingerprint()).await.ok().flatten()?;
    let lists: Value = serde_json::from_str(&known.tools_json).ok()?;
    // Once the tools alone were remembered.
    let tools = lists.as_array().or_else(|| lists["tools"].as_array()).map_or(0, Vec::len);
    Some(RememberedServer { tools, age_ms: now_ms().saturating_sub(known.fetched_at_ms) })
}

/// Whether there is a sign-in, for a server that can be signed in to.
async fn is_signed_in(upstream: &Arc<Upstream>) -> Option<bool> {
    let status = upstream.account()?.status().await.ok()?;
    Some(matches!(status, Status::SignedIn { .. }))
}
