//! What programs may touch, made absolute: the `[sandbox]` section, and the `sandbox` tables of servers.

use std::path::{Component, Path, PathBuf};

use redact::Known;
use sandbox::egress::{CompanyProxy, HostRules};
use sandbox::text_file;
use upstream::{NotFollowed, Reference, SandboxTable, Value, host_rules};

use super::{Settling, begins_at_home, begins_with_reference};
use crate::confinement::{Config, Confinement, too_low};
use crate::kept::{Kept, known};
use crate::reference::{self, Unfollowed};

/// The section.
const SECTION: &str = "sandbox";

/// The table below a server's.
const TABLE: &str = "sandbox";

const PROXY: [&str; 2] = [SECTION, "proxy"];

impl Settling<'_> {
    /// What the section comes to, and what nobody may see of it.
    pub(super) fn sandbox(&mut self, config: &Config, kept: Option<&Kept>) -> (Confinement, Option<Known>) {
        let read = self.absolute_paths(&[SECTION, "read"], &config.read);
        let write = self.absolute_paths(&[SECTION, "write"], &config.write);
        let browser = config.browser.as_ref().map(|path| self.path(&[SECTION, "browser"], path));
        for (key, paths, name) in [
            ("read", &read, "name the files and folders that programs read"),
            ("write", &write, "name the folders that programs write"),
        ] {
            for (nth, _) in paths.iter().enumerate().filter(|(_, path)| path.parent().is_none()) {
                let what = format!("{SECTION}.{key}[{nth}] is everything on this machine; {name}");
                self.report(&[SECTION, key, &nth.to_string()], what);
            }
        }
        for (name, value) in &config.env {
            if let Some(why) = objection_to_variable(name, value) {
                self.report(&[SECTION, "env", name], format!("{SECTION}.env.{name}: {why}"));
            }
        }
        let hosts = self.hosts(&config.hosts);
        let address = config.proxy.as_ref().and_then(|proxy| self.followed(&PROXY, proxy, kept));
        let proxy = address.as_ref().and_then(|address| match CompanyProxy::parse(address) {
            Ok(proxy) => Some(proxy),
            Err(why) => {
                self.report(&PROXY, format!("{SECTION}.proxy: {why}"));
                None
            }
        });
        let secret = address.as_deref().and_then(password).map(|password| known("sandbox.proxy", password));
        let settled = config.settled();
        for (key, least) in too_low(&settled.limits) {
            self.report(&[SECTION, key], format!("{SECTION}.{key} must be at least {least}"));
        }
        (Confinement { read, write, hosts, browser, proxy, ..settled }, secret)
    }

    /// A text of the user's file that may be kept elsewhere; nothing if it is not there, which is told if it matters.
    pub(super) fn followed(&mut self, keys: &[&str], value: &Value, kept: Option<&Kept>) -> Option<String> {
        let reference = match value {
            Value::Plain(text) => return Some(text.to_string()),
            Value::Reference(Reference::File(path)) => Reference::File(self.secret_path(keys, path)),
            Value::Reference(other) => other.clone(),
        };
        match (reference::follow(&reference, self.surroundings, kept), self.unfollowed) {
            (Ok(text), _) => Some(text),
            // Nothing is going to be started.
            (Err(_), Unfollowed::IsPassedOver) => None,
            (Err(NotFollowed::Wrong(why) | NotFollowed::Missing(why)), _) => {
                self.report(keys, format!("{}: {why}", keys.join(".")));
                None
            }
        }
    }

    fn hosts(&mut self, words: &[String]) -> HostRules {
        host_rules(words).unwrap_or_else(|problems| {
            for (nth, why) in problems {
                let nth = nth.map(|nth| nth.to_string());
                let keys: Vec<&str> = [SECTION, "hosts"].into_iter().chain(nth.as_deref()).collect();
                let item = nth.as_ref().map(|nth| format!("[{nth}]")).unwrap_or_default();
                self.report(&keys, format!("{SECTION}.hosts{item}: {why}"));
            }
            HostRules::none()
        })
    }

    fn absolute_paths(&self, keys: &[&str], paths: &[PathBuf]) -> Vec<PathBuf> {
        paths.iter().map(|path| self.path(keys, path)).collect()
    }

    /// The paths of a server's table, which does not know which file it stood in.
    pub(super) fn with_absolute_sandbox(&self, name: &str, table: &mut SandboxTable) {
        let SandboxTable { read, write, sockets, .. } = table;
        for (key, paths) in [("read", read), ("write", write), ("sockets", sockets)] {
            for path in paths.iter_mut().filter(|path| !begins_with_reference(path)) {
                *path = self.path(&["mcp", name, TABLE, key], path);
            }
        }
    }

    /// The first path of a folder's server that is not what a person read who agreed to it: one that lies in the folder,
    /// unless a link there leads out. With its key, and why.
    pub(super) fn misleading(&self, name: &str, config: &upstream::Config) -> Option<(String, String)> {
        self.secrets_of_folders(name)?;
        let (table, folder) = (config.sandbox.as_ref()?, self.folder(&["mcp", name]));
        let paths = [("read", &table.read), ("write", &table.write), ("sockets", &table.sockets)];
        let mut all = paths.into_iter().flat_map(|(key, paths)| {
            paths.iter().enumerate().map(move |(nth, path)| (format!("{TABLE}.{key}[{nth}]"), path))
        });
        all.find_map(|(key, path)| Some((key, leads_elsewhere(path, &folder)?)))
    }
}

/// The password in the address of a proxy.
fn password(address: &str) -> Option<&str> {
    let (user, _) = address.split_once("://")?.1.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password).filter(|password| !password.is_empty())
}

/// Why no program can have this variable.
fn objection_to_variable(name: &str, value: &str) -> Option<&'static str> {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    let mut bytes = name.bytes();
    let is_name =
        bytes.next().is_some_and(is_letter) && bytes.all(|byte| is_letter(byte) || byte.is_ascii_digit());
    match () {
        () if !is_name => Some("a name has letters, digits and `_`, and begins with no digit"),
        () if value.contains('\0') => Some("a value has no NUL in it"),
        () => None,
    }
}

/// Why a path in the file of `folder` is not where it seems to be.
fn leads_elsewhere(path: &Path, folder: &Path) -> Option<String> {
    // Behind a link, `..` is not what it looks like.
    if path.components().any(|part| part == Component::ParentDir) {
        return Some(format!("{} has `..` in it; write where it leads", path.display()));
    }
    if path.to_string_lossy().contains("{env:") {
        return Some(format!(
            "{} depends on the environment; a folder's file writes its paths out",
            path.display()
        ));
    }
    // The one is the user's own, the other is looked at when the workspace is known.
    if begins_at_home(path) || begins_with_reference(path) {
        return None;
    }
    if ["/proc", "/dev"].iter().any(|system| path.starts_with(system)) {
        return Some(format!(
            "{} is not the same for everybody; a folder's file cannot ask for it",
            path.display()
        ));
    }
    let (path, real) = (folder.join(path), text_file::real(folder));
    let is_inside = path.starts_with(folder) || path.starts_with(&real);
    let is_misleading = is_inside && !text_file::real(&path).starts_with(real);
    is_misleading.then(|| format!("{} leads out of the folder", path.display()))
}
