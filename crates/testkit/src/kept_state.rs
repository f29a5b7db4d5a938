//! What tools keep, in memory.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use tool_api::{Noted, State, ToolError, Turn};

/// Midday of 14 November 2023, in UTC.
const BEGAN_MS: i64 = 1_699_963_200_000;

/// What the tools of one caller keep. A clone has the same. Time passes by waiting alone.
#[derive(Clone, Default)]
pub struct KeptState(Arc<Mutex<Kept>>, Arc<tokio::sync::Mutex<()>>);

#[derive(Default)]
struct Kept {
    noted: HashMap<&'static str, Noted>,
    passed_ms: i64,
}

impl State for KeptState {
    fn read<'a>(&'a self, name: &'static str) -> BoxFuture<'a, Result<Option<Noted>, ToolError>> {
        let found = self.0.lock().expect("no panic").noted.get(name).cloned();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn replace<'a>(
        &'a self,
        name: &'static str,
        seen: Option<u64>,
        value: Option<Vec<u8>>,
    ) -> BoxFuture<'a, Result<bool, ToolError>> {
        let all = &mut self.0.lock().expect("no panic").noted;
        let is_seen = all.get(name).map(|noted| noted.version) == seen;
        if is_seen {
            match value {
                Some(value) => all.insert(name, Noted { version: seen.unwrap_or(0) + 1, value }),
                None => all.remove(name),
            };
        }
        Box::pin(std::future::ready(Ok(is_seen)))
    }

    fn turn<'a>(&'a self, _: &'static str) -> BoxFuture<'a, Turn> {
        Box::pin(async move { Turn::of(self.1.clone().lock_owned().await) })
    }

    fn now_ms(&self) -> i64 {
        BEGAN_MS + self.0.lock().expect("no panic").passed_ms
    }

    fn remind(&self, _: &'static str, _: Vec<i64>) {}

    fn later(&self, ms: i64) -> BoxFuture<'_, ()> {
        self.0.lock().expect("no panic").passed_ms += ms;
        Box::pin(std::future::ready(()))
    }
}
