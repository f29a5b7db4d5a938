//! `SetCallback`: a message that comes back later. `callback_wait` is where it comes.

use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use tool_api::{
    About, ArgumentRoles, Block, CALLBACK_WAIT, Context, Document, Effect, Example, Need, State, Tool,
    ToolError, amend, noted,
};

use super::callbacks::{Callbacks, DELAY_S_MAX, MESSAGE_CHARS_MAX, REPEATS, REPEATS_MAX};
use crate::plain_schema::plain;

/// Under which name they are kept.
pub(super) const NAME: &str = "callbacks";

/// Has whoever watches them told when each comes due. Said anew after each change.
pub(super) async fn remind(state: &dyn State) {
    // The change is kept, and what came of it must not be lost: where they cannot be read now, the next change says it.
    let Ok(all) = noted::<Callbacks>(state, NAME).await else { return };
    state.remind(NAME, all.due_ms());
}

/// Sets callbacks.
#[derive(Debug)]
pub(crate) struct SetCallback;

/// The arguments of `SetCallback`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// `set`, `list` or `cancel`.
    #[serde(default)]
    action: Action,
    /// For `set`: what is to come.
    #[schemars(length(max = MESSAGE_CHARS_MAX as u32))]
    message: Option<String>,
    /// For `set`: after how many seconds, each time.
    #[schemars(range(min = 1, max = DELAY_S_MAX))]
    delay_seconds: Option<i64>,
    /// For `set`: how often; -1 is without end. Default: 20.
    #[schemars(range(min = -1, max = REPEATS_MAX))]
    repeat_count: Option<i64>,
    /// For `cancel`: which one; without it all.
    callback_id: Option<u32>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Action {
    #[default]
    Set,
    List,
    Cancel,
}

impl Tool for SetCallback {
    const ABOUT: About = About {
        name: "SetCallback",
        title: "Set a callback",
        summary: "Have a message come back after a delay, again and again, to look at something later: a build, a server. Eight \
                  at once, kept over restarts. They come where you call `callback_wait`.",
        effect: Effect::Writes,
        arguments: ArgumentRoles::NONE,
        scopes: &[],
        needs: &[Need::State],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(30),
        examples: &[
            Example {
                title: "In half a minute, once",
                arguments: r#"{"action": "set", "message": "Look at the build", "delay_seconds": 30, "repeat_count": 1}"#,
            },
            Example { title: "All of them", arguments: r#"{"action": "list"}"# },
        ],
    };
    type Input = Input;
    type Output = Document;

    async fn run(&self, input: Input, cx: &Context) -> Result<Document, ToolError> {
        let Input { action, message, delay_seconds, repeat_count, callback_id } = input;
        let state = cx.state()?;
        let now_ms = state.now_ms();
        let said = match action {
            Action::List => noted::<Callbacks>(state, NAME).await?.shown(now_ms).to_string(),
            Action::Set => {
                let missing = "say in `message` what is to come, and in `delay_seconds` when";
                let given = message.as_deref().zip(delay_seconds);
                let (message, delay_s) = given.ok_or_else(|| ToolError::new("invalid_arguments", missing))?;
                let repeats = repeat_count.unwrap_or(REPEATS);
                amend(state, NAME, |all: &mut Callbacks| all.set(message, delay_s, repeats, now_ms)).await?
            }
            Action::Cancel => amend(state, NAME, |all: &mut Callbacks| all.cancel(callback_id)).await?,
        };
        if !matches!(action, Action::List) {
            remind(state).await;
        }
        let hint = matches!(action, Action::Set).then(|| format!("It comes where you call {CALLBACK_WAIT}."));
        Ok(Document([Some(said), hint].into_iter().flatten().map(Block::Text).collect()))
    }
}

#[cfg(test)]
mod tests;
