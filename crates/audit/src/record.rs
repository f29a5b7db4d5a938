//! What is noted of a call: who asked for what, what was decided, how it ended.

use std::borrow::Cow;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::hash::Hash;
use crate::members::Members;

/// The longest text of one member. Names that callers invent may be of any length; the audit log keeps this much.
pub const TEXT_BYTES_MAX: usize = 256;

/// Rules that a record names. More than a few have a say in no call.
pub const DECISIONS_MAX: usize = 16;

/// Hosts that a record names. A program that reaches more is told in sum.
pub const HOSTS_MAX: usize = 32;

/// Most files and folders in a record that a person was asked about: a call asks about fewer.
pub const FOLDERS_MAX: usize = 16;

/// Protected files that a record names. Those that have changed besides are told in number.
pub const PROTECTED_MAX: usize = 32;

/// Most artifacts of one call; the gate keeps no more.
pub const ARTIFACTS_MAX: usize = 64;

/// What is known of a call before it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// The call's own id. Unique among all calls of all processes: by it a call that was open when a
    /// process died is told from one whose record reached the audit log.
    pub call_id: Arc<str>,
    /// When the call came, in milliseconds since 1970.
    pub opened_at_ms: i64,
    /// Who asked.
    pub caller: Arc<str>,
    /// What sort of caller it is: `local_user`, `key`, `token`.
    pub caller_kind: Cow<'static, str>,
    /// What they were here, by the words of roles with blanks between them. Not kept of the local user, who owns all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller_roles: Option<Cow<'static, str>>,
    /// What they were granted, the same way; `*` for everything. Not kept of the local user, nor where it is longer than
    /// the audit log keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller_scopes: Option<Arc<str>>,
    /// The transport that the call came over.
    pub via: Cow<'static, str>,
    /// The tool's name as it was asked for.
    pub tool: Arc<str>,
    /// The upstream that owns the tool; `None` for our own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Arc<str>>,
    /// What the tool does; `None` if there is no such tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Cow<'static, str>>,
    /// The hash of the arguments as they came; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments_sha256: Option<Hash>,
    /// The size of the arguments as they came.
    pub arguments_bytes: u64,
    /// The arguments as JSON text without secrets; `None` if only their hash is kept. Filled in by the audit log's
    /// writer, which is given them apart from the record: nothing that can be written holds them as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Arc<str>>,
    /// The request id that the caller has sent with the call, without secrets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<Arc<str>>,
    /// What the caller says of itself and of what the call is about, as JSON text without secrets. Nobody has checked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claims: Option<Arc<str>>,
    /// The hash of what was sent beside the arguments (`_meta`), but for what belongs to the protocol; `None` if there was
    /// nothing, or it went nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meta_sha256: Option<Hash>,
    /// The hash of the tool's definition that the call was admitted by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition_sha256: Option<Hash>,
    /// `true` for a dry run, which changes nothing; the plan that a call in earnest follows; `None` for any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<Arc<str>>,
    /// The trace that the call belongs to (W3C Trace Context, 32 hexadecimal digits).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<Arc<str>>,
}

/// One rule that had a say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Decided {
    /// Who asked it: `policy`, `ai_rules`, `obeyed` (a file that others obey would be written).
    pub by: &'static str,
    /// The rule's id.
    pub rule: Arc<str>,
    /// Its verdict: `allow`, `ask`, `deny`, or an AI rule's action.
    pub effect: Cow<'static, str>,
}

/// What a person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Approved {
    /// The id of the approval.
    pub id: Arc<str>,
    /// Who answered.
    pub by: Arc<str>,
    /// Where: `terminal`, `rest`, `elicitation`, `grant`.
    pub through: &'static str,
    /// What: `approved`, `denied`, `expired`.
    pub answer: &'static str,
}

/// One host that a call reached or was refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Reached {
    /// Its name or address, with the port.
    pub host: Arc<str>,
    /// Why it was refused, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<Cow<'static, str>>,
    /// What a person said of it, if no rule names it and one was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approved>,
    /// How often.
    pub connections: u64,
    /// Bytes to the host.
    pub sent_bytes: u64,
    /// Bytes from the host.
    pub received_bytes: u64,
}

/// A file or folder beyond what a call sees, and what a person said of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wanted {
    /// Where it is, without links.
    pub path: Arc<str>,
    /// Whether it was to be written.
    pub writes: bool,
    /// What a person said.
    pub approval: Approved,
}

