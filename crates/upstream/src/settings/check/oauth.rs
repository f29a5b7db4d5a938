//! The key that says how to sign in.

use http::Uri;
use http::header::AUTHORIZATION;
use oauth::{Algorithm, Authentication, Grant, IdentityProvider, Redirect, RegisteredClient, Secret};

use super::Check;
use super::text::May;
use crate::config::{Config, GrantKind, Oauth, OauthTable, ProviderTable, Value};

/// How a private key begins that can be used.
const PEM_START: &str = "-----BEGIN PRIVATE KEY-----";

const NEEDS_ID: &str = "needs `client_id` beside it";
const NO_KEY: &str = "says something about a `private_key`, but there is none";
const FOR_PEOPLE: &str = "only a person who signs in comes back to it";
const NEEDS_CLIENT: &str = "\"client_credentials\" needs `client_id` and `client_secret` or `private_key`";

impl Check<'_> {
    /// How to sign in; nothing if we never do.
    pub(super) fn sign_in(&mut self, config: &Config) -> Option<Box<oauth::Settings>> {
        let authorizes = config.headers.keys().any(|name| name.eq_ignore_ascii_case(AUTHORIZATION.as_str()));
        match &config.oauth {
            Some(Oauth::Switch(true) | Oauth::Table(_)) if authorizes => {
                self.wrong("oauth", "`headers` has an `Authorization` of its own; keep one");
                None
            }
            None if authorizes => None,
            Some(Oauth::Switch(false)) => None,
            None | Some(Oauth::Switch(true)) => Some(Box::default()),
            Some(Oauth::Table(table)) => Some(Box::new(self.sign_in_as(table))),
        }
    }

    fn sign_in_as(&mut self, table: &OauthTable) -> oauth::Settings {
        self.refuse_pairs(table);
        let client = self.client(table);
        let metadata_url = self.public("client_metadata_url", table.client_metadata_url.as_deref());
        let scope = self.public("scope", table.scope.as_deref());
        let redirect_uri = self.public("redirect_uri", table.redirect_uri.as_deref());
        let issuer = self.public("issuer", table.issuer.as_deref());
        let grant = self.grant(table);
        let redirect = self.redirect(table, redirect_uri);
        if let Some(url) = &metadata_url {
            let uri = url.parse::<Uri>().ok().filter(|uri| uri.scheme_str() == Some("https"));
            if uri.is_none_or(|uri| matches!(uri.path(), "" | "/")) || url.contains('#') {
                let why = "must be an https address with a path, such as \"https://example.com/client.json\"";
                self.wrong("oauth.client_metadata_url", why);
            }
        }
        let is_scope = |c: char| c == ' ' || c.is_ascii_graphic() && !matches!(c, '"' | '\\');
        if scope.as_deref().is_some_and(|scope| scope.trim().is_empty() || !scope.chars().all(is_scope)) {
            self.wrong(
                "oauth.scope",
                "must be scopes separated by blanks, such as \"files:read files:write\"",
            );
        }
        let issuer = issuer.and_then(|issuer| self.endpoint_url("oauth.issuer", &issuer));
        oauth::Settings { client, metadata_url, grant, scope, redirect, issuer }
    }

    /// Finds keys that exclude each other, or that do nothing without another.
    fn refuse_pairs(&mut self, table: &OauthTable) {
        let (id, secret) = (table.client_id.is_some(), table.client_secret.is_some());
        let (key, metadata) = (table.private_key.is_some(), table.client_metadata_url.is_some());
        let (port, uri) = (table.callback_port.is_some(), table.redirect_uri.is_some());
        let has_algorithm = table.signing_algorithm != Algorithm::default();
        let is_person = table.grant == GrantKind::AuthorizationCode;
        let is_own = table.grant == GrantKind::ClientCredentials;
        let is_providers = table.grant == GrantKind::Enterprise;
        for (is_wrong, place, why) in [
            (secret && key, "oauth", "has `client_secret` and `private_key`; keep one"),
            (id && metadata, "oauth", "has `client_id` and `client_metadata_url`; keep one"),
            (port && uri, "oauth", "has `callback_port` and `redirect_uri`; keep one"),
            (secret && !id, "oauth.client_secret", NEEDS_ID),
            (key && !id, "oauth.private_key", NEEDS_ID),
            (table.key_id.is_some() && !key, "oauth.key_id", NO_KEY),
            (has_algorithm && !key, "oauth.signing_algorithm", NO_KEY),
            (port && !is_person, "oauth.callback_port", FOR_PEOPLE),
            (uri && !is_person, "oauth.redirect_uri", FOR_PEOPLE),
            (is_own && !(id && (secret || key)), "oauth.grant", NEEDS_CLIENT),
            (
                table.identity_provider.is_some() && !is_providers,
                "oauth.identity_provider",
                "only `grant = \"enterprise\"` uses it",
            ),
        ] {
            if is_wrong {
                self.wrong(place, why);
            }
        }
    }

    fn public(&mut self, key: &str, text: Option<&str>) -> Option<String> {
        let place = format!("oauth.{key}");
        let text = self.text(&place, text?, May::Everything)?;
        if text.is_empty() {
            self.wrong(&place, "must not be empty");
        }
        Some(text)
    }

    fn secret(&mut self, key: &str, value: Option<&Value>) -> Option<String> {
        let place = format!("oauth.{key}");
        let secret = self.value(&place, value?)?;
        if secret.is_empty() {
            self.wrong(&place, "must not be empty");
        }
        self.secrets.push(secret.as_str().into());
        self.named.add(key.rsplit('.').next().unwrap_or(key), &secret);
        Some(secret)
    }

    fn client(&mut self, table: &OauthTable) -> Option<RegisteredClient> {
        let id = self.public("client_id", table.client_id.as_deref());
        let secret = self.secret("client_secret", table.client_secret.as_ref());
        let private_key = self.secret("private_key", table.private_key.as_ref());
        let key_id = self.public("key_id", table.key_id.as_deref());
        let id = id?;
        let authentication = match (secret, private_key) {
            (Some(secret), _) => Authentication::Secret(Secret::new(secret)),
            (None, Some(pem)) => {
                if !pem.trim_start().starts_with(PEM_START) {
                    let why = format!("must be PKCS#8 as PEM, which begins with `{PEM_START}`");
                    self.wrong("oauth.private_key", why);
                }
                Authentication::Key { pem: Secret::new(pem), algorithm: table.signing_algorithm, key_id }
            }
            (None, None) => Authentication::Public,
        };
        Some(RegisteredClient { id, authentication })
    }

    fn grant(&mut self, table: &OauthTable) -> Grant {
        match (table.grant, &table.identity_provider) {
            (GrantKind::AuthorizationCode, _) => Grant::AuthorizationCode,
            (GrantKind::ClientCredentials, _) => Grant::ClientCredentials,
            (GrantKind::Enterprise, Some(provider)) => self.enterprise(provider),
            (GrantKind::Enterprise, None) => {
                self.wrong("oauth.grant", "\"enterprise\" needs `identity_provider`");
                Grant::AuthorizationCode
            }
        }
    }

    fn enterprise(&mut self, provider: &ProviderTable) -> Grant {
        for (key, missing) in [
            ("token_url", provider.token_url.is_empty()),
            ("id_token", provider.id_token.is_none()),
            ("client_id", provider.client_id.is_empty()),
        ] {
            if missing {
                self.wrong("oauth.identity_provider", format!("needs `{key}`"));
            }
        }
        let given = |text: &'_ String| (!text.is_empty()).then(|| text.clone());
        let token_url = given(&provider.token_url);
        let token_url = self.public("identity_provider.token_url", token_url.as_deref());
        let token_url =
            token_url.and_then(|url| self.endpoint_url("oauth.identity_provider.token_url", &url));
        let id_token = self.secret("identity_provider.id_token", provider.id_token.as_ref());
        let id = self.public("identity_provider.client_id", given(&provider.client_id).as_deref());
        let secret = self.secret("identity_provider.client_secret", provider.client_secret.as_ref());
        let authentication =
            secret.map_or(Authentication::Public, |secret| Authentication::Secret(Secret::new(secret)));
        Grant::Enterprise(IdentityProvider {
            token_url: token_url.unwrap_or_default(),
            id_token: Secret::new(id_token.unwrap_or_default()),
            client: RegisteredClient { id: id.unwrap_or_default(), authentication },
        })
    }

    fn redirect(&mut self, table: &OauthTable, uri: Option<String>) -> Redirect {
        if table.callback_port == Some(0) {
            self.wrong("oauth.callback_port", "must be between 1 and 65535; leave it out for any free port");
        }
        match (uri, table.callback_port) {
            (Some(uri), _) => {
                if !oauth::is_endpoint(&uri) {
                    let why = "must be an http address of this machine, such as \"http://127.0.0.1:8123/callback\", or https";
                    self.wrong("oauth.redirect_uri", why);
                }
                Redirect::Uri(uri)
            }
            (None, Some(port)) => Redirect::Port(port),
            (None, None) => Redirect::AnyPort,
        }
    }

    fn endpoint_url(&mut self, place: &str, url: &str) -> Option<Uri> {
        if !oauth::is_endpoint(url) {
            self.wrong(place, "must be an https address, or an http address of this machine");
        }
        url.parse().ok()
    }
}

#[cfg(test)]
mod tests;
