//! `audit acknowledge`: a person signs that they know what the audit log has lost.

use audit::{AnchorError, AuditLog, Loss};
use serde_json::json;

use crate::assemble::now_ms;
use crate::cli::Cli;
use crate::config::Settings;
use crate::ending::{Ending, Trouble};
use crate::print;

pub(super) fn run(cli: &Cli, settings: Settings, because: Option<&str>) -> Result<Ending, Trouble> {
    let Settings { state, audit, redactor, kept, .. } = settings;
    let because = because.map(|because| redactor.text(because).into_owned());
    let store = kept.store();
    let audit_log = AuditLog::with(&state, now_ms, audit, redactor).kept_in(store.clone());
    let failed = |error: AnchorError| Trouble::Failed(error.to_string());
    let losses = audit_log.acknowledge(&**store, because.as_deref()).map_err(failed)?;
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
