//! Runs a command to its end: what it prints is gathered and told, and how it ends.

use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval, sleep};
use tool_api::{Chunk, Command, Context, PlainText, ToolError};

use super::command::{self, Open};
use super::output::Output;
use super::overwritten::Overwritten;
use super::ran::Ran;
use super::teller::Teller;

/// How often a client that asks for progress hears of a command that runs: each hears before it gives up.
const TELL_EVERY: Duration = Duration::from_secs(5);

/// What was printed is told once nothing more has come for so long, though no more should follow for hours.
const QUIET: Duration = Duration::from_millis(200);

/// A command to run.
pub(super) struct Run<'c> {
    pub(super) tool: &'static str,
    pub(super) command: &'c str,
    /// What it reads; nothing if that ends at once.
    pub(super) stdin: Option<Open>,
    pub(super) time_max: Option<Duration>,
    /// How much of what it prints is shown.
    pub(super) shown_bytes_max: usize,
    /// How much of it is told while it runs.
    pub(super) told_bytes_max: u64,
}

impl Run<'_> {
    /// # Errors
    /// It was not started. However a command that was has ended, what it printed is given.
    pub(super) async fn by(self, cx: &Context) -> Result<Ran, ToolError> {
        let program = command::program(self.command, self.stdin)?;
        let program = Command { time_max: self.time_max, ..program };
        // Its time begins within the start: measured from later, it would seem to have had less than it was given.
        let mut teller = Teller::new(cx, self.tool, self.told_bytes_max);
        let mut process = cx.process()?.start(program).await.map_err(command::not_started)?;
        if let Some(tasks) = &cx.tasks {
            tasks.reads(process.take_stdin());
        }
        let mut output = Output::new(cx, self.shown_bytes_max);
        let (mut plain, mut text) = (PlainText::with_returns(), String::new());
        let (mut overwritten, mut shown) = (Overwritten::default(), String::new());
        let mut ticks = interval(TELL_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first is at once.
        ticks.tick().await;
        loop {
            let is_told = teller.has_told();
            tokio::select! {
                biased;
                _ = ticks.tick() => teller.still_runs(),
                // What cannot be read has ended.
                chunk = process.next() => match chunk {
                    Ok(Some(Chunk::Stdout(bytes) | Chunk::Stderr(bytes) | Chunk::Told(bytes))) => {
                        plain.push(&bytes, &mut text);
                        teller.take(&text);
                        overwritten.push(&text, &mut shown);
                        output.take(&shown).await;
                        text.clear();
                        shown.clear();
                    }
                    Ok(None) | Err(_) => break,
                },
                () = sleep(QUIET), if !is_told => teller.quiet(self.stdin.is_some()),
            }
        }
        plain.finish(&mut text);
        teller.take(&text);
        overwritten.push(&text, &mut shown);
        overwritten.finish(&mut shown);
        output.take(&shown).await;
        let (ended, duration) = (process.wait().await, teller.elapsed());
        let ran = Ran::of(output.end().await, &ended, duration, self.time_max);
        teller.end(&ran.how());
        Ok(ran)
    }
}
