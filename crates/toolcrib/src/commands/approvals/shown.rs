//! Questions, answers and standing permissions in words. The arguments come without secrets and with nothing in them that
//! hides; everything else passes `print` as all that others wrote.

use admin::trust::WaitingDefinition;
use gate::approvals::{ApprovalReport, GrantReport, Through, WouldChange, begin_with, is_wish};
use pins::visible;
use policy::Covers;
use terminal::print::Table;
use terminal::times::{shown, shown_here};

/// How much of the arguments stands in a table, in characters.
const ARGUMENTS_CHARS_MAX: usize = 60;

pub(super) fn table(approvals: &[ApprovalReport]) -> Table {
    Table::titled(["ID", "STATE", "CALLER", "TOOL", "UNTIL", "ARGUMENTS"], approvals.iter().map(row))
        .with_states_in(1)
}

/// Most definitions that are named; `mcp trust` names all.
const DEFINITIONS_MAX: usize = 20;

/// What of servers waits for the same person, each on a line.
pub(super) fn definitions(waiting: &[WaitingDefinition]) -> Vec<String> {
    let line = |WaitingDefinition { server, kind, name, why }: &WaitingDefinition| {
        let name = visible(name);
        format!("{server}: {kind} {name} waits, too ({why}): `toolcrib mcp trust {server}` shows it")
    };
    let mut lines: Vec<String> = waiting.iter().take(DEFINITIONS_MAX).map(line).collect();
    if waiting.len() > DEFINITIONS_MAX {
        lines.push(format!("and {} more: `toolcrib mcp trust` shows all", waiting.len() - DEFINITIONS_MAX));
    }
    lines
}

fn row(approval: &ApprovalReport) -> Vec<String> {
    let arguments = match wish(approval) {
        Some(wish) => format!("{wish}, with {}", approval.arguments),
        None => approval.arguments.clone(),
    };
    let cut: String = arguments.chars().take(ARGUMENTS_CHARS_MAX).collect();
    let more = if cut.len() < arguments.len() { "\u{2026}" } else { "" };
    vec![
        approval.id.to_string(),
        approval.state.clone(),
        approval.caller.to_string(),
        approval.tool.clone(),
        shown(approval.expires_at_ms),
        format!("{cut}{more}"),
    ]
}

/// What a call wants that is running.
fn wish(approval: &ApprovalReport) -> Option<&str> {
    approval.target.as_deref().filter(|_| approval.target_kind.as_deref().is_some_and(is_wish))
}

/// Everything that helps to answer.
pub(super) fn whole(approval: &ApprovalReport) -> String {
    let server = approval.upstream.as_deref().map_or(String::new(), |it| format!(" of the server {it}"));
    let cut = match approval.arguments_cut {
        true => {
            let (bytes, id) = (approval.arguments_bytes, &approval.id);
            format!(
                "\n             ({bytes} bytes, shortened; all of them while it is open: approvals show {id} --full)"
            )
        }
        false => String::new(),
    };
    let mut lines = vec![
        format!("approval     {} ({})", approval.id, approval.state),
        format!("tool         {}{server}", approval.tool),
        format!("caller       {} over {}", approval.caller, approval.via),
        format!("arguments    {}{cut}", approval.arguments),
        format!("workspace    {}", approval.workspace),
        format!("asked        {}", shown_here(approval.asked_at_ms)),
        format!("open until   {}", shown_here(approval.expires_at_ms)),
        format!("answered by  {}", approval.roles.join(" or ")),
    ];
    if let Some(meta) = &approval.meta {
        lines.insert(4, format!("_meta        {meta}"));
    }
    if !approval.beginnings.is_empty() && approval.is_open() {
        let begin = begin_with(&approval.beginnings);
        lines.push(format!("words        --session --words, or --always --words, allows {begin}"));
    }
    let reasons =
        approval.questions.iter().map(|asked| format!("because      it {} (rule {})", asked.why, asked.rule));
    lines.extend(reasons);
    if approval.questions.iter().all(|asked| asked.covers == Covers::Session) {
        lines.push("a yes        is good for every call of it in this session".to_owned());
    }
    if let Some(plan) = &approval.plan {
        let plan = plan.lines().map(|line| format!("\n    {line}")).collect::<String>();
        lines.push(format!("the plan{plan}"));
    }
    if let Some(would_change) = &approval.would_change {
        lines.push(diff(would_change));
    }
    if let Some(answered) = &approval.answered {
        let note = answered.note.as_deref().map_or(String::new(), |note| format!(": {note}"));
        let (by, at) = (&answered.by, shown_here(answered.at_ms));
        let place = match answered.through {
            Through::Terminal => "on the command line",
            Through::Rest => "over HTTP",
            Through::Elicitation => "in the client",
            Through::Grant => "by a grant",
        };
        lines.push(format!("answer       by {by} {place} at {at}{note}"));
    } else if approval.is_open() {
        lines.push(format!("to answer    toolcrib approvals approve {id}, or deny {id}", id = approval.id));
    }
    if let Some(used_at_ms) = approval.used_at_ms {
        lines.push(format!("used         {}", shown_here(used_at_ms)));
    }
    lines.join("\n")
}

