//! What the commands that go through the gate share: whose calls they are, carrying one to its end, and showing what
//! came of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use config::Loaded;
use daemon::assemble::{Crib, assemble};
use daemon::person;
use daemon::upstreams::Start;
use gate::approvals::{Forms, is_question, unanswered};
use gate::{Awaited, Call, Cancel, Client, Failure, Input, Listener, Offer, Outcome, Payload, Refusal};
use serde_json::{Value, json};
use terminal::signals::{Signals, unless_stopped};
use terminal::{Ending, Trouble, print, runtime};
use tokio::time::timeout;
use upstream::{State, Upstream};

use super::approvals::Here;
use super::caller::caller;
use super::in_run::AtTerminal;
use super::mcp::ask;
use super::start::{Asking, Log, start};
use super::waiting::Steps;
use super::{approvals, forms, waiting};
use crate::cli::Cli;

/// Most rounds of one call. A tool that needs more is going in circles.
const ROUNDS_MAX: u32 = 10;

/// The pause before a call that asks for nothing is repeated.
const PAUSE: Duration = Duration::from_millis(500);

/// A command has one conversation, in which everything is asked.
const CONVERSATION: u64 = 1;

/// Puts everything together, does the work with it, and closes it again.
pub(super) fn with_crib(
    cli: &Cli,
    work: impl AsyncFnOnce(&Crib) -> Result<Ending, Trouble>,
) -> Result<Ending, Trouble> {
    with_crib_of(start(cli, Log::Quiet, Asking::Here)?, work)
}

/// The same by a configuration that was loaded.
pub(super) fn with_crib_of(
    mut loaded: Loaded,
    work: impl AsyncFnOnce(&Crib) -> Result<Ending, Trouble>,
) -> Result<Ending, Trouble> {
    // Whoever is there to be asked is asked at once, and who waits for somebody else is told so at once.
    let patience = std::mem::take(&mut loaded.settings.approvals.wait);
    runtime::run(async {
        let mut crib = assemble(loaded.settings, Start::WhenWanted)?;
        crib.patience = patience;
        let ending = work(&crib).await;
        crib.close().await;
        ending
    })?
}

/// The offer once all servers have said what they have, or have been waited for long enough.
pub(super) async fn settled(crib: &Crib) -> Result<Arc<Offer>, Trouble> {
    let late = || {
        let is_late = |upstream: &Arc<Upstream>| upstream.offers().borrow().state == State::Connecting;
        let late: Vec<String> =
            crib.upstreams.iter().filter(is_late).map(|upstream| upstream.name().to_owned()).collect();
        (!late.is_empty()).then(|| late.join(", "))
    };
    waiting::told(late, unless_stopped(crib.gate.catalog().settled())).await
}

/// Carries a call to its end; a signal cancels it. A person at the terminal is asked about a call that needs one, and
/// without one an answer from elsewhere is waited for. `call` makes it, and once more when it was allowed.
pub(super) async fn carry<'a>(
    crib: &Crib,
    call: impl Fn() -> Call<'a>,
) -> Result<Result<Outcome, Failure>, Trouble> {
    let outcome = carry_through(crib, &call).await?;
    if let Err(Failure::Refused(Refusal::ApprovalPending(awaited))) = &outcome
        && answered(crib, awaited).await?
    {
        return carry_through(crib, &call).await;
    }
    Ok(outcome)
}

