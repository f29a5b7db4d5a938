//! What operators have done over HTTP: the operations of the administration.

use std::sync::Arc;

use admin::{By, Fault, Kind};
use gate::Caller;
use serde_json::Value;
use server::{Administration, OperationFault, OperationFaultKind};

use crate::control::Reloader;

/// Those of a process, by its configuration as it is when they are asked for.
pub(super) struct Administered(pub(super) Arc<Reloader>);

impl Administration for Administered {
    fn perform(&self, operation: &str, input: Value, caller: &Caller) -> Result<Value, OperationFault> {
        let admin = self.0.admin().map_err(|problems| Fault::configuration(problems.to_string()));
        let done = admin.and_then(|admin| admin.perform(operation, input, &By::caller_of(caller)));
        let redactor = self.0.redactor();
        match done {
            // What is struck out leaves JSON behind.
            Ok(output) => Ok(match redactor.json(output.to_string().as_bytes()) {
                Some(struck) => serde_json::from_slice(&struck.bytes).unwrap_or_default(),
                None => output,
            }),
            Err(Fault { kind, code, message }) => {
                let message = redactor.text(&message).into_owned();
                Err(OperationFault { kind: kind_of(kind), code, message })
            }
        }
    }

    fn manifest_problems(&self, manifest: &Value) -> Vec<String> {
        let checked = match self.0.manifests() {
            Ok(manifests) => manifests.check_json(&manifest.to_string()).map(drop),
            Err(problems) => Err(problems.lines().to_vec()),
        };
        checked.err().unwrap_or_default()
    }
}

fn kind_of(kind: Kind) -> OperationFaultKind {
    match kind {
        Kind::Misused => OperationFaultKind::Misused,
        Kind::Unknown => OperationFaultKind::Unknown,
        Kind::Refused => OperationFaultKind::Refused,
        Kind::Failed => OperationFaultKind::Failed,
    }
}
