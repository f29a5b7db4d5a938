//! What is kept of a question and its answer, and of a standing permission. Written as JSON, read by every process
//! that shares the store.

use std::sync::Arc;

use audit::Hash;
use policy::{Covers, Role, Roles};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::presence::Asker;
use super::would_change::WouldChange;
pub use crate::clock::time;

/// Letters and digits that nobody takes for one another.
const ID_ALPHABET: &[u8; 32] = b"23456789abcdefghjkmnpqrstuvwxyz0";

/// How long an id is, in characters: 40 bits, short enough to be typed.
const ID_CHARS: usize = 8;

/// A question to a person about one exact call, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    /// Its name, for people to type.
    pub id: Arc<str>,
    /// Stands for caller, tool, definition and arguments: what the answer is good for.
    pub call_sha256: Hash,
    /// Who asked.
    pub caller: Arc<str>,
    /// The id of the key that they hold, if it is one.
    #[serde(default)]
    pub key: Option<Arc<str>>,
    /// Through which door.
    pub via: String,
    /// Which tool, or which action of an upstream.
    pub tool: String,
    /// Whose it is; nothing for ours.
    pub upstream: Option<String>,
    /// The folder of the workspace that it was made in.
    #[serde(default)]
    pub workspace: String,
    /// The definition that the call would be admitted by.
    pub definition_sha256: Hash,
    /// What it acts on, if it is no call of a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Acted>,
    /// The arguments as JSON text for people: secrets struck out, nothing in it that could drive a terminal or hide.
    pub arguments: String,
    /// How many bytes of them there are; if it is more than are shown, the text was cut.
    pub arguments_bytes: usize,
    /// Whether the text was cut: long values show their ends only.
    pub is_cut: bool,
    /// What is sent beside the arguments (`_meta`), but for what belongs to the protocol; or the plan that plan mode is left with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<Member>,
    /// What a standing permission can be bound to, by JSON Pointer; the whole is at the empty one.
    pub members: Vec<Member>,
    /// What each command begins with that it runs, if it is one of a shell that a standing permission can be bound to so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beginnings: Vec<String>,
    /// What it would change, if a rule wants that shown: what the answer is good for, too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_change: Option<WouldChange>,
    /// What was asked, by which rules.
    pub questions: Vec<Asked>,
    /// The processes that the call came from, as far as the system told; none of them, and nothing below them, answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub askers: Vec<Asker>,
    /// The run of the program that made it.
    pub process: Arc<str>,
    /// The client's conversation there, if its end is heard of.
    pub conversation: Option<u64>,
    /// When it was asked, in milliseconds since 1970.
    pub asked_at_ms: i64,
    /// When the question ends, in milliseconds since 1970.
    pub expires_at_ms: i64,
    /// When the question ends before that unless this is put off, in milliseconds since 1970: as long as calls wait for
    /// its answer and nobody else knows of it, they do so. Nothing once a client has its id and may come back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub awaited_until_ms: Option<i64>,
    /// What became of it.
    pub state: State,
    /// Who answered, and how.
    pub answered: Option<Answered>,
    /// When the call ran that it was given for, in milliseconds since 1970.
    pub used_at_ms: Option<i64>,
}

/// One rule's question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// The rule.
    pub rule: Arc<str>,
    /// Its reason, completing "the tool …".
    pub why: Arc<str>,
    /// Who may answer, by role.
    pub roles: Vec<String>,
    /// What a plain yes is good for.
    #[serde(default)]
    pub covers: Covers,
}

/// What is acted on by something that is no call of a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Acted {
    /// `resource`, `prompt` or `task`; of what a run wants, `host`, `path to read` or `folder to write`.
    pub kind: String,
    /// The hash of its name, URI or token.
    pub sha256: Hash,
    /// What a person is shown of that.
    pub shown: String,
}

