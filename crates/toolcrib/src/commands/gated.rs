//! What the commands that go through the gate share: whose calls they are, carrying one to its end, and showing what
//! came of it.

use std::sync::Arc;

use daemon::assemble::{Crib, assemble};
use daemon::person;
use daemon::upstreams::Start;
use gate::{Awaited, Call, Cancel, Failure, Offer, Outcome, Refusal};
use serde_json::{Value, json};
use terminal::signals::{Signals, unless_stopped};
use terminal::{Ending, Trouble, print, runtime};
use tokio::time::timeout;

use super::approvals;
use super::approvals::Here;
use super::caller::caller;
use super::mcp::ask;
use super::start::{Asking, Log, start};
use crate::cli::Cli;

/// Puts everything together, does the work with it, and closes it again.
pub(super) fn with_crib(
    cli: &Cli,
    work: impl AsyncFnOnce(&Crib) -> Result<Ending, Trouble>,
) -> Result<Ending, Trouble> {
    let mut loaded = start(cli, Log::Quiet, Asking::Here)?;
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
    unless_stopped(crib.gate.catalog().settled()).await
}

/// Carries a call to its end; a signal cancels it. A person at the terminal is asked about a call that needs one, and
/// without one an answer from elsewhere is waited for. `call` makes it, and once more when it was allowed.
pub(super) async fn carry<'a>(
    crib: &Crib,
    call: impl Fn() -> Call<'a>,
) -> Result<Result<Outcome, Failure>, Trouble> {
    let outcome = carry_once(crib, call()).await?;
    if let Err(Failure::Refused(Refusal::ApprovalPending(awaited))) = &outcome
        && answered(crib, awaited).await?
    {
        return carry_once(crib, call()).await;
    }
    Ok(outcome)
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
    let calling = crib.gate.call(&caller, call);
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
pub(super) fn failed(failure: &Failure, json: bool) -> Result<Ending, Trouble> {
    if json {
        let mut error = json!({ "code": failure.code(), "message": failure.to_string() });
        if let Failure::Refused(Refusal::ApprovalPending(awaited)) = failure {
            error["approval_id"] = (*awaited.id).into();
        }
        print::json(&json!({ "error": error }))?;
    } else {
        print::remark(&failure.to_string());
        hint(failure).iter().for_each(|hint| print::remark(hint));
    }
    Ok(ending(failure))
}

/// What a person can do about a failure. The failure itself says none of it, since models read it.
fn hint(failure: &Failure) -> Option<String> {
    let server = match failure {
        Failure::Tool(error) => error.details()?["upstream"].as_str()?,
        Failure::Refused(Refusal::ApprovalPending(awaited)) => {
            return Some(format!("approval {id}: toolcrib approvals show {id}", id = awaited.id));
        }
        Failure::Refused(Refusal::NeedsApproval(_)) => {
            return Some("name roles in `approvals.roles`, or allow it in the policy".to_owned());
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
fn ending(failure: &Failure) -> Ending {
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
        let refused = |refusal| ending(&Failure::Refused(refusal));
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
        assert_eq!(ending(&Failure::Tool(gate::ToolError::new("not_found", "no"))), Ending::Failed);
    }
}
