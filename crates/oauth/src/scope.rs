//! Which scopes a sign-in asks for.

use std::collections::HashSet;

use crate::challenge::Challenge;
use crate::metadata::Discovered;

/// Asks for a refresh token where a server wants to be asked (OpenID Connect Core, 11).
pub(crate) const OFFLINE_ACCESS: &str = "offline_access";

/// The reason of a challenge that wants more scopes than the token has.
const INSUFFICIENT: &str = "insufficient_scope";

/// The scopes go into an address; what does not fit is not asked for.
const SCOPE_BYTES_MAX: usize = 4096;

/// The scopes to ask for, separated by blanks; none if the server is to decide.
///
/// Those that are `configured`, else those of the `challenge`, else all that the protected server knows. What was asked
/// for `before` stays in force, and a challenge that says that a scope is missing gets it, whatever is configured.
/// `offline_access` is added where the server knows it and the grant `renews`, unless a person has settled the scopes.
pub(crate) fn wanted(
    configured: Option<&str>,
    challenge: Option<&Challenge>,
    discovered: &Discovered,
    before: Option<&str>,
    renews: bool,
) -> Option<String> {
    let challenged = challenge.and_then(|challenge| challenge.scope.as_deref());
    let challenged = challenged.filter(|scope| tokens(scope).next().is_some());
    let is_step_up = challenge.is_some_and(|challenge| challenge.error.as_deref() == Some(INSUFFICIENT));
    let mut asked = Vec::new();
    asked.extend(before.into_iter().flat_map(tokens));
    match (configured, challenged, &discovered.resource) {
        (Some(configured), ..) => asked.extend(tokens(configured)),
        (None, Some(challenged), _) => asked.extend(tokens(challenged)),
        (None, None, Some(resource)) => {
            asked.extend(resource.scopes_supported.iter().flat_map(|scope| tokens(scope)))
        }
        (None, None, None) => {}
    }
    if is_step_up {
        asked.extend(challenged.into_iter().flat_map(tokens));
    }
    // Alone it would ask for nothing but that, where a server would have chosen the scopes.
    if renews && configured.is_none() && !asked.is_empty() && grants_offline_access(discovered) {
        asked.push(OFFLINE_ACCESS);
    }
    joined(&asked)
}

/// The scopes that a client is registered with, if it is to ask for those `wanted` now: also all others that the
/// protected server knows, since some servers hold a client to them for good. None, which holds it to nothing, if the
/// server does not say what it knows.
pub(crate) fn registered(discovered: &Discovered, wanted: Option<&str>) -> Option<String> {
    let known = &discovered.server.scopes_supported;
    let known: HashSet<&str> = known.iter().map(String::as_str).collect();
    let is_known = |scope: &&str| known.is_empty() || known.contains(scope);
    let own = discovered.resource.iter().flat_map(|resource| &resource.scopes_supported);
    let own: Vec<&str> = own.flat_map(|scope| tokens(scope)).filter(is_known).collect();
    let is_told = wanted.is_some() && !own.is_empty();
    let all: Vec<&str> = wanted.into_iter().flat_map(tokens).chain(own).collect();
    joined(&all).filter(|_| is_told)
}

/// True if all scopes of `some` are among `all`.
pub(crate) fn are_among(some: Option<&str>, all: Option<&str>) -> bool {
    // A client without scopes of its own may ask for any.
    let Some(all) = all else { return true };
    some.into_iter().flat_map(tokens).all(|scope| tokens(all).any(|one| one == scope))
}

fn grants_offline_access(discovered: &Discovered) -> bool {
    let server = &discovered.server;
    let renews =
        server.grant_types.is_empty() || server.grant_types.iter().any(|grant| grant == "refresh_token");
    renews && server.scopes_supported.iter().any(|scope| scope == OFFLINE_ACCESS)
}

/// The scopes in a text; what is none by RFC 6749, 3.3 is left out.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    let is_scope = |byte: u8| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\';
    text.split_ascii_whitespace().filter(move |token| token.bytes().all(is_scope))
}

/// Each once, in this order.
fn joined(tokens: &[&str]) -> Option<String> {
    let mut scope = String::new();
    let mut seen = HashSet::new();
    for token in tokens {
        if scope.len() + token.len() < SCOPE_BYTES_MAX && seen.insert(token) {
            if !scope.is_empty() {
                scope.push(' ');
            }
            scope.push_str(token);
        }
    }
    (!scope.is_empty()).then_some(scope)
}

#[cfg(test)]
mod tests;
