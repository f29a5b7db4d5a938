//! `Pages`: reads pages for one call in a browser that is confined as the call's programs would be.

use std::sync::Arc;
use std::time::Duration;

use browser::{BrowserError, Browsers, Key, Visit, Wanted};
use futures_util::future::BoxFuture;
use sandbox::confine::{Profile, Running};
use sandbox::egress::{Attempt, HostRules, Journal, Judge, Outcome};
use telemetry::Telemetry;
use tool_api::{BLOCKED_TOLD_MAX, Browser, NO_BROWSER, NOT_A_PAGE, Page, ToolError, no_page};

use super::hosts::blocked;
use super::notes::Notes;
use super::programs::{degraded, not_run};
use super::settings::ProgramSettings;

/// The hand of one call.
pub(super) struct Pages {
    pub(super) browsers: Arc<Browsers>,
    pub(super) caller: Arc<str>,
    pub(super) profile: Profile,
    pub(super) hosts: HostRules,
    pub(super) judge: Option<Arc<dyn Judge>>,
    pub(super) settings: Arc<ProgramSettings>,
    pub(super) telemetry: Arc<Telemetry>,
    pub(super) notes: Arc<Notes>,
}

impl Browser for Pages {
    fn visit<'a>(&'a self, url: &'a str, wait: Duration) -> BoxFuture<'a, Result<Page, ToolError>> {
        Box::pin(async move {
            let journal = Arc::new(Journal::new());
            self.notes.reaches(journal.clone());
            let given = |running: &Running| {
                self.notes.ran(self.profile.name, running.started_by().name(), &degraded(running));
                self.telemetry.metrics.confined(self.profile.name);
            };
            let wanted = self.wanted(&journal, &given);
            let visited = self.browsers.visit(&wanted, &Visit { url: url.to_owned(), wait }).await;
            let page = visited.map_err(|error| self.told(error, &journal))?;
            if let Some(error) = refused(&page.url, &journal) {
                return Err(error);
            }
            Ok(Page {
                url: page.url,
                base: page.base,
                title: page.title,
                status: page.status,
                media_type: page.media_type,
                html: page.html,
                is_cut: page.is_cut,
                is_unfinished: page.is_unfinished,
                blocked: blocked_hosts(&journal),
                closed_roots: page.closed_roots,
                other_frames: page.other_frames,
                frame_addresses: page.frame_addresses,
            })
        })
    }
}

impl Pages {
    fn wanted<'c>(&self, journal: &'c Journal, given: &'c (dyn Fn(&Running) + Sync)) -> Wanted<'c> {
        let key = Key {
            caller: self.caller.clone(),
            profile: self.profile,
            hosts: self.hosts.clone(),
            program: self.settings.browser.clone(),
            waived: self.settings.waived.clone(),
            company: self.settings.proxy.clone(),
            surroundings: self.settings.surroundings.iter().cloned().collect(),
        };
        Wanted { key, judge: self.judge.clone(), journal, given }
    }

    /// What was blocked says more than the browser, which only sees that nothing came.
    fn told(&self, error: BrowserError, journal: &Journal) -> ToolError {
        let message = error.to_string();
        match error {
            BrowserError::None(_) => ToolError::new(NO_BROWSER, message),
            BrowserError::NotStarted(error) => not_run(&self.telemetry, error),
            BrowserError::NotLoaded { url, .. } => {
                refused(&url, journal).unwrap_or_else(|| ToolError::new("no_answer", message))
            }
            BrowserError::NoPage { url, status } => refused(&url, journal)
                .or_else(|| no_page(status))
                .unwrap_or_else(|| ToolError::new("no_answer", message)),
            BrowserError::TooSlow(_) | BrowserError::LedOn(_) => ToolError::new("no_answer", message),
            BrowserError::Download | BrowserError::Pdf => ToolError::new(NOT_A_PAGE, message),
            error @ (BrowserError::Gone(_)
            | BrowserError::Silent(_)
            | BrowserError::Unreadable(_)
            | BrowserError::Refused { .. }
            | BrowserError::Crashed) => ToolError::new("browser_failed", message).with_source(error),
        }
    }
}

/// Why there is no page, if its host was never reached: what a browser shows then is what our own proxy says.
fn refused(url: &str, journal: &Journal) -> Option<ToolError> {
    let to = browser::destination(url)?;
    let entries = journal.entries().into_iter().filter(|entry| entry.attempt == Attempt::Connect(to.clone()));
    let outcomes: Vec<Outcome> = entries.map(|entry| entry.outcome).collect();
    if outcomes.contains(&Outcome::Allowed) {
        return None;
    }
    let reason = outcomes.into_iter().find_map(|outcome| match outcome {
        Outcome::Blocked(reason) => Some(reason),
        Outcome::Allowed => None,
    });
    let unreached = || ToolError::new("no_answer", format!("{to} cannot be reached; is the address right?"));
    Some(reason.map_or_else(unreached, |reason| blocked(&to, reason)))
}

/// Hosts that a page wanted something of and may not reach.
fn blocked_hosts(journal: &Journal) -> Vec<String> {
    let hosts = journal.blocked().into_iter().filter_map(|entry| match entry.attempt {
        Attempt::Connect(to) => Some(to.to_string()),
        Attempt::LookUp(_)
        | Attempt::Unreadable(_)
        | Attempt::Unheard
        | Attempt::Datagrams
        | Attempt::Addresses
        | Attempt::Others => None,
    });
    hosts.take(BLOCKED_TOLD_MAX).collect()
}
