//! The rounds of a call whose tool asks for more: each passes the gate anew, tied to the one before by a
//! state that the tool gave out and the gate has sealed.

use std::sync::Arc;

use bytes::Bytes;
use policy::Caller;
use serde_json::Value;
use tool_api::{Action, Arguments, CallId, Definition, Input, Outcome, Payload, ToolError};

use crate::approvals::{Carried, Question};
use crate::failure::{Failure, Internal, Refusal};
use crate::seal::{Binding, STATE_SEALED_MAX, StateFault};
use crate::tokens::{Origin, Task};
use crate::{Gate, Target, checks};

/// What a state begins with that is our own question about an approval.
pub(crate) const QUESTION: char = 'q';

/// What a tool's state begins with.
const TOOLS: char = 't';

/// What a tool's state begins with whose call a person has allowed; the permission follows on a line of its own.
const ALLOWED: char = 'a';

/// Longest state of a tool, in bytes: beside it there is room for a permission.
const TOOL_STATE_MAX: usize = STATE_SEALED_MAX - 16 * 1024;

/// What is known of a round when it begins.
pub(crate) struct Round {
    /// What the client sends for the tool, its state opened.
    pub(crate) input: Option<Input>,
    /// The arguments, to tie the next round to them.
    pub(crate) arguments: Bytes,
    /// True if it goes on with a call that was admitted, or asked about, in an earlier round.
    pub(crate) goes_on: bool,
    /// The permission that the call got in an earlier round.
    pub(crate) carried: Option<Carried>,
    /// What the client was asked about the call, and what it brings for an answer.
    pub(crate) question: Option<Question>,
    /// That answer.
    pub(crate) answers: Option<Bytes>,
    /// The arguments that the call runs with, if rules have changed them.
    pub(crate) ran: Option<Bytes>,
}

impl Round {
    fn first(arguments: Bytes) -> Round {
        Round {
            input: None,
            arguments,
            goes_on: false,
            carried: None,
            question: None,
            answers: None,
            ran: None,
        }
    }
}

impl Gate {
    /// Opens what the client brings from the round before.
    ///
    /// # Errors
    /// A state that was not given to this caller for this very call, or not any more.
    pub(crate) async fn open_round(
        &self,
        caller: &Caller,
        target: &Target<'_>,
        arguments: &Arguments,
        input: Option<Input>,
    ) -> Result<Round, Refusal> {
        let first = Round::first(arguments.bytes());
        let Some(Input { responses, state }) = input else { return Ok(first) };
        let Some(sealed) = state else {
            return Ok(Round { input: Some(Input { responses, state: None }), ..first });
        };
        let binding = bind(caller, target, arguments.value());
        let state = self.sealer.open(&binding, &sealed).await.map_err(Refusal::BadState)?;
        let goes_on = true;
        let of_tool = |state: &str| Some(Input { responses: responses.clone(), state: Some(state.into()) });
        let mut rest = state.chars();
        let round = match (rest.next(), rest.as_str()) {
            (Some(QUESTION), text) => Question::parse(text).map(|(question, input)| Round {
                input,
                goes_on,
                question: Some(question),
                answers: responses.clone(),
                ..first
            }),
            (Some(ALLOWED), text) => text.split_once('\n').and_then(|(permission, state)| {
                let carried = Some(Carried::parse(permission)?);
                Some(Round { input: of_tool(state), goes_on, carried, ..first })
            }),
            (Some(TOOLS), state) => Some(Round { input: of_tool(state), goes_on, ..first }),
            _ => None,
        };
        // Whatever opens was written here.
        round.ok_or(Refusal::BadState(StateFault::Foreign))
    }