/// One call with all that its tool asks of the person at the terminal.
async fn carry_through<'a>(
    crib: &Crib,
    call: &impl Fn() -> Call<'a>,
) -> Result<Result<Outcome, Failure>, Trouble> {
    if !ask::is_possible() {
        let call = call();
        let client = Client { knows_no_tasks: true, ..call.client.clone() };
        return carry_once(crib, Call { client, ..call }).await;
    }
    let forms = AtTerminal { kept: crib.gate.approvals().clone(), state: crib.shared.state.clone() };
    let (mut input, mut _held) = (None, None);
    for _ in 0..ROUNDS_MAX {
        let capabilities = Bytes::from_static(forms::FILLS_IN_FORMS);
        let call = call();
        let client =
            Client { capabilities, conversation: CONVERSATION, knows_no_tasks: true, ..call.client.clone() };
        let seen = || waiting::is_seen().then(|| Arc::new(Steps) as Arc<dyn Listener>);
        let listener = call.listener.clone().or_else(seen);
        let (given, forms) = (input.take(), Some(&forms as &dyn Forms));
        let outcome = carry_once(crib, Call { client, listener, input: given, forms, ..call }).await?;
        let Ok(Outcome { payload: Payload::InputRequired { requests, state, hold }, .. }) = outcome else {
            return Ok(outcome);
        };
        let responses = match &requests {
            // That is asked by whoever carries the call: it takes a person, and perhaps a code.
            Some(requests) if is_question(requests) => Some(unanswered()),
            Some(requests) => {
                let requests = serde_json::from_slice(requests).map_err(Trouble::because)?;
                Some(forms::answered(requests).await?)
            }
            // The tool only wants to be called again.
            None => {
                tokio::time::sleep(PAUSE).await;
                None
            }
        };
        // What the tool keeps for the next round.
        _held = hold;
        input = Some(Input { responses, state });
    }
    Err(Trouble::Failed(format!("the tool asked {ROUNDS_MAX} times and still wants more")))
}

/// Whether a person has answered: the one at the terminal, or somebody elsewhere in time. Whoever stops the program does
/// not want the answer any more.
async fn answered(crib: &Crib, awaited: &Awaited) -> Result<bool, Trouble> {
    let kept = crib.gate.approvals();
    // Who types here may be an agent with a terminal; then somebody else is waited for.
    if ask::is_possible() && person::present(&crib.shared.state, &[]).is_ok() {
        let is_answered = approvals::ask_here(&Here { kept, state: &crib.shared.state }, &awaited.id)?;
        kept.leave_open(&awaited.id).map_err(Trouble::because)?;
        return Ok(is_answered);
    }
    if crib.patience.is_zero() {
        return Ok(false);
    }
    let (id, patience) = (&awaited.id, crib.patience);
    print::remark(&format!(
        "waiting up to {patience:?} for a person to answer approval {id} in a terminal of their own"
    ));
    let waited = unless_stopped(timeout(crib.patience, approvals::until_answered(kept, &awaited.id))).await;
    match &waited {
        Ok(Ok(())) => {}
        // Whoever reads its id may come back for it.
        Ok(Err(_)) => kept.leave_open(&awaited.id).map_err(Trouble::because)?,
        Err(_) => kept.withdraw(&awaited.id).map_err(Trouble::because)?,
    }
    Ok(waited?.is_ok())
}

async fn carry_once(crib: &Crib, call: Call<'_>) -> Result<Result<Outcome, Failure>, Trouble> {
    let signals = Signals::listen()?;
    let cancel = Cancel::new();
    let call = Call { cancel: cancel.clone(), ..call };
    let caller = caller();
    let calling = waiting::told(|| Some("the answer".to_owned()), crib.gate.call(&caller, call));
    tokio::pin!(calling);
    Ok(tokio::select! {
        biased;
        result = &mut calling => result,
        () = signals.stop() => {
            cancel.cancel();
            calling.await
        }
    })
}

/// Shows a call that gave no outcome.
pub(super) fn failed(crib: &Crib, failure: &Failure, json: bool) -> Result<Ending, Trouble> {
    told(&crib.shared.state, failure, json)
}

/// The same where nothing is put together any more; `state` is the state folder.
pub(super) fn told(state: &Path, failure: &Failure, json: bool) -> Result<Ending, Trouble> {
    if json {
        let mut error = json!({ "code": failure.code(), "message": failure.to_string() });
        if let Failure::Refused(Refusal::ApprovalPending(awaited)) = failure {
            error["approval_id"] = (*awaited.id).into();
        }
        print::json(&json!({ "error": error }))?;
    } else {
        print::error(&failure.to_string());
        hint(state, failure).iter().for_each(|hint| print::remark(hint));
    }
    Ok(failed_as(failure))
}

