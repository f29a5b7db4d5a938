//! One exact call, as an approval is bound to it: the hash of who calls what with which arguments under which
//! definition, and what a person is shown of it.

use std::sync::Arc;
use std::time::Duration;

use audit::Hash;
use redact::Redactor;
use tool_api::{BACKGROUND, BASH, Origin};

use super::canonical::Canonical;
use super::config::Config;
use super::presence::Asker;
use super::record::{Acted, Approval, Asked, Bound, Grant, Member, State};
use super::visible::visible;
use super::would_change::WouldChange;
use crate::candidate::{Candidate, Consent, Content};

/// How much of the arguments a person is shown, in bytes, unless they have too many members. The hash binds all of them.
const ARGUMENTS_SHOWN_BYTES_MAX: usize = 8 * 1024;

/// How much of those that have many.
const MEMBERS_SHOWN_BYTES_MAX: usize = 64 * 1024;

/// To how many bytes long values are cut, the first of these that makes room for all members.
const VALUE_SHOWN_BYTES: [usize; 4] = [2_048, 512, 128, 32];

/// How much is kept of arguments that cannot be shown whole, in bytes, for whoever wants to see them.
pub(super) const WHOLE_KEPT_BYTES_MAX: usize = 1 << 20;

/// How much of one member, in bytes.
const MEMBER_SHOWN_BYTES_MAX: usize = 120;

/// Longest pointer of a member that a permission can be bound to, in bytes.
const POINTER_BYTES_MAX: usize = 256;

/// A call that a person is asked about.
#[derive(Debug, Clone)]
pub(crate) struct ExactCall {
    /// The question, but for its id, its process and its times.
    pub(super) question: Approval,
    /// All of the arguments, if those in the question are cut.
    pub(super) whole: Option<String>,
    /// How long the question stays open.
    pub(super) lasts: Duration,
}

impl ExactCall {
    /// Of a call that the checks have questions about.
    pub(crate) fn of(
        candidate: &Candidate,
        (conversation, askers, workspace): (Option<u64>, &Arc<[Asker]>, &str),
        redactor: &Redactor,
        config: &Config,
    ) -> ExactCall {
        let definition = candidate.definition();
        let Content { arguments, meta, .. } = &candidate.content;
        let text = arguments.text();
        let canonical = Canonical::read_or_quote(text);
        let written = canonical.text();
        // What a caller says to the person alone: told in other words, it is the same call.
        let canonical = canonical.without(definition.listing.remarks());
        let bound = canonical.text();
        let clean = clean(&written, redactor);
        let clean = clean.as_deref().unwrap_or(&written);
        let Shown { text: arguments, whole } = Shown::of_clean(clean);
        // Of a tool of ours no `_meta` is bound.
        let meta = || Some(meta_of(&meta.as_ref()?.bound()?, redactor));
        let plan = candidate.plan.as_ref().map(|plan| Member::plan(plan, redactor));
        let beside = plan.or_else(meta);
        let tool = definition.name.to_string();
        let upstream = definition.upstream().map(str::to_owned);
        let caller = candidate.caller.id().clone();
        let key = candidate.caller.key_id().cloned();
        let hashed = candidate.offered.hash();
        let definition_hash = hashed.to_string();
        let beside_hash = beside.as_ref().map(|beside| beside.sha256.to_string());
        let mut parts = vec![
            &*caller,
            tool.as_str(),
            upstream.as_deref().unwrap_or_default(),
            candidate.action.map_or(&*candidate.target, |action| action.name()),
            &*candidate.target,
            key.as_deref().unwrap_or_default(),
            definition_hash.as_str(),
            workspace,
            bound.as_str(),
        ];
        parts.extend(beside_hash.as_deref());
        let question = Approval {
            id: Arc::default(),
            call_sha256: Hash::of_parts(parts.into_iter().map(str::as_bytes)),
            caller,
            key,
            via: candidate.caller.via().as_str().to_owned(),
            tool,
            upstream,
            workspace: workspace.to_owned(),
            definition_sha256: hashed,
            target: acted(candidate, redactor),
            arguments,
            arguments_bytes: text.len(),
            is_cut: whole.is_some(),
            beside,
            members: if types(candidate, &canonical) { Vec::new() } else { members(&canonical, clean) },
            beginnings: beginnings_of(candidate, &canonical, redactor),
            would_change: None,
            questions: candidate.judgement.consents.iter().map(|consent| asked(consent, config)).collect(),
            askers: askers.to_vec(),
            process: Arc::default(),
            conversation,
            asked_at_ms: 0,
            expires_at_ms: 0,
            awaited_until_ms: None,
            state: State::Pending,
            answered: None,
            used_at_ms: None,
        };
        // The shortest of the times that its rules give it.
        let lasts = candidate.judgement.consents.iter().filter_map(|consent| consent.lasts).min();
        ExactCall { question, whole, lasts: lasts.unwrap_or(config.lasts) }
    }

