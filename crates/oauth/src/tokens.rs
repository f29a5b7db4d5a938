//! `Endpoint`: the requests for tokens, each in the form of its grant.
//!
//! The grants of OAuth 2.1 are the library's; the two that enterprises use (RFC 8693, RFC 7523) it has not, so they
//! are forms of ours. What comes back is judged in one place (`answer`), whoever wrote the request.

mod answer;
mod form;
mod proof;
mod refused;
mod revoke;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::Uri;
use oauth2::basic::{BasicClient, BasicErrorResponse, BasicTokenResponse};
use oauth2::{
    AsyncHttpClient, AuthType, AuthorizationCode, ClientId, ClientSecret, EndpointNotSet, EndpointSet,
    HttpRequest, HttpResponse, PkceCodeVerifier, RedirectUrl, RefreshToken, RequestTokenError, Scope,
    TokenUrl,
};

use crate::error::{Failure, Reason};
use crate::fetch::Fetch;
use crate::location;
use crate::secret::Secret;

pub(crate) use answer::Granted;
use form::{assertion_fields, post};
pub(crate) use proof::Proof;
pub(crate) use refused::Refused;
pub(crate) use revoke::revoke;

const ASSERTION_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE_GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG_TYPE: &str = "urn:ietf:params:oauth:token-type:id-jag";

type Library = BasicClient<EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointNotSet, EndpointSet>;

/// Where tokens are issued, and who asks for them.
pub(crate) struct Endpoint<'a> {
    pub(crate) fetch: Fetch,
    pub(crate) uri: &'a Uri,
    pub(crate) client_id: &'a str,
    pub(crate) proof: Proof,
    /// What the token is for (RFC 8707).
    pub(crate) resource: &'a str,
}

