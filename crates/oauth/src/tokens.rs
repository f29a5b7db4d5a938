//! `Endpoint`: the requests for tokens, each in the form of its grant. What comes back is judged in `answer`.

mod answer;
mod form;
mod proof;

use http::Uri;

use crate::error::Failure;
use crate::fetch::Fetch;
use crate::secret::Secret;

pub(crate) use answer::Granted;
use answer::Kind;
use form::post;
pub(crate) use form::revoke;
pub(crate) use proof::Proof;

const ASSERTION_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const EXCHANGE_GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:id_token";
const ID_JAG_TYPE: &str = "urn:ietf:params:oauth:token-type:id-jag";

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
    /// Redeems the code of a sign-in; `verifier` proves that we began it (PKCE).
    pub(crate) async fn code(
        &self,
        code: &Secret,
        verifier: &Secret,
        redirect_uri: &str,
    ) -> Result<Granted, Failure> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.expose()),
            ("code_verifier", verifier.expose()),
            ("redirect_uri", redirect_uri),
        ];
        self.ask(&fields, None, Kind::Bearer, &[code, verifier]).await
    }

    /// Renews a token.
    pub(crate) async fn refresh(&self, token: &Secret) -> Result<Granted, Failure> {
        let fields = [("grant_type", "refresh_token"), ("refresh_token", token.expose())];
        self.ask(&fields, None, Kind::Bearer, &[token]).await
    }

    /// Gets a token for the client itself.
    pub(crate) async fn client_credentials(&self, scope: Option<&str>) -> Result<Granted, Failure> {
        self.ask(&[("grant_type", "client_credentials")], scope, Kind::Bearer, &[]).await
    }

    /// Gets a token for an assertion that somebody else has signed (RFC 7523, 2.1).
    pub(crate) async fn assertion(
        &self,
        assertion: &Secret,
        scope: Option<&str>,
    ) -> Result<Granted, Failure> {
        let fields = [("grant_type", ASSERTION_GRANT), ("assertion", assertion.expose())];
        self.ask(&fields, scope, Kind::Bearer, &[assertion]).await
    }

    /// Exchanges an identity provider's ID token for an assertion to the authorisation server `audience` (RFC 8693
    /// in the form of the identity assertion grant).
    pub(crate) async fn exchange(
        &self,
        id_token: &Secret,
        audience: &str,
        scope: Option<&str>,
    ) -> Result<Secret, Failure> {
        let fields = [
            ("grant_type", EXCHANGE_GRANT),
            ("requested_token_type", ID_JAG_TYPE),
            ("audience", audience),
            ("subject_token", id_token.expose()),
            ("subject_token_type", ID_TOKEN_TYPE),
        ];
        Ok(self.ask(&fields, scope, Kind::Assertion, &[id_token]).await?.access)
    }

    /// Asks for a token; none of `secrets` appears in a refusal, even if the server repeats it.
    async fn ask(
        &self,
        fields: &[(&str, &str)],
        scope: Option<&str>,
        kind: Kind,
        secrets: &[&Secret],
    ) -> Result<Granted, Failure> {
        let mut fields = fields.to_vec();
        fields.extend(scope.map(|scope| ("scope", scope)));
        fields.push(("resource", self.resource));
        let answer = post(&self.fetch, self.uri, self.client_id, &self.proof, &fields).await?;
        answer::judged(
            &answer,
            self.uri,
            kind,
            self.proof.secret().into_iter().chain(secrets.iter().copied()),
        )
    }
}

#[cfg(test)]
mod tests;
