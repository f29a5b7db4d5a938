//! What a folder's file comes to: what it tightens, and the servers of its own, which the user's file does not name. Each of
//! these is known by itself, waits for a person's agreement, and reaches nothing of the user's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use admin::folders::{Agreement, Declaration, HeldBack, Line};

use sandbox::egress::HostRules;

use crate::consent::FolderConsent;
use crate::declaration;
use crate::find::FILE;
use crate::tighten::{narrowed, tightened};
use crate::tree::{Member, Node, Place, Written};

/// Servers of one file that are read; a file with more was not written by a person, and each is shown to one.
const SERVERS_MAX: usize = 200;

/// What the folders' files come to.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// What a person must agree to before it is in force.
    pub held: Vec<HeldBack>,
    /// The servers of folders that are in force, with the kept secrets that each may use.
    pub servers: BTreeMap<String, BTreeSet<String>>,
    /// What servers of the user's reach by the user's word, where a folder's file narrows it: nothing beyond it.
    pub reached: BTreeMap<String, Vec<HostRules>>,
    /// What is not for a folder to say, with its place.
    pub passed_over: Vec<(Place, String)>,
}

/// A folder's file.
pub(crate) struct FolderFile<'a> {
    /// Where it lies, without links.
    pub folder: &'a Path,
    /// `name:line:column` of a place in it.
    pub spot: &'a dyn Fn(Place) -> String,
    pub consent: &'a FolderConsent,
}

impl Folders {
    /// Lays a folder's file over `tree`, as far as it may be; `users` is the user's alone.
    pub(crate) fn lay(
        &mut self,
        mut tree: Node,
        users: &Node,
        mut said: Node,
        file: &FolderFile<'_>,
    ) -> Node {
        let servers = self.take_servers(&mut said, users);
        for (name, rules) in narrowed(&tree, &said) {
            self.reached.entry(name).or_default().push(rules);
        }
        self.passed_over.extend(tightened(&mut tree, &said));
        for (name, member) in servers {
            let declared = declaration::of_server(&name, &member.node.to_json());
            let declaration = file.declaration(&format!("mcp.{name}"), member.key, declared);
            if let Some(secrets) = self.agreed(declaration, file.consent) {
                self.servers.insert(name.clone(), secrets);
                if let Some(servers) = tree.table_at(&["mcp"], member.key) {
                    servers.insert(name, member);
                }
            }
        }
        tree
    }

    /// The kept secrets that it may use, if a person has agreed to it; it is held back if not.
    fn agreed(&mut self, declaration: Declaration, consent: &FolderConsent) -> Option<BTreeSet<String>> {
        match consent.to(&declaration) {
            Agreement::Given { secrets } => Some(secrets.into_iter().collect()),
            why => {
                self.held.push(HeldBack { declaration, why });
                None
            }
        }
    }

    /// The servers that the user's file does not name.
    fn take_servers(&mut self, said: &mut Node, users: &Node) -> Vec<(String, Member)> {
        let timeout = take_timeout(said, users);
        let Some(servers) = said.at_mut(&["mcp"]).and_then(Node::table_mut) else { return Vec::new() };
        let is_new = |name: &String| users.at(&["mcp", name]).is_none();
        let own: Vec<(String, Member)> = servers.extract_if(.., |name, _| is_new(name)).collect();
        let mut parts = Vec::new();
        for (nth, (name, mut member)) in own.into_iter().enumerate() {
            if nth >= SERVERS_MAX {
                self.passed_over.push((member.key, format!("mcp.{name}")));
                continue;
            }
            self.passed_over.extend(without_users_prefix(&name, &mut member.node, users));
            self.passed_over.extend(without_effects(&name, &mut member.node));
            self.passed_over.extend(without_opening(&name, &mut member.node));
            if let (Some(timeout), Written::Table(keys)) = (&timeout, &mut member.node.written) {
                keys.entry("timeout".to_owned()).or_insert_with(|| timeout.clone());
            }
            parts.push((name, member));
        }
        parts
    }
}

impl FolderFile<'_> {
    fn declaration(
        &self,
        what: &str,
        place: Place,
        (sha256, lines, secrets): (String, Vec<Line>, Vec<String>),
    ) -> Declaration {
        let (folder, key) = (self.folder.to_owned(), format!("{FILE} {what}"));
        Declaration { folder, key, place: (self.spot)(place), sha256, lines, secrets }
    }
}

/// Takes out the timeout for calls to servers of its own, if the user's file says none.
fn take_timeout(said: &mut Node, users: &Node) -> Option<Member> {
    let [section, key] = ["experimental", "mcp_timeout"];
    if users.at(&[section, key]).is_some() {
        return None;
    }
    let sections = said.table_mut()?;
    let keys = sections.get_mut(section)?.node.table_mut()?;
    let timeout = keys.remove(key);
    if keys.is_empty() {
        sections.remove(section);
    }
    timeout
}

/// Takes a prefix out that is none, or one of the user's servers: what is offered under it would read as theirs.
fn without_users_prefix(name: &str, table: &mut Node, users: &Node) -> Option<(Place, String)> {
    let prefix = table.member("prefix")?.node.text()?.to_owned();
    let is_theirs = |(name, member): (&String, &Member)| {
        let theirs = member.node.member("prefix").and_then(|prefix| prefix.node.text()).unwrap_or(name);
        theirs.eq_ignore_ascii_case(&prefix)
    };
    let is_taken =
        users.at(&["mcp"]).and_then(Node::table).is_some_and(|servers| servers.iter().any(is_theirs));
    if !prefix.is_empty() && !is_taken {
        return None;
    }
    table.table_mut()?.remove("prefix").map(|member| (member.key, format!("mcp.{name}.prefix")))
}

/// Takes out what is stated of the effects of a server's tools: it could only loosen the rules for them.
fn without_effects(name: &str, table: &mut Node) -> Vec<(Place, String)> {
    let tools = table.at_mut(&["tool"]).and_then(Node::table_mut);
    let effect = |(tool, member): (&String, &mut Member)| {
        let effect = member.node.table_mut()?.remove("effect")?;
        Some((effect.key, format!("mcp.{name}.tool.{tool}.effect")))
    };
    tools.into_iter().flatten().filter_map(effect).collect()
}

/// Takes out a profile that does not confine: what a server of a folder's may touch is said by its other keys, one by one.
fn without_opening(name: &str, table: &mut Node) -> Option<(Place, String)> {
    let sandbox = table.at_mut(&["sandbox"])?.table_mut()?;
    let profile = sandbox.get("profile").filter(|profile| profile.node.text() != Some("confined"))?.key;
    sandbox.remove("profile");
    Some((profile, format!("mcp.{name}.sandbox.profile")))
}
