//! `Script`: the programs that a text for bash starts.

use crate::found::Found;
use crate::matching::{Answer, matches};
use crate::parse;
use crate::unclear::Unclear;

/// The programs that a text starts, in whatever order and on whatever condition.
#[derive(Debug)]
pub struct Script(Found);

impl Script {
    /// Reads a text.
    pub fn read(text: &str) -> Script {
        let mut found = Found::new(text);
        while let Some((text, place)) = found.texts.pop() {
            // Many short ones take long as well.
            if found.is_late() {
                found.doubt(Unclear::Slow);
                break;
            }
            parse::read(&text, place, &mut found);
        }
        Script(found)
    }

    /// Whether some program of this name is run, with these words first behind it if options are left out.
    ///
    /// # Errors
    /// It cannot be told.
    pub fn runs(&self, name: &str, words: &[&str]) -> Result<bool, Unclear> {
        let mut unclear = self.0.unclear;
        for call in &self.0.calls {
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
        let names = || self.0.calls.iter().map(|call| call.name.as_str()).collect();
        self.0.unclear.map_or_else(|| Ok(names()), Err)
    }
}

#[cfg(test)]
mod tests;
