//! `callback_wait`: waits until a callback fires.

use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_api::{
    About, ArgumentRoles, CALLBACK_WAIT, Context, Effect, Example, Need, Structured, Tool, ToolError, amend,
};

use super::callback::{NAME, remind};
use super::callbacks::{Callbacks, Fired};
use crate::plain_schema::plain;

/// How long a call waits that does not say how long, in milliseconds: half of what the least patient clients wait for.
const WAIT_MS: i64 = 30_000;

/// The longest, in milliseconds: those clients give up after a minute.
const WAIT_MS_MAX: i64 = 50_000;

/// How often it is looked at least: another call may set a nearer one.
const LOOK_EVERY_MS: i64 = 1_000;

/// Waits for callbacks.
#[derive(Debug)]
pub(crate) struct CallbackWait;

/// The arguments of `callback_wait`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = plain)]
pub(crate) struct Input {
    /// How long to wait at most, in milliseconds. Default: 30000.
    #[schemars(range(min = 0, max = WAIT_MS_MAX))]
    timeout_ms: Option<i64>,
}

/// What has come.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(transform = plain)]
pub(crate) struct Came {
    /// Whether a callback has fired.
    fired: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    callback_id: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// How often it fires yet; missing if it does without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<i64>,
    /// What there is to wait for.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting: Option<String>,
}

impl fmt::Display for Came {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.message.as_deref().or(self.waiting.as_deref());
        f.write_str(text.unwrap_or_default())
    }
}

impl Tool for CallbackWait {
    const ABOUT: About = About {
        name: CALLBACK_WAIT,
        title: "Wait for a callback",
        summary: "Wait until a callback fires that `SetCallback` has set, and give its message; what fired while nobody waited \
                  comes at once. After `timeout_ms` (30000 unless it is said, 50000 at most) it says what is still to come.",
        effect: Effect::Writes,
        arguments: ArgumentRoles::NONE,
        scopes: &[],
        needs: &[Need::State],
        idempotent: false,
        open_world: false,
        timeout: Duration::from_secs(60),
        examples: &[Example { title: "Whatever is due", arguments: r#"{"timeout_ms": 0}"# }],
    };
    type Input = Input;
    type Output = Structured<Came>;

    async fn run(&self, Input { timeout_ms }: Input, cx: &Context) -> Result<Structured<Came>, ToolError> {
        let state = cx.state()?;
        let until_ms = state.now_ms() + timeout_ms.unwrap_or(WAIT_MS).min(WAIT_MS_MAX);
        loop {
            let now_ms = state.now_ms();
            let all: Callbacks = tool_api::noted(state, NAME).await?;
            let is_due = all.next_ms().is_some_and(|due_ms| due_ms <= now_ms);
            // Another call may take it first.
            let fire = |all: &mut Callbacks| Ok(all.fire(now_ms));
            if is_due && let Some(fired) = amend(state, NAME, fire).await? {
                remind(state).await;
                let Fired { slot, message, left } = fired;
                let came = Came {
                    fired: true,
                    callback_id: Some(slot),
                    message: Some(message),
                    left,
                    waiting: None,
                };
                return Ok(Structured(came));
            }
            if now_ms >= until_ms || all.next_ms().is_none() {
                let waiting = Some(all.shown(now_ms).to_string());
                let came = Came { fired: false, callback_id: None, message: None, left: None, waiting };
                return Ok(Structured(came));
            }
            let next_ms = all.next_ms().unwrap_or(until_ms).min(until_ms).min(now_ms + LOOK_EVERY_MS);
            state.later((next_ms - now_ms).max(1)).await;
        }
    }
}
