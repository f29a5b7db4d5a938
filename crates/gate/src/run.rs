//! Running an admitted call: its permit, its hands, its deadline, its cancellation, its panics.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use redact::Redactor;
use sandbox::Access;
use tool_api::{CallId, Cancel, Client, Context, Effect, Jobs, Listener, Outcome, Permit, Tasks, ToolError};

use crate::admitted::{Admitted, Ran};
use crate::approvals::InRun;
use crate::checks;
use crate::deadline::Deadline;
use crate::failure::{Failure, Internal};
use crate::hands::{Hands, Heard, Notes};
use crate::{large, redaction};

/// The caller's side of a call that runs.
pub(crate) struct Live {
    /// Set when the caller gives up.
    pub(crate) cancel: Cancel,
    /// Who hears of progress and log messages.
    pub(crate) listener: Option<Arc<dyn Listener>>,
    pub(crate) client: Client,
}

/// What answers the wishes of a call's hands.
pub(crate) struct Answering<'a> {
    pub(crate) run: InRun<'a>,
    pub(crate) notes: Arc<Notes>,
}

/// What its tool looks after, if it is one that does.
pub(crate) struct LookedAfter {
    pub(crate) jobs: Option<Arc<dyn Jobs>>,
    pub(crate) tasks: Option<Arc<dyn Tasks>>,
}

/// Runs the call.
pub(crate) async fn run(
    hands: Hands<'_>,
    redactor: &Redactor,
    LookedAfter { jobs, tasks }: LookedAfter,
    admitted: Box<Admitted>,
    live: Live,
    answering: Option<(Box<Answering<'_>>, Heard)>,
) -> Ran {
    #[expect(
        clippy::disallowed_methods,
        reason = "every check has passed; this is the one place that admits"
    )]
    let permit = Permit::issue(admitted.identity.id);
    let (given, notes) = (hands.give(&permit, &admitted), hands.notes.clone());
    let Admitted { identity, key, arguments, meta, input, plan, decision, obeyed, on_result } = *admitted;
    let rules = checks::on_messages(on_result.as_ref());
    let clean = |next| large::listener(checks::listener(&rules, redaction::listener(redactor, next)));
    let allowed = decision.and_then(|decision| Some((decision.obligations.timeout_max?, decision.rule)));
    let definition = identity.offered.definition();
    let within = |limit: Duration| allowed.as_ref().map_or(limit, |(most, _)| limit.min(*most));
    let (limit, limit_extended) = (within(definition.timeout), definition.extends_to.map(within));
    let deadline = Deadline::new(limit, limit_extended, live.listener.map(clean));

    // A tool of ours may work on a thread, which only hears of what it is told; a job tries again under the caller's own.
    let told = definition.upstream().is_none().then(|| live.cancel.child());
    let cancel = told.clone().unwrap_or_else(|| live.cancel.clone());
    // What is in `obeyed` a person was asked about, or the call would not be here.
    let access = if hands.dry_run.is_some() { Access::Read } else { access(definition.effect) };
    let files = hands.files.narrowed(access).agreeing(&obeyed);
    let cx = Context {
        meta,
        client: live.client,
        input,
        key,
        secrets: Some(redaction::secrets(redactor)),
        plan,
        path_rules: given.path_rules,
        dry_run: hands.dry_run.clone(),
        jobs,
        tasks,
        processes: given.processes,
        net: given.net,
        browser: given.browser,
        artifacts: given.artifacts,
        state: given.state,
        person: given.person,
        catalogue: hands.catalogue.clone(),
        ..Context::new(permit, files, cancel, deadline.listener())
    };
    let (answering, heard) = answering.unzip();
    let mut answered = pin!(answered(answering.as_deref(), heard));
    let work = AssertUnwindSafe(identity.offered.tool().run(arguments, &cx)).catch_unwind();
    let mut result = tokio::select! {
        biased;
        done = work => match done {
            Ok(done) => done.map_err(Failure::from),
            Err(_) => {
                // What a panic says may quote an argument, so it is not repeated.
                tracing::error!(tool = %definition.name, call = %identity.id, "a tool panicked");
                Err(Failure::Internal(Internal { call: identity.id }))
            }
        },
        () = live.cancel.cancelled() => Err(ToolError::cancelled().into()),
        limit = deadline.passed() => {
            told.iter().for_each(Cancel::cancel);
            Err(timed_out(limit, allowed.as_ref()).into())
        }
        // Only the end of the call ends it.
        () = &mut answered, if answering.is_some() => Err(Failure::Internal(Internal { call: identity.id })),
    };
    drop(cx);
    if let Some(answering) = &answering {
        answering.run.over.cancel();
        answered.await;
    }
    if let Some(notes) = notes.filter(|notes| notes.has_left() || result.is_err()) {
        result = Box::pin(after_programs(&notes, result, identity.id)).await;
    }
    Ran { identity, on_result, in_messages: checks::findings(&rules), result }
}

/// What comes of the call once the programs are gone that it has left running, and what they could write was looked at.
async fn after_programs(
    notes: &Notes,
    result: Result<Outcome, Failure>,
    call: CallId,
) -> Result<Outcome, Failure> {
    notes.all_gone().await;
    match (result, notes.changed_words()) {
        // Who gave it up hears nothing more of it.
        (Err(Failure::Tool(error)), Some(changed)) => {
            tracing::warn!(%call, "protected files have changed while programs ran whose call failed; its record names them");
            Err(error.with_line(&changed).into())
        }
        (result, _) => result,
    }
}

/// Answers what the hands of the call want until it is over; at once if nobody can be asked.
async fn answered(answering: Option<&Answering<'_>>, heard: Option<Heard>) {
    if let (Some(Answering { run, notes }), Some(heard)) = (answering, heard) {
        Box::pin(heard.answer(run, notes)).await;
    }
}

/// The least that the effect needs.
fn access(effect: Effect) -> Access {
    match effect {
        Effect::Reads => Access::Read,
        Effect::Writes | Effect::Destroys | Effect::Executes => Access::ReadWrite,
    }
}

/// The call has had its time: the tool's own, or what the rule of the policy that allows it leaves it.
fn timed_out(limit: Duration, allowed: Option<&(Duration, Arc<str>)>) -> ToolError {
    let by_rule = allowed
        .filter(|(most, _)| *most == limit)
        .map(|(_, rule)| format!("; the rule of the policy that allows it leaves it no more time: `{rule}`"));
    let by_rule = by_rule.unwrap_or_default();
    ToolError::new(
        "timeout",
        format!("the tool did not answer within {limit:?}; it was told to stop{by_rule}"),
    )
}
