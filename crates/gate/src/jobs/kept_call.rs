//! A call as it is kept: who calls what with which arguments, and by which definition it was judged.

use std::sync::Arc;

use bytes::Bytes;
use policy::{Caller, CallerKind, Proof, Role, Roles, Scope, Scopes, Via};
use serde::{Deserialize, Serialize};
use tool_api::{Client, Input};

use crate::approvals::Asker;
use crate::dry_run::Earnest;
use crate::request::Call;

/// All that a call is made of, but for what ends with its request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KeptCall {
    pub(super) caller: KeptCaller,
    pub(super) tool: String,
    pub(super) arguments: Option<String>,
    pub(super) meta: Option<String>,
    earnest: Earnest,
    capabilities: String,
    info: Option<String>,
    askers: Vec<Asker>,
    /// What is brought to a further round.
    responses: Option<String>,
    state: Option<String>,
    /// The hash of the definition that it was judged by.
    pub(super) definition: String,
    pub(super) ttl_ms: u64,
}

/// A caller as they were when the call was taken.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct KeptCaller {
    id: String,
    kind: CallerKind,
    roles: Vec<String>,
    /// Nothing for the holder of all.
    scopes: Option<Vec<String>>,
    via: Via,
    key: Option<String>,
    until: Option<i64>,
    is_person: bool,
}

impl KeptCaller {
    fn of(caller: &Caller) -> KeptCaller {
        let scopes = caller.scopes().named();
        let until = match caller.proof() {
            Proof::Until(second) => Some(*second),
            Proof::None | Proof::Key(_) => None,
        };
        KeptCaller {
            id: caller.id().to_string(),
            kind: caller.kind(),
            roles: caller.roles().iter().map(|role| role.as_str().to_owned()).collect(),
            scopes: scopes.map(|scopes| scopes.iter().map(|scope| scope.as_str().to_owned()).collect()),
            via: caller.via(),
            key: caller.key_id().map(|id| id.to_string()),
            until,
            is_person: caller.is_person(),
        }
    }

    /// The caller; nothing if a role or a scope is not known any more, without which they are another.
    pub(super) fn caller(&self) -> Option<Caller> {
        let roles: Roles = self.roles.iter().map(|word| Role::parse(word)).collect::<Option<_>>()?;
        let scopes = match &self.scopes {
            None => Scopes::all(),
            Some(names) => names.iter().map(|name| Scope::parse(name).ok()).collect::<Option<_>>()?,
        };
        let proof = match (&self.key, self.until) {
            (Some(id), _) => Proof::Key(id.as_str().into()),
            (None, Some(second)) => Proof::Until(second),
            (None, None) => Proof::None,
        };
        let caller =
            Caller::new(self.id.as_str().into(), self.kind, roles, scopes, self.via).with_proof(proof);
        Some(if self.is_person { caller.as_person() } else { caller })
    }
}

impl KeptCall {
    pub(super) fn of(caller: &Caller, tool: &str, call: &Call<'_>, ttl_ms: u64) -> KeptCall {
        let input = call.input.as_ref();
        KeptCall {
            caller: KeptCaller::of(caller),
            tool: tool.to_owned(),
            arguments: call.arguments.as_ref().map(text),
            meta: call.meta.as_ref().map(text),
            earnest: call.earnest.clone(),
            capabilities: text(&call.client.capabilities),
            info: call.client.info.as_ref().map(text),
            askers: call.askers.to_vec(),
            responses: input.and_then(|input| input.responses.as_ref()).map(text),
            state: input.and_then(|input| input.state.as_deref()).map(str::to_owned),
            definition: String::new(),
            ttl_ms,
        }
    }

    /// The call, as the gate takes it.
    pub(super) fn call(&self) -> Call<'_> {
        let bytes = |text: &Option<String>| text.as_ref().map(|text| Bytes::from(text.clone()));
        let input = self.is_further().then(|| Input {
            responses: bytes(&self.responses),
            state: self.state.as_deref().map(Arc::from),
        });
        Call {
            meta: bytes(&self.meta),
            client: Client {
                capabilities: Bytes::from(self.capabilities.clone()),
                info: bytes(&self.info),
                // What a server says in its log is output of the job.
                log_level: Some("info"),
                // The job itself is the task.
                knows_no_tasks: true,
                ..Client::default()
            },
            input,
            earnest: self.earnest.clone(),
            askers: self.askers.clone().into(),
            ..Call::tool(&self.tool, bytes(&self.arguments))
        }
    }

    /// The same call with answers for its next round.
    pub(super) fn answered(&mut self, responses: Option<&Bytes>, state: Option<String>) {
        (self.responses, self.state) = (responses.map(text), state);
    }

    /// Whether it brings an answer to what was asked in the round before.
    pub(super) fn is_further(&self) -> bool {
        self.responses.is_some() || self.state.is_some()
    }

    /// The same call from its beginning.
    pub(super) fn anew(&self) -> KeptCall {
        KeptCall { responses: None, state: None, ..self.clone() }
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a call has text for keys")
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<KeptCall> {
        serde_json::from_slice(bytes).ok()
    }
}

fn text(bytes: &Bytes) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_caller_is_kept_with_all_that_decides() {
        let scopes: Scopes = [Scope::parse("network").expect("a scope")].into_iter().collect();
        let callers = [
            Caller::local_user(Via::Stdio),
            Caller::new("key:ci".into(), CallerKind::Key, Role::Agent.into(), scopes, Via::Http)
                .with_proof(Proof::Key("k1".into()))
                .as_person(),
            Caller::new("t".into(), CallerKind::Token, Role::Owner.into(), Scopes::all(), Via::Http)
                .with_proof(Proof::Until(7)),
        ];
        for caller in callers {
            let kept = KeptCaller::of(&caller);
            let json = serde_json::to_string(&kept).expect("JSON");
            let back: KeptCaller = serde_json::from_str(&json).expect("a caller");
            assert_eq!(format!("{:?}", back.caller()), format!("{:?}", Some(caller)));
        }
    }

    #[test]
    fn who_holds_what_is_not_known_any_more_is_nobody() {
        let mut kept = KeptCaller::of(&Caller::local_user(Via::Stdio));
        kept.roles.push("emperor".to_owned());
        assert!(kept.caller().is_none());
    }
}