    /// The same, asked about with what it would change. The plan can be followed for so long at most.
    pub(crate) fn showing(mut self, would_change: WouldChange, lasts_max: Duration) -> ExactCall {
        self.question.would_change = Some(would_change);
        ExactCall { lasts: self.lasts.min(lasts_max), ..self }
    }

    /// The plan that it follows once it is allowed, if a rule wants one.
    pub(crate) fn plan(&self) -> Option<&Arc<str>> {
        self.question.would_change.as_ref().map(|it| &it.plan_hash)
    }

    /// Whether a standing permission answers all that is asked about this call.
    pub(super) fn is_granted_by(&self, grant: &Grant, process: &str, now_ms: i64) -> bool {
        let is_here = match &grant.bound {
            Bound::Always => true,
            Bound::Session { process: run, conversation, until_ms } => {
                run.as_ref().is_none_or(|run| **run == *process)
                    && conversation.is_none_or(|named| Some(named) == self.question.conversation)
                    && now_ms < *until_ms
            }
        };
        let question = &self.question;
        is_here
            && !question.is_for_once()
            && grant.caller == question.caller
            && grant.key == question.key
            && grant.tool == question.tool
            && grant.upstream == question.upstream
            && (grant.upstream.is_some() || grant.workspace == question.workspace)
            && grant.definition_sha256 == question.definition_sha256
            && grant.target.as_ref().map(|target| target.sha256)
                == question.target.as_ref().map(|target| target.sha256)
            && grant.beside_sha256 == question.beside.as_ref().map(|beside| beside.sha256)
            && question.questions.iter().all(|asked| grant.rules.contains(&asked.rule))
            && self.is_among(grant)
    }

    /// Whether its arguments are among those that a standing permission is for.
    fn is_among(&self, grant: &Grant) -> bool {
        if grant.beginnings.is_empty() {
            return grant.members.iter().all(|member| self.has(member));
        }
        let own = &self.question.beginnings;
        !own.is_empty() && own.iter().all(|begins| grant.beginnings.contains(begins))
    }

    /// Whether a question, and so its answer, is about this call and all that is asked about it. A rule that was added
    /// since has not been answered.
    pub(super) fn is_asked_by(&self, approval: &Approval) -> bool {
        let is_there = |asked: &Asked| {
            approval.questions.iter().any(|kept| kept.rule == asked.rule && kept.roles == asked.roles)
        };
        let plan = |approval: &Approval| approval.would_change.as_ref().map(|it| it.plan_hash.clone());
        approval.call_sha256 == self.question.call_sha256
            && plan(approval) == plan(&self.question)
            && self.question.questions.iter().all(is_there)
    }

    /// Whether what a run wants is what another run of the same tool of the same caller wanted there.
    pub(super) fn wants_the_same(&self, other: &Approval) -> bool {
        let own = &self.question;
        let target = |approval: &Approval| approval.target.as_ref().map(|target| target.sha256);
        target(own).is_some()
            && target(own) == target(other)
            && own.key == other.key
            && own.tool == other.tool
            && own.upstream == other.upstream
            && own.workspace == other.workspace
            && own.definition_sha256 == other.definition_sha256
    }

    fn has(&self, wanted: &Member) -> bool {
        self.question
            .members
            .iter()
            .any(|member| member.pointer == wanted.pointer && member.sha256 == wanted.sha256)
    }
}

/// Arguments as a person is shown them.
pub(super) struct Shown {
    pub(super) text: String,
    /// All of them, if the text is cut.
    pub(super) whole: Option<String>,
}

impl Shown {
    pub(super) fn of(json: &str, redactor: &Redactor) -> Shown {
        let written = Canonical::read_or_quote(json).text();
        Shown::of_clean(clean(&written, redactor).as_deref().unwrap_or(&written))
    }

    fn of_clean(clean: &str) -> Shown {
        let (text, is_cut) = shown(clean);
        Shown { text, whole: is_cut.then(|| cut(&visible(clean), WHOLE_KEPT_BYTES_MAX)) }
    }
}

/// A JSON text without secrets, if there are some in it.
fn clean(json: &str, redactor: &Redactor) -> Option<String> {
    String::from_utf8(redactor.json(json.as_bytes())?.bytes.to_vec()).ok()
}