    /// Seals what the tool wants back, and gives a task the name its caller knows it by.
    ///
    /// # Errors
    /// A state that is too large to be opened again; or the system gives no randomness.
    pub(crate) async fn close_round(
        &self,
        caller: &Caller,
        (definition, origin): (&Definition, Option<Origin>),
        target: &Target<'_>,
        round: Round,
        outcome: Outcome,
        call: CallId,
    ) -> Result<Outcome, Failure> {
        let payload = match outcome.payload {
            Payload::InputRequired { requests, state: Some(state), hold } => {
                if state.len() > TOOL_STATE_MAX {
                    let why =
                        format!("the tool asks the client to keep more than {TOOL_STATE_MAX} bytes for it");
                    return Err(ToolError::new("state_too_large", why).into());
                }
                let internal = || Failure::Internal(Internal { call });
                let state = match &round.carried {
                    Some(carried) => format!("{ALLOWED}{}\n{state}", carried.to_text()),
                    None => format!("{TOOLS}{state}"),
                };
                let sealed = self.seal_state(caller, target, &round.arguments, &state).await;
                let state = Some(sealed.ok_or_else(internal)?);
                Payload::InputRequired { requests, state, hold }
            }
            Payload::Task { result, id } => {
                let source = definition.upstream.clone().unwrap_or_else(|| crate::BUILT_IN.into());
                let is_new = origin.is_none();
                let origin =
                    origin.unwrap_or_else(|| Origin { tool: definition.name.shared(), arguments: None });
                let task = Task { source, id: id.as_ref().into(), origin };
                let token = self
                    .task_token(caller, &task)
                    .await
                    .ok_or(Internal { call })
                    .map_err(Failure::Internal)?;
                // What it is asked later it is asked about these.
                if is_new {
                    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
                    let (came, ran) = (text(&round.arguments), round.ran.as_ref().map(text));
                    self.tokens.keep(&token, &ran.map_or(came.clone(), |ran| format!("[{came},{ran}]")));
                }
                Payload::Task { result, id: token.into() }
            }
            payload @ (Payload::Ours { .. } | Payload::Relayed { .. } | Payload::InputRequired { .. }) => {
                payload
            }
        };
        Ok(Outcome { payload, ..outcome })
    }

    /// Seals a state for another round of this very call; nothing if no key can be had.
    pub(crate) async fn seal_state(
        &self,
        caller: &Caller,
        target: &Target<'_>,
        arguments: &Bytes,
        state: &str,
    ) -> Option<Arc<str>> {
        // They were parsed when the call came.
        let arguments = Arguments::parse(Some(arguments.clone())).ok()?;
        self.sealer.seal(&bind(caller, target, arguments.value()), state).await
    }

    /// What this caller knows a source's task by; nothing if no key can be had.
    pub async fn task_token(&self, caller: &Caller, task: &Task) -> Option<String> {
        self.tokens.seal(caller.id(), task).await
    }

    /// The task of a token, if it was given to this caller.
    pub async fn open_task_token(&self, caller: &Caller, token: &str) -> Option<Task> {
        self.tokens.open(caller.id(), token).await
    }

    /// What a source tells of a task unasked, as far as the AI rules for its tool leave it, and without secrets; nothing
    /// if they withhold it. `told` is the task as JSON text.
    pub fn task_news(&self, task: &Task, told: &Bytes) -> Option<Bytes> {
        let offer = self.catalog.offer();
        let action = offer.source(&task.source).and_then(|source| source.action(Action::GetTask));
        let action = action.map(|offered| offered.definition().name.shared());
        let rules = &self.ruleset.load().rules;
        let (begun, own) =
            (Some((&*task.origin.tool, Some(&task.origin))), action.as_deref().map(|tool| (tool, None)));
        let told = [begun, own].into_iter().flatten().try_fold(told.clone(), |told, (tool, origin)| {
            checks::judge_news(rules, tool, origin, &task.source, told)
        })?;
        Some(self.redactor.json(&told).map_or(told, |struck| struck.bytes))
    }
}

fn bind(caller: &Caller, target: &Target<'_>, arguments: &Value) -> Binding {
    let target = format!("{}\n{}", target.recorded(), target.name());
    Binding::new(caller.id(), &target, arguments)
}
