//! The artifacts of calls: what keeps them, when a result becomes one, and how a transport hands them out as they are.

use std::sync::Arc;

use artifacts::{Artifacts, Owner};
use bytes::Bytes;
use policy::{Caller, Via};
use sandbox::Root;
use serde_json::json;
use tokio::task::spawn_blocking;
use tool_api::{
    ARTIFACT_READ, Action, ArtifactReader, CallId, Cancel, JSON, Listener, Origin, ResultBudget, ToolError,
};

use super::Gate;
use crate::admitted::Identity;
use crate::cut::{Cutting, Place};
use crate::failure::Failure;
use crate::hands::{self, Keeper};
use crate::record_scope::RecordScope;
use crate::request::Call;
use crate::ruleset::Ruleset;

impl Gate {
    /// How the result of a call is cut that may be too long for one answer; nothing if it is to stay whole, as for whoever
    /// cannot read on.
    pub(super) fn cutting(
        &self,
        identity: &Identity,
        bytes: usize,
        listener: Option<Arc<dyn Listener>>,
        ruleset: &Ruleset,
        record: &mut RecordScope<'_>,
    ) -> Option<Cutting> {
        let bytes_max = match identity.offered.definition().result_budget {
            ResultBudget::Usual => ruleset.result.bytes(),
            ResultBudget::Bytes(most) => most,
            ResultBudget::Whole => return None,
        };
        if bytes <= bytes_max {
            return None;
        }
        // On the command line a person or a script reads, to whom no part is of use.
        if identity.caller.via() == Via::CommandLine {
            return None;
        }
        let offer = self.catalog.offer();
        let reader = offer.get(ARTIFACT_READ).filter(|tool| tool.definition().origin == Origin::BuiltIn)?;
        let place = if identity.action == Some(Action::GetTask) { Place::Task } else { Place::Call };
        let keeper = self.keeper(identity, listener, record)?;
        self.may_see(&identity.caller, reader).then_some(Cutting { bytes_max, place, keeper })
    }

    /// Keeps what the call is too large to say; nothing where nothing is kept.
    pub(super) fn keeper(
        &self,
        identity: &Identity,
        listener: Option<Arc<dyn Listener>>,
        record: &mut RecordScope<'_>,
    ) -> Option<Keeper> {
        Some(Keeper {
            artifacts: self.artifacts.clone()?,
            owner: artifact_owner(&identity.caller, &self.files),
            tool: identity.offered.definition().name.shared(),
            redactor: self.redactor.clone(),
            telemetry: self.telemetry.clone(),
            notes: record.notes(),
            listener,
        })
    }

    /// A failure of a tool whose output breaks its own promise, with where that output is kept, if anything is kept here.
    pub(super) async fn keeping_broken(
        &self,
        id: CallId,
        failure: Failure,
        output: Bytes,
        keeper: Option<Keeper>,
    ) -> Failure {
        let Some(keeper) = keeper else { return failure };
        let Failure::Tool(error) = failure else { return failure };
        match self.large.think(id, move || keeping(error, &output, &keeper)).await {
            Ok(error) => error.into(),
            Err(internal) => internal.into(),
        }
    }

    /// Opens an artifact of this caller: judged and recorded as the call of `artifact_read` that it is.
    ///
    /// # Errors
    /// As a call of that tool; what is another caller's is told as what is not there.
    pub async fn artifact(
        &self,
        caller: &Caller,
        id: &str,
        cancel: Cancel,
    ) -> Result<Box<dyn ArtifactReader>, Failure> {
        let arguments = json!({ "id": id, "bytes": 0 }).to_string().into();
        self.call(caller, Call { cancel, ..Call::tool(ARTIFACT_READ, Some(arguments)) }).await?;
        let gone =
            || Failure::from(ToolError::new("artifact_not_found", "the artifact has just been removed"));
        let artifacts = self.artifacts.clone().ok_or_else(gone)?;
        let (owner, id) = (artifact_owner(caller, &self.files), id.to_owned());
        let found = spawn_blocking(move || artifacts.open(&owner, &id).map_err(hands::refused)).await;
        Ok(hands::own(found.map_err(|_| ToolError::cancelled())??.ok_or_else(gone)?))
    }
}

/// The error, with where the output is. Waits for the disk.
fn keeping(error: ToolError, output: &[u8], keeper: &Keeper) -> ToolError {
    let kept = Artifacts::new_id().ok().map(|id| keeper.keep(id, ("output.json", JSON), output));
    let Some(Ok(artifact)) = kept else { return error };
    let message =
        format!("{error}\nWhat it gave is kept: read it with {ARTIFACT_READ} (id: \"{}\")", artifact.id);
    let details = json!({ "artifacts": [artifact.facts()] });
    ToolError::new(error.code().clone(), message).with_details(details)
}

/// Whose the artifacts of a caller's calls are.
fn artifact_owner(caller: &Caller, files: &Root) -> Owner {
    Owner {
        caller: caller.id().to_string(),
        key: caller.key_id().map(|key| key.to_string()),
        workspace: files.path().to_string_lossy().into_owned(),
    }
}