/// As much of arguments as a person is shown, and whether that is not all: every member, and of long values the ends.
fn shown(clean: &str) -> (String, bool) {
    let whole = visible(clean);
    if whole.len() <= ARGUMENTS_SHOWN_BYTES_MAX {
        return (whole, false);
    }
    let canonical = Canonical::read_or_quote(clean);
    let mut text = whole;
    for value_max in VALUE_SHOWN_BYTES {
        text = visible(&canonical.shortened(value_max).text());
        if text.len() <= ARGUMENTS_SHOWN_BYTES_MAX {
            break;
        }
    }
    (cut(&text, MEMBERS_SHOWN_BYTES_MAX), true)
}

/// The caller's own `_meta`, under the name that the protocol has for it.
fn meta_of(text: &str, redactor: &Redactor) -> Member {
    let canonical = Canonical::read_or_quote(text);
    let written = canonical.text();
    let clean = clean(&written, redactor);
    let (shown, _) = shown(clean.as_deref().unwrap_or(&written));
    Member { pointer: "_meta".to_owned(), sha256: Hash::of(written.as_bytes()), shown }
}

/// What a call that is no call of a tool acts on.
fn acted(candidate: &Candidate, redactor: &Redactor) -> Option<Acted> {
    let (kind, target) = (candidate.kind?.to_owned(), &candidate.target);
    let shown = cut(&visible(&redactor.text(target)), MEMBER_SHOWN_BYTES_MAX);
    Some(Acted { kind, sha256: Hash::of(target.as_bytes()), shown })
}

fn asked(consent: &Consent, config: &Config) -> Asked {
    let roles = if consent.approvers.is_empty() { config.roles } else { consent.approvers };
    Asked {
        rule: consent.rule.clone(),
        why: consent.why.clone(),
        roles: roles.iter().map(|role| role.as_str().to_owned()).collect(),
        covers: consent.covers,
    }
}

/// Whether it types to a background task: its number is that of another program later, so nothing is bound to it.
fn types(candidate: &Candidate, arguments: &Canonical<'_>) -> bool {
    let definition = candidate.definition();
    definition.upstream().is_none()
        && definition.name.as_str() == BACKGROUND
        && arguments.members().iter().any(|(pointer, _)| pointer == "/task_id")
}

/// What the commands begin with that a shell of ours is to run. Nobody can tell what is typed to a program; and a secret is
/// nothing to go by.
fn beginnings_of(candidate: &Candidate, arguments: &Canonical<'_>, redactor: &Redactor) -> Vec<String> {
    let definition = candidate.definition();
    let is_shell = candidate.kind.is_none()
        && definition.origin == Origin::BuiltIn
        && [BASH, BACKGROUND].contains(&definition.name.as_str());
    if !is_shell || types(candidate, arguments) {
        return Vec::new();
    }
    let value = candidate.content.arguments.value();
    let beginnings = value["command"].as_str().and_then(shell::beginnings);
    let is_clean = |all: &Vec<String>| all.iter().all(|words| redactor.text(words) == *words);
    beginnings.filter(is_clean).unwrap_or_default()
}

/// The members of the arguments with what is shown of them. One whose way a secret lies on is left out.
fn members(canonical: &Canonical<'_>, clean: &str) -> Vec<Member> {
    let clean = Canonical::read(clean);
    let shown = clean.as_ref().map(Canonical::members).unwrap_or_default();
    let member = |pointer: String, value: &Canonical<'_>, shown: &Canonical<'_>| Member {
        sha256: value.hash(),
        shown: cut(&visible(&shown.text()), MEMBER_SHOWN_BYTES_MAX),
        pointer,
    };
    let whole = member(String::new(), canonical, clean.as_ref().unwrap_or(&Canonical::Object(Vec::new())));
    let each = canonical.members().into_iter().filter_map(|(pointer, value)| {
        let (_, shown) = shown.iter().find(|(at, _)| *at == pointer)?;
        let is_fit = pointer.len() <= POINTER_BYTES_MAX && visible(&pointer) == pointer;
        is_fit.then(|| member(pointer, value, shown))
    });
    std::iter::once(whole).chain(each).collect()
}

fn cut(text: &str, bytes_max: usize) -> String {
    match text.len() > bytes_max {
        true => format!("{}\u{2026}", text.get(..text.floor_char_boundary(bytes_max)).unwrap_or_default()),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_do_not_run_into_each_other() {
        let hash = |parts: [&'static str; 2]| Hash::of_parts(parts.map(str::as_bytes));
        assert_ne!(hash(["ab", "c"]), hash(["a", "bc"]));
        assert_eq!(cut("h\u{e9}llo", 2), "h\u{2026}");
        assert_eq!(cut("hi", 2), "hi");
    }
}