/// What a person can do about a failure. The failure itself says none of it, since models read it.
fn hint(state: &Path, failure: &Failure) -> Option<String> {
    let server = match failure {
        Failure::Tool(error) => error.details()?["upstream"].as_str()?,
        Failure::Refused(Refusal::ApprovalPending(awaited)) => {
            return Some(format!("approval {id}: toolcrib approvals show {id}", id = awaited.id));
        }
        Failure::Refused(Refusal::NeedsApproval(_)) => {
            return Some("name roles in `approvals.roles`, or allow it in the policy".to_owned());
        }
        Failure::Refused(Refusal::NoAuditLog(_)) => {
            return Some(format!(
                "it lies in {}: look at its owner, its mode and its space",
                state.display()
            ));
        }
        Failure::Refused(Refusal::HeldBack(_)) => {
            return Some("to look at it: toolcrib mcp trust".to_owned());
        }
        Failure::Refused(_) | Failure::Internal(_) => return None,
    };
    let command = match failure.code() {
        "needs_auth" => "to sign in: toolcrib mcp auth",
        "upstream_unavailable" | "upstream_gone" => "what is wrong with it: toolcrib mcp test",
        _ => return None,
    };
    Some(format!("{command} {server}"))
}

/// Which exit code tells of which failure.
pub(super) fn failed_as(failure: &Failure) -> Ending {
    match failure {
        // What was typed is wrong; nobody forbade it.
        Failure::Refused(
            Refusal::UnknownTool(_)
            | Refusal::UnknownResource(_)
            | Refusal::UnknownPrompt(_)
            | Refusal::UnknownTask
            | Refusal::UnknownMethod(_)
            | Refusal::SeveralOwners { .. }
            | Refusal::Unsupported { .. }
            | Refusal::HeaderMismatch(_)
            | Refusal::BadState(_)
            | Refusal::InvalidArguments { .. },
        ) => Ending::Misused,
        // A refusal of another kind forbids.
        Failure::Refused(_) => Ending::Refused,
        Failure::Tool(_) | Failure::Internal(_) => Ending::Failed,
    }
}

/// One block of content for people: text as it is, anything else as a note of what it is.
pub(super) fn block(block: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let resource = &block["resource"];
    match block["type"].as_str() {
        Some("text") => word(&block["text"]),
        Some(kind @ ("image" | "audio")) => {
            format!("[{kind}: {}, {} bytes]", word(&block["mimeType"]), decoded_bytes(&block["data"]))
        }
        Some("resource") if resource["text"].is_string() => word(&resource["text"]),
        Some("resource") => binary(resource),
        Some("resource_link") => format!("[link: {}]", word(&block["uri"])),
        _ => "[content of an unknown type; --json shows it]".to_owned(),
    }
}

/// A note of what a resource is that is no text.
pub(super) fn binary(resource: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or("unknown").to_owned();
    let (uri, mime) = (word(&resource["uri"]), word(&resource["mimeType"]));
    format!("[resource: {uri}, {mime}, {} bytes]", decoded_bytes(&resource["blob"]))
}

/// How many bytes a base64 text stands for.
fn decoded_bytes(base64: &Value) -> usize {
    let text = base64.as_str().unwrap_or_default().trim_end_matches('=');
    text.len() * 3 / 4
}

#[cfg(test)]
mod tests {
    use gate::Ruling;

    use super::*;

    #[test]
    fn exit_codes_tell_failures_apart() {
        let refused = |refusal| failed_as(&Failure::Refused(refusal));
        assert_eq!(refused(Refusal::UnknownTool("x".into())), Ending::Misused);
        assert_eq!(
            refused(Refusal::InvalidArguments { tool: "x".into(), violations: vec![] }),
            Ending::Misused
        );
        assert_eq!(refused(Refusal::RateLimited { retry_after_ms: 1, limit: "x".into() }), Ending::Refused);
        assert_eq!(
            refused(Refusal::Denied(Ruling { tool: "x".into(), rule: "r".into(), why: "w".into() })),
            Ending::Refused
        );
        assert_eq!(failed_as(&Failure::Tool(gate::ToolError::new("not_found", "no"))), Ending::Failed);
    }
}
