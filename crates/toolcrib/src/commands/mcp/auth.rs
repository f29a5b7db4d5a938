//! `mcp auth`: signs in to a server with the browser, tries the sign-in, and has the Toolcribs that are running use it.

mod sign_in;

use std::sync::Arc;

use config::Loaded;
use oauth::{Session, Status};
use serde_json::{Value, json};
use terminal::signals::unless_stopped;
use terminal::{Ending, Trouble, print, runtime, times};
use upstream::{Settings, Upstream, World};

use super::running;
use super::servers::{named, world};
use super::test::{Tested, probe};
use crate::cli::{Auth, Cli};
use crate::commands::start::{Asking, Log, start};

pub(super) use sign_in::{Browser, sign_in};
use sign_in::{failed, go_on};

pub(super) fn run(cli: &Cli, auth: &Auth) -> Result<Ending, Trouble> {
    let loaded = start(cli, Log::Quiet, Asking::Here)?;
    let settings = named(&loaded, &auth.name)?;
    if !settings.enabled {
        let why = format!("{}: it is switched off; remove `enabled = false` first", auth.name);
        return Err(Trouble::Misused(why));
    }
    if let Some(why) = settings.lacks() {
        return Err(Trouble::Misused(why.to_owned()));
    }
    let outcome = runtime::run(async {
        let world = world(&loaded)?;
        let upstream = Upstream::new(settings.clone(), world.clone());
        let account = upstream.account().ok_or_else(|| no_account(settings))?;
        let browser = if auth.no_browser { Browser::Never } else { Browser::IfThereIsOne };
        Work { cli, settings, world, account }.run(browser).await
    })??;
    ended(cli, &loaded, &outcome)
}

/// There is nothing to sign in to.
pub(super) fn no_account(settings: &Settings) -> Trouble {
    let name = settings.name();
    Trouble::Misused(match settings.address() {
        Some(_) => format!("{name}: its table says `oauth = false`, so it is never signed in to"),
        None => format!(
            "{name}: it is not reached over HTTP, so there is nothing to sign in to; keys go into `env`"
        ),
    })
}

/// What came of it.
struct Outcome {
    tested: Tested,
    /// What is kept of a sign-in; nothing if there is no need of one.
    status: Option<Status>,
}

struct Work<'a> {
    cli: &'a Cli,
    settings: &'a Settings,
    world: World,
    account: &'a Arc<Session>,
}

impl Work<'_> {
    async fn run(&self, browser: Browser) -> Result<Outcome, Trouble> {
        let before = self.status().await?;
        let tested = self.probe().await?;
        let name = self.settings.name();
        let wants = match &tested.problem {
            // Who is signed in and asks for it again has a reason, such as another account.
            None => !self.settings.signs_in_by_itself(),
            Some(problem) => problem.kind == "needs_auth",
        };
        if !wants {
            return self.signed_in(tested).await;
        }
        let begun = match self.account.begin().await {
            // Some servers show what they have to everybody and want a sign-in for its use; others want none at all.
            Err(_) if tested.is_good() && before == Status::NotSignedIn => {
                return Ok(Outcome { tested, status: None });
            }
            begun => begun.map_err(|error| failed(name, &error))?,
        };
        go_on(begun, name, browser, self.cli.json).await?;
        self.signed_in(self.probe().await?).await
    }

    async fn status(&self) -> Result<Status, Trouble> {
        let status = self.account.status().await;
        status.map_err(|error| failed(self.settings.name(), &error))
    }

    async fn probe(&self) -> Result<Tested, Trouble> {
        unless_stopped(probe(self.settings, self.world.clone())).await
    }

    async fn signed_in(&self, tested: Tested) -> Result<Outcome, Trouble> {
        Ok(Outcome { status: Some(self.status().await?), tested })
    }
}

/// Tells how it went, and the Toolcribs that are running if it went well.
fn ended(cli: &Cli, loaded: &Loaded, Outcome { tested, status }: &Outcome) -> Result<Ending, Trouble> {
    let name = &tested.name;
    // An object is on one line, since another one may stand before it.
    let print = |object: &Value, text: &str| {
        if cli.json { print::line(&object.to_string()) } else { print::foreign(text) }
    };
    let Some(status) = status else {
        let object = json!({ "name": name, "needs_sign_in": false, "test": tested.to_json() });
        print(&object, &format!("{name}: it needs no sign-in\n{}", tested.lines()))?;
        return Ok(Ending::Good);
    };
    let running = match tested.is_good() {
        true => running::reconnect(loaded, name)?,
        false => running::RunningAnswers::default(),
    };
    let mut lines = vec![format!("{name}: {}", shown(status)), tested.lines()];
    lines.extend(running.lines);
    let (account, test) = (described(status), tested.to_json());
    let object = json!({ "name": name, "account": account, "test": test, "running": running.told });
    print(&object, &lines.join("\n"))?;
    Ok(if tested.is_good() { Ending::Good } else { Ending::Failed })
}

/// What is kept of a sign-in, for people; nothing that is secret.
pub(super) fn shown(status: &Status) -> String {
    let Status::SignedIn { issuer, scope, expires_at, renews } = status else {
        return "not signed in".to_owned();
    };
    let mut text = format!("signed in at {issuer}");
    if let Some(at) = expires_at.map(|at| times::shown(times::ms(at))) {
        text.push_str(&format!(" until {at}{}", if *renews { ", which renews itself" } else { "" }));
    }
    if let Some(scope) = scope.as_deref().filter(|scope| !scope.is_empty()) {
        text.push_str(&format!(", for {scope}"));
    }
    text
}

/// The same for scripts.
pub(super) fn described(status: &Status) -> Value {
    match status {
        Status::NotSignedIn => json!({ "signed_in": false }),
        Status::SignedIn { issuer, scope, expires_at, renews } => json!({
            "signed_in": true,
            "issuer": issuer,
            "scope": scope,
            "expires_at_ms": expires_at.map(times::ms),
            "renews": renews,
        }),
    }
}
