//! The hands that a tool gets beside its files: those that its `ABOUT` says it needs, and no others.

mod hosts;
mod notes;
mod programs;
mod reach;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use sandbox::confine::{Confiner, Layer, Limits};
use sandbox::egress::{HostRules, WayOut};
use sandbox::{Client, CompanyProxy, Root};
use telemetry::Telemetry;
use tool_api::{Net, Permit, Processes};

use hosts::Hosts;
pub(crate) use notes::{Notes, reached};
use programs::Programs;
use reach::{Reach, Wanted, reach};

use crate::admitted::Admitted;

/// What an operator says of the programs that calls run, and of what calls reach.
#[derive(Debug, Clone, Default)]
pub struct ProgramSettings {
    /// How much programs may use.
    pub limits: Limits,
    /// Layers of the sandbox that they do without where those are missing.
    pub waived: Vec<Layer>,
    /// What they read beside the system and the workspace, as absolute paths.
    pub read: Vec<PathBuf>,
    /// What they write beside the workspace, if they may write that.
    pub write: Vec<PathBuf>,
    /// The variables by which they know language and time zone.
    pub surroundings: Vec<(OsString, OsString)>,
    /// What calls reach that may reach something, beside what their tools name.
    pub hosts: HostRules,
    /// The proxy that leads there, if this network has one.
    pub proxy: Option<CompanyProxy>,
}

/// What starts programs and asks servers.
pub(crate) struct Sandbox {
    pub(crate) confiner: Arc<Confiner>,
    pub(crate) client: Client,
}

/// What the hands of one call are made of.
pub(crate) struct Hands<'g> {
    /// Nothing where there is none: no tool gets a hand then.
    pub(crate) sandbox: Option<&'g Sandbox>,
    pub(crate) settings: &'g Arc<ProgramSettings>,
    pub(crate) files: &'g Root,
    pub(crate) telemetry: &'g Arc<Telemetry>,
    /// Nothing for a tool that needs no hand.
    pub(crate) notes: Option<Arc<Notes>>,
}

/// Those of one call.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) processes: Option<Box<dyn Processes>>,
    pub(crate) net: Option<Box<dyn Net>>,
}

impl Hands<'_> {
    /// The hands that the tool needs of the call that `_permit` admits.
    pub(crate) fn give(&self, _permit: &Permit, admitted: &Admitted) -> Given {
        let (Some(sandbox), Some(notes)) = (self.sandbox, &self.notes) else { return Given::default() };
        let definition = admitted.identity.offered.definition();
        let Reach { profile, hosts } = reach(&Wanted {
            effect: definition.effect,
            needs: definition.listing.needs(),
            scopes: admitted.identity.caller.scopes(),
            obligations: admitted.decision.as_ref().map(|decision| &*decision.obligations),
            settings: self.settings,
        });
        let programs = profile.map(|profile| Programs {
            confiner: sandbox.confiner.clone(),
            profile,
            hosts: hosts.clone().unwrap_or_default(),
            settings: self.settings.clone(),
            files: self.files.clone(),
            telemetry: self.telemetry.clone(),
            notes: notes.clone(),
        });
        let hosts = hosts.map(|rules| {
            let way = WayOut { rules, company: self.settings.proxy.clone() };
            Hosts::new(sandbox.client.clone(), way, notes.journal())
        });
        Given {
            processes: programs.map(|programs| Box::new(programs) as Box<dyn Processes>),
            net: hosts.map(|hosts| Box::new(hosts) as Box<dyn Net>),
        }
    }
}
