//! Who we are to an authorisation server, and how we prove it.

use http::Uri;

use super::Session;
use crate::error::{AuthError, Failure, Reason};
use crate::metadata::{Discovered, ServerMetadata};
use crate::record::{AUTHORIZATION_CODE, Client, Record, Registration, Tokens, Trusted};
use crate::registration::register;
use crate::scope;
use crate::secret::Secret;
use crate::settings::{Authentication, Grant, RegisteredClient};
use crate::tokens::Proof;

/// A secret that ends so soon is not begun with.
const SECRET_SECONDS_MIN: u64 = 60;

impl Session {
    /// The name of the configured grant, as it is kept with tokens.
    pub(super) fn grant(&self) -> &'static str {
        match self.settings.grant {
            Grant::AuthorizationCode => AUTHORIZATION_CODE,
            Grant::ClientCredentials => "client_credentials",
            Grant::Enterprise(_) => "enterprise",
        }
    }

    /// Whether a token can be got at any time, without a person.
    pub(super) fn is_machine(&self) -> bool {
        match self.settings.grant {
            Grant::AuthorizationCode => false,
            Grant::ClientCredentials | Grant::Enterprise(_) => true,
        }
    }

    /// The kept tokens, if they were got as the settings now say: as this client, by this grant.
    pub(super) fn ours<'a>(&self, record: &'a Record) -> Option<&'a Tokens> {
        let is_ours = |tokens: &&Tokens| {
            let client = self.settings.client.as_ref();
            tokens.grant == self.grant() && client.is_none_or(|client| client.id == tokens.client.id)
        };
        record.tokens.as_ref().filter(is_ours)
    }

    /// How `client` proves to `server` that it is it. What is configured is never kept, so it is looked up here.
    pub(super) fn proof(&self, server: &ServerMetadata, client: &Client) -> Result<Proof, Failure> {
        let kept;
        let authentication = match &self.settings.client {
            Some(configured) if configured.id == client.id => &configured.authentication,
            _ => {
                kept = match &client.secret {
                    Some(secret) => Authentication::Secret(Secret::new(secret.as_str())),
                    None => Authentication::Public,
                };
                &kept
            }
        };
        Proof::to_server(server, &client.id, authentication, client.method.as_deref(), self.clock.now())
    }

    /// The client that the settings name for `server`, if they name one.
    pub(super) fn configured(&self, server: &ServerMetadata) -> Option<Client> {
        let nameless = |id: &String| Client { id: id.clone(), secret: None, method: None };
        let document = self.settings.metadata_url.as_ref().filter(|_| server.takes_client_documents);
        self.settings.client.as_ref().map(|client| &client.id).or(document).map(nameless)
    }

    /// Refuses to show the configured client's secret, or what its key signs, to another server than the one that was
    /// shown it first, unless a person has named that one: the protected server alone would decide else who gets it.
    pub(super) fn check_trust(&self, record: &Record, server: &ServerMetadata) -> Result<(), Failure> {
        let Some(client) = self.needs_trust() else { return Ok(()) };
        let known = record.trusted.as_ref().filter(|trusted| trusted.client_id == client.id);
        match known.filter(|trusted| trusted.issuer != server.issuer) {
            None => Ok(()),
            Some(Trusted { issuer, .. }) => Err(Failure::new(
                Reason::IssuerChanged,
                format!(
                    "it wants the client that is configured for {issuer} to be used at {}, which is not shown its secret",
                    server.issuer
                ),
            )),
        }
    }

    /// Remembers that `server` is the one that is shown it, before it is.
    pub(super) async fn trust(&self, server: &ServerMetadata) -> Result<(), AuthError> {
        let Some(client) = self.needs_trust() else { return Ok(()) };
        let new = Trusted { client_id: client.id.clone(), issuer: server.issuer.clone() };
        let record = self
            .update(&|record| {
                if record.trusted.as_ref().is_none_or(|trusted| trusted.client_id != new.client_id) {
                    record.trusted = Some(new.clone());
                }
            })
            .await?;
        Ok(self.check_trust(&record, server)?)
    }

    /// The configured client, if it has something to hide and no issuer is configured with it.
    fn needs_trust(&self) -> Option<&RegisteredClient> {
        let has_secret =
            |client: &&RegisteredClient| self.is_machine() || client.authentication != Authentication::Public;
        let client = self.settings.client.as_ref().filter(has_secret)?;
        self.settings.issuer.is_none().then_some(client)
    }

    /// The client that asks for `scope` and comes back to `redirect_uri`: the configured one, else the one that was
    /// registered for it, else one that is registered now and remembered.
    pub(super) async fn client(
        &self,
        discovered: &Discovered,
        redirect_uri: &str,
        scope: Option<&str>,
    ) -> Result<Client, AuthError> {
        let server = &discovered.server;
        if let Some(client) = self.configured(server) {
            return Ok(client);
        }
        let registered = |record: &Record| {
            self.registration(record, &server.issuer)
                .filter(|registration| registration.redirect_uri == redirect_uri)
                .filter(|registration| scope::are_among(scope, registration.scope.as_deref()))
                .map(|registration| registration.client.clone())
        };
        let new = async {
            let scope = scope::registered(discovered, scope);
            let new = register(&self.fetch().await, server, redirect_uri, scope.as_deref()).await?;
            self.update(&|record| record.registration = Some(new.clone())).await?;
            Ok(new.client)
        };
        match self.acquire(&registered).await? {
            Ok(client) => Ok(client),
            Err(lease) => self.under(lease, new).await,
        }
    }

    /// The registration at `issuer`, if it is still good.
    pub(super) fn registration<'a>(&self, record: &'a Record, issuer: &str) -> Option<&'a Registration> {
        let soon = self.clock.now().saturating_add(SECRET_SECONDS_MIN);
        record.registration.as_ref().filter(|registration| {
            registration.issuer == issuer && registration.expires_at.is_none_or(|end| end > soon)
        })
    }

    /// What tokens are asked for: what the server calls itself, else its address without a slash at the end.
    pub(super) fn resource(&self, discovered: &Discovered) -> String {
        discovered.resource.as_ref().map_or_else(|| canonical(&self.resource), |own| own.resource.clone())
    }
}

fn canonical(uri: &Uri) -> String {
    let text = uri.to_string();
    match uri.path_and_query().map(|path| path.as_str()) {
        Some("/") => text.trim_end_matches('/').to_owned(),
        _ => text,
    }
}
