//! A sign-in by a person: the address to open, the browser, and what comes back from it, one way or the other.

use std::io;
use std::sync::Arc;

use admin::diagnosis::sign_in::diagnose;
use config::{Flags, Surroundings};
use http::Uri;
use oauth::{AuthError, Session, SignIn};
use serde_json::json;
use terminal::signals::Signals;
use terminal::{Trouble, print};
use tokio::sync::mpsc;

use crate::commands::mcp::ask;

/// Set in a shell on another machine, whose browser nobody sees.
const REMOTE: [&str; 2] = ["SSH_CONNECTION", "SSH_TTY"];

/// Set where there is a display all the same.
const DISPLAYS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// Whether a browser is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Browser {
    IfThereIsOne,
    Never,
}

/// Signs in to the server that people call `name`. Until it has worked, nothing is kept of it.
pub(crate) async fn sign_in(
    account: &Arc<Session>,
    name: &str,
    browser: Browser,
    json: bool,
) -> Result<(), Trouble> {
    let begun = account.begin().await.map_err(|error| failed(name, &error))?;
    go_on(begun, name, browser, json).await
}

/// Ends a sign-in that has begun.
pub(super) async fn go_on(begun: SignIn, name: &str, browser: Browser, json: bool) -> Result<(), Trouble> {
    let signals = Signals::listen()?;
    let url = begun.url().to_owned();
    match json {
        // Whoever follows it needs every character of it.
        true => print::secret(&json!({ "url": url, "redirect_uri": begun.redirect_uri() }).to_string())?,
        false => print::secret(&format!("{name}: sign in at\n\n  {url}\n"))?,
    }
    if browser == Browser::IfThereIsOne {
        open(&url);
    }
    print::remark(
        "waiting for the browser to come back; if it cannot reach this machine, paste the address that it ends at, or \
         the code, and press Enter",
    );
    tokio::select! {
        ended = end(begun) => ended.map_err(|error| failed(name, &error)),
        () = signals.stop() => Err(Trouble::Failed(format!("{name}: the sign-in was given up; nothing is kept of it"))),
    }
}

/// Waits for the browser or for a person who pastes where it went, whichever comes first.
async fn end(mut begun: SignIn) -> Result<(), AuthError> {
    let mut pasted = pasted();
    let answer = tokio::select! {
        answer = begun.callback() => answer?,
        Some(line) = pasted.recv() => line,
    };
    begun.finish(&answer).await
}

/// The lines that a person pastes, on a remote machine whose browser cannot come back by itself. They are read on a
/// thread that nobody waits for: a read from a terminal cannot be called off, and it ends with the process.
fn pasted() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        loop {
            // Locked for one line only: others read, too, when this is over.
            let Ok(Some(line)) = ask::answer(&mut io::stdin().lock()) else { return };
            if !line.is_empty() && sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

pub(super) fn failed(name: &str, error: &AuthError) -> Trouble {
    Trouble::Failed(print::harmless(&diagnose(name, error).lines(name)))
}

/// Opens the address in the person's browser, or says why it does not.
fn open(url: &str) {
    let surroundings = Surroundings::of_process(Flags::default()).unwrap_or_default();
    let is_set = |names: &[&str]| names.iter().any(|name| surroundings.variable(name).is_some());
    if is_set(&REMOTE) && !is_set(&DISPLAYS) {
        return print::remark("this is a remote shell; open the address in the browser before you");
    }
    let opened = match url.parse::<Uri>() {
        Ok(uri) => sandbox::open_browser(&uri).map_err(|error| error.to_string()),
        Err(_) => Err("the address cannot be handed to a browser; open it yourself".to_owned()),
    };
    match opened {
        Ok(()) => print::remark("your browser should show it in a moment"),
        Err(why) => print::remark(&print::harmless(&why)),
    }
}