/// What the call would change. Its lines stand further in than what else is said, so that none of them can pass for that.
fn diff(would_change: &WouldChange) -> String {
    let lines = would_change.diff.lines().map(|line| format!("\n    {line}")).collect::<String>();
    let more = match would_change.lines_cut {
        0 => String::new(),
        lines => {
            format!("\n             ({lines} more lines are not shown; `tools call … --dry-run` shows them)")
        }
    };
    format!("dry run      {}{lines}{more}", would_change.summary())
}

/// What was done.
pub(super) fn answered(approval: &ApprovalReport) -> String {
    let (id, tool) = (&approval.id, &approval.tool);
    if let Some(wish) = wish(approval) {
        return answered_wish(approval, wish);
    }
    if approval.state == "denied" {
        return format!(
            "denied {id}: `{tool}` does not run; to take that back: toolcrib approvals reset {id}"
        );
    }
    let grant = approval.answered.as_ref().and_then(|answered| answered.grant.as_deref());
    let until =
        approval.answered.as_ref().and_then(|it| it.use_until_ms).map_or_else(String::new, shown_here);
    match grant {
        Some(grant) => {
            format!("approved {id}: `{tool}` runs; to take that back: toolcrib approvals revoke {grant}")
        }
        None => format!("approved {id}: this call of `{tool}` runs once, until {until}"),
    }
}

fn answered_wish(approval: &ApprovalReport, wish: &str) -> String {
    let (id, tool) = (&approval.id, &approval.tool);
    let grant = approval.answered.as_ref().and_then(|answered| answered.grant.as_deref());
    match (&*approval.state, grant) {
        ("denied", _) => format!("denied {id}: this call of `{tool}` goes on without {wish}"),
        (_, Some(grant)) => {
            format!(
                "approved {id}: `{tool}` has {wish}; to take that back: toolcrib approvals revoke {grant}"
            )
        }
        (_, None) => format!("approved {id}: this call of `{tool}` has {wish}"),
    }
}

/// Which denials were taken back.
pub(super) fn reset(reset: &[ApprovalReport]) -> String {
    let line = |it: &ApprovalReport| format!("taken back {}: such a call of `{}` asks again", it.id, it.tool);
    match reset {
        [] => "no denial holds that could be taken back".to_owned(),
        some => some.iter().map(line).collect::<Vec<_>>().join("\n"),
    }
}

pub(super) fn grants(grants: &[GrantReport]) -> Table {
    Table::titled(["ID", "CALLER", "TOOL", "UNTIL", "BY", "ARGUMENTS"], grants.iter().map(grant_row))
}

fn grant_row(grant: &GrantReport) -> Vec<String> {
    let until = match grant.until_ms {
        Some(until_ms) => format!("its session ends, at the latest {}", shown_here(until_ms)),
        None => "you revoke it".to_owned(),
    };
    let (by, caller) = (grant.by.to_string(), grant.caller.to_string());
    vec![grant.id.to_string(), caller, grant.tool.clone(), until, by, grant.arguments.clone()]
}
