//! A tool that stands for another one: before anything is judged, its call becomes one of that tool, so that policy, people and
//! the record know what really runs. A declared one stands for the same one always, `tools_call` for the one that it names.

use std::sync::Arc;

use audit::Hash;
use policy::Caller;
use serde_json::{Map, Value};
use tool_api::{Arguments, CallId, Definition, INVOKE_SKILL, Origin, TOOLS_CALL};

use super::Gate;
use crate::checks;
use crate::failure::{Failure, Refusal};
use crate::find::{self, Found};
use crate::offer::{Offer, Offered};
use crate::record_scope::RecordScope;
use crate::ruleset::Ruleset;
use crate::target::Target;

impl Gate {
    /// What runs: what was found, or what stands in its place.
    ///
    /// # Errors
    /// As [`Gate::in_place`].
    pub(super) async fn what_runs(
        &self,
        id: CallId,
        caller: &Caller,
        target: Target<'_>,
        (found, arguments): (Found, Arguments),
        ruleset: &Arc<Ruleset>,
        record: &mut RecordScope<'_>,
    ) -> Result<(Found, Arguments), Failure> {
        let (found, arguments) = match stands_for_another(found.offered.definition()) {
            true => Box::pin(self.in_place(id, caller, (found, arguments), ruleset, record)).await?,
            false => (found, arguments),
        };
        match target {
            Target::Tool(_) => self.skill_of_server(id, caller, (found, arguments), ruleset, record).await,
            Target::Resource { .. } | Target::Prompt { .. } | Target::Task { .. } | Target::Extension(_) => {
                Ok((found, arguments))
            }
        }
    }

    /// The tool that runs in the place of the one found, and what it is sent.
    ///
    /// # Errors
    /// The arguments do not fit what was found, or its caller may use no such tool. A declared one that stands for another that
    /// does so itself is none: whoever reads a manifest must see where it ends.
    async fn in_place(
        &self,
        id: CallId,
        caller: &Caller,
        (found, arguments): (Found, Arguments),
        ruleset: &Arc<Ruleset>,
        record: &mut RecordScope<'_>,
    ) -> Result<(Found, Arguments), Failure> {
        if !stands_for_another(found.offered.definition()) {
            return Ok((found, arguments));
        }
        let (offered, bytes) = (found.offered.clone(), arguments.text().len());
        let names_it = is_tools_call(offered.definition());
        let translate = move || {
            let said = arguments.value();
            let meant = match checks::fits_schema(&offered, said) {
                Ok(()) => None,
                Err(refusal) => Some(checks::meant(&offered, said).ok_or(refusal)?),
            };
            let (tool, sent) = real(offered.definition(), meant.as_ref().unwrap_or(said));
            let sent: bytes::Bytes = sent.to_string().into();
            let name = offered.definition().name.as_str();
            let parsed = Arguments::parse(Some(sent.clone()));
            let parsed = parsed.map_err(|fault| Refusal::unreadable(name, &fault))?;
            Ok((tool, Hash::of(&sent), parsed))
        };
        let (tool, hash, arguments) =
            self.large.sized(bytes, id, translate).await?.inspect_err(|refusal| {
                record.verdict("input_schema", Err(refusal));
            })?;
        let target = Target::Tool(tool.as_str());
        let (catalog, metrics) = (&self.catalog, &self.telemetry.metrics);
        let found = find::find(catalog, metrics, &*ruleset.policy, caller, target, None, None).await;
        let found = match found {
            // Whoever calls a declared tool has not named it.
            Err(refusal) if names_it => return Err(self.with_nearest(refusal, caller).into()),
            found => found?,
        };
        let definition = found.offered.definition();
        let is_one_more = stands_for_another(definition);
        if is_one_more && (!names_it || is_tools_call(definition)) {
            return Err(target.unknown().into());
        }
        record.found(&found.offered);
        record.arguments(hash);
        match is_one_more {
            true => Box::pin(self.in_place(id, caller, (found, arguments), ruleset, record)).await,
            false => Ok((found, arguments)),
        }
    }

    /// What loads the skill of a server that a call of `InvokeSkill` names, if its caller may use that: policy and record know it
    /// as the server's.
    ///
    /// # Errors
    /// The arguments do not fit `InvokeSkill`.
    async fn skill_of_server(
        &self,
        id: CallId,
        caller: &Caller,
        (found, arguments): (Found, Arguments),
        ruleset: &Ruleset,
        record: &mut RecordScope<'_>,
    ) -> Result<(Found, Arguments), Failure> {
        let definition = found.offered.definition();
        if definition.origin != Origin::BuiltIn || definition.name.as_str() != INVOKE_SKILL {
            return Ok((found, arguments));
        }
        let name = arguments.value()["skill_name"].as_str().unwrap_or_default();
        let of_server =
            |offer: &Offer| offer.sources.iter().find_map(|source| source.features.skills.as_ref()?(name));
        let offer = self.catalog.offer();
        let tool = match of_server(&offer) {
            // Its server may not be connected yet. Names of our own skills have no prefix, and wait for nobody.
            None if name.contains('_') && !offer.is_settled => of_server(&*self.catalog.settled().await),
            tool => tool,
        };
        let Some(tool) = tool else { return Ok((found, arguments)) };
        let offered = Offered::uncounted(tool, &self.telemetry.metrics);
        if !find::may_do(&*ruleset.policy, caller, &offered, None) {
            return Ok((found, arguments));
        }
        let (invoke, bytes) = (found.offered.clone(), arguments.text().len());
        let fits = move || checks::fits_schema(&invoke, arguments.value()).map(|()| arguments);
        let arguments = self.large.sized(bytes, id, fits).await?.inspect_err(|refusal| {
            record.verdict("input_schema", Err(refusal));
        })?;
        record.found(&offered);
        Ok((Found { offered, ..found }, arguments))
    }
}

/// Whether another tool runs in the place of this one.
fn stands_for_another(definition: &Definition) -> bool {
    definition.listing.stands_for().is_some() || is_tools_call(definition)
}

fn is_tools_call(definition: &Definition) -> bool {
    definition.origin == Origin::BuiltIn && definition.name.as_str() == TOOLS_CALL
}

/// The tool that runs, and what it is sent.
fn real(definition: &Definition, said: &Value) -> (String, Value) {
    match definition.listing.stands_for() {
        Some(real) => (real.tool.clone(), real.arguments(said)),
        None => {
            let name = said["name"].as_str().unwrap_or_default().to_owned();
            (name, said.get("arguments").cloned().unwrap_or_else(|| Map::new().into()))
        }
    }
}
