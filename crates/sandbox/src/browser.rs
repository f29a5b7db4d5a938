//! Opens an address in the person's browser. No shell sees the address, and only addresses of the web are opened:
//! what comes from a server's metadata must not start anything else.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::PathBuf;

use http::Uri;
use http::uri::Scheme;

use crate::process::{find_in, start_detached, variable};

/// What opens an address in the browser that the person prefers, and whether it needs a display to do so.
const OPENERS: [(&str, bool); 4] =
    [("xdg-open", true), ("wslview", false), ("sensible-browser", true), ("x-www-browser", true)];

/// Where a display is named.
const DISPLAYS: [&str; 2] = ["WAYLAND_DISPLAY", "DISPLAY"];

/// Names a program that opens addresses; the remote shells of editors set it.
const CHOSEN: &str = "BROWSER";

/// Why no browser was opened. What is left to do is always the same: to open the address oneself.
#[derive(Debug, thiserror::Error)]
pub enum BrowserError {
    /// The address is not one of the web: what it begins with; nothing for a path alone.
    #[error("only http and https addresses are opened in a browser, not this one{}", begins(.0))]
    Scheme(String),
    /// The address has a character that programs on the way to the browser may take for more than that.
    #[error("the address has the character {0:?} and is not opened; if you trust it, open it yourself")]
    Character(char),
    /// Nothing is installed that opens a browser, or there is no display to show it on.
    #[error("no browser can be opened from here; open the address in a browser yourself, on any machine")]
    NotFound,
    /// The system could not start it.
    #[error("the browser could not be started ({0}); open the address yourself")]
    Start(#[source] io::Error),
}

/// Opens `url` in the person's browser and returns at once; the browser outlives this program. Whether a page came
/// up is not known.
///
/// The address is the browser's argument, and thus visible in the machine's process list for a moment.
///
/// # Errors
/// If `url` is no plain http or https address, or no browser can be started.
pub fn open_browser(url: &Uri) -> Result<(), BrowserError> {
    open_with(url, &variable)
}

fn begins(scheme: &str) -> String {
    if scheme.is_empty() { String::new() } else { format!(", which begins with `{scheme}:`") }
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<OsString>;

fn open_with(url: &Uri, environment: Environment<'_>) -> Result<(), BrowserError> {
    let address = checked(url)?;
    let opener = opener(environment).ok_or(BrowserError::NotFound)?;
    start_detached(&opener, &[OsStr::new(&address)]).map_err(BrowserError::Start)
}

/// The address, if it is one to be opened.
fn checked(url: &Uri) -> Result<String, BrowserError> {
    if ![Some(&Scheme::HTTP), Some(&Scheme::HTTPS)].contains(&url.scheme()) || url.host().is_none() {
        return Err(BrowserError::Scheme(url.scheme_str().unwrap_or_default().to_owned()));
    }
    let address = url.to_string();
    match address.chars().find(|&character| !is_plain(character)) {
        Some(character) => Err(BrowserError::Character(character)),
        None => Ok(address),
    }
}

/// True for what addresses are made of (RFC 3986), without what a shell would act on inside a word: the programs
/// that open browsers are shell scripts, and not all of them were written with care. `&` separates the parts of
/// every query.
fn is_plain(character: char) -> bool {
    character.is_ascii_alphanumeric() || "-._~:/?#[]@&+,=%".contains(character)
}

/// The program that opens addresses.
fn opener(environment: Environment<'_>) -> Option<PathBuf> {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    let chosen = set(CHOSEN).and_then(|value| value.into_string().ok());
    // Lists and patterns are possible too, and left to the programs below.
    let chosen = chosen.filter(|value| !value.contains([':', '%', ' ']));
    let has_display = DISPLAYS.iter().any(|name| set(name).is_some());
    let usual = OPENERS.iter().filter(|(_, needs_display)| has_display || !needs_display);
    let mut commands = chosen.iter().map(String::as_str).chain(usual.map(|&(command, _)| command));
    commands.find_map(|command| find_in(set("PATH"), command))
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "programs of the tests' own")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[track_caller]
    fn check_refused(url: &str, expected: &str) {
        let url = url.parse().expect("an address");
        let error = open_with(&url, &|_| None).expect_err("refused");
        assert_eq!(error.to_string(), expected, "{url}");
    }

    #[test]
    fn only_plain_addresses_of_the_web_are_opened() {
        for (url, begins) in [
            ("file://host/etc/passwd", ", which begins with `file:`"),
            ("vscode://host/x", ", which begins with `vscode:`"),
            ("javascript:alert(1)", ""),
            ("/a/b", ""),
        ] {
            let expected =
                format!("only http and https addresses are opened in a browser, not this one{begins}");
            check_refused(url, &expected);
        }
        for character in ['$', ';', '\'', '"', '|', '(', ')', '{', '}', '`', '!', '*', '\\', '^'] {
            let Ok(url) = format!("https://host/a?x={character}y").parse::<Uri>() else { continue };
            let expected = BrowserError::Character(character).to_string();
            check_refused(&url.to_string(), &expected);
        }
        check_refused("https://host/\u{e9}", &BrowserError::Character('\u{e9}').to_string());
        check_refused("https://host/a?b=c&d=%20+e#f", &BrowserError::NotFound.to_string());
        for unparsable in [
            "javascript:alert(1)//",
            "file:///etc/passwd",
            "https://ho st/",
            "https://host/a\nb",
            "https://host/<b>",
        ] {
            assert!(unparsable.parse::<Uri>().is_err(), "{unparsable}");
        }
    }

    /// A program that writes what it was given into the FIFO `said`.
    fn install(folder: &Path, name: &str) {
        let path = folder.join(name);
        let said = folder.join("said").display().to_string();
        fs::write(&path, format!("#!/bin/sh\nprintf '%s %s %s' {name} \"$#\" \"$1\" > {said}\n"))
            .expect("written");
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("mode");
    }

    #[test]
    fn the_first_program_that_can_gets_the_address_as_its_one_argument() {
        const URL: &str = "https://host:1/a?b=c&d=%24(x)";
        const PLAIN: &str = "https://host:1/a?b=c&d=%24x";
        for (installed, variables, expected) in [
            (&["xdg-open", "wslview"][..], &[("DISPLAY", ":0")][..], Some("xdg-open")),
            (&["xdg-open", "wslview"], &[("WAYLAND_DISPLAY", "w")], Some("xdg-open")),
            (&["xdg-open", "wslview"], &[("DISPLAY", "")], Some("wslview")),
            (&["xdg-open", "x-www-browser"], &[], None),
            (&["x-www-browser"], &[("DISPLAY", ":0")], Some("x-www-browser")),
            (&["mine", "xdg-open"], &[("BROWSER", "mine")], Some("mine")),
            (&["mine", "xdg-open"], &[("BROWSER", "mine:other"), ("DISPLAY", ":0")], Some("xdg-open")),
            (&["xdg-open"], &[("BROWSER", "gone"), ("DISPLAY", ":0")], Some("xdg-open")),
            (&[], &[("DISPLAY", ":0")], None),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            mknodat(CWD, folder.path().join("said"), FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
            installed.iter().for_each(|name| install(folder.path(), name));
            let environment = |name: &str| match name {
                "PATH" => Some(folder.path().as_os_str().to_owned()),
                _ => variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into()),
            };
            assert!(matches!(
                open_with(&URL.parse().expect("an address"), &environment),
                Err(BrowserError::Character('('))
            ));
            let opened = open_with(&PLAIN.parse().expect("an address"), &environment);
            match expected {
                Some(name) => {
                    opened.expect("a browser");
                    let said = fs::read_to_string(folder.path().join("said")).expect("what it was given");
                    assert_eq!(said, format!("{name} 1 {PLAIN}"));
                }
                None => assert!(matches!(opened, Err(BrowserError::NotFound)), "{opened:?}"),
            }
        }
    }
}
