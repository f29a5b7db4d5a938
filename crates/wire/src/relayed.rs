//! What a request that may be relayed carries besides its own parameters: `_meta`, and the answers and the state
//! of a request that takes several rounds (MCP 2026-07-28, "Multi Round-Trip Requests").

use std::borrow::Cow;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::error::{Code, WireError};
use crate::meta::{DRY_RUN, JOB, PLAN_HASH, PROGRESS_TOKEN, REQUEST_ID};
use crate::object::Object;
use crate::object_writer::ObjectWriter;
use crate::string;
use crate::text::Text;

/// Longest hash of a plan, in bytes.
const PLAN_HASH_BYTES_MAX: usize = 64;

/// Longest request id, in bytes.
const REQUEST_ID_BYTES_MAX: usize = 128;

/// What all keys of our own begin with. Made once, since making one costs more than most searches.
static OUR_NAME: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("toolcrib"));
static PROGRESS_WORD: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(PROGRESS_TOKEN));

/// An `InvalidParams` with a sentence.
pub(crate) fn invalid(why: &str) -> WireError {
    WireError::new(Code::InvalidParams, format!("Invalid params: {why}"))
}

/// These members as read.
#[derive(Debug, Clone, Default)]
pub struct Extras {
    /// The whole `_meta` object, as written.
    pub meta: Option<Text>,
    /// The token for progress notifications, as written.
    pub progress_token: Option<Text>,
    /// By which the call is known if it is sent again.
    pub request_id: Option<String>,
    /// Whether the call changes nothing.
    pub dry_run: bool,
    /// The dry run that it follows.
    pub plan_hash: Option<String>,
    /// What the client wants of a job, as written.
    pub job: Option<Text>,
    /// What the client answered to the questions of the round before, as written.
    pub input_responses: Option<Text>,
    /// The state that the round before gave it.
    pub request_state: Option<String>,
}

impl Extras {
    /// Keeps a member if it is one of these. `value` must be a slice of `whole`.
    ///
    /// # Errors
    /// `InvalidParams` for answers that are no object and a state that is no string. An unusable `_meta` or
    /// token counts as none: legacy clients send such, and nothing is lost but progress.
    pub(crate) fn take(&mut self, whole: &Text, key: &str, value: &str) -> Result<(), WireError> {
        match key {
            "_meta" if value.starts_with('{') => {
                self.read_meta(whole, value)?;
                self.meta = Some(whole.slice(value));
            }
            "inputResponses" | "requestState" if value == "null" => {}
            "inputResponses" if value.starts_with('{') => self.input_responses = Some(whole.slice(value)),
            "inputResponses" => return Err(invalid("\"inputResponses\" must be an object")),
            "requestState" => match string::decode_if_string(value) {
                Some(state) => self.request_state = Some(state.into_owned()),
                None => return Err(invalid("\"requestState\" must be a string")),
            },
            _ => {}
        }
        Ok(())
    }

    /// Reads what `_meta` says to us.
    fn read_meta(&mut self, whole: &Text, meta: &str) -> Result<(), WireError> {
        let bytes = meta.as_bytes();
        // Every modern request has a `_meta`, and few say any of this in it: a search costs less than going through it.
        // Any letter of a key may be spelt as an escape, and so may the slash behind our name.
        let may_say = OUR_NAME.find(bytes).is_some() || PROGRESS_WORD.find(bytes).is_some();
        let Some(object) = Object::parse(meta).filter(|_| may_say || string::has_unicode_escape(bytes))
        else {
            return Ok(());
        };
        let [mut token, mut request, mut dry, mut plan, mut job] = [None; 5];
        for member in object.members() {
            let slot = match &*member.key() {
                PROGRESS_TOKEN => &mut token,
                REQUEST_ID => &mut request,
                DRY_RUN => &mut dry,
                PLAN_HASH => &mut plan,
                JOB => &mut job,
                _ => continue,
            };
            *slot = Some(member.value);
        }
        self.progress_token = token.filter(|token| is_token(token)).map(|token| whole.slice(token));
        self.job = job.map(|job| whole.slice(job));
        self.request_id = request.map(request_id).transpose()?;
        self.dry_run = dry.map(dry_run).transpose()?.unwrap_or_default();
        self.plan_hash = plan.map(plan_hash).transpose()?;
        Ok(())
    }
}

/// What a request about one thing names as `key`, and what it carries besides.
///
/// # Errors
/// `InvalidParams` if the name is missing or empty, the arguments or the answers are no object, or the state is no string.
pub(crate) fn named(method: &str, key: &str, params: Option<&Text>) -> Result<(String, Extras), WireError> {
    let missing = || invalid(&format!("{method} needs the string \"{key}\""));
    let (Some(text), Some(object)) = (params, params.and_then(Text::object)) else {
        return Err(missing());
    };
    let (mut name, mut extras) = (None, Extras::default());
    for member in object.members() {
        match member.key().as_ref() {
            "arguments" if !member.value.starts_with('{') && member.value != "null" => {
                return Err(invalid("\"arguments\" must be an object"));
            }
            found if found == key => {
                name = string::decode_if_string(member.value).filter(|name| !name.is_empty());
            }
            found => extras.take(text, found, member.value)?,
        }
    }
    Ok((name.ok_or_else(missing)?.into_owned(), extras))
}

/// It may not count as none: its call would run twice.
fn request_id(value: &str) -> Result<String, WireError> {
    let id = string::decode_if_string(value).filter(|id| !id.is_empty() && id.len() <= REQUEST_ID_BYTES_MAX);
    id.map(Cow::into_owned).ok_or_else(|| {
        invalid(&format!("\"{REQUEST_ID}\" must be a string of 1 to {REQUEST_ID_BYTES_MAX} bytes"))
    })
}

/// It may not count as none: its call would change something.
fn dry_run(value: &str) -> Result<bool, WireError> {
    match value {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(invalid(&format!("\"{DRY_RUN}\" must be true or false"))),
    }
}

/// The same: its call would not be held against the plan.
fn plan_hash(value: &str) -> Result<String, WireError> {
    let hash = string::decode_if_string(value).filter(|hash| hash.len() <= PLAN_HASH_BYTES_MAX);
    hash.map(Cow::into_owned)
        .ok_or_else(|| invalid(&format!("\"{PLAN_HASH}\" must be a string that a dry run gave")))
}

fn is_token(value: &str) -> bool {
    value.starts_with(['"', '-']) || value.starts_with(|c: char| c.is_ascii_digit())
}

/// These members as they go to an upstream. All but `request_state` are JSON text.
#[derive(Debug, Clone, Copy, Default)]
pub struct Relayed<'a> {
    /// The whole `_meta` object.
    pub meta: Option<&'a str>,
    /// `inputResponses`: what the client answered, by key.
    pub input_responses: Option<&'a str>,
    /// `requestState`, exactly as the upstream gave it.
    pub request_state: Option<&'a str>,
    /// `task`: asks a server of 2025-11-25 to run the request as a task.
    pub task: Option<&'a str>,
}

impl Relayed<'_> {
    /// Writes those that are there, and ends the object.
    pub(crate) fn end(&self, params: ObjectWriter<'_>) {
        params
            .json("_meta", self.meta)
            .json("inputResponses", self.input_responses)
            .string("requestState", self.request_state)
            .json("task", self.task)
            .end();
    }
}
