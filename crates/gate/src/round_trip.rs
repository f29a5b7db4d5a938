//! The rounds of a call whose tool, or approval, asks the client for more: each passes the gate anew, tied to the one before
//! by a state that the gate has sealed.

use std::sync::Arc;

use bytes::Bytes;
use policy::Caller;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::{Secrets, Store};
use tool_api::{Arguments, Input, Outcome, Payload, ToolError};

use crate::admitted::Identity;
use crate::approvals::{Brought, Carried, ClientQuestion};
use crate::clock::Clock;
use crate::failure::{Failure, Internal, Refusal};
use crate::seal::{Binding, STATE_SEALED_MAX, Sealer, StateFault};
use crate::target::Target;
use crate::tokens::{Origin, Task, Tokens};

/// What a client keeps between two rounds, sealed.
#[derive(Serialize, Deserialize)]
enum RoundState {
    /// Our own question about an approval.
    Question(ClientQuestion),
    /// A tool's state, and the permission that the call got if a person has allowed it.
    Tool { state: Arc<str>, carried: Option<Carried> },
}

/// Opens and seals what clients keep between two rounds, and names the tasks that calls become.
pub(crate) struct RoundTrips {
    sealer: Sealer,
    pub(crate) tokens: Tokens,
}

impl RoundTrips {
    /// With keys of this process alone. What was opened is kept in `store`, by `clock`.
    pub(crate) fn new(store: Arc<dyn Store>, clock: Clock) -> RoundTrips {
        RoundTrips { sealer: Sealer::new(store, clock), tokens: Tokens::new() }
    }

    /// The same with keys that all processes share which have these secrets.
    pub(crate) fn keyed_by(self, secrets: &Arc<Secrets>) -> RoundTrips {
        let sealer = self.sealer.keyed_by(secrets.clone());
        RoundTrips { sealer, tokens: self.tokens.keyed_by(secrets.clone()) }
    }

    /// Opens what the client brings from the round before.
    ///
    /// # Errors
    /// A state that was not given to this caller for this very call, or not any more.
    pub(crate) async fn open(
        &self,
        caller: &Caller,
        target: Target<'_>,
        arguments: &Arguments,
        input: Option<Input>,
    ) -> Result<Brought, Refusal> {
        let Some(Input { responses, state }) = input else { return Ok(Brought::default()) };
        let Some(sealed) = state else {
            let input = Some(Input { responses, state: None });
            return Ok(Brought { input, ..Brought::default() });
        };
        let binding = bind(caller, target.recorded(), target.name(), arguments.value());
        let state = self.sealer.open(&binding, &sealed).await.map_err(Refusal::BadState)?;
        // Whatever opens was written here.
        let state = serde_json::from_str(&state).map_err(|_| Refusal::BadState(StateFault::Foreign))?;
        Ok(match state {
            RoundState::Question(mut question) => Brought {
                goes_on: true,
                input: question.take_input(),
                carried: None,
                question: Some(question),
                answers: responses,
            },
            RoundState::Tool { state, carried } => {
                let input = Some(Input { responses, state: Some(state) });
                Brought { goes_on: true, input, carried, ..Brought::default() }
            }
        })
    }

    /// What has the client ask its user, and come back; nothing if no key can be had.
    pub(crate) async fn ask(
        &self,
        caller: &Caller,
        target: Target<'_>,
        arguments: &Bytes,
        (requests, question): (Bytes, &ClientQuestion),
    ) -> Option<Outcome> {
        let state = text(&RoundState::Question(question.clone()));
        let state = self.seal_for(caller, (target.recorded(), target.name()), arguments, &state).await?;
        let payload = Payload::InputRequired { requests: Some(requests), state: Some(state), hold: None };
        Some(Outcome::of(payload))
    }

    /// Seals what the tool wants back, and gives a task the name its caller knows it by.
    ///
    /// # Errors
    /// A state that is too large to be opened again; or no key can be had.
    pub(crate) async fn close(&self, identity: &Identity, outcome: Outcome) -> Result<Outcome, Failure> {
        let payload = match outcome.payload {
            Payload::InputRequired { requests, state: Some(state), hold } => {
                let state = Some(self.seal(identity, &state).await?);
                Payload::InputRequired { requests, state, hold }
            }
            Payload::Task { result, id } => Payload::Task { result, id: self.name_task(identity, id).await? },
            payload @ (Payload::Ours { .. } | Payload::Relayed { .. } | Payload::InputRequired { .. }) => {
                payload
            }
        };
        Ok(Outcome { payload, ..outcome })
    }

    async fn seal(&self, identity: &Identity, state: &str) -> Result<Arc<str>, Failure> {
        let state = text(&RoundState::Tool { state: state.into(), carried: identity.approval.clone() });
        if state.len() > STATE_SEALED_MAX {
            let why = format!("the tool asks the client to keep more than {STATE_SEALED_MAX} bytes for it");
            return Err(ToolError::new("state_too_large", why).into());
        }
        let name = &*identity.target;
        let recorded = identity.action.map_or(name, |action| action.name());
        let sealed = self.seal_for(&identity.caller, (recorded, name), &identity.arguments, &state);
        sealed.await.ok_or(Failure::Internal(Internal { call: identity.id }))
    }

    async fn seal_for(
        &self,
        caller: &Caller,
        (recorded, name): (&str, &str),
        arguments: &Bytes,
        state: &str,
    ) -> Option<Arc<str>> {
        // They were parsed when the call came.
        let arguments = Arguments::parse(Some(arguments.clone())).ok()?;
        self.sealer.seal(&bind(caller, recorded, name, arguments.value()), state).await
    }

    async fn name_task(&self, identity: &Identity, id: Arc<str>) -> Result<Arc<str>, Failure> {
        let definition = identity.offered.definition();
        let source = definition.origin.upstream().cloned().unwrap_or_else(|| crate::catalog::BUILT_IN.into());
        let new = || Origin { tool: definition.name.shared(), arguments: None };
        let origin = identity.origin.clone().unwrap_or_else(new);
        let token = self.tokens.seal(identity.caller.id(), &Task { source, id, origin }).await;
        let token = token.ok_or(Failure::Internal(Internal { call: identity.id }))?;
        // The task goes on with the call that began it: what is done with it later is judged by that call's arguments.
        if identity.origin.is_none() {
            let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
            let (original, rewritten) = (text(&identity.arguments), identity.rewritten.as_ref().map(text));
            let begun_with = match rewritten {
                Some(rewritten) => format!("[{original},{rewritten}]"),
                None => original,
            };
            self.tokens.keep(&token, &begun_with);
        }
        Ok(token.into())
    }
}

fn text(state: &RoundState) -> String {
    serde_json::to_string(state).expect("texts and a hash can always be written")
}

fn bind(caller: &Caller, recorded: &str, name: &str, arguments: &Value) -> Binding {
    Binding::new(caller.id(), &format!("{recorded}\n{name}"), arguments)
}
