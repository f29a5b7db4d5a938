//! `audit acknowledge`: a person signs that they know what the audit log has lost.

use audit::{AuditLog, Loss};
use serde_json::json;

use crate::cli::Cli;
use crate::config::Settings;
use crate::ending::{Ending, Trouble};
use crate::print;
use crate::times::now_ms;

pub(super) fn run(cli: &Cli, settings: Settings, because: Option<&str>) -> Result<Ending, Trouble> {
    let Settings { state, audit, redactor, .. } = settings;
    let because = because.map(|because| redactor.text(because).into_owned());
    let audit_log = AuditLog::with(&state, now_ms, audit, redactor);
    let losses = audit_log.acknowledge(because.as_deref());
    let losses = losses.map_err(|error| Trouble::Failed(error.to_string()))?;
    if cli.json {
        let told: Vec<_> =
            losses.iter().map(|loss| json!({ "record": loss.seq, "kept": loss.kept })).collect();
        print::json(&json!({ "acknowledged": told }))?;
    } else if losses.is_empty() {
        print::line("nothing to acknowledge: the audit log has lost nothing that somebody does not know of")?;
    } else {
        let told: Vec<String> = losses.iter().map(said).collect();
        print::line(&told.join("\n"))?;
    }
    Ok(Ending::Good)
}

fn said(loss: &Loss) -> String {
    format!("acknowledged: {loss} (told by record {})", loss.seq)
}
