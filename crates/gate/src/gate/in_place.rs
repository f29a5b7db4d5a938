//! A declared tool that stands for another one: before anything is judged, its call becomes one of that tool, so that policy,
//! people and the record know what really runs.

use std::sync::Arc;

use audit::Hash;
use policy::Caller;
use tool_api::{Arguments, CallId};

use super::Gate;
use crate::checks;
use crate::failure::{Failure, Refusal};
use crate::find::{self, Found};
use crate::record_scope::RecordScope;
use crate::ruleset::Ruleset;
use crate::target::Target;

impl Gate {
    /// The tool that runs in the place of the one found, and what it is sent.
    ///
    /// # Errors
    /// The arguments do not fit what was found, or its caller may use no such tool. One that stands for another itself is none:
    /// whoever reads a manifest must see where it ends.
    pub(super) async fn in_place(
        &self,
        id: CallId,
        caller: &Caller,
        (found, arguments): (Found, Arguments),
        ruleset: &Arc<Ruleset>,
        record: &mut RecordScope<'_>,
    ) -> Result<(Found, Arguments), Failure> {
        let definition = found.offered.definition();
        let Some(real) = definition.listing.stands_for().cloned() else { return Ok((found, arguments)) };
        let (offered, tool, bytes) = (found.offered.clone(), real.tool.clone(), arguments.text().len());
        let translate = move || {
            checks::fits_schema(&offered, arguments.value())?;
            let sent: bytes::Bytes = real.arguments(arguments.value()).to_string().into();
            let name = offered.definition().name.as_str();
            let parsed = Arguments::parse(Some(sent.clone()));
            let parsed = parsed.map_err(|fault| Refusal::unreadable(name, &fault))?;
            Ok((Hash::of(&sent), parsed))
        };
        let (hash, arguments) = self.large.sized(bytes, id, translate).await?.inspect_err(|refusal| {
            record.verdict("input_schema", Err(refusal));
        })?;
        let target = Target::Tool(tool.as_str());
        let (catalog, metrics) = (&self.catalog, &self.telemetry.metrics);
        let found = find::find(catalog, metrics, &*ruleset.policy, caller, target, None).await?;
        if found.offered.definition().listing.stands_for().is_some() {
            return Err(target.unknown().into());
        }
        record.found(&found.offered);
        record.arguments(hash);
        Ok((found, arguments))
    }
}
