//! What happens to a job, in numbered events.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limits::CHUNK_BYTES_MAX;
use crate::state::State;

/// What happened to a job.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Its tool began.
    Started {
        /// Which try it is, from 1.
        attempt: u32,
    },
    /// It has come so far.
    Progress {
        /// How much is done.
        done: f64,
        /// How much there is, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        total: Option<f64>,
        /// What is happening.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Its tool wrote something.
    Output {
        /// Where: `log`, or the name of a stream of its program.
        stream: String,
        /// What.
        chunk: String,
    },
    /// Its tool made something that can be fetched.
    Artifact {
        /// Its id.
        id: String,
        /// Its name.
        name: String,
        /// Its media type.
        #[serde(default)]
        media_type: String,
        /// Its size.
        bytes: u64,
        /// Its hash, in hexadecimal digits.
        sha256: String,
    },
    /// Its events hold no more output. What its tool keeps of the rest is in artifacts.
    OutputCut {},
    /// It stands otherwise, and has not ended.
    State {
        /// How.
        status: State,
        /// And why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        message: Option<String>,
    },
    /// Its tool wants an answer.
    InputRequired {},
    /// It has ended.
    Finished {
        /// How.
        status: State,
    },
}

impl Event {
    /// Output, as much of it as an event holds.
    pub fn output(stream: &str, chunk: &str) -> Event {
        let chunk = &chunk[..chunk.floor_char_boundary(CHUNK_BYTES_MAX)];
        Event::Output { stream: stream.to_owned(), chunk: chunk.to_owned() }
    }
}

/// An event with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Numbered {
    /// Which of the job's events it is, from 1; whoever has read so far goes on behind it.
    pub number: u64,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// What.
    #[serde(flatten)]
    pub event: Event,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_read_as_they_are_written() {
        let progress = Event::Progress { done: 1.0, total: None, message: Some("a".to_owned()) };
        let finished = Event::Finished { status: State::TimedOut };
        for (event, json) in [
            (Event::Started { attempt: 2 }, r#"{"number":3,"at_ms":5,"event":"started","attempt":2}"#),
            (progress, r#"{"number":3,"at_ms":5,"event":"progress","done":1.0,"message":"a"}"#),
            (Event::OutputCut {}, r#"{"number":3,"at_ms":5,"event":"output_cut"}"#),
            (Event::InputRequired {}, r#"{"number":3,"at_ms":5,"event":"input_required"}"#),
            (finished, r#"{"number":3,"at_ms":5,"event":"finished","status":"timed_out"}"#),
        ] {
            let numbered = Numbered { number: 3, at_ms: 5, event };
            assert_eq!(serde_json::to_string(&numbered).expect("JSON"), json);
            assert_eq!(serde_json::from_str::<Numbered>(json).expect("an event"), numbered);
        }
    }

    #[test]
    fn a_chunk_is_cut_between_characters() {
        let Event::Output { chunk, .. } = Event::output("log", &"é".repeat(CHUNK_BYTES_MAX)) else {
            panic!("it is output")
        };
        assert_eq!(chunk.len(), CHUNK_BYTES_MAX);
    }
}