/// One finished call. In its line the members of the opening come first. By default one that nobody waited for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// What was known before it ran.
    pub opening: Opening,
    /// Each check that was made and its verdict, in order. Borrowed for the ways that most calls go.
    pub verdicts: Cow<'static, [(&'static str, &'static str)]>,
    /// The rules that had a say.
    pub decisions: Vec<Decided>,
    /// What a person answered, if one was asked.
    pub approval: Option<Approved>,
    /// The job that it was taken as, or ran for.
    pub job: Option<Arc<str>>,
    /// The profile of the sandbox that the call's programs had, if it ran some.
    pub profile: Option<&'static str>,
    /// What made their namespaces, if not we ourselves.
    pub launcher: Option<&'static str>,
    /// Layers of the sandbox that these ran without, or with a weaker form of.
    pub degraded: Vec<&'static str>,
    /// Limits that ended programs of the call, or that these reached.
    pub limits: Vec<&'static str>,
    /// The hosts that the call's programs and its tool reached, and those that they were refused.
    pub hosts: Vec<Reached>,
    /// How many more there were.
    pub hosts_more: u32,
    /// What the call's programs wanted to see or write beyond what they have, and a person was asked about.
    pub folders: Vec<Wanted>,
    /// Protected files, below the workspace, that have changed while the call's programs ran, whoever wrote them.
    pub protected_changed: Vec<Arc<str>>,
    /// How many more there were.
    pub protected_more: u32,
    /// The ids of the artifacts that the call has made.
    pub artifacts: Vec<Arc<str>>,
    /// How many places were struck out of the result.
    pub redactions: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// The stable code of what went wrong, or of the rule that refused.
    pub code: Option<Cow<'static, str>>,
    /// From the call's arrival to its answer, in microseconds.
    pub duration_us: u64,
    /// The size of the result that was sent.
    pub result_bytes: u64,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The tool did its work.
    Result,
    /// The tool ran and reported that it could not do its work.
    ToolError,
    /// The client was asked for a person's answer. What comes of the call is in the record of the round that brings it.
    Asked,
    /// It was taken as a job. What comes of it is in the records of the calls that run for the job.
    Accepted,
    /// A check did not let the call through.
    Refused,
    /// We could not do our part.
    Internal,
    /// The caller took the call back.
    Cancelled,
    /// The caller went away before the answer.
    #[default]
    Abandoned,
    /// The process, or the machine, ended while the call ran; found by a later process. Nobody knows what it
    /// has done.
    UnknownAfterCrash,
}

impl Opening {
    fn write_members(&self, into: &mut Members<'_>) {
        let Opening {
            call_id,
            opened_at_ms,
            caller,
            caller_kind,
            caller_roles,
            caller_scopes,
            via,
            tool,
            upstream,
            effect,
            arguments_sha256,
            arguments_bytes,
            arguments,
            request_id,
            claims,
            meta_sha256,
            definition_sha256,
            dry_run,
            trace_id,
        } = self;
        into.text("call_id", call_id);
        into.value("opened_at_ms", opened_at_ms);
        into.text("caller", caller);
        into.text("caller_kind", caller_kind);
        into.text_if("caller_roles", caller_roles.as_deref());
        into.text_if("caller_scopes", caller_scopes.as_deref());
        into.text("via", via);
        into.text("tool", tool);
        into.text_if("upstream", upstream.as_deref());
        into.text_if("effect", effect.as_deref());
        into.hash_if("arguments_sha256", arguments_sha256.as_ref());
        into.value("arguments_bytes", arguments_bytes);
        into.text_if("arguments", arguments.as_deref());
        into.text_if("request_id", request_id.as_deref());
        into.text_if("claims", claims.as_deref());
        into.hash_if("meta_sha256", meta_sha256.as_ref());
        into.hash_if("definition_sha256", definition_sha256.as_ref());
        into.text_if("dry_run", dry_run.as_deref());
        into.text_if("trace_id", trace_id.as_deref());
    }

    /// Shortens what is longer than the audit log keeps, so that a waiting record has a bounded size.
    pub(crate) fn cut(&mut self) {
        self.cut_to(TEXT_BYTES_MAX);
    }

    /// Shortens each text to so many bytes, but for the id, by which the call's record is found.
    pub(crate) fn cut_to(&mut self, bytes: usize) {
        cut_text(&mut self.call_id, TEXT_BYTES_MAX);
        let texts = [&mut self.caller, &mut self.tool].into_iter();
        let beside = [&mut self.upstream, &mut self.trace_id, &mut self.request_id, &mut self.claims];
        texts.chain(beside.into_iter().flatten()).for_each(|text| cut_text(text, bytes));
        // Half of what somebody may do is something else.
        self.caller_scopes.take_if(|scopes| scopes.len() > bytes);
        let words = [&mut self.caller_kind, &mut self.via].into_iter();
        words.chain(&mut self.effect).chain(&mut self.caller_roles).for_each(|word| cut_word(word, bytes));
    }
}

