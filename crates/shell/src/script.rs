//! `Script`: the programs that a text for bash starts.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::matching::{Answer, matches};
use crate::parse;
use crate::word::Word;

/// Longer texts are not looked at.
pub(crate) const BYTES_MAX: usize = 16 * 1024;

/// A text of that length takes some milliseconds. On a machine that is busy it takes no more of this.
const TIME_MAX: Duration = Duration::from_millis(20);

/// A shell that is given a text in the text for another, and so on.
pub(crate) const DEPTH_MAX: usize = 4;

/// More programs than anybody reads.
pub(crate) const CALLS_MAX: usize = 1_000;

/// How long this thread has computed.
pub(crate) fn computed() -> Duration {
    // It starts at nothing, so this cannot fail.
    Duration::try_from(clock_gettime(ClockId::ThreadCPUTime)).unwrap_or(Duration::MAX)
}

/// Why it cannot be told. Holds nothing of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unclear {
    /// Nobody reads it whole.
    #[error("the text is longer than {BYTES_MAX} bytes")]
    Long,
    /// The grammar has no place for something in it, or a reader could take it otherwise than bash does.
    #[error("the text cannot be read as bash")]
    Syntax,
    /// It takes too long to read.
    #[error("the text takes too long to read")]
    Slow,
    /// The name of a program is made while it runs.
    #[error("what is run is not written in the text")]
    Name,
    /// So is a word that matters.
    #[error("a word that matters is not written in the text")]
    Word,
    /// A shell reads what it runs from elsewhere, or a program does that starts others.
    #[error("what is run is read from elsewhere")]
    Elsewhere,
    /// What names mean is changed.
    #[error("it changes what the names of programs mean")]
    Names,
    /// An option of a program that starts others is not known here.
    #[error("an option is not known here")]
    Option,
    /// Texts for shells in texts for shells.
    #[error("there is too much in it")]
    Much,
}

/// The programs that a text starts, in whatever order and on whatever condition.
#[derive(Debug)]
pub struct Script {
    pub(crate) calls: Vec<Call>,
    /// Why there may be others.
    pub(crate) unclear: Option<Unclear>,
    /// How long this thread has computed when reading it is given up.
    pub(crate) until: Duration,
}

/// One program with its arguments. Its name, without the folders before it, is written in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) args: Vec<Word>,
    /// Whether more arguments follow that are not in the text.
    pub(crate) is_open: bool,
}

impl Script {
    /// Reads a text.
    pub fn read(text: &str) -> Script {
        let mut script = Script { calls: Vec::new(), unclear: None, until: computed() + TIME_MAX };
        parse::read(text, 0, &mut script);
        script
    }

    /// Whether some program of this name is run, with these words first behind it if options are left out.
    ///
    /// # Errors
    /// It cannot be told.
    pub fn runs(&self, name: &str, words: &[&str]) -> Result<bool, Unclear> {
        let mut unclear = self.unclear;
        for call in &self.calls {
            match matches(call, name, words) {
                Answer::Yes => return Ok(true),
                Answer::No => {}
                Answer::Unclear(why) => unclear = unclear.or(Some(why)),
            }
        }
        unclear.map_or(Ok(false), Err)
    }

    /// The names of all programs that are run.
    ///
    /// # Errors
    /// It cannot be told.
    pub fn names(&self) -> Result<Vec<&str>, Unclear> {
        let names = || self.calls.iter().map(|call| call.name.as_str()).collect();
        self.unclear.map_or_else(|| Ok(names()), Err)
    }

    pub(crate) fn doubt(&mut self, why: Unclear) {
        self.unclear = self.unclear.or(Some(why));
    }
}

#[cfg(test)]
mod tests;
