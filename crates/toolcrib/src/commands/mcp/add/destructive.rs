//! How calls of tools that a server marks as destructive are treated: asked once, when it is added.

use terminal::Trouble;

use super::super::ask;
use crate::cli::{Cli, Destructive};

/// What the configuration says for it.
pub(super) const fn word(how: Destructive) -> &'static str {
    match how {
        Destructive::Ask => "ask",
        Destructive::Session => "session",
        Destructive::Allow => "allow",
    }
}

/// Asks the person at the terminal, if one is there: the word for the configuration. Else how to say it later.
pub(super) fn settle(
    cli: &Cli,
    name: &str,
    (marked, all): (usize, usize),
) -> Result<(Option<&'static str>, Option<String>), Trouble> {
    let what = format!("{marked} of its {all} tools are marked as destructive");
    if cli.json || !ask::is_possible() {
        let hint = format!(
            "{name}: {what}: each call of them asks you; `toolcrib mcp set {name} destructive=session` has them ask once a session"
        );
        return Ok((None, Some(hint)));
    }
    loop {
        let question =
            format!("{what}. Ask you [e]ach time, once a [s]ession for each tool, or [a]llow them? [E/s/a]");
        let answer = ask::ask(&question)?.map(|answer| answer.to_lowercase());
        return Ok((
            match answer.as_deref() {
                None | Some("" | "e" | "each") => Some(word(Destructive::Ask)),
                Some("s" | "session") => Some(word(Destructive::Session)),
                Some("a" | "allow") => Some(word(Destructive::Allow)),
                Some(_) => continue,
            },
            None,
        ));
    }
}