/// One member of the arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Where it lies.
    pub pointer: String,
    /// The hash of its canonical text.
    pub sha256: Hash,
    /// What a person is shown of it.
    pub shown: String,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It waits for a person.
    Pending,
    /// The call may run, once.
    Approved,
    /// It may not.
    Denied,
    /// It may, and has.
    Used,
    /// It was not answered, or the permission was not used, in time. The clock tells so; it is never kept.
    #[serde(skip)]
    Expired,
}

/// An answer as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Who.
    pub by: Arc<str>,
    /// Where.
    pub through: Through,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// Until when the call may run, in milliseconds since 1970.
    pub use_until_ms: i64,
    /// What the person said besides.
    pub note: Option<Arc<str>>,
    /// The standing permission that was given with it.
    pub grant: Option<Arc<str>>,
}

/// Where an answer was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Through {
    /// On the program's own command line.
    Terminal,
    /// Over HTTP.
    Rest,
    /// In the client.
    Elicitation,
    /// Beforehand, by a standing permission.
    Grant,
}

/// A standing permission: what was answered once for calls to come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grant {
    /// Its name, for people to type.
    pub id: Arc<str>,
    /// Whose calls.
    pub caller: Arc<str>,
    /// The id of the key that they hold, if it is one: a later key of their name has nothing of it.
    #[serde(default)]
    pub key: Option<Arc<str>>,
    /// Of which tool, or action.
    pub tool: String,
    /// Whose it is; nothing for ours.
    pub upstream: Option<String>,
    /// The folder of the workspace that it was given in: one for a tool of ours is good there alone.
    #[serde(default)]
    pub workspace: String,
    /// Of which definition: another one voids the permission.
    pub definition_sha256: Hash,
    /// On what, if it is for something else than calls of a tool: it is good for that alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Acted>,
    /// Beside which `_meta`: it is good for calls with that one alone, or for those without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside_sha256: Option<Hash>,
    /// The rules whose questions it answers.
    pub rules: Vec<Arc<str>>,
    /// Which arguments: all of these members are the same. Without one, any arguments.
    pub members: Vec<Member>,
    /// Which commands: each begins with one of these. Without one, the members say which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beginnings: Vec<String>,
    /// How long it is good.
    pub bound: Bound,
    /// The question it was given with.
    pub approval: Arc<str>,
    /// Who gave it.
    pub by: Arc<str>,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// How long a standing permission is good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "for")]
pub enum Bound {
    /// For one session.
    Session {
        /// The run of the program; nothing if every process honours it: the holder of a key has its session wherever
        /// its calls arrive.
        process: Option<Arc<str>>,
        /// The client's conversation there; nothing for a client without one.
        conversation: Option<u64>,
        /// The end in any case, in milliseconds since 1970.
        until_ms: i64,
    },
    /// Until it is revoked.
    Always,
}

impl State {
    /// The word for people, programs and the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            State::Pending => "pending",
            State::Approved => "approved",
            State::Denied => "denied",
            State::Used => "used",
            State::Expired => "expired",
        }
    }
}

impl Through {
    /// The word for people, programs and the audit log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Through::Terminal => "terminal",
            Through::Rest => "rest",
            Through::Elicitation => "elicitation",
            Through::Grant => "grant",
        }
    }
}

impl Acted {
    /// A host that a run wants to reach, with its port.
    pub const HOST: &str = "host";

    /// A file or folder that a program of a run wants to read.
    pub const READ: &str = "path to read";

    /// A folder that one wants to write.
    pub const WRITTEN: &str = "folder to write";

    /// Whether a run wanted it that was under way: what is allowed is that, whatever the call's arguments.
    pub fn is_wish(&self) -> bool {
        is_wish(&self.kind)
    }
}

/// Whether what a question is about was wanted by a run, by its kind.
pub fn is_wish(kind: &str) -> bool {
    [Acted::HOST, Acted::READ, Acted::WRITTEN].contains(&kind)
}

impl Approval {
    /// What became of it by now.
    pub fn status(&self, now_ms: i64) -> State {
        let use_until_ms = self.answered.as_ref().map_or(i64::MIN, |answered| answered.use_until_ms);
        match self.state {
            State::Pending if now_ms >= self.ends_at_ms() => State::Expired,
            State::Approved if now_ms >= use_until_ms => State::Expired,
            kept => kept,
        }
    }

