//! The callbacks of one caller in one workspace: eight slots, each with a message that comes again after every delay. The words
//! are those that users of scorpiox code know.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use tool_api::{CALLBACK_WAIT, ToolError};

/// How many there are at once.
const SLOTS: u32 = 8;

/// The longest message, in characters.
pub(super) const MESSAGE_CHARS_MAX: usize = 2_048;

/// The longest delay, in seconds.
pub(super) const DELAY_S_MAX: i64 = 3_600;

/// How often a callback fires that does not say how often.
pub(super) const REPEATS: i64 = 20;

/// The most that can be said.
pub(super) const REPEATS_MAX: i64 = 1_000_000;

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Callbacks(BTreeMap<u32, Slot>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Slot {
    message: String,
    delay_s: i64,
    /// How often it fires yet; nothing if without end.
    left: Option<i64>,
    /// When it fires next, in milliseconds since 1970.
    due_ms: i64,
}

/// All of them, as whoever takes none sees them.
#[derive(Debug, Serialize)]
pub(super) struct Seen {
    /// Those that `callback_wait` would give at once.
    due: Vec<Waiting>,
    later: Vec<Waiting>,
    #[serde(skip)]
    now_ms: i64,
}

#[derive(Debug, Serialize)]
struct Waiting {
    callback_id: u32,
    message: String,
    /// In milliseconds since 1970.
    due_ms: i64,
    /// How often it fires yet; missing if without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    left: Option<i64>,
}

impl Waiting {
    fn of(callback_id: u32, Slot { message, left, due_ms, .. }: &Slot) -> Waiting {
        Waiting { callback_id, message: message.clone(), due_ms: *due_ms, left: *left }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Due, to be taken with {CALLBACK_WAIT}: {}", self.due.len())?;
        for Waiting { callback_id, message, .. } in &self.due {
            write!(f, "\n- [{callback_id}] {message}")?;
        }
        write!(f, "\n\nTo come: {}", self.later.len())?;
        for Waiting { callback_id, message, due_ms, .. } in &self.later {
            write!(f, "\n- [{callback_id}] {message} (in {}s)", (due_ms - self.now_ms) / 1_000)?;
        }
        Ok(())
    }
}

/// One that has fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fired {
    pub(super) slot: u32,
    pub(super) message: String,
    /// How often it fires yet; nothing if without end.
    pub(super) left: Option<i64>,
}

impl Callbacks {
    /// Takes a free slot. `repeats` is -1 for a callback without end; none and one are once.
    pub(super) fn set(
        &mut self,
        message: &str,
        delay_s: i64,
        repeats: i64,
        now_ms: i64,
    ) -> Result<String, ToolError> {
        if message.trim().is_empty() {
            return Err(ToolError::new("invalid_arguments", "say in `message` what is to come"));
        }
        let free = (0..SLOTS).find(|slot| !self.0.contains_key(slot));
        let full =
            || ToolError::new("callbacks_full", format!("Error: all callback slots full (max {SLOTS})"));
        let slot = free.ok_or_else(full)?;
        let left = (repeats >= 0).then(|| repeats.max(1));
        let due_ms = now_ms.saturating_add(delay_s * 1_000);
        self.0.insert(slot, Slot { message: message.to_owned(), delay_s, left, due_ms });
        let repeats = left.map_or("infinitely".to_owned(), |left| format!("{left} times"));
        Ok(format!("Callback scheduled: fires every {delay_s}s, repeats {repeats}."))
    }

    /// Frees one slot, or all of them.
    pub(super) fn cancel(&mut self, slot: Option<u32>) -> Result<String, ToolError> {
        let Some(slot) = slot else {
            let count = std::mem::take(&mut self.0).len();
            return Ok(match count {
                0 => "No active callbacks.".to_owned(),
                count => format!("Cancelled {count} callbacks."),
            });
        };
        let none = || {
            ToolError::new(
                "callback_not_found",
                format!("there is no callback in slot {slot}; list shows them"),
            )
        };
        let Slot { message, .. } = self.0.remove(&slot).ok_or_else(none)?;
        Ok(format!("Cancelled callback slot {slot}: \"{message}\""))
    }

    /// Has the one fire that is due longest, if one is. It comes again after a whole delay, however late this is.
    pub(super) fn fire(&mut self, now_ms: i64) -> Option<Fired> {
        let due = self.0.iter_mut().filter(|(_, slot)| slot.due_ms <= now_ms);
        let (&number, slot) = due.min_by_key(|(_, slot)| slot.due_ms)?;
        slot.left = slot.left.map(|left| left - 1);
        slot.due_ms = now_ms.saturating_add(slot.delay_s * 1_000);
        let fired = Fired { slot: number, message: slot.message.clone(), left: slot.left };
        if fired.left == Some(0) {
            self.0.remove(&number);
        }
        Some(fired)
    }

    /// When the next one fires; nothing if there is none.
    pub(super) fn next_ms(&self) -> Option<i64> {
        self.0.values().map(|slot| slot.due_ms).min()
    }

    /// When each of them fires next.
    pub(super) fn due_ms(&self) -> Vec<i64> {
        self.0.values().map(|slot| slot.due_ms).collect()
    }

    /// What is due by now, the longest first, and what is not.
    pub(super) fn seen(&self, now_ms: i64) -> Seen {
        let mut all: Vec<_> = self.0.iter().map(|(&number, slot)| Waiting::of(number, slot)).collect();
        all.sort_by_key(|waiting| waiting.due_ms);
        let (due, later) = all.into_iter().partition(|waiting| waiting.due_ms <= now_ms);
        Seen { due, later, now_ms }
    }

    /// What there is, as of now.
    pub(super) fn shown(&self, now_ms: i64) -> impl fmt::Display + use<> {
        if self.0.is_empty() {
            return "No active callbacks.".to_owned();
        }
        let lines = self.0.iter().map(|(number, Slot { message, left, due_ms, .. })| {
            let seconds = (due_ms - now_ms).max(0) / 1_000;
            let left = left.map_or("infinite".to_owned(), |left| format!("{left} left"));
            format!("\n  [{number}] \"{message}\" - fires in {}m{:02}s ({left})", seconds / 60, seconds % 60)
        });
        format!("Active callbacks ({}/{SLOTS}):{}", self.0.len(), lines.collect::<String>())
    }
}
