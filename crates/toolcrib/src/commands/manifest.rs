//! `manifest`: tools of one's own, written, checked and tried.

mod from_openapi;
mod new;
mod run;

use std::path::PathBuf;
use std::sync::Arc;

use config::Manifests;
use serde_json::json;
use terminal::{Ending, Trouble, print};
use tool_api::AnyTool;

use super::start::start_nobody;
use crate::cli::{Cli, Manifest};

pub(super) fn run(cli: &Cli, command: Manifest) -> Result<Ending, Trouble> {
    match command {
        Manifest::New { name } => new::run(cli, &name),
        Manifest::Check { files } => check(cli, &files),
        Manifest::Run { file, fixture, junit } => run::run(cli, &file, fixture.as_deref(), junit.as_deref()),
        Manifest::FromOpenapi(asked) => from_openapi::run(cli, &asked),
        Manifest::Schema => Ok(print::json(&config::manifest_schema()).map(|()| Ending::Good)?),
    }
}

fn check(cli: &Cli, files: &[PathBuf]) -> Result<Ending, Trouble> {
    let manifests = start_nobody(cli)?.settings.manifests;
    let (tools, problems) = match files.is_empty() {
        true => (manifests.tools.clone(), manifests.problems.clone()),
        false => each(&manifests, files),
    };
    let names: Vec<&str> = tools.iter().map(|tool| tool.definition().name.as_str()).collect();
    if !cli.json && !problems.is_empty() {
        print::remark(&problems.join("\n"));
    }
    let words = match (&names[..], &problems[..]) {
        ([], []) => nothing(&manifests),
        ([], _) => String::new(),
        (names, _) => format!("good: {}", names.join(", ")),
    };
    if cli.json {
        print::json(&json!({ "tools": names, "problems": problems }))?;
    } else if !words.is_empty() {
        print::line(&words)?;
    }
    Ok(if problems.is_empty() { Ending::Good } else { Ending::Misused })
}

fn each(manifests: &Manifests, files: &[PathBuf]) -> (Vec<Arc<dyn AnyTool>>, Vec<String>) {
    let (mut tools, mut problems) = (Vec::new(), Vec::new());
    for file in files {
        match manifests.check(file) {
            Ok(tool) => tools.push(tool),
            Err(more) => problems.extend(more),
        }
    }
    (tools, problems)
}

/// Why there are none.
fn nothing(manifests: &Manifests) -> String {
    match manifests.own_folder() {
        Some(folder) => {
            format!("there is no manifest in {}; `toolcrib manifest new NAME` writes one", folder.display())
        }
        None => "manifests are passed over: the configuration was named, and stands alone".to_owned(),
    }
}
