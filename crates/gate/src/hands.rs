//! The hands that a tool gets beside its files: those that its `ABOUT` says it needs, and no others.

mod artifacts;
mod browser;
mod hosts;
mod notes;
mod path_rules;
mod person;
mod programs;
mod reach;
mod settings;
mod wishes;

use std::sync::Arc;

use ::browser::Browsers;
use redact::Redactor;
use rules::Rules;
use sandbox::confine::Confiner;
use sandbox::egress::{Journal, Judge, WayOut};
use sandbox::{Client, Root};
use telemetry::Telemetry;
use tool_api::{
    Artifacts, Browser, Definition, DryRun, Need, Net, PathRules, Permit, Person, Processes, State,
};

pub(crate) use artifacts::{Keeper, own, refused};
use browser::Pages;
use hosts::Hosts;
pub(crate) use notes::Notes;
pub use notes::reached;
use person::AtTerminal;
use programs::Programs;
use reach::{Reach, Wanted, reach};
pub use settings::ProgramSettings;
pub(crate) use wishes::{Heard, Wishes};

use crate::admitted::Admitted;
use crate::approvals::Asker;
use crate::questions::Questions;
use crate::states::{OfCaller, States};

/// What starts programs and asks servers.
pub(crate) struct Sandbox {
    pub(crate) confiner: Arc<Confiner>,
    pub(crate) client: Client,
    pub(crate) browsers: Arc<Browsers>,
}

/// What the hands of one call are made of.
pub(crate) struct Hands<'g> {
    /// Nothing where there is none: no tool gets a hand then.
    pub(crate) sandbox: Option<&'g Sandbox>,
    pub(crate) settings: &'g Arc<ProgramSettings>,
    pub(crate) files: &'g Root,
    pub(crate) rules: &'g Arc<Rules>,
    pub(crate) telemetry: &'g Arc<Telemetry>,
    /// Nothing for a tool that needs no hand.
    pub(crate) notes: Option<Arc<Notes>>,
    /// Where they tell what they want beyond what the call may touch, if somebody could be asked about it.
    pub(crate) wishes: Option<Wishes>,
    /// Keeps what the tool writes down; nothing where nothing is kept.
    pub(crate) keeper: Option<Keeper>,
    /// The tools that the caller may use, for those that find others.
    pub(crate) catalogue: Option<Arc<[Definition]>>,
    /// What tools keep for their callers.
    pub(crate) states: &'g Arc<States>,
    /// Where people who watch are asked, and the processes that the call came from.
    pub(crate) questions: (&'g Arc<Questions>, &'g Arc<[Asker]>),
    pub(crate) redactor: &'g Redactor,
    /// Takes what would change, if nothing is to.
    pub(crate) dry_run: Option<Arc<DryRun>>,
}

/// Those of one call.
#[derive(Default)]
pub(crate) struct Given {
    pub(crate) processes: Option<Box<dyn Processes>>,
    pub(crate) net: Option<Box<dyn Net>>,
    pub(crate) browser: Option<Box<dyn Browser>>,
    pub(crate) artifacts: Option<Box<dyn Artifacts>>,
    pub(crate) state: Option<Box<dyn State>>,
    pub(crate) person: Option<Box<dyn Person>>,
    pub(crate) path_rules: Option<Arc<dyn PathRules>>,
}

impl Hands<'_> {
    /// The hands that the tool needs of the call that `_permit` admits.
    pub(crate) fn give(&self, _permit: &Permit, admitted: &Admitted) -> Given {
        let definition = admitted.identity.offered.definition();
        let keeps = definition.listing.needs().contains(&Need::Artifacts);
        let keeper = self.keeper.clone().filter(|_| keeps);
        let artifacts = keeper.map(|keeper| Box::new(keeper) as Box<dyn Artifacts>);
        let (state, person) = (self.state(admitted), self.person(admitted));
        let path_rules = path_rules::path_rules(self.rules, definition);
        let (Some(sandbox), Some(notes)) = (self.sandbox, &self.notes) else {
            return Given { artifacts, path_rules, state, person, ..Given::default() };
        };
        let Reach { mut profile, mut hosts } = reach(&Wanted {
            effect: definition.effect,
            needs: definition.listing.needs(),
            named: admitted.identity.offered.tool().hosts(),
            bounds: definition.listing.bounds(),
            scopes: admitted.identity.caller.scopes(),
            obligations: admitted.decision.as_ref().map(|decision| &*decision.obligations),
            settings: self.settings,
            asks: self.wishes.is_some(),
        });
        if self.dry_run.is_some() {
            // What is sent cannot be taken back.
            (profile, hosts) = (profile.map(|profile| profile.with_network(false)), None);
        }
        let reads_pages = definition.listing.needs().contains(&Need::Browser);
        let judge = self.wishes.as_ref().map(|wishes| Arc::new(wishes.clone()) as Arc<dyn Judge>);
        let programs = profile.map(|profile| Programs {
            confiner: sandbox.confiner.clone(),
            profile,
            hosts: hosts.clone().unwrap_or_default(),
            judge: judge.clone(),
            wishes: self.wishes.clone(),
            reads: definition.listing.reads().to_vec(),
            settings: self.settings.clone(),
            files: self.files.clone(),
            dry_run: self.dry_run.clone(),
            telemetry: self.telemetry.clone(),
            notes: notes.clone(),
        });
        let browser = profile.zip(hosts.clone()).filter(|_| reads_pages).map(|(profile, hosts)| Pages {
            browsers: sandbox.browsers.clone(),
            caller: admitted.identity.caller.id().clone(),
            profile,
            hosts,
            judge: judge.clone(),
            settings: self.settings.clone(),
            telemetry: self.telemetry.clone(),
            notes: notes.clone(),
        });
        let hosts = hosts.map(|rules| {
            let way = WayOut { rules, company: self.settings.proxy.clone(), judge };
            let journal = Arc::new(Journal::new());
            notes.reaches(journal.clone());
            Hosts::new(sandbox.client.clone(), way, journal)
        });
        Given {
            processes: programs.map(|programs| Box::new(programs) as Box<dyn Processes>),
            net: hosts.map(|hosts| Box::new(hosts) as Box<dyn Net>),
            browser: browser.map(|browser| Box::new(browser) as Box<dyn Browser>),
            artifacts,
            state,
            person,
            path_rules,
        }
    }

    fn person(&self, admitted: &Admitted) -> Option<Box<dyn Person>> {
        let asks = admitted.identity.offered.definition().listing.needs().contains(&Need::Person);
        let (questions, askers) = self.questions;
        asks.then(|| {
            Box::new(AtTerminal {
                questions: questions.clone(),
                caller: admitted.identity.caller.id().clone(),
                workspace: self.files.path().to_string_lossy().into_owned(),
                askers: askers.clone(),
                redactor: self.redactor.clone(),
            }) as Box<dyn Person>
        })
    }

    fn state(&self, admitted: &Admitted) -> Option<Box<dyn State>> {
        let remembers = admitted.identity.offered.definition().listing.needs().contains(&Need::State);
        remembers.then(|| {
            Box::new(OfCaller {
                states: self.states.clone(),
                caller: admitted.identity.caller.clone(),
                workspace: self.files.path().to_string_lossy().into_owned(),
                redactor: self.redactor.clone(),
            }) as Box<dyn State>
        })
    }
}
