//! Has the caller been given what the tool needs?

use policy::Caller;
use tool_api::Definition;

use crate::failure::Refusal;

/// The catalogue hides tools whose scopes a caller lacks; this is the second fence, in case it ever does not.
///
/// # Errors
/// The same words as for a tool that does not exist: a caller learns nothing it may not see.
pub(crate) fn scope(caller: &Caller, definition: &Definition) -> Result<(), Refusal> {
    match has_scopes(caller, definition) {
        true => Ok(()),
        false => Err(Refusal::UnknownTool(definition.name.to_string())),
    }
}

/// What every tool of another server declares. Which servers a caller may use is for the policy to say: by a rule, or by
/// the scope that bears the server's name.
const ANY_SERVER: &str = "upstream:call";

/// True if the caller holds every scope of the tool.
pub(crate) fn has_scopes(caller: &Caller, definition: &Definition) -> bool {
    missing_scopes(caller, definition).next().is_none()
}

/// The scopes of the tool that the caller does not hold.
pub fn missing_scopes<'a>(caller: &'a Caller, definition: &'a Definition) -> impl Iterator<Item = &'a str> {
    let is_left_to_policy = |scope: &str| definition.upstream().is_some() && scope == ANY_SERVER;
    let scopes = definition.scopes.iter().map(AsRef::as_ref);
    scopes.filter(move |scope| !caller.scopes().contains(scope) && !is_left_to_policy(scope))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bytes::Bytes;
    use policy::{Scopes, Via};
    use tool_api::{Effect, Listing, Origin, ToolName, Validate};

    use super::*;

    #[track_caller]
    fn check(upstream: Option<&str>, scopes: &[&str], held: &[&str], expected: Result<(), &str>) {
        let definition = Definition {
            name: ToolName::parse("scoped").expect("a name"),
            origin: upstream.map_or(Origin::BuiltIn, |name| Origin::Upstream(name.into())),
            description: "".into(),
            effect: Effect::Reads,
            marked_destructive: false,
            open_world: false,
            scopes: scopes.iter().map(|&scope| scope.into()).collect(),
            timeout: Duration::from_secs(1),
            extends_to: None,
            input_schema: Bytes::from_static(b"{}").into(),
            validate: Validate::Strict,
            output_schema: None,
            result_budget: tool_api::ResultBudget::Whole,
            listing: Listing::Relayed(Bytes::new()),
        };
        let held: Scopes = held.iter().map(|scope| policy::Scope::parse(scope).expect("a scope")).collect();
        let caller = Caller::local_user(Via::Stdio).with_scopes(held);
        let verdict = scope(&caller, &definition).map_err(|refusal| refusal.to_string());
        assert_eq!(verdict, expected.map_err(str::to_owned), "{scopes:?} {held:?}", held = caller.scopes());
    }

    #[test]
    fn the_second_fence_refuses_as_if_there_were_no_such_tool() {
        let refused = Err("unknown tool: scoped");
        check(None, &["read_workspace"], &["read_workspace"], Ok(()));
        check(None, &["read_workspace", "network"], &["read_workspace"], refused);
        check(None, &["network"], &[], refused);
        check(None, &[], &[], Ok(()));
        // Which servers a caller may use is for the policy to say, but nothing else that a tool needs.
        check(Some("u"), &["upstream:call"], &[], Ok(()));
        check(Some("u"), &["upstream:call", "network"], &[], refused);
        check(None, &["upstream:call"], &[], refused);
    }
}
