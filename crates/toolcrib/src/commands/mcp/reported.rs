//! How a server is doing, in words.

use admin::servers::{SandboxFacts, ServerFacts, ServerReport, ServerState, ServerStatus};

/// The name of a server with its workspace, unless that is the default one.
pub(super) fn label(facts: &ServerFacts) -> String {
    match &facts.workspace {
        Some(workspace) => format!("{} ({workspace})", facts.name),
        None => facts.name.clone(),
    }
}

/// Whether nobody needs to do something about it.
pub(super) fn is_good(state: &ServerState) -> bool {
    !matches!(state.status.as_str(), "failed" | "needs_auth" | "needs_client_registration")
}

/// How it is doing, in words.
pub(super) fn status(state: &ServerState) -> String {
    match state.status.as_str() {
        "" => "unknown".to_owned(),
        status => status.replace('_', " "),
    }
}

/// How its program is confined, in words.
pub(super) fn confinement(facts: Option<&SandboxFacts>) -> String {
    match facts {
        None => "-".to_owned(),
        Some(facts) if facts.without.is_empty() => facts.profile.clone(),
        Some(facts) => format!("{}, without {}", facts.profile, facts.without.join(" and ")),
    }
}

/// What its program was refused.
fn blocked(facts: &ServerFacts) -> Option<String> {
    let (first, more) = facts.sandbox.as_ref()?.refused.split_first()?;
    match more.len() {
        0 => Some(first.line()),
        more => Some(format!("{}, and {more} more", first.line())),
    }
}

/// What went wrong or waits for a person, and what to do about it.
pub(super) fn error(ServerStatus { state, facts }: &ServerStatus) -> String {
    let ServerFacts { name, circuit_open_ms, last_error, held_back_why, .. } = facts;
    let error = match (state.status.as_str(), &state.error) {
        (_, None) if circuit_open_ms.is_some() => {
            let wait_s = circuit_open_ms.unwrap_or_default().div_ceil(1000);
            format!("its calls get no answer; tried again in {wait_s} s")
        }
        ("needs_auth", _) => format!("run `toolcrib mcp auth {name}`"),
        ("failed", Some(error)) => format!("{error}; `toolcrib mcp test {name}` says more"),
        (_, Some(error)) => error.clone(),
        (_, None) => last_error.clone().unwrap_or_default(),
    };
    let held = held_back_why.as_ref().map(|held| format!("{held}; `toolcrib mcp trust {name}` shows more"));
    let parts = [error].into_iter().filter(|error| !error.is_empty()).chain(held).chain(blocked(facts));
    let all: Vec<String> = parts.collect();
    // One row is one line.
    all.join("; ").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// How it is doing, for a cell of a table.
pub(super) fn in_short(ServerReport { state, facts }: &ServerReport) -> String {
    let status = status(state);
    match (status.as_str(), &state.error) {
        ("connected", _) => {
            let counted_held = || Some(format!("{} held back", facts.held_back.filter(|held| *held > 0)?));
            let held = facts.held_back_why.clone().or_else(counted_held);
            let held = held.map(|held| format!(", {held}")).unwrap_or_default();
            format!("connected, {}{held}", counted(facts.tools))
        }
        (_, Some(error)) => format!("{status}: {error}"),
        (_, None) => status,
    }
}

pub(super) fn counted(tools: Option<u64>) -> String {
    match tools {
        Some(1) => "1 tool".to_owned(),
        Some(tools) => format!("{tools} tools"),
        None => "its tools unknown".to_owned(),
    }
}

/// How long ago something was, in the largest unit that fits.
pub(super) fn age(ms: i64) -> String {
    const MINUTE_MS: i64 = 60_000;
    const HOUR_MS: i64 = 60 * MINUTE_MS;
    const DAY_MS: i64 = 24 * HOUR_MS;
    match ms {
        ..MINUTE_MS => "new".to_owned(),
        MINUTE_MS..HOUR_MS => format!("{} min old", ms / MINUTE_MS),
        HOUR_MS..DAY_MS => format!("{} h old", ms / HOUR_MS),
        DAY_MS.. => format!("{} d old", ms / DAY_MS),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_told_in_the_largest_unit() {
        for (ms, expected) in [
            (-5, "new"),
            (60_000, "1 min old"),
            (3_599_999, "59 min old"),
            (3_600_000, "1 h old"),
            (86_400_000 * 9, "9 d old"),
        ] {
            assert_eq!(age(ms), expected);
        }
    }
}