    /// When the question ends, unless those who wait for it put that off, in milliseconds since 1970.
    pub fn ends_at_ms(&self) -> i64 {
        self.awaited_until_ms.map_or(self.expires_at_ms, |until_ms| until_ms.min(self.expires_at_ms))
    }

    /// Who may answer: for each question, one of these roles.
    pub fn approvers(&self) -> Vec<Roles> {
        self.questions.iter().map(|asked| roles(&asked.roles)).collect()
    }

    /// The roles that may answer, for people.
    pub fn roles(&self) -> Vec<String> {
        let all = self.approvers();
        let enough = |role: &Role| all.iter().all(|roles| roles.contains(*role));
        Role::ALL.iter().filter(|role| enough(role)).map(|role| role.as_str().to_owned()).collect()
    }

    /// Why it was asked, as one sentence without a full stop.
    pub fn why(&self) -> String {
        let reasons: Vec<String> =
            self.questions.iter().map(|asked| format!("{} (rule {})", asked.why, asked.rule)).collect();
        let covers = if self.covers_session() { "; a yes is good for this session" } else { "" };
        format!("`{}` {}{covers}", self.tool, reasons.join(", and "))
    }

    /// Whether its answer is good for this call alone, whoever gives it: what another one would change nobody has seen.
    pub fn is_for_once(&self) -> bool {
        self.would_change.is_some()
    }

    /// Whether a yes can hold for good for such calls: there is something that it can be bound to.
    pub fn can_hold_for_good(&self) -> bool {
        !self.members.is_empty() || self.target.as_ref().is_some_and(Acted::is_wish)
    }

    /// What its commands begin with, as far as that can be offered: what another call would change nobody has seen.
    pub fn offered_beginnings(&self) -> &[String] {
        if self.is_for_once() { &[] } else { &self.beginnings }
    }

    /// Whether a plain yes is good for every call of the tool in the session: all that is asked says so.
    pub fn covers_session(&self) -> bool {
        self.questions.iter().all(|asked| asked.covers == Covers::Session)
    }
}

impl Grant {
    /// Whether its time is up.
    pub fn is_over(&self, now_ms: i64) -> bool {
        matches!(self.bound, Bound::Session { until_ms, .. } if now_ms >= until_ms)
    }

    /// What it is good for, in words: which arguments, and of what acts on something, on what.
    pub fn pattern(&self) -> String {
        let arguments = self.arguments();
        match &self.target {
            Some(target @ Acted { kind, shown, .. }) if target.is_wish() => format!("{kind} {shown}"),
            Some(Acted { kind, shown, .. }) => format!("{kind} {shown}, {arguments}"),
            None => arguments,
        }
    }

    fn arguments(&self) -> String {
        if !self.beginnings.is_empty() {
            return begin_with(&self.beginnings);
        }
        let same = |member: &Member| match member.pointer.as_str() {
            "" => format!("exactly {}", member.shown),
            pointer => format!("{pointer} = {}", member.shown),
        };
        match self.members.is_empty() {
            true => "any arguments".to_owned(),
            false => self.members.iter().map(same).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Commands that begin so, in words.
pub fn begin_with(beginnings: &[String]) -> String {
    let quoted: Vec<String> = beginnings.iter().map(|words| format!("`{words}`")).collect();
    format!("commands that begin with {}", quoted.join(" or "))
}

/// The roles of these words; words of another version mean nobody.
fn roles(words: &[String]) -> Roles {
    words.iter().filter_map(|word| Role::parse(word)).collect()
}

/// A new id; nothing if the system gives no randomness.
pub(crate) fn new_id() -> Option<Arc<str>> {
    let mut random = [0u8; ID_CHARS];
    getrandom::fill(&mut random).ok()?;
    let id: String = random.iter().map(|byte| char::from(ID_ALPHABET[usize::from(byte % 32)])).collect();
    Some(id.into())
}
