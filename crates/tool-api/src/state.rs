//! The hand of tools that remember: what one keeps for a caller and a workspace, over the end of the process.

use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::failure::ToolError;

/// How often a change is tried again that another process came before.
const RACES_MAX: usize = 16;

/// How the URI of what is kept under a name begins, where it is a resource: the name follows.
pub const STATE_SCHEME: &str = "toolcrib://";

/// The tool where callbacks come.
pub const CALLBACK_WAIT: &str = "callback_wait";

/// What is kept under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted {
    /// Another one after each change.
    pub version: u64,
    /// JSON text.
    pub value: Vec<u8>,
}

/// Whose turn it is to change what is kept.
pub struct Turn {
    _guard: Box<dyn Send>,
}

impl Turn {
    /// Lasts as long as this guard.
    pub fn of(guard: impl Send + 'static) -> Turn {
        Turn { _guard: Box::new(guard) }
    }
}

/// What tools keep for one caller in one workspace. No other caller, and no other workspace, finds it.
pub trait State: Send + Sync {
    /// What is kept under this name, if anything is.
    fn read<'a>(&'a self, name: &'static str) -> BoxFuture<'a, Result<Option<Noted>, ToolError>>;

    /// Keeps JSON text in place of the version that was `seen`, or where there was none; without text nothing is kept there any
    /// more. False if another call came before.
    fn replace<'a>(
        &'a self,
        name: &'static str,
        seen: Option<u64>,
        value: Option<Vec<u8>>,
    ) -> BoxFuture<'a, Result<bool, ToolError>>;

    /// Comes when nobody else of this process is changing what is kept under this name, and holds that until it is dropped.
    fn turn<'a>(&'a self, name: &'static str) -> BoxFuture<'a, Turn>;

    /// The time, in milliseconds since 1970.
    fn now_ms(&self) -> i64;

    /// Has those who have subscribed to what is kept under this name told at these times, in milliseconds since 1970, and at no
    /// others that were said before.
    fn remind(&self, name: &'static str, at_ms: Vec<i64>);

    /// Comes to an end after so many milliseconds.
    fn later(&self, ms: i64) -> BoxFuture<'_, ()>;
}

/// What is kept under a name; what nobody has kept yet is the default.
///
/// # Errors
/// It cannot be read.
pub async fn noted<T: DeserializeOwned + Default>(
    state: &dyn State,
    name: &'static str,
) -> Result<T, ToolError> {
    Ok(read(state, name).await?.1)
}

/// Changes what is kept under a name, however many calls do so at once: `change` is given what is there, and called again if
/// that was not the last word. Nothing is kept where it fails.
///
/// # Errors
/// Those of `change`; or it cannot be kept.
pub async fn amend<T: DeserializeOwned + Default + Serialize, R>(
    state: &dyn State,
    name: &'static str,
    mut change: impl FnMut(&mut T) -> Result<R, ToolError>,
) -> Result<R, ToolError> {
    let _turn = state.turn(name).await;
    for _ in 0..RACES_MAX {
        let (seen, mut value) = read(state, name).await?;
        let said = change(&mut value)?;
        let text = serde_json::to_vec(&value).map_err(|error| unreadable(name, &error))?;
        if state.replace(name, seen, Some(text)).await? {
            return Ok(said);
        }
    }
    Err(ToolError::new("state_busy", "other calls changed the same at the same time; call again"))
}

async fn read<T: DeserializeOwned + Default>(
    state: &dyn State,
    name: &'static str,
) -> Result<(Option<u64>, T), ToolError> {
    let Some(noted) = state.read(name).await? else { return Ok((None, T::default())) };
    let value = serde_json::from_slice(&noted.value).map_err(|error| unreadable(name, &error))?;
    Ok((Some(noted.version), value))
}

fn unreadable(name: &str, error: &serde_json::Error) -> ToolError {
    ToolError::new(
        "state_unreadable",
        format!("what is kept as `{name}` is not what this version keeps: {error}"),
    )
}
