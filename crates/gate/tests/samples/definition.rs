//! The definition that the tests' own tools have; each says only what it wants to be different.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use gate::{Definition, Listing};
use tool_api::{Effect, Origin, ToolName, Validate};

/// A tool of this server, or one of ours, that takes whatever it is given.
pub(crate) fn definition(upstream: Option<&str>, name: &str, effect: Effect) -> Definition {
    Definition {
        name: ToolName::parse(name).expect("a test uses good names"),
        origin: upstream.map_or(Origin::BuiltIn, |name| Origin::Upstream(name.into())),
        description: "".into(),
        effect,
        marked_destructive: false,
        open_world: upstream.is_some(),
        scopes: Arc::new([]),
        timeout: Duration::from_secs(5),
        extends_to: None,
        input_schema: Bytes::from_static(b"{}").into(),
        validate: Validate::Strict,
        output_schema: None,
        result_budget: tool_api::ResultBudget::Whole,
        listing: Listing::Relayed(Bytes::new()),
    }
}