impl Endpoint<'_> {
    /// Redeems the code of a sign-in.
    pub(crate) async fn code(
        &self,
        code: &str,
        verifier: PkceCodeVerifier,
        redirect_uri: &str,
    ) -> Result<Granted, Refused> {
        let secrets = [code, verifier.secret().as_str()].map(Secret::new);
        let redirect_uri = RedirectUrl::new(redirect_uri.to_owned()).map_err(|_| self.unusable())?;
        let library = self.library()?.set_redirect_uri(redirect_uri);
        let mut request =
            library.exchange_code(AuthorizationCode::new(code.to_owned())).set_pkce_verifier(verifier);
        for (name, value) in self.fields() {
            request = request.add_extra_param(name, value);
        }
        self.outcome(request.request_async(self).await, &secrets)
    }

    /// Renews a token.
    pub(crate) async fn refresh(&self, token: &str) -> Result<Granted, Refused> {
        let refresh = RefreshToken::new(token.to_owned());
        let library = self.library()?;
        let mut request = library.exchange_refresh_token(&refresh);
        for (name, value) in self.fields() {
            request = request.add_extra_param(name, value);
        }
        self.outcome(request.request_async(self).await, &[Secret::new(token)])
    }

    /// Gets a token for the client itself.
    pub(crate) async fn client_credentials(&self, scope: Option<&str>) -> Result<Granted, Refused> {
        let library = self.library()?;
        let mut request = library.exchange_client_credentials();
        for scope in scope.unwrap_or_default().split_whitespace() {
            request = request.add_scope(Scope::new(scope.to_owned()));
        }
        for (name, value) in self.fields() {
            request = request.add_extra_param(name, value);
        }
        self.outcome(request.request_async(self).await, &[])
    }

    /// Gets a token for an assertion that somebody else has signed (RFC 7523, 2.1).
    pub(crate) async fn assertion(
        &self,
        assertion: &Secret,
        scope: Option<&str>,
    ) -> Result<Granted, Refused> {
        let mut fields = vec![("grant_type", ASSERTION_GRANT), ("assertion", assertion.expose())];
        fields.extend(scope.map(|scope| ("scope", scope)));
        self.ask(&fields, answer::Kind::Bearer, assertion).await
    }

    /// Exchanges an identity provider's ID token for an assertion to the authorisation server `audience` (RFC 8693
    /// in the form of the identity assertion grant).
    pub(crate) async fn exchange(
        &self,
        id_token: &Secret,
        audience: &str,
        scope: Option<&str>,
    ) -> Result<Secret, Refused> {
        let mut fields = vec![
            ("grant_type", EXCHANGE_GRANT),
            ("requested_token_type", ID_JAG_TYPE),
            ("audience", audience),
            ("subject_token", id_token.expose()),
            ("subject_token_type", ID_TOKEN_TYPE),
        ];
        fields.extend(scope.map(|scope| ("scope", scope)));
        Ok(self.ask(&fields, answer::Kind::Assertion, id_token).await?.access)
    }

    /// What the library needs to know; its own error for it would say less.
    fn library(&self) -> Result<Library, Refused> {
        let url = TokenUrl::new(self.uri.to_string()).map_err(|_| self.unusable())?;
        let client = BasicClient::new(ClientId::new(self.client_id.to_owned())).set_token_uri(url);
        Ok(match &self.proof {
            Proof::Public | Proof::Assertion(_) => client.set_auth_type(AuthType::RequestBody),
            Proof::Header(secret) => client
                .set_auth_type(AuthType::BasicAuth)
                .set_client_secret(ClientSecret::new(secret.expose().to_owned())),
            Proof::Body(secret) => client
                .set_auth_type(AuthType::RequestBody)
                .set_client_secret(ClientSecret::new(secret.expose().to_owned())),
        })
    }

    /// What the library does not know of: the resource, and a signed proof.
    fn fields(&self) -> Vec<(&str, &str)> {
        let mut fields = vec![("resource", self.resource)];
        if let Proof::Assertion(assertion) = &self.proof {
            fields.extend(assertion_fields(assertion));
        }
        fields
    }

    /// A request of a grant that the library has not.
    async fn ask(
        &self,
        fields: &[(&str, &str)],
        kind: answer::Kind,
        secret: &Secret,
    ) -> Result<Granted, Refused> {
        let fields = [fields, &[("resource", self.resource)]].concat();
        let answer = post(&self.fetch, self.uri, self.client_id, &self.proof, &fields).await?;
        let response = answer::tidied(answer, self.uri, kind)?;
        if let Ok(error) = serde_json::from_slice::<BasicErrorResponse>(response.body()) {
            return Err(self.refused(&error, std::slice::from_ref(secret)));
        }
        let response = serde_json::from_slice::<BasicTokenResponse>(response.body());
        Granted::of(&response.map_err(|_| self.unusable())?, self.uri)
    }

    fn outcome(
        &self,
        outcome: Result<BasicTokenResponse, RequestTokenError<Refused, BasicErrorResponse>>,
        secrets: &[Secret],
    ) -> Result<Granted, Refused> {
        match outcome {
            Ok(response) => Granted::of(&response, self.uri),
            Err(RequestTokenError::ServerResponse(error)) => Err(self.refused(&error, secrets)),
            Err(RequestTokenError::Request(refused)) => Err(refused),
            Err(RequestTokenError::Parse(..) | RequestTokenError::Other(_)) => Err(self.unusable()),
        }
    }

    fn refused(&self, error: &BasicErrorResponse, secrets: &[Secret]) -> Refused {
        answer::refused(error, self.uri, self.proof.secrets().chain(secrets))
    }

    fn unusable(&self) -> Refused {
        let shown = location::shown(self.uri);
        let said = format!("{shown} cannot be asked for a token, or its answer cannot be read");
        Failure::new(Reason::Other, said).into()
    }
}

/// The library sends through us. (A closure would do, but for it the compiler cannot see that it may change threads.)
impl<'c> AsyncHttpClient<'c> for Endpoint<'_> {
    type Error = Refused;
    type Future = BoxFuture<'c, Result<HttpResponse, Refused>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        let answer = self.fetch.send(request);
        async move { answer::tidied(answer.await?, self.uri, answer::Kind::Bearer) }.boxed()
    }
}

#[cfg(test)]
mod tests;
