//! Which program is the browser, and with which words it is started.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sandbox::confine::{Confined, Profile};
use sandbox::egress::PROXY_PORT;

/// Its commands and its answers go through the descriptors 3 and 4. A sandbox gives a program its streams, and 3 to write to.
const PLUMBING: &str = "exec \"$@\" 4>&3 3<&0 </dev/null >/dev/null";

/// What it is told beside where its proxy is. Our sandbox holds it, so its own, which needs namespaces, is left out.
const WORDS: [&str; 23] = [
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
    // It asks for parts of its own all the same: nobody is there.
    "--component-updater=url-source=http://localhost:1/",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--disable-features=AutofillServerCommunication,CertificateTransparencyComponentUpdater,DialMediaRouteProvider,\
     MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,Translate",
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

/// There is no browser.
#[derive(Debug, thiserror::Error)]
#[error(
    "this machine has no Chromium or Chrome: a person can install one (`apt install chromium`), or name one in \
     `sandbox.browser`"
)]
pub struct NoBrowser;

/// The program of the browser: the one that is named, or the first that is found.
pub(crate) fn program(named: Option<&Path>, profile: Profile) -> Result<Confined, NoBrowser> {
    let browser = sandbox::headless_browser(named).ok_or(NoBrowser)?;
    // One outside of the system is seen with what lies beside it.
    let beside = browser.parent().filter(|_| !browser.starts_with(SYSTEM)).map(PathBuf::from);
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
