//! What a folder's file declares of its own: servers that the user's file does not name, and permissions for these. Each
//! is known by itself, waits for a person's agreement, and reaches nothing of the user's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::consent::{Agreement, FolderConsent};
use super::declaration::{self, Declaration, Line};
use super::find::FILE;
use super::join;
use super::tree::{Member, Node, Place, Written};

/// Servers of one file that are read; a file with more was not written by a person, and each is shown to one.
const SERVERS_MAX: usize = 200;

/// Permissions for servers of the folder's own.
struct Permissions {
    allow: Vec<Node>,
    rules: Vec<Node>,
}

/// A declaration that is not in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldBack {
    pub(crate) declaration: Declaration,
    /// Never [`Agreement::Given`].
    pub(crate) why: Agreement,
}

/// What the folders' files come to.
#[derive(Debug, Default)]
pub(crate) struct Folders {
    /// What a person must agree to before it is in force.
    pub(super) held: Vec<HeldBack>,
    /// The servers of folders that are in force, with the kept secrets that each may use.
    pub(super) servers: BTreeMap<String, BTreeSet<String>>,
    /// What is not for a folder to say, with its place.
    pub(super) passed_over: Vec<(Place, String)>,
}

/// A folder's file.
pub(super) struct FolderFile<'a> {
    /// Where it lies, without links.
    pub(super) folder: &'a Path,
    /// `name:line:column` of a place in it.
    pub(super) spot: &'a dyn Fn(Place) -> String,
    pub(super) consent: &'a FolderConsent,
}

impl Folders {
    /// Lays a folder's file over `tree`, as far as it may be; `users` is the user's alone.
    pub(super) fn lay(&mut self, tree: Node, users: &Node, mut said: Node, file: &FolderFile<'_>) -> Node {
        let servers = self.take_servers(&mut said, users);
        let (place, permissions) = take_permissions(&mut said);
        self.passed_over.extend(join::take_unsaid(&mut said, users));
        let mut tree = join::joined(&tree, said.clone());
        self.passed_over.extend(join::passed_over(&said, &tree));
        let mut own = BTreeSet::new();
        for (name, member) in servers {
            let declared = declaration::of_server(&name, &member.node.to_json());
            let declaration = file.declaration(&format!("mcp.{name}"), member.key, declared);
            own.insert(name.clone());
            if let Some(secrets) = self.agreed(declaration, file.consent) {
                self.servers.insert(name.clone(), secrets);
                if let Some(servers) = tree.table_at(&["mcp"], member.key) {
                    servers.insert(name, member);
                }
            }
        }
        let permissions = self.for_own_servers(permissions, &own);
        let written: Vec<_> = permissions.allow.iter().chain(&permissions.rules).map(Node::to_json).collect();
        if !written.is_empty() {
            let declared = declaration::of_permissions(&written);
            if self.agreed(file.declaration("policy", place, declared), file.consent).is_some() {
                permissions.lay(&mut tree);
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
        let timeout = |node: &Node| node.at(&["experimental"])?.member("mcp_timeout").cloned();
        let timeout = timeout(said).filter(|_| timeout(users).is_none());
        let Some(servers) = said.at_mut(&["mcp"]).and_then(Node::table_mut) else { return Vec::new() };
        let is_new = |name: &String| !join::is_server_of(users, name);
        let own: Vec<(String, Member)> = servers.extract_if(.., |name, _| is_new(name)).collect();
        if servers.is_empty() {
            said.table_mut().and_then(|sections| sections.remove("mcp"));
        }
        let mut parts = Vec::new();
        for (nth, (name, mut member)) in own.into_iter().enumerate() {
            if nth >= SERVERS_MAX {
                self.passed_over.push((member.key, format!("mcp.{name}")));
                continue;
            }
            self.passed_over.extend(without_users_prefix(&name, &mut member.node, users));
            self.passed_over.extend(without_effects(&name, &mut member.node));
            if let (Some(timeout), Written::Table(keys)) = (&timeout, &mut member.node.written) {
                keys.entry("timeout".to_owned()).or_insert_with(|| timeout.clone());
            }
            parts.push((name, member));
        }
        parts
    }

    /// The permissions as far as they are for the folder's own servers; the others are passed over.
    fn for_own_servers(&mut self, permissions: Permissions, own: &BTreeSet<String>) -> Permissions {
        let is_own = |node: &Node| node.text().is_some_and(|name| own.contains(name));
        let is_allowed = |entry: &Node| {
            let server = entry.text().and_then(|text| text.split_once('/'));
            server.is_some_and(|(server, _)| own.contains(server))
        };
        let is_ruled = |rule: &Node| match rule.member("upstream").map(|member| &member.node.written) {
            Some(Written::List(names)) => !names.is_empty() && names.iter().all(is_own),
            _ => false,
        };
        let (allow, no_allow): (Vec<_>, Vec<_>) = permissions.allow.into_iter().partition(is_allowed);
        let (rules, no_rules): (Vec<_>, Vec<_>) = permissions.rules.into_iter().partition(is_ruled);
        for (nodes, key) in [(no_allow, "policy.allow"), (no_rules, "policy.rules")] {
            self.passed_over.extend(nodes.iter().map(|node| (node.place, key.to_owned())));
        }
        Permissions { allow, rules }
    }
}

impl Permissions {
    fn lay(self, tree: &mut Node) {
        for (key, items) in [("allow", self.allow), ("rules", self.rules)] {
            let Some(first) = items.first().map(|item| item.place) else { continue };
            let Some(policy) = tree.table_at(&["policy"], first) else { continue };
            let empty =
                || Member { key: first, node: Node { place: first, written: Written::List(Vec::new()) } };
            let member = policy.entry(key.to_owned()).or_insert_with(empty);
            if let Written::List(list) = &mut member.node.written {
                list.extend(items);
            }
        }
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

/// Takes out what permits.
fn take_permissions(said: &mut Node) -> (Place, Permissions) {
    let mut place = said.place;
    let (mut allow, mut rules) = (Vec::new(), Vec::new());
    if let Some(policy) = said.at_mut(&["policy"]).and_then(Node::table_mut) {
        let is_list = |member: &Member| matches!(member.node.written, Written::List(_));
        if policy.get("allow").is_some_and(is_list)
            && let Some(Member { key, node: Node { written: Written::List(items), .. } }) =
                policy.remove("allow")
        {
            (place, allow) = (key, items);
        }
        if let Some(Member { node: Node { written: Written::List(list), .. }, .. }) = policy.get_mut("rules")
        {
            let permits = |rule: &mut Node| {
                rule.member("effect").and_then(|effect| effect.node.text()) == Some("allow")
            };
            rules = list.extract_if(.., permits).collect();
            place = rules.first().map_or(place, |rule| rule.place);
        }
    }
    (place, Permissions { allow, rules })
}
