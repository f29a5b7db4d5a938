//! Which program is the browser, and with which words it is started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sandbox::confine::{Confined, Profile};
use sandbox::egress::PROXY_PORT;

/// Its commands and its answers go through the descriptors 3 and 4. A sandbox gives a program its streams, and 3 to write to.
const PLUMBING: &str = "exec \"$@\" 4>&3 3<&0 </dev/null >/dev/null";

/// What it is told beside where its proxy is. Our sandbox holds it, so its own, which needs namespaces, is left out.
const WORDS: [&str; 24] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--remote-debugging-pipe",
    "--no-startup-window",
    // Nothing goes past the proxy, also not to this machine.
    "--proxy-bypass-list=<-loopback>",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--disable-quic",
    // Nothing is asked of its maker.
    "--disable-background-networking",
    "--disable-client-side-phishing-detection",
    "--disable-component-extensions-with-background-pages",
    "--disable-component-update",
    // It asks for parts of its own, and who is signed in, all the same: nobody is there.
    "--component-updater=url-source=http://localhost:1/",
    "--gaia-url=http://localhost:1/",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    // The last two: what its address bar shows below itself is two pages of its own for each window, and nobody sees one. They
    // cost more than the page that is read.
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,\
     HttpsUpgrades,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,Translate,WebUIOmniboxAimPopup,WebUIOmniboxPopup",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-pings",
    // Its temporary folder is what it has of shared memory.
    "--disable-dev-shm-usage",
];

/// Its folder, which is gone with its sandbox.
const PROFILE_FOLDER: &str = "--user-data-dir=/tmp/profile";

/// Where programs see what lies below it anyway.
const SYSTEM: &str = "/usr";

/// Folders below which each is somebody's home.
const HOMES: [&str; 2] = ["/home", "/Users"];

/// What stands for the programs of all snaps.
const SNAP: &str = "/usr/bin/snap";

/// There is no browser.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoBrowser {
    /// None is found.
    #[error(
        "this machine has no Chromium or Chrome: a person can install one (`apt install chromium`), or name one in \
         `sandbox.browser`"
    )]
    Missing,
    /// The one that a person has named is not there.
    #[error("`sandbox.browser` names {}, where no program is", .0.display())]
    NotThere(PathBuf),
    /// It brings a sandbox of its own, which does not run in ours.
    #[error(
        "{} is a snap, and those do not run in the sandbox: a person can install a browser that is none, and name it in \
         `sandbox.browser`",
        .0.display()
    )]
    Snap(PathBuf),
    /// Its pages would see what lies beside it.
    #[error(
        "the browser is not started, since pages would see all that lies in {}; a person has to put it into a folder of its own",
        .0.display()
    )]
    Beside(PathBuf),
}

/// The program of the browser: the one that is named, or the first that is found.
pub(crate) fn program(named: Option<&Path>, profile: Profile) -> Result<Confined, NoBrowser> {
    let missing = || named.map_or(NoBrowser::Missing, |named| NoBrowser::NotThere(named.to_owned()));
    let found = sandbox::headless_browser(named).ok_or_else(missing)?;
    let (browser, beside) = seen(found)?;
    let proxy = format!("--proxy-server=http://127.0.0.1:{PROXY_PORT}");
    let words = ["-c", PLUMBING, "sh"].into_iter().map(OsString::from);
    let words = words.chain([browser.into(), proxy.into(), PROFILE_FOLDER.into()]);
    Ok(Confined {
        args: words.chain(WORDS.map(OsString::from)).collect(),
        read: beside.into_iter().collect(),
        tells: true,
        // It sees no workspace, so it does not matter which.
        ..Confined::new(profile, "sh", "/")
    })
}

/// Where the sandbox shows it, and what has to be shown for that: one outside of the system is seen with what lies beside it.
fn seen(found: PathBuf) -> Result<(PathBuf, Option<PathBuf>), NoBrowser> {
    let browser = real(&found).ok_or(NoBrowser::Missing)?;
    if browser == Path::new(SNAP) {
        return Err(NoBrowser::Snap(found));
    }
    if browser.starts_with(SYSTEM) {
        // Some programs go by the name by which they are started.
        let is_seen = found.starts_with(SYSTEM);
        return Ok((if is_seen { found } else { browser }, None));
    }
    let folder = browser.parent().map(PathBuf::from).ok_or(NoBrowser::Missing)?;
    if is_shared(&folder, std::env::home_dir().as_deref()) {
        return Err(NoBrowser::Beside(folder));
    }
    Ok((browser, Some(folder)))
}

/// Where a path leads in the end.
#[expect(clippy::disallowed_methods, reason = "it is a program of the machine, and no file of a workspace")]
fn real(path: &Path) -> Option<PathBuf> {
    path.canonicalize().ok()
}

/// Whether a folder holds more than one program brings: the highest ones do, and homes and all above them.
fn is_shared(folder: &Path, home: Option<&Path>) -> bool {
    let is_below = |above: &str| folder.parent() == Some(Path::new(above));
    let is_above_home =
        |home: &Path| home.starts_with(folder) || real(home).is_some_and(|home| home.starts_with(folder));
    folder == Path::new("/")
        || is_below("/")
        || HOMES.into_iter().any(is_below)
        || home.is_some_and(is_above_home)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_that_is_named_has_to_be_there() {
        let named = Path::new("/no/such/browser");
        let error = program(Some(named), Profile::browser()).expect_err("none");
        assert_eq!(error, NoBrowser::NotThere(named.to_owned()));
    }

    #[test]
    fn no_folder_is_shown_that_is_not_the_browsers() {
        for (folder, expected) in [
            ("/", true),
            ("/opt", true),
            ("/root", true),
            ("/home/me", true),
            ("/homes/all", true),
            ("/homes/all/me", true),
            ("/homes/all/me/chrome", false),
            ("/home/me/chrome", false),
            ("/opt/google/chrome", false),
        ] {
            let home = Some(Path::new("/homes/all/me"));
            assert_eq!(is_shared(Path::new(folder), home), expected, "{folder}");
        }
    }
}
