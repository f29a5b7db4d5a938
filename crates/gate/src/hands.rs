//! The hands that a tool gets beside its files: those that its `ABOUT` says it needs, and no others.

mod notes;
mod profile;
mod programs;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use sandbox::Root;
use sandbox::confine::{Confiner, Layer, Limits};
use telemetry::Telemetry;
use tool_api::{Permit, Processes};

pub(crate) use notes::Notes;
use profile::{Wanted, profile};
use programs::Programs;

use crate::admitted::Admitted;

/// What an operator says of the programs that calls run.
#[derive(Debug, Clone, Default)]
pub struct ProgramSettings {
    /// How much they may use.
    pub limits: Limits,
    /// Layers of the sandbox that they do without where those are missing.
    pub waived: Vec<Layer>,
    /// What they read beside the system and the workspace, as absolute paths.
    pub read: Vec<PathBuf>,
    /// The variables by which they know language and time zone.
    pub surroundings: Vec<(OsString, OsString)>,
}

/// What the hands of one call are made of.
pub(crate) struct Hands<'g> {
    /// Nothing where there is no sandbox: no tool runs programs then.
    pub(crate) confiner: Option<&'g Arc<Confiner>>,
    pub(crate) settings: &'g Arc<ProgramSettings>,
    pub(crate) files: &'g Root,
    pub(crate) telemetry: &'g Arc<Telemetry>,
    /// Nothing for a tool that needs no hand.
    pub(crate) notes: Option<Arc<Notes>>,
}

impl Hands<'_> {
    /// The hand for programs, if the tool of the call that `_permit` admits needs one.
    pub(crate) fn processes(&self, _permit: &Permit, admitted: &Admitted) -> Option<Box<dyn Processes>> {
        let definition = admitted.identity.offered.definition();
        let profile = profile(&Wanted {
            effect: definition.effect,
            needs: definition.listing.needs(),
            scopes: admitted.identity.caller.scopes(),
            obligations: admitted.decision.as_ref().map(|decision| &*decision.obligations),
            limits: self.settings.limits,
        })?;
        Some(Box::new(Programs {
            confiner: self.confiner?.clone(),
            profile,
            settings: self.settings.clone(),
            files: self.files.clone(),
            telemetry: self.telemetry.clone(),
            notes: self.notes.clone()?,
        }))
    }
}
