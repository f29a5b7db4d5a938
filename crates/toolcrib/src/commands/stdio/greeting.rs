//! Asking the person behind a client about what the folder declares, by a form in their client, once it is ready. Who
//! leaves it open, or is not asked, finds it with `toolcrib trust`.

use std::sync::Arc;

use admin::folders::{Agreement, FoldersPart, HeldBack};
use bytes::Bytes;
use daemon::control::Reloader;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use gate::Approvals;
use serde_json::{Map, Value, json};
use server::Greeting;
use terminal::print;
use tokio::task::spawn_blocking;

use crate::commands::trust::{declarations, name_of};

/// The key of the question.
const KEY: &str = "toolcrib_trust";

/// Longest text that a form is given, in bytes. Nobody reads more there.
const TEXT_BYTES_MAX: usize = 8 * 1024;

/// Most declarations that a form asks about.
const DECLARATIONS_MAX: usize = 20;

/// What waits, and where an answer goes.
pub(super) struct FolderGreeting {
    held: Vec<HeldBack>,
    folders: Arc<FoldersPart>,
    reloader: Arc<Reloader>,
}

impl FolderGreeting {
    /// Asks about these; nothing if there is nothing that a form could ask.
    pub(super) fn new(
        held: &[HeldBack],
        folders: Arc<FoldersPart>,
        reloader: &Arc<Reloader>,
    ) -> Option<FolderGreeting> {
        let is_askable = |held: &HeldBack| !matches!(held.why, Agreement::Unreadable(_));
        let held: Vec<HeldBack> = held.iter().filter(|held| is_askable(held)).cloned().collect();
        let fits =
            !held.is_empty() && held.len() <= DECLARATIONS_MAX && message(&held).len() <= TEXT_BYTES_MAX;
        fits.then(|| FolderGreeting { held, folders, reloader: reloader.clone() })
    }
}

impl Greeting for FolderGreeting {
    fn requests(&self) -> Option<Bytes> {
        // A form belongs to its client; a person who has set a code types it at a terminal and nowhere else.
        let has_code = Approvals::new(self.folders.store.clone()).has_code();
        if !matches!(has_code, Ok(false)) {
            return None;
        }
        Some(
            json!({ KEY: { "method": "elicitation/create", "params": form(&self.held) } }).to_string().into(),
        )
    }

    fn answered(&self, responses: Bytes) -> BoxFuture<'_, ()> {
        let agreed = agreed(&self.held, &responses);
        async move {
            if agreed.is_empty() {
                return;
            }
            let folders = self.folders.clone();
            let kept = spawn_blocking(move || {
                agreed.iter().try_for_each(|(held, secrets)| folders.keep(&held.declaration, secrets.clone()))
            });
            match kept.await {
                // How the reload went is in the log.
                Ok(Ok(())) => drop(self.reloader.reload().await),
                Ok(Err(why)) => tracing::error!(%why, "an agreement to what the folder declares is not kept"),
                // The program is ending.
                Err(_) => {}
            }
        }
        .boxed()
    }
}

fn message(held: &[HeldBack]) -> String {
    let intro = "The files of this folder declare what follows. It is not in force, and starts and sends nothing, before \
                 you agree to it.";
    print::harmless(&format!("{intro}\n\n{}", declarations(held)))
}

/// A switch for each declaration, and one for each kept secret that it names.
fn form(held: &[HeldBack]) -> Value {
    let mut switches = Map::new();
    let mut switch = |key: String, title: String| {
        switches
            .insert(key, json!({ "type": "boolean", "title": print::harmless(&title), "default": false }));
    };
    for (nth, held) in held.iter().enumerate() {
        switch(key(nth), format!("agree to {}", name_of(held)));
        for secret in &held.declaration.secrets {
            switch(
                key_of_secret(nth, secret),
                format!("let {} use your kept secret {secret}", name_of(held)),
            );
        }
    }
    json!({
        "mode": "form",
        "message": message(held),
        "requestedSchema": { "type": "object", "properties": switches },
    })
}

fn key(nth: usize) -> String {
    format!("declaration_{nth}")
}

fn key_of_secret(nth: usize, secret: &str) -> String {
    format!("declaration_{nth}_{secret}")
}

/// What was agreed to, and the secrets that each may use. Only what is said outright counts.
fn agreed(held: &[HeldBack], responses: &[u8]) -> Vec<(HeldBack, Vec<String>)> {
    let said: Value = serde_json::from_slice(responses).unwrap_or_default();
    let said = &said[KEY];
    if said["action"] != "accept" {
        return Vec::new();
    }
    let is_on = |key: &str| said["content"][key] == true;
    let one = |(nth, held): (usize, &HeldBack)| {
        let named = held.declaration.secrets.iter();
        let secrets = named.filter(|secret| is_on(&key_of_secret(nth, secret))).cloned().collect();
        is_on(&key(nth)).then(|| (held.clone(), secrets))
    };
    held.iter().enumerate().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use admin::folders::{Declaration, Line};

    use super::*;

    fn held(name: &str, secrets: &[&str]) -> HeldBack {
        let shown = "starts x\u{1b}[2J".to_owned();
        let declaration = Declaration {
            folder: "/project".into(),
            key: format!("toolcrib.toml mcp.{name}"),
            place: "toolcrib.toml:1:1".to_owned(),
            sha256: "ab".to_owned(),
            lines: vec![Line { shown: shown.clone(), kept: shown }],
            secrets: secrets.iter().map(|name| (*name).to_owned()).collect(),
        };
        HeldBack { declaration, why: Agreement::Unknown }
    }

    #[test]
    fn a_form_shows_everything_and_drives_nothing() {
        let form = form(&[held("a", &["TOKEN"]), held("b", &[])]);
        let keys: Vec<&String> =
            form["requestedSchema"]["properties"].as_object().expect("switches").keys().collect();
        assert_eq!(keys, ["declaration_0", "declaration_0_TOKEN", "declaration_1"]);
        let message = form["message"].as_str().expect("text");
        assert!(message.contains("starts x\u{fffd}[2J") && message.contains("mcp.b"), "{message}");
    }

    #[test]
    fn only_what_is_said_outright_is_agreed_to() {
        let held = [held("a", &["TOKEN"]), held("b", &[])];
        for (said, expected) in [
            (r#"{"action":"accept","content":{"declaration_0":true}}"#, "a:"),
            (r#"{"action":"accept","content":{"declaration_0":true,"declaration_0_TOKEN":true}}"#, "a:TOKEN"),
            (r#"{"action":"accept","content":{"declaration_0_TOKEN":true,"declaration_1":true}}"#, "b:"),
            (r#"{"action":"accept","content":{"declaration_0":"true","declaration_1":1}}"#, ""),
            (r#"{"action":"accept"}"#, ""),
            (r#"{"action":"decline","content":{"declaration_0":true}}"#, ""),
            (r#"{"action":"cancel"}"#, ""),
            ("[]", ""),
        ] {
            let agreed = agreed(&held, format!(r#"{{"{KEY}":{said}}}"#).as_bytes());
            let agreed: Vec<String> = agreed
                .iter()
                .map(|(held, secrets)| {
                    format!("{}:{}", held.declaration.server().expect("one"), secrets.join(","))
                })
                .collect();
            assert_eq!(agreed.join(" "), expected, "{said}");
        }
    }
}
