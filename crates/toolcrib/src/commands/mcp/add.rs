//! `mcp add`: a server goes into the configuration after it was tested, and the Toolcribs that are running take it up.

mod destructive;
mod given;

use admin::import::{Target as _, sounds_secret};
use clients::Server;
use config::{Draft, Loaded, Whose};
use serde_json::json;
use terminal::{Ending, Trouble, print, runtime};
use upstream::{Settings, Upstream};

use super::auth::{Browser, no_account, sign_in};
use super::servers::{pinned_world, world};
use super::test::{Tested, probe};
use super::{ask, running};
use crate::cli::{self, Add, Cli};
use crate::commands::load::surroundings;
use crate::commands::start::{Log, begin};
use crate::commands::trust;

pub(super) fn run(cli: &Cli, add: Add) -> Result<Ending, Trouble> {
    let mut draft = Draft::new(cli.config.as_deref(), surroundings(cli)?)?;
    if add.whose != cli::Whose::default() {
        if cli.config.is_some() {
            return Err(Trouble::Misused(
                "--config names the file; leave --user and --project out".to_owned(),
            ));
        }
        draft = draft.in_file_of(if add.whose.user { Whose::User } else { Whose::Project })?;
    }
    let (name, mut server) = given::new_server(&add)?;
    draft.check_free(&name)?;
    draft.place(&mut server).iter().for_each(|note| print::remark(&format!("note: {note}")));
    let loaded = draft.with(&name, &server)?;
    begin(&loaded, Log::Quiet)?;
    let settings = loaded.settings.upstreams.iter().find(|settings| settings.name() == name);
    let settings =
        settings.ok_or_else(|| Trouble::Failed("the new table is not read as a server".to_owned()))?;
    remark_on_secrets(&server);
    let tested = runtime::run(async {
        let tested = tried(cli, &add, &loaded, settings).await?;
        if add.oauth && !is_worth_saving(tested.as_ref()) {
            forget(&loaded, settings).await;
        }
        Ok::<_, Trouble>(tested)
    })??;
    let is_saved = is_worth_saving(tested.as_ref());
    let marked = tested.as_ref().and_then(Tested::mostly_destructive);
    let mut hint = None;
    if let Some(marked) = marked.filter(|_| is_saved && server.destructive.is_none()) {
        (server.destructive, hint) = destructive::settle(cli, &name, marked)?;
    }
    let mut answers = running::RunningAnswers::default();
    if is_saved {
        draft.save(&[(&name, &server)])?;
        trust::agree_to_written(cli, &[&name])?;
        tested.iter().for_each(|tested| tested.remember(&loaded, settings));
        answers = running::reload(&loaded.settings.state)?;
    }
    let file = draft.path().display().to_string();
    let mut lines: Vec<String> = tested.iter().map(Tested::lines).collect();
    lines.extend(hint);
    lines.push(match is_saved {
        true => format!("{name}: added to {file}"),
        false => format!("{name}: not added, since the test failed; --untested adds it all the same"),
    });
    let test = tested.as_ref().map(Tested::to_json);
    let did = json!({ "name": name, "file": file, "saved": is_saved, "test": test });
    answers.print(cli.json, did, lines)?;
    Ok(if is_saved { Ending::Good } else { Ending::Failed })
}

/// Tests the server, signing in where that is new.
async fn tried(
    cli: &Cli,
    add: &Add,
    loaded: &Loaded,
    settings: &Settings,
) -> Result<Option<Tested>, Trouble> {
    if add.oauth {
        sign_in_to(cli, loaded, settings).await?;
    }
    if add.untested {
        return Ok(None);
    }
    if !cli.json {
        print::remark(&format!("{}: testing it", settings.name()));
    }
    let tested = probe(settings, pinned_world(loaded)?).await;
    let wants_sign_in = tested.problem.as_ref().is_some_and(|problem| problem.kind == "needs_auth");
    if wants_sign_in
        && !cli.json
        && ask::is_possible()
        && ask::confirm("It wants you to sign in. Do that now?")?
    {
        sign_in_to(cli, loaded, settings).await?;
        return Ok(Some(probe(settings, pinned_world(loaded)?).await));
    }
    Ok(Some(tested))
}

async fn sign_in_to(cli: &Cli, loaded: &Loaded, settings: &Settings) -> Result<(), Trouble> {
    let upstream = Upstream::new(settings.clone(), world(loaded)?);
    let account = upstream.account().ok_or_else(|| no_account(settings))?;
    sign_in(account, settings.name(), Browser::IfThereIsOne, cli.json).await
}

/// What is not added needs no sign-in. That it is kept would do no harm, so an error is of no interest.
async fn forget(loaded: &Loaded, settings: &Settings) {
    let Ok(world) = world(loaded) else { return };
    if let Some(account) = Upstream::new(settings.clone(), world).account() {
        let _ = account.sign_out().await;
        let _ = account.forget().await;
    }
}

/// True for a server that works or was not tested, and for one that only wants a sign-in: that can follow at any time.
fn is_worth_saving(tested: Option<&Tested>) -> bool {
    let kind = tested.and_then(|tested| tested.problem.as_ref()).map(|problem| problem.kind.as_str());
    matches!(kind, None | Some("needs_auth" | "needs_client_registration"))
}

/// Says what somebody should know who adds this.
fn remark_on_secrets(server: &Server) {
    for (table, values) in [("env", &server.env), ("headers", &server.headers)] {
        for (name, _) in values.iter().filter(|(name, value)| sounds_secret(name) && !value.contains("${")) {
            print::remark(&format!(
                "note: the value of {name} in `{table}` stands readable in the configuration; `${{env:VARIABLE}}` in its place \
                 takes it from the environment"
            ));
        }
    }
}
