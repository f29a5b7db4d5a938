//! Who is asking. How a caller proved to be who they are is the server's affair; here they are known.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::role::{Role, Roles};
use crate::scope::Scopes;

/// One known caller. Cloning copies no text.
#[derive(Debug, Clone)]
pub struct Caller {
    id: Arc<str>,
    kind: CallerKind,
    roles: Roles,
    scopes: Scopes,
    via: Via,
    proof: Proof,
    is_person: bool,
}

/// By what a caller proved who they are, as far as it tells one holder of a name from the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Proof {
    /// Nothing that could change hands or run out: the local user.
    #[default]
    None,
    /// The key of this id. A later key of the same name has another.
    Key(Arc<str>),
    /// A token that is good until this second since 1970.
    Until(i64),
}

/// What sort of caller it is; the default permissions differ by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum CallerKind {
    /// The person who started the program, or an agent working for them on the same machine.
    LocalUser,
    /// The holder of an API key that was created here.
    Key,
    /// The holder of a token that an OpenID provider has issued.
    Token,
}

/// The transport a caller came through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(strum::IntoStaticStr, strum::VariantNames)]
#[strum(serialize_all = "snake_case")]
pub enum Via {
    /// MCP over standard input and output.
    Stdio,
    /// MCP over a Unix socket.
    Socket,
    /// MCP over HTTP.
    Http,
    /// The program's own command line.
    CommandLine,
}

impl Caller {
    /// The local user: holds every scope; what they may do without asking is the policy's decision.
    pub fn local_user(via: Via) -> Self {
        Self::new(Arc::from("local"), CallerKind::LocalUser, Role::Owner.into(), Scopes::all(), via)
    }

    /// A caller whose credentials have been checked.
    pub fn new(id: Arc<str>, kind: CallerKind, roles: Roles, scopes: Scopes, via: Via) -> Self {
        Self { id, kind, roles, scopes, via, proof: Proof::None, is_person: false }
    }

    /// The same caller, holding these scopes only.
    #[must_use]
    pub fn with_scopes(self, scopes: Scopes) -> Self {
        Self { scopes, ..self }
    }

    /// The same caller, by something that only people hold: what they say counts as a person's answer.
    #[must_use]
    pub fn as_person(self) -> Self {
        Self { is_person: true, ..self }
    }

    /// Whether it was said of what this caller came by that only people hold it.
    pub fn is_person(&self) -> bool {
        self.is_person
    }

    /// The same caller, by this proof.
    #[must_use]
    pub fn with_proof(self, proof: Proof) -> Self {
        Self { proof, ..self }
    }

    /// By what this caller proved who they are.
    pub fn proof(&self) -> &Proof {
        &self.proof
    }

    /// The id of the key that this caller holds.
    pub fn key_id(&self) -> Option<&Arc<str>> {
        match &self.proof {
            Proof::Key(id) => Some(id),
            Proof::None | Proof::Until(_) => None,
        }
    }

    /// The name the audit log knows this caller by.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// What sort of caller this is.
    pub fn kind(&self) -> CallerKind {
        self.kind
    }

    /// What this caller is here.
    pub fn roles(&self) -> Roles {
        self.roles
    }

    /// What this caller was granted.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// The transport this caller came through.
    pub fn via(&self) -> Via {
        self.via
    }
}

impl CallerKind {
    /// The word for rules, logs and the audit log.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Via {
    /// The word for logs and the audit log.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_local_user_holds_every_scope_until_narrowed() {
        let caller = Caller::local_user(Via::Stdio);
        assert!(caller.scopes().contains("network"));
        let narrowed =
            caller.clone().with_scopes([crate::Scope::parse("network").unwrap()].into_iter().collect());
        assert!(narrowed.scopes().contains("network"));
        assert!(!narrowed.scopes().contains("run_tests"));
        assert!(Arc::ptr_eq(caller.id(), narrowed.id()), "a clone shares the name");
        assert_eq!((narrowed.via(), narrowed.kind()), (Via::Stdio, CallerKind::LocalUser));
    }
}
