//! Whether pages of the web can be shown: which browser is found, and whether it starts in the sandbox. Pages are read without
//! one as well, so nothing here makes the machine unsound.

use std::path::PathBuf;
use std::sync::Arc;

use browser::{BrowserError, Browsers, Key};
use config::Settings;
use daemon::own_program::{SPAWNER, confinement};
use sandbox::Variables;
use sandbox::confine::{Confiner, Profile};
use sandbox::egress::HostRules;
use serde_json::{Value, json};
use terminal::Trouble;

/// How to get one, by what the machine runs.
const GETTING: [(&str, &str); 4] = [
    ("Debian", "apt install chromium"),
    ("Fedora", "dnf install chromium"),
    ("Alpine", "apk add chromium"),
    ("Ubuntu", "Google's package google-chrome-stable, since its chromium is a snap"),
];

/// What was found out.
pub(super) struct BrowserReport {
    program: Option<PathBuf>,
    /// Which it is; or why it shows no page.
    version: Result<String, BrowserError>,
}

impl BrowserReport {
    pub(super) async fn new(settings: &Settings) -> Result<BrowserReport, Trouble> {
        let sandbox = &settings.sandbox;
        let program = sandbox::headless_browser(sandbox.browser.as_deref());
        let browsers = Browsers::new(Arc::new(Confiner::new(confinement(SPAWNER)?).without_pool()));
        let key = Key {
            caller: "doctor".into(),
            profile: Profile { limits: sandbox.limits, ..Profile::browser() },
            hosts: HostRules::none(),
            program: sandbox.browser.clone(),
            waived: sandbox.waived.clone(),
            company: None,
            surroundings: Variables::default(),
        };
        Ok(BrowserReport { program, version: browsers.version(&key).await })
    }

    pub(super) fn to_json(&self) -> Value {
        match &self.version {
            Ok(version) => json!({ "program": self.program, "version": version }),
            Err(error) => json!({ "program": self.program, "why": error.to_string(), "install": GETTING }),
        }
    }

    /// One line; where there is none that works, one for each way to get one.
    pub(super) fn lines(&self) -> Vec<String> {
        let found = self.program.as_ref().map(|program| program.display().to_string());
        match &self.version {
            Ok(version) => vec![format!("browser     {}, {version}", found.unwrap_or_default())],
            Err(error) => {
                let found = found.map_or("none".to_owned(), |found| format!("{found} shows no pages"));
                let ways = GETTING.iter().map(|(system, how)| format!("    on {system}: {how}"));
                std::iter::once(format!("browser     {found}: {error}")).chain(ways).collect()
            }
        }
    }
}
