//! What is known of a call that is to be judged.

use bytes::Bytes;
use serde_json::Value;

/// What is known of a call that is to be judged.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name.
    pub tool: &'a str,
    /// The upstream it lives on; nothing for ours.
    pub upstream: Option<&'a str>,
    /// True if it reaches beyond this machine; of an upstream's tool this is not asked.
    pub open_world: bool,
    /// True if it is another request of the protocol's than a tool's call, whose parameters have the protocol's names.
    pub is_action: bool,
    /// The schema of its arguments, as JSON text. The names that it declares are the tool's own words.
    pub input_schema: Option<&'a Bytes>,
    /// The same of its structured results.
    pub output_schema: Option<&'a Bytes>,
    /// The arguments that name paths, if the tool says so of itself: ours do. Otherwise any text may be one.
    pub paths: Option<&'a [&'a str]>,
    /// The arguments object.
    pub arguments: &'a Value,
    /// The arguments of an earlier call that this one goes on with, `Some(None)` if those are unknown: their paths are what
    /// it is about as well, and if they are unknown, so are the paths, and every rule about paths concerns it.
    pub begun_with: Option<&'a Option<Value>>,
    /// In a further round: what the client answers to the tool's questions, as JSON text.
    pub answers: Option<&'a str>,
    /// What the caller sends beside the arguments, without what belongs to the protocol, as JSON text.
    pub meta: Option<&'a str>,
}
