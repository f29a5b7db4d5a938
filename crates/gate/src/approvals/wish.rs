//! `Wish`: what a run wants beyond what its call may touch, as a person is asked about it and as an answer is bound to it.

use std::path::PathBuf;
use std::sync::Arc;

use audit::Hash;
use bytes::Bytes;
use policy::{Caller, Covers, Roles};
use redact::Redactor;
use sandbox::egress::Destination;
use tool_api::CallId;

use super::call::{ExactCall, Shown};
use super::config::Config;
use super::presence::Asker;
use super::record::{Acted, Approval, Asked, State};
use super::visible::visible;
use crate::offer::Offered;

/// Longest wish, in bytes. A person must see all of it: of a host the end decides, of a path the beginning.
const SHOWN_BYTES_MAX: usize = 512;

/// What a run wants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Wish {
    /// To reach a host at a port that no rule names.
    Host(Destination),
    /// To have a program see a file or folder that the call does not, or write such a folder. A path without links.
    Folder { path: PathBuf, writes: bool },
}

/// What all wishes of one call have in common.
pub(crate) struct Wishing {
    pub(crate) id: CallId,
    pub(crate) caller: Caller,
    pub(crate) offered: Arc<Offered>,
    /// As a person may see them.
    pub(crate) arguments: Bytes,
    pub(crate) workspace: String,
    pub(crate) conversation: Option<u64>,
    pub(crate) askers: Arc<[Asker]>,
    /// Who may answer, if the rule that allows the call says so.
    pub(crate) approvers: Roles,
}

impl Wish {
    /// The word for what it is about; in records of approvals and grants.
    const fn kind(&self) -> &'static str {
        match self {
            Wish::Host(_) => Acted::HOST,
            Wish::Folder { writes: false, .. } => Acted::READ,
            Wish::Folder { writes: true, .. } => Acted::WRITTEN,
        }
    }

    /// The setting that would allow it, which stands for the rule that asks.
    const fn rule(&self) -> &'static str {
        match self {
            Wish::Host(_) => "sandbox.hosts",
            Wish::Folder { writes: false, .. } => "sandbox.read",
            Wish::Folder { writes: true, .. } => "sandbox.write",
        }
    }

    /// As it is named; nothing if it has no name that can be written.
    fn name(&self) -> Option<String> {
        match self {
            Wish::Host(to) => Some(to.to_string()),
            Wish::Folder { path, .. } => path.to_str().map(str::to_owned),
        }
    }

    /// Completes "the tool …".
    fn why(&self, shown: &str) -> String {
        match self {
            Wish::Host(_) => {
                format!("wants to reach {shown}, itself or by its program, and no rule names that")
            }
            Wish::Folder { writes: false, .. } => {
                format!("wants its program to read {shown}, beyond what it sees")
            }
            Wish::Folder { writes: true, .. } => {
                format!("wants its program to read and write {shown}, beyond what it sees")
            }
        }
    }

    /// The name, if a person can be shown all of it as it is: a secret in it is on its way out.
    fn shown(&self, redactor: &Redactor) -> Option<String> {
        let name = self.name()?;
        let is_plain =
            name.len() <= SHOWN_BYTES_MAX && redactor.text(&name) == name && visible(&name) == name;
        is_plain.then_some(name)
    }
}

impl Wishing {
    /// Who may answer.
    pub(super) fn approvers(&self, config: &Config) -> Roles {
        if self.approvers.is_empty() { config.roles } else { self.approvers }
    }

    /// The question; nothing if nobody can be shown it. An answer for once is bound to this call. A grant is for the caller
    /// (by their key, if they hold one), for the tool by its definition, and for the workspace: what somebody else does, or the
    /// same tool when it has become another one, or in another project, was nobody's question.
    pub(super) fn exact(&self, wish: &Wish, redactor: &Redactor, config: &Config) -> Option<ExactCall> {
        let shown = wish.shown(redactor)?;
        let definition = self.offered.definition();
        let (tool, caller) = (definition.name.to_string(), self.caller.id().clone());
        let key = self.caller.key_id().cloned();
        let hashed = self.offered.hash();
        let target = Hash::of_parts([wish.kind().as_bytes(), shown.as_bytes()]);
        let parts = [
            &*caller,
            key.as_deref().unwrap_or_default(),
            &*tool,
            &hashed.to_string(),
            &*self.workspace,
            &target.to_string(),
            &*self.id.shared(),
        ];
        let arguments = Shown::of(&String::from_utf8_lossy(&self.arguments), redactor);
        let asked = Asked {
            rule: wish.rule().into(),
            why: wish.why(&shown).into(),
            roles: self.approvers(config).iter().map(|role| role.as_str().to_owned()).collect(),
            covers: Covers::Call,
        };
        let question = Approval {
            id: Arc::default(),
            call_sha256: Hash::of_parts(parts.into_iter().map(str::as_bytes)),
            caller,
            key,
            via: self.caller.via().as_str().to_owned(),
            tool,
            upstream: definition.upstream().map(str::to_owned),
            workspace: self.workspace.clone(),
            definition_sha256: hashed,
            target: Some(Acted { kind: wish.kind().to_owned(), sha256: target, shown }),
            arguments: arguments.text,
            arguments_bytes: self.arguments.len(),
            is_cut: arguments.whole.is_some(),
            beside: None,
            members: Vec::new(),
            beginnings: Vec::new(),
            would_change: None,
            questions: vec![asked],
            askers: self.askers.to_vec(),
            process: Arc::default(),
            conversation: self.conversation,
            asked_at_ms: 0,
            expires_at_ms: 0,
            awaited_until_ms: None,
            state: State::Pending,
            answered: None,
            used_at_ms: None,
        };
        Some(ExactCall { question, whole: arguments.whole, lasts: config.lasts })
    }
}
