//! What is wrong with a program that is started here.

use upstream::NotStarted;

use super::finding::{Diagnosis, Failed, told_by};
use crate::nearest;

/// How much of a program's last words is repeated, in characters.
const WORDS_CHARS_MAX: usize = 300;

/// It was not started.
pub(super) fn not_started(failed: &Failed<'_>, kind: NotStarted, message: &str) -> Diagnosis {
    let Some(program) = failed.settings.program() else {
        return Diagnosis::of("not_started:no_program", &[("message", &message)]);
    };
    let message = message.split_once(';').map_or(message, |(what, _)| what);
    match kind {
        NotStarted::Missing => missing(failed, &program.command, message),
        NotStarted::NotExecutable => {
            Diagnosis::of("not_executable", &[("message", &message), ("command", &program.command)])
        }
        NotStarted::Folder => Diagnosis::of("folder_missing", &[("message", &message)]),
        NotStarted::System => Diagnosis::of("not_started", &[("message", &message)]),
        NotStarted::Sandbox(layer) => Diagnosis::of(
            "sandbox_unavailable",
            &[("message", &message), ("fix", &layer.fix()), ("name", &failed.settings.name())],
        ),
        NotStarted::NotRun => Diagnosis::of("cannot_run", &[("message", &format!(": {message}"))]),
        NotStarted::CannotBeShown => Diagnosis::of("cannot_be_shown", &[("message", &message)]),
        NotStarted::NotShown => {
            Diagnosis::of("not_shown", &[("message", &message), ("name", &failed.settings.name())])
        }
    }
}

/// There is no such program.
fn missing(failed: &Failed<'_>, command: &str, message: &str) -> Diagnosis {
    if command.contains(['/', ' ']) {
        let kind = if command.contains('/') { "program_missing:path" } else { "program_missing:line" };
        return Diagnosis::of(kind, &[("message", &message)]);
    }
    let install = match command {
        "npx" | "npm" | "node" => "install Node.js",
        "uvx" | "uv" => "install uv (https://docs.astral.sh/uv)",
        "docker" => "install Docker",
        _ => "install it",
    };
    let programs = (failed.programs)();
    let near = nearest(command, programs.iter().map(String::as_str)).filter(|near| *near != command);
    let kind = if near.is_some() { "program_missing:near" } else { "program_missing" };
    let near = near.unwrap_or_default();
    Diagnosis::of(kind, &[("message", &message), ("near", &near), ("install", &install)])
}

/// It ended before it was ready.
pub(super) fn exited(failed: &Failed<'_>, how: &str) -> Diagnosis {
    let how = how.split_once(" (").map_or(how, |(how, _)| how);
    if let Some((words, line)) = told_by(failed.stderr) {
        return Diagnosis::of(&words.kind, &[("how", &how), ("line", &shortened(line))]);
    }
    let last = failed.stderr.lines().rev().find(|line| !line.trim().is_empty());
    let message = last.map(|last| format!("; the last it said: {}", shortened(last))).unwrap_or_default();
    let text = failed.seen.text.as_deref().filter(|_| failed.seen.messages == 0);
    let kind = match how.strip_prefix("was ended by signal ") {
        _ if text.is_some() => "exits_with_text",
        _ if how.starts_with("closed") => "closes_output",
        Some("9") => "killed:by_9",
        Some(_) => "killed",
        None if how.ends_with("code 126") || how.ends_with("code 127") => "cannot_run",
        None => "exits",
    };
    let (text, place) = (text.unwrap_or_default(), failed.settings.place());
    Diagnosis::of(kind, &[("how", &how), ("message", &message), ("text", &text), ("place", &place)])
}

/// A line, as much as fits into a sentence.
fn shortened(line: &str) -> String {
    let line = line.trim();
    let shown: String =
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS_CHARS_MAX).collect();
    if line.chars().count() > WORDS_CHARS_MAX { format!("{shown}…") } else { shown }
}