impl From<Opening> for Record {
    /// The record of a call that has come. Each call makes one, so nothing is made only to be thrown away, as a default opening
    /// would be.
    fn from(opening: Opening) -> Record {
        Record {
            opening,
            verdicts: Cow::Borrowed(&[]),
            decisions: Vec::new(),
            approval: None,
            job: None,
            profile: None,
            launcher: None,
            degraded: Vec::new(),
            limits: Vec::new(),
            hosts: Vec::new(),
            hosts_more: 0,
            folders: Vec::new(),
            protected_changed: Vec::new(),
            protected_more: 0,
            artifacts: Vec::new(),
            redactions: 0,
            outcome: Outcome::default(),
            code: None,
            duration_us: 0,
            result_bytes: 0,
        }
    }
}

impl Record {
    /// Shortens what is longer than the audit log keeps.
    pub(crate) fn cut(&mut self) {
        self.opening.cut();
        self.code.iter_mut().for_each(|code| cut_word(code, TEXT_BYTES_MAX));
        self.decisions.truncate(DECISIONS_MAX);
        for decided in &mut self.decisions {
            cut_text(&mut decided.rule, TEXT_BYTES_MAX);
            cut_word(&mut decided.effect, TEXT_BYTES_MAX);
        }
        let hosts_left = u32::try_from(self.hosts.len().saturating_sub(HOSTS_MAX)).unwrap_or(u32::MAX);
        self.hosts_more = self.hosts_more.saturating_add(hosts_left);
        self.hosts.truncate(HOSTS_MAX);
        self.hosts.iter_mut().for_each(Reached::cut);
        let left =
            u32::try_from(self.protected_changed.len().saturating_sub(PROTECTED_MAX)).unwrap_or(u32::MAX);
        self.protected_more = self.protected_more.saturating_add(left);
        self.protected_changed.truncate(PROTECTED_MAX);
        self.protected_changed.iter_mut().for_each(|path| cut_text(path, TEXT_BYTES_MAX));
        self.artifacts.truncate(ARTIFACTS_MAX);
        self.folders.truncate(FOLDERS_MAX);
        self.folders.iter_mut().for_each(|wanted| cut_text(&mut wanted.path, TEXT_BYTES_MAX));
        let of_folders = self.folders.iter_mut().map(|wanted| &mut wanted.approval);
        let of_hosts = self.hosts.iter_mut().filter_map(|reached| reached.approval.as_mut());
        for approved in self.approval.iter_mut().chain(of_hosts).chain(of_folders) {
            cut_text(&mut approved.id, TEXT_BYTES_MAX);
            cut_text(&mut approved.by, TEXT_BYTES_MAX);
        }
    }

    /// Appends all that it says, the opening first.
    pub(crate) fn write_members(&self, into: &mut Members<'_>) {
        // By name, so that none is forgotten.
        let Record {
            opening,
            verdicts,
            decisions,
            approval,
            job,
            profile,
            launcher,
            degraded,
            limits,
            hosts,
            hosts_more,
            folders,
            protected_changed,
            protected_more,
            artifacts,
            redactions,
            outcome,
            code,
            duration_us,
            result_bytes,
        } = self;
        opening.write_members(into);
        into.pairs("verdicts", verdicts);
        into.list_if("decisions", decisions);
        if let Some(approval) = approval {
            into.value("approval", approval);
        }
        into.text_if("job", job.as_deref());
        into.text_if("profile", *profile);
        into.text_if("launcher", *launcher);
        into.list_if("degraded", degraded);
        into.list_if("limits", limits);
        into.list_if("hosts", hosts);
        into.count_if("hosts_more", *hosts_more);
        into.list_if("folders", folders);
        into.list_if("protected_changed", protected_changed);
        into.count_if("protected_more", *protected_more);
        into.list_if("artifacts", artifacts);
        into.count_if("redactions", *redactions);
        into.value("outcome", outcome);
        into.text_if("code", code.as_deref());
        into.value("duration_us", duration_us);
        into.value("result_bytes", result_bytes);
    }

    /// The record of a call that was open when its process ended. How long it ran is not known.
    pub(crate) fn unknown_after_crash(opening: Opening) -> Self {
        Self { opening, outcome: Outcome::UnknownAfterCrash, ..Self::default() }
    }
}

