//! What a folder's file may say at once, beside the user's: one list of keys, each with what holds where both files say
//! something, and one of those that are not for a folder to say, whatever a person has agreed to.
//!
//! A folder is somebody else's work: what it says can tighten and nothing else. What it declares of its own (servers, and
//! permissions for these) is in [`folder`](super::folder), and waits for a person's agreement. Where the user's file says
//! nothing, the default counts as their word.

use toml::de::DeTable;

use super::tree::{Member, Node, Place, Written};

/// What counts as the user's word where their file says nothing. These are the defaults.
pub(super) const RELIED_ON: &str = "
rules.mode = 'enforce'
approvals.roles = ['owner', 'maintainer']
limits.rate = { per_second = 10, burst = 20 }
";

/// The file that these stand in, which is none.
const NO_FILE: usize = usize::MAX;

/// Stands for any name in a path.
const ANY: &str = "*";

/// What a folder's file may say at once, each with what holds.
pub(super) const SAID: [(&[&str], Held); 15] = [
    (&["workspace", "root"], Held::Folders),
    (&["tools", "offer"], Held::Common),
    (&["policy", "deny"], Held::Both),
    // Those that deny or ask; what allows is declared.
    (&["policy", "rules"], Held::Both),
    (&["policy", "tests"], Held::Both),
    (&["policy", "defaults"], Held::First(&["false", "true"])),
    (&["rules", "project"], Held::Users),
    (&["rules", "mode"], Held::First(&[r#""enforce""#, r#""audit-only""#, r#""dry-run""#])),
    (&["approvals", "roles"], Held::Common),
    (&["approvals", "elicitation"], Held::First(&["false", "true"])),
    (&["limits", "rate"], Held::Least),
    (&["limits", "tools", ANY], Held::Least),
    (&["limits", "upstreams", ANY], Held::Least),
    // Of a server of the user's. Those of the folder's own are declared.
    (&["mcp", ANY, "exclude"], Held::Both),
    (&["mcp", ANY, "enabled"], Held::First(&["false", "true"])),
];

/// What is not for a folder to say: sections, and keys of the others. What stands in neither list is unknown, and told.
pub(super) const UNSAID: [&[&str]; 17] = [
    &["server"],
    &["identity"],
    &["state"],
    &["secrets"],
    &["audit"],
    &["redaction"],
    &["telemetry"],
    &["log"],
    // Of its own servers it counts; see `folder`.
    &["experimental"],
    &["policy", "allow"],
    // What a person is asked about is not for a folder to say.
    &["workspace", "writable"],
    &["rules", "organisation"],
    &["rules", "user"],
    &["rules", "project_name"],
    &["approvals", "lasts"],
    &["approvals", "wait"],
    // These stand in place of `rate`, and a name in place of a pattern.
    &["limits", "callers"],
];

/// What holds where both files say something.
#[derive(Debug, Clone, Copy)]
pub(super) enum Held {
    /// The items of both lists, the user's first.
    Both,
    /// The items that stand in both lists.
    Common,
    /// What the user's file says.
    Users,
    /// What the folder's file says.
    Folders,
    /// Whichever value stands first here, as JSON: the strictest.
    First(&'static [&'static str]),
    /// The smaller number of each key; in `per_second` 0 is no limit.
    Least,
}

/// Takes out of a folder's file what is not for it to say, the user's servers but for what tightens them included; gives
/// the keys with their places.
pub(super) fn take_unsaid(folders: &mut Node, users: &Node) -> Vec<(Place, String)> {
    let mut taken = Vec::new();
    for path in UNSAID {
        if let Some(key) = taken_out(folders, path) {
            taken.push((key, path.join(".")));
        }
    }
    let servers = folders.at_mut(&["mcp"]).and_then(Node::table_mut);
    for (name, server) in servers.into_iter().flatten().filter(|(name, _)| is_server_of(users, name)) {
        let Some(keys) = server.node.table_mut() else { continue };
        let others = keys.extract_if(.., |key, _| !matches!(key.as_str(), "exclude" | "enabled"));
        taken.extend(others.map(|(key, member)| (member.key, format!("mcp.{name}.{key}"))));
    }
    taken
}

/// Whether the user's file has a server of this name.
pub(super) fn is_server_of(users: &Node, name: &str) -> bool {
    users.at(&["mcp", name]).is_some()
}

fn taken_out(node: &mut Node, path: &[&str]) -> Option<Place> {
    let (last, way) = path.split_last()?;
    node.at_mut(way)?.table_mut()?.remove(*last).map(|member| member.key)
}

/// What tightens in the folder's file laid over the user's.
pub(super) fn joined(users: &Node, folders: Node) -> Node {
    let mut tree = users.clone().overlaid(folders.clone());
    let relied_on =
        Node::of(NO_FILE, &DeTable::parse(RELIED_ON).expect("it is TOML")).overlaid(users.clone());
    for (path, held) in SAID {
        hold(held, path, &relied_on, &folders, &mut tree);
    }
    drop_defaults(&mut tree);
    tree
}

/// Takes out what was held because it is the default: it is so anyway.
fn drop_defaults(node: &mut Node) {
    let Some(members) = node.table_mut() else { return };
    members.retain(|_, member| {
        drop_defaults(&mut member.node);
        !is_default(member) || matches!(member.node.written, Written::Table(_))
    });
}

fn is_default(member: &Member) -> bool {
    member.node.place.file == NO_FILE
}

/// What the folder's file `said` and `tree`, which was made of it, does not say: the keys with their places.
pub(super) fn passed_over(said: &Node, tree: &Node) -> Vec<(Place, String)> {
    let mut found = Vec::new();
    find_passed_over(said, tree, &mut Vec::new(), &mut found);
    found
}

fn find_passed_over(said: &Node, tree: &Node, path: &mut Vec<String>, found: &mut Vec<(Place, String)>) {
    let Written::Table(members) = &said.written else { return };
    for (name, said) in members {
        path.push(name.clone());
        match tree.member(name).map(|member| &member.node) {
            Some(holds) if matches!(said.node.written, Written::Table(_)) => {
                find_passed_over(&said.node, holds, path, found);
            }
            Some(holds) if is_in(&said.node, holds) => {}
            Some(_) | None => found.push((said.key, path.join("."))),
        }
        path.pop();
    }
}

/// Whether a value is what holds, or a part of it.
fn is_in(said: &Node, holds: &Node) -> bool {
    match (&said.written, &holds.written) {
        (Written::List(said), Written::List(holds)) => {
            said.iter().all(|item| holds.iter().any(|one| one.to_json() == item.to_json()))
        }
        _ => said.to_json() == holds.to_json(),
    }
}

/// Goes down `path` in the user's file, in the folder's and in what was made of the two, and settles what stands at its
/// end.
fn hold(held: Held, path: &[&str], users: &Node, folders: &Node, tree: &mut Node) {
    let Some((first, rest)) = path.split_first() else { return };
    let Written::Table(said) = &folders.written else { return };
    let Written::Table(members) = &mut tree.written else { return };
    for (name, folders) in said.iter().filter(|(name, _)| *first == ANY || name.as_str() == *first) {
        match (rest.is_empty(), users.member(name)) {
            (false, users) => {
                let nothing = Node::nothing();
                let users = users.map_or(&nothing, |member| &member.node);
                if let Some(member) = members.get_mut(name) {
                    hold(held, rest, users, &folders.node, &mut member.node);
                }
            }
            (true, None) => {}
            (true, Some(users)) => {
                members.insert(name.clone(), settled(held, users, folders));
            }
        }
    }
}

/// What holds of two things that were said. What is nothing that is meant for its place stays, to be told of.
fn settled(held: Held, users: &Member, folders: &Member) -> Member {
    let lists = (&users.node.written, &folders.node.written);
    let with = |written| Member { key: folders.key, node: Node { place: folders.node.place, written } };
    match (held, lists) {
        (Held::Both, (Written::List(first), Written::List(then))) => {
            with(Written::List(first.iter().chain(then).cloned().collect()))
        }
        (Held::Common, (Written::List(first), Written::List(then))) => {
            let is_in_both = |item: &&Node| first.iter().any(|one| one.to_json() == item.to_json());
            with(Written::List(then.iter().filter(is_in_both).cloned().collect()))
        }
        (Held::First(order), _) => {
            let rank = |member: &Member| {
                let value = member.node.to_json().to_string();
                order.iter().position(|word| *word == value)
            };
            match (rank(users), rank(folders)) {
                (None, _) => users.clone(),
                (Some(_), None) => folders.clone(),
                // Of the same word, the one that stands in a file.
                (Some(first), Some(then)) => {
                    let is_folders = then < first || (then == first && is_default(users));
                    if is_folders { folders } else { users }.clone()
                }
            }
        }
        (Held::Least, (Written::Table(limits), Written::Table(said))) => {
            let mut least = limits.clone();
            for (name, folders) in said {
                let is_kept = least
                    .get(name)
                    .is_some_and(|users| rank_of_limit(name, users) <= rank_of_limit(name, folders));
                if !is_kept {
                    least.insert(name.clone(), folders.clone());
                }
            }
            with(Written::Table(least))
        }
        // One of them is no list or no table, or the user's file has the word.
        (Held::Folders, _)
        | (Held::Both | Held::Common | Held::Least, (Written::List(_) | Written::Table(_), _)) => {
            folders.clone()
        }
        (Held::Both | Held::Common | Held::Least | Held::Users, _) => users.clone(),
    }
}

/// The order of limits, the strictest first; what is no number stands before all, to be told of.
fn rank_of_limit(name: &str, limit: &Member) -> i64 {
    match limit.node.written {
        Written::Integer(0) if name == "per_second" => i64::MAX,
        Written::Integer(number) => number,
        _ => i64::MIN,
    }
}
