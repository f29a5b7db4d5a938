//! What is held back, in words.

use admin::trust::{DIGITS_SHOWN, Examination, ServerTrust, Shown};
use pins::{Change, Risk, Severity, Trust, difference, shell_word, visible};

/// Most findings that are shown of one definition in a list.
const FINDINGS_LISTED_MAX: usize = 3;

/// What to think of what a definition says now, each thing on a line.
pub(super) fn risks(risks: &[Risk]) -> impl Iterator<Item = String> {
    let risks = risks.iter().take(FINDINGS_LISTED_MAX);
    risks.map(|risk| format!("    {}: {}", risk.severity, risk.says))
}

/// One server: a paragraph.
pub(super) fn server(server: &ServerTrust) -> String {
    let ServerTrust { name, trust: mode, seen, error, accepted, held_back, findings } = server;
    if let Some(error) = error {
        return format!("{name}: nothing is offered: {error}; --reset forgets it");
    }
    if !seen {
        let why = match mode {
            Trust::Trust => "everything is offered as it comes (trust)",
            Trust::Pin => "not connected to yet; what it has then is accepted (pin)",
            Trust::Review => "not connected to yet; what it has then is held back (review)",
        };
        return format!("{name}: {why}");
    }
    let mode = if *mode == Trust::Review { "review" } else { "pin" };
    let mut lines = vec![format!("{name}: {} held back, {accepted} accepted ({mode})", held_back.len())];
    for held in held_back {
        let because = held.because.as_deref().unwrap_or_default();
        lines.push(format!("  {} {}: {because}", held.kind, visible(&held.name)));
        lines.extend(risks(&held.risks));
    }
    for found in findings {
        let bad = found.findings.iter().filter(|finding| finding.severity > Severity::Low);
        let bad = bad.take(FINDINGS_LISTED_MAX);
        let mut bad = bad.map(|finding| format!("    {}: {finding}", finding.severity)).peekable();
        if bad.peek().is_some() {
            lines.push(format!("  {} {}: accepted; look at", found.kind, visible(&found.name)));
            lines.extend(bad);
        }
    }
    if !held_back.is_empty() {
        lines.push(format!("  `toolcrib mcp trust {name} --show ITEM` shows one, --accept ITEM offers it"));
    }
    lines.join("\n")
}

/// One definition of a server: what has changed, and what to do.
pub(super) fn item(server: &str, found: &Shown) -> String {
    let Shown { examination, accepted, shown } = found;
    let Examination { kind, name, because, shown_hash, changes, risks, findings, .. } = examination;
    let state = because.as_deref().unwrap_or("it is accepted");
    let gone = if examination.is_gone { ", and the server does not have it any more" } else { "" };
    let mut lines = vec![format!("{kind} {} of {server}: {state}{gone}", visible(name))];
    if shown_hash.is_some() && shown.is_null() {
        lines.push("  its definition is too long to be kept, so what has changed cannot be shown".to_owned());
    }
    let whole = match shown_hash {
        None if !accepted.is_null() => difference(None, Some(&accepted.to_string())),
        _ => Vec::new(),
    };
    lines.extend(changes.iter().chain(&whole).flat_map(Change::lines).map(|line| format!("  {line}")));
    match (because, risks.as_slice()) {
        (None, _) => {
            lines.extend(findings.iter().map(|finding| format!("  {}: {finding}", finding.severity)));
        }
        (Some(_), []) => lines.push("nothing about it stands out".to_owned()),
        (Some(_), risks) => {
            lines.push("look twice:".to_owned());
            lines.extend(risks.iter().map(|risk| format!("  {}: {}", risk.severity, risk.says)));
        }
    }
    if let (Some(_), Some(hash)) = (because, shown_hash) {
        let digits = &hash.as_str()[..DIGITS_SHOWN];
        let item = shell_word(&format!("{kind}:{}@{digits}", visible(name)));
        lines.push(format!(
            "to offer it: toolcrib mcp trust {server} --accept {item}; to be left in peace: --reject"
        ));
    }
    lines.join("\n")
}
