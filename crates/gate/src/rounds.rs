//! The rounds of a call whose tool asks for more: each passes the gate anew, tied to the one before by a
//! state that the tool gave out and the gate has sealed.

use bytes::Bytes;
use policy::Caller;
use serde_json::Value;
use tool_api::{Arguments, CallId, Definition, Input, Outcome, Payload, ToolError};

use crate::failure::{Failure, Internal, Refusal};
use crate::seal::{Binding, STATE_SEALED_MAX};
use crate::{Gate, Target};

/// What is known of a round when it begins.
pub(crate) struct Round {
    /// What the client sends, its state opened.
    pub(crate) input: Option<Input>,
    /// The arguments, to tie the next round to them.
    pub(crate) arguments: Bytes,
}

impl Gate {
    /// Opens what the client brings from the round before.
    ///
    /// # Errors
    /// A state that was not given to this caller for this very call, or not any more.
    pub(crate) fn open_round(
        &self,
        caller: &Caller,
        target: &Target<'_>,
        arguments: &Arguments,
        input: Option<Input>,
    ) -> Result<Round, Refusal> {
        let text = arguments.bytes();
        let Some(input) = input else { return Ok(Round { input: None, arguments: text }) };
        let state = match input.state {
            None => None,
            Some(sealed) => {
                let binding = bind(caller, target, arguments.value());
                Some(self.sealer.open(&binding, &sealed).map_err(Refusal::BadState)?)
            }
        };
        Ok(Round { input: Some(Input { state, ..input }), arguments: text })
    }

    /// Seals what the tool wants back, and gives a task the name its caller knows it by.
    ///
    /// # Errors
    /// A state that is too large to be opened again; or the system gives no randomness.
    pub(crate) fn close_round(
        &self,
        caller: &Caller,
        definition: &Definition,
        target: &Target<'_>,
        arguments: Bytes,
        outcome: Outcome,
        call: CallId,
    ) -> Result<Outcome, Failure> {
        let payload = match outcome.payload {
            Payload::InputRequired { requests, state: Some(state), hold } => {
                if state.len() > STATE_SEALED_MAX {
                    let why =
                        format!("the tool asks the client to keep more than {STATE_SEALED_MAX} bytes for it");
                    return Err(ToolError::new("state_too_large", why).into());
                }
                let internal = || Failure::Internal(Internal { call });
                let arguments = Arguments::parse(Some(arguments)).map_err(|_| internal())?;
                let binding = bind(caller, target, arguments.value());
                let state = Some(self.sealer.seal(&binding, &state).ok_or_else(internal)?);
                Payload::InputRequired { requests, state, hold }
            }
            Payload::Task { result, id } => {
                let source = definition.upstream.as_deref().unwrap_or(crate::BUILT_IN);
                Payload::Task { result, id: self.task_token(caller, source, &id).into() }
            }
            payload @ (Payload::Ours { .. } | Payload::Relayed { .. } | Payload::InputRequired { .. }) => {
                payload
            }
        };
        Ok(Outcome { payload, ..outcome })
    }

    /// What this caller knows a source's task by.
    pub fn task_token(&self, caller: &Caller, source: &str, id: &str) -> String {
        self.tokens.seal(caller.id(), source, id)
    }

    /// The source and its own id for a task, if the token was given to this caller.
    pub fn open_task_token(
        &self,
        caller: &Caller,
        token: &str,
    ) -> Option<(std::sync::Arc<str>, std::sync::Arc<str>)> {
        self.tokens.open(caller.id(), token)
    }
}

fn bind(caller: &Caller, target: &Target<'_>, arguments: &Value) -> Binding {
    let target = format!("{}\n{}", target.recorded(), target.name());
    Binding::new(caller.id(), &target, arguments)
}
