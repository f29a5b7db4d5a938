//! What is wrong with signing in to a server.

use std::borrow::Cow;

use oauth::{AuthError, Failure, Reason};

use super::finding::Diagnosis;

/// Why there is no token.
pub(crate) fn diagnose(name: &str, error: &AuthError) -> Diagnosis {
    match error {
        AuthError::NeedsSignIn { why } => {
            Diagnosis::new("needs_auth", why.clone(), format!("sign in with `toolcrib mcp auth {name}`"))
        }
        AuthError::NeedsRegistration(why) => Diagnosis::new(
            "needs_client_registration",
            why.split_once("; ").map_or(why.as_str(), |(what, _)| what),
            format!(
                "register a client with the server by hand and put what you get into [mcp.{name}.oauth] as `client_id` \
                 and, if there is one, `client_secret`"
            ),
        ),
        AuthError::Keep(error) => Diagnosis::new(
            "not_kept",
            error.to_string(),
            "check the folder of `state.dir` and its file secret.key",
        ),
        AuthError::Failed(Failure { reason, said }) => {
            let (kind, try_) = failed(name, *reason);
            Diagnosis::new(kind, said.clone(), try_)
        }
    }
}

/// What a failure is called, and what to try after it.
fn failed(name: &str, reason: Reason) -> (&'static str, Cow<'static, str>) {
    let (kind, try_) = match reason {
        Reason::Impostor => (
            "sign_in_by_another",
            "do not sign in: somebody else has answered in place of the sign-in server; tell the server's owner",
        ),
        Reason::IssuerDiffers => (
            "issuer_differs",
            "do not sign in: somebody may be posing as the sign-in server; tell the server's owner, who must correct \
             its metadata",
        ),
        Reason::IssuerChanged => {
            let try_ = format!(
                "if the server's owner says that this is right, set `oauth.issuer`, or run `toolcrib mcp logout {name}` \
                 to begin anew; else do not sign in: somebody may be after the client's secret"
            );
            return ("issuer_changed", try_.into());
        }
        Reason::IssuerSpelling => (
            "issuer_spelling",
            "if you trust it, set `oauth.issuer` to its own spelling; tell the server's owner, who should use the same",
        ),
        Reason::EndpointPrivate => (
            "endpoint_private",
            "do not sign in: its metadata leads into your own network; tell the server's owner",
        ),
        Reason::EndpointRefused => (
            "endpoint_refused",
            "do not sign in: its metadata names an address that no server should; tell the server's owner",
        ),
        Reason::ResourceDiffers => (
            "resource_differs",
            "check `url`; if it is right, do not sign in: its metadata is that of another server; tell the server's \
             owner",
        ),
        Reason::NoPkce => {
            ("no_pkce", "ask the server's owner to support PKCE with S256; without it signing in is not safe")
        }
        Reason::NoSignIn => (
            "no_sign_in",
            "if it wants a key, give it with `headers`; if it has a sign-in server, name it with `oauth.issuer`",
        ),
        Reason::NotJson => (
            "sign_in_no_json",
            "check `url` and `oauth.issuer`; the sign-in server answers with something else than OAuth",
        ),
        Reason::Redirects => (
            "sign_in_redirects",
            "set `oauth.issuer` to the final address; redirects are not followed while secrets are sent",
        ),
        Reason::NotFinished => (
            "sign_in_not_finished",
            "run the command again, and paste the address that this very sign-in ends at",
        ),
        Reason::ScopeRefused => ("scope_refused", "ask for other scopes with `oauth.scope`"),
        Reason::ClientRefused => (
            "client_refused",
            "check `oauth.client_id` and `oauth.client_secret`, or remove them to register anew",
        ),
        Reason::Denied => (
            "sign_in_denied",
            "run the command again and consent; if you did, ask the server's owner for access",
        ),
        Reason::ScopesNeverEnough => (
            "scopes_never_enough",
            "ask the server's owner for the access that it wants; signing in again does not help",
        ),
        Reason::Unreachable => (
            "sign_in_unreachable",
            "check that the sign-in server can be reached from here, and `oauth.issuer` if it is set; then try again",
        ),
        Reason::Settings => return ("sign_in_settings", format!("correct [mcp.{name}.oauth]").into()),
        Reason::Other => {
            let try_ =
                format!("try again later; `toolcrib mcp debug {name}` shows what the sign-in server says");
            return ("sign_in_failed", try_.into());
        }
    };
    (kind, try_.into())
}
