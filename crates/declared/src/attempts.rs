//! `Attempts`: trying once more, only what changes nothing by being done twice, and only where another attempt may come out
//! otherwise.

use std::time::Duration;

use tool_api::ToolError;

use crate::told::Meter;

/// How long is waited before each further attempt.
const PAUSES: [Duration; RETRIES_MAX] =
    [Duration::from_secs(1), Duration::from_secs(2), Duration::from_secs(4)];

/// Most further attempts. Whoever needs more has another trouble.
pub(crate) const RETRIES_MAX: usize = 3;

/// Failures that may be gone a moment later; a limit, a refusal and a wrong argument stay.
const PASSING: [&str; 4] = ["tool_failed", "invalid_output", "no_answer", "http_unavailable"];

/// The attempts of one call.
pub(crate) struct Attempts {
    made: usize,
    most: usize,
}

impl Attempts {
    /// One, and up to `retries` more.
    pub(crate) fn of(retries: u8) -> Attempts {
        Attempts { made: 0, most: usize::from(retries) + 1 }
    }

    /// Waits for the next attempt after one that failed. It is told.
    ///
    /// # Errors
    /// The same failure, if there is no next one.
    pub(crate) async fn after(&mut self, failure: ToolError, meter: &Meter<'_>) -> Result<(), ToolError> {
        let pause = PAUSES.get(self.made).copied();
        self.made += 1;
        let is_passing = PASSING.contains(&&**failure.code());
        let Some(pause) = pause.filter(|_| is_passing && self.made < self.most) else { return Err(failure) };
        let (made, most, seconds) = (self.made, self.most, pause.as_secs());
        meter.begin_again(format!(
            "attempt {made} of {most} failed: {failure}; the next begins in {seconds} s"
        ));
        tokio::time::sleep(pause).await;
        Ok(())
    }
}