impl Reached {
    pub(crate) fn cut(&mut self) {
        cut_text(&mut self.host, TEXT_BYTES_MAX);
        self.blocked.iter_mut().for_each(|why| cut_word(why, TEXT_BYTES_MAX));
    }
}

pub(crate) fn cut_text(text: &mut Arc<str>, bytes: usize) {
    if text.len() > bytes {
        *text = Arc::from(&text[..text.floor_char_boundary(bytes)]);
    }
}

/// The beginning of a text, as much of it as the audit log keeps.
pub(crate) fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(TEXT_BYTES_MAX)]
}

pub(crate) fn cut_word(text: &mut Cow<'static, str>, bytes: usize) {
    if text.len() > bytes {
        *text = Cow::Owned(text[..text.floor_char_boundary(bytes)].to_owned());
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A plain record for tests; only its id varies.
    pub(crate) fn sample(call_id: &str) -> Record {
        let opening = Opening {
            call_id: Arc::from(call_id),
            opened_at_ms: 1_700_000_000_000,
            caller: Arc::from("local"),
            caller_kind: Cow::Borrowed("local_user"),
            caller_roles: None,
            caller_scopes: None,
            via: Cow::Borrowed("stdio"),
            tool: Arc::from("workspace_read"),
            upstream: None,
            effect: Some(Cow::Borrowed("reads")),
            arguments_sha256: Some(Hash::of(b"{}")),
            arguments_bytes: 2,
            meta_sha256: None,
            request_id: None,
            claims: None,
            arguments: None,
            definition_sha256: None,
            dry_run: None,
            trace_id: None,
        };
        let verdicts = Cow::Borrowed(&[("scope", "pass"), ("policy", "pass")][..]);
        Record {
            verdicts,
            outcome: Outcome::Result,
            duration_us: 12,
            result_bytes: 34,
            ..Record::from(opening)
        }
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut record = sample("1");
        record.opening.tool = Arc::from("é".repeat(200));
        record.opening.upstream = Some(Arc::from("x".repeat(300)));
        record.opening.via = Cow::Owned("v".repeat(256));
        record.code = Some(Cow::Owned(format!("{}é", "c".repeat(255))));
        let decided = Decided { by: "policy", rule: Arc::from("r".repeat(300)), effect: "deny".into() };
        record.decisions = vec![decided; DECISIONS_MAX + 1];
        let reached = Reached {
            host: Arc::from("h".repeat(300)),
            blocked: Some("b".repeat(300).into()),
            approval: Some(Approved {
                id: "i".into(),
                by: "b".repeat(300).into(),
                through: "rest",
                answer: "denied",
            }),
            connections: 1,
            sent_bytes: 0,
            received_bytes: 0,
        };
        record.hosts = vec![reached; HOSTS_MAX + 3];
        let approval =
            Approved { id: "i".into(), by: "b".repeat(300).into(), through: "rest", answer: "approved" };
        let wanted = Wanted { path: Arc::from("/".repeat(300)), writes: false, approval };
        record.folders = vec![wanted; FOLDERS_MAX + 1];
        record.protected_changed = vec!["p".repeat(300).into(); PROTECTED_MAX + 2];
        record.cut();
        assert_eq!(record.folders.len(), FOLDERS_MAX);
        assert_eq!((record.protected_changed.len(), record.protected_more), (PROTECTED_MAX, 2));
        assert_eq!(record.protected_changed[0].len(), TEXT_BYTES_MAX);
        assert_eq!((record.folders[0].path.len(), record.folders[0].approval.by.len()), (256, 256));
        assert_eq!(record.decisions.len(), DECISIONS_MAX);
        assert_eq!((record.hosts.len(), record.hosts_more), (HOSTS_MAX, 3));
        assert_eq!(&*record.hosts[0].host, "h".repeat(256));
        assert_eq!(record.hosts[0].blocked.as_deref(), Some(&*"b".repeat(256)));
        assert_eq!(record.hosts[0].approval.as_ref().map(|approved| approved.by.len()), Some(256));
        assert_eq!(&*record.decisions[0].rule, "r".repeat(256));
        assert_eq!(&*record.opening.tool, "é".repeat(128));
        assert_eq!(record.opening.upstream.as_deref(), Some(&*"x".repeat(256)));
        assert_eq!(record.opening.via, "v".repeat(256));
        assert_eq!(record.code.as_deref(), Some(&*"c".repeat(255)));
    }
}
