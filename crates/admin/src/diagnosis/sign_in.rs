//! What is wrong with signing in to a server.

use oauth::{AuthError, Reason};

use super::finding::Diagnosis;

/// Why there is no token.
pub fn diagnose(name: &str, error: &AuthError) -> Diagnosis {
    match error {
        AuthError::NeedsSignIn { why } => Diagnosis::of("needs_auth", &[("message", why), ("name", &name)]),
        AuthError::NeedsRegistration(why) => {
            let message = why.split_once("; ").map_or(why.as_str(), |(what, _)| what);
            Diagnosis::of("needs_client_registration", &[("message", &message), ("name", &name)])
        }
        AuthError::Keep(error) => Diagnosis::of("not_kept", &[("message", error)]),
        AuthError::Failed(failure) => {
            Diagnosis::of(kind(failure.reason), &[("message", &failure.said), ("name", &name)])
        }
    }
}

fn kind(reason: Reason) -> &'static str {
    match reason {
        Reason::Impostor => "sign_in_by_another",
        Reason::IssuerDiffers => "issuer_differs",
        Reason::IssuerChanged => "issuer_changed",
        Reason::IssuerSpelling => "issuer_spelling",
        Reason::EndpointPrivate => "endpoint_private",
        Reason::EndpointRefused => "endpoint_refused",
        Reason::ResourceDiffers => "resource_differs",
        Reason::NoPkce => "no_pkce",
        Reason::NoSignIn => "no_sign_in",
        Reason::NotJson => "sign_in_no_json",
        Reason::Redirects => "sign_in_redirects",
        Reason::NotFinished => "sign_in_not_finished",
        Reason::ScopeRefused => "scope_refused",
        Reason::ClientRefused => "client_refused",
        Reason::Denied => "sign_in_denied",
        Reason::ScopesNeverEnough => "scopes_never_enough",
        Reason::Unreachable => "sign_in_unreachable",
        Reason::Settings => "sign_in_settings",
        Reason::GrantRefused | Reason::Other => "sign_in_failed",
    }
}
