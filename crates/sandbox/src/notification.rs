//! Tells the person at this desktop something, by the program that desktops have for it. No shell sees the text.

use std::ffi::{OsStr, OsString};

use crate::process::{find_in, start_detached, variable};

/// What shows a notification (`libnotify-bin` on Debian), and where the desktop's bus is named that it speaks to.
const PROGRAM: &str = "notify-send";
const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

/// Shows a notification and returns at once. Does nothing where there is no desktop, or no program for it; whether a person
/// saw it is not known. Both texts can be seen in the machine's process list for a moment.
pub fn notify(title: &str, text: &str) {
    show(title, text, &variable);
}

fn show(title: &str, text: &str, environment: &dyn Fn(&str) -> Option<OsString>) {
    let set = |name: &str| environment(name).filter(|value| !value.is_empty());
    let Some(program) = set(BUS).and_then(|_| find_in(set("PATH"), PROGRAM)) else { return };
    // Desktops read the text as markup.
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    let words = ["--app-name=toolcrib", "--", title, &text].map(OsStr::new);
    // Who cannot be told sees it at the terminal all the same.
    let _ = start_detached(&program, &words);
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a program of the test's own")]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    #[test]
    fn a_desktop_is_told_in_words_that_nothing_takes_for_more() {
        let folder = tempfile::tempdir().expect("a folder");
        let (said, program) = (folder.path().join("said"), folder.path().join(PROGRAM));
        mknodat(CWD, &said, FileType::Fifo, Mode::RWXU, 0).expect("a FIFO");
        let script = format!("#!/bin/sh\nprintf '%s|' \"$@\" > {}\n", said.display());
        fs::write(&program, script).expect("written");
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("mode");
        let on = |bus: &'static str| {
            let path = folder.path().as_os_str().to_owned();
            move |name: &str| match name {
                BUS => Some(bus.into()),
                "PATH" => Some(path.clone()),
                _ => None,
            }
        };
        show("--help", "never shown, or the FIFO would hold it", &on(""));
        show("--help", "<b>$(x)</b> & `y`", &on("unix:path=/nowhere"));
        let said = fs::read_to_string(said).expect("said");
        assert_eq!(said, "--app-name=toolcrib|--|--help|&lt;b>$(x)&lt;/b> &amp; `y`|");
    }
}
