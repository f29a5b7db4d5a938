//! What a folder's file may say of what is the user's: a few keys that can only tighten, laid over the user's file.
//! Everything else that it says of it holds nowhere, and is told. Its own servers are in [`folder`](crate::folder).

use sandbox::confine::Limits;
use sandbox::egress::HostRules;
use units::{Size, Span};

use crate::tree::{Member, Node, Place, Written};

/// Stands for any name in a path.
const ANY: &str = "*";

/// What a folder's file may say, each with how it is laid over what the user's file says there.
const SAID: [(&[&str], Lay); 17] = [
    (&["policy", "deny"], added),
    (&["sandbox", "ask"], unasked),
    (&["sandbox", "timeout"], |users, folders| lower(users, folders, span, |limits| limits.time.as_millis())),
    (&["sandbox", "cpu"], |users, folders| lower(users, folders, span, |limits| limits.cpu.as_millis())),
    (&["sandbox", "processes"], |users, folders| {
        lower(users, folders, count, |limits| limits.processes.into())
    }),
    (&["sandbox", "open_files"], |users, folders| {
        lower(users, folders, count, |limits| limits.open_files.into())
    }),
    (&["sandbox", "memory"], |users, folders| {
        lower(users, folders, size, |limits| limits.memory_bytes.into())
    }),
    (&["sandbox", "file_size"], |users, folders| {
        lower(users, folders, size, |limits| limits.file_bytes.into())
    }),
    (&["sandbox", "scratch"], |users, folders| {
        lower(users, folders, size, |limits| limits.scratch_bytes.into())
    }),
    (&["sandbox", "output"], |users, folders| {
        lower(users, folders, size, |limits| limits.output_bytes.into())
    }),
    // Of a server of the user's. Those of the folder's own are declared.
    (&["mcp", ANY, "exclude"], added),
    (&["mcp", ANY, "trust"], stricter),
    (&["mcp", ANY, "sandbox", "profile"], confined),
    (&["mcp", ANY, "sandbox", "network"], narrower),
    (&["mcp", ANY, "sandbox", "memory"], |users, folders| {
        lower(users, folders, size, |limits| limits.memory_bytes.into())
    }),
    (&["mcp", ANY, "sandbox", "processes"], |users, folders| {
        lower(users, folders, count, |limits| limits.processes.into())
    }),
    (&["mcp", ANY, "sandbox", "open_files"], |users, folders| {
        lower(users, folders, count, |limits| limits.open_files.into())
    }),
];

/// Where a server's table says what its program reaches.
const NETWORK: [&str; 2] = ["sandbox", "network"];

/// The words of `trust`, the strictest first.
const TRUST: [&str; 3] = ["review", "pin", "trust"];

/// What holds where the user's file says nothing of `trust`.
const TRUST_DEFAULT: &str = "pin";

/// What holds of two values; nothing if the folder's is to be passed over.
type Lay = fn(users: Option<&Node>, folders: &Node) -> Option<Written>;

/// The items of both lists, the user's first. What is no list in the user's file stays, to be told of.
fn added(users: Option<&Node>, folders: &Node) -> Option<Written> {
    let Written::List(more) = &folders.written else { return None };
    match users.map(|users| &users.written) {
        None => Some(Written::List(more.clone())),
        Some(Written::List(list)) => Some(Written::List(list.iter().chain(more).cloned().collect())),
        Some(_) => None,
    }
}

/// The folder's word, if it is at least as strict.
fn stricter(users: Option<&Node>, folders: &Node) -> Option<Written> {
    let rank = |word: &str| TRUST.iter().position(|known| *known == word);
    let said = rank(folders.text()?)?;
    let holds = rank(users.map_or(Some(TRUST_DEFAULT), Node::text)?)?;
    (said <= holds).then(|| folders.written.clone())
}

/// The folder's word, if it confines.
fn confined(_: Option<&Node>, folders: &Node) -> Option<Written> {
    (folders.text()? == "confined").then(|| folders.written.clone())
}

/// The folder's word, if nobody is to be asked.
fn unasked(_: Option<&Node>, folders: &Node) -> Option<Written> {
    matches!(folders.written, Written::Switch(false)).then(|| folders.written.clone())
}

/// The folder's limit, if it is as low as the user's or lower.
fn lower(
    users: Option<&Node>,
    folders: &Node,
    read: fn(&Node) -> Option<u128>,
    usual: fn(&Limits) -> u128,
) -> Option<Written> {
    let holds = users.map_or_else(|| Some(usual(&Limits::default())), read)?;
    (read(folders)? <= holds).then(|| folders.written.clone())
}

fn count(node: &Node) -> Option<u128> {
    match node.written {
        Written::Integer(number) => number.try_into().ok(),
        _ => None,
    }
}

fn size(node: &Node) -> Option<u128> {
    Some(node.text()?.parse::<Size>().ok()?.0.into())
}

fn span(node: &Node) -> Option<u128> {
    Some(node.text()?.parse::<Span>().ok()?.0.as_millis())
}

/// The folder's hosts; who settles them allows none that the user's do not. A mistake in the user's stays, to be told of.
fn narrower(users: Option<&Node>, folders: &Node) -> Option<Written> {
    rules(users)?;
    matches!(folders.written, Written::Text(_) | Written::List(_)).then(|| folders.written.clone())
}

/// What the user's word for the network comes to, if it is sound.
fn rules(users: Option<&Node>) -> Option<HostRules> {
    let network = match users {
        Some(users) => serde_json::from_value(users.to_json()).ok()?,
        None => upstream::Network::default(),
    };
    network.rules().ok()
}

/// What the servers of `tree` reach by themselves for whose network a folder's file has a narrower word.
pub(crate) fn narrowed(tree: &Node, folders: &Node) -> Vec<(String, HostRules)> {
    let servers = folders.at(&["mcp"]).and_then(Node::table).into_iter().flatten();
    let narrowed = servers.filter_map(|(name, server)| {
        let users = tree.at(&["mcp", name]).and_then(|server| server.at(&NETWORK));
        narrower(users, server.node.at(&NETWORK)?)?;
        Some((name.clone(), rules(users)?))
    });
    narrowed.collect()
}

/// Lays over `tree`, which is the user's, what tightens in a folder's file; gives the keys that are passed over, with
/// their places.
pub(crate) fn tightened(tree: &mut Node, folders: &Node) -> Vec<(Place, String)> {
    let mut passed_over = Vec::new();
    lay(tree, folders, &mut Vec::new(), &mut passed_over);
    passed_over
}

fn lay<'n>(tree: &mut Node, said: &'n Node, path: &mut Vec<&'n str>, passed_over: &mut Vec<(Place, String)>) {
    for (name, member) in said.table().into_iter().flatten() {
        path.push(name);
        let rows = || SAID.iter().filter(|(keys, _)| leads(keys, path));
        match rows().find(|(keys, _)| keys.len() == path.len()) {
            Some((_, how)) if set(tree, path, member, *how) => {}
            None if rows().next().is_some() && member.node.table().is_some() => {
                lay(tree, &member.node, path, passed_over);
            }
            Some(_) | None => passed_over.push((member.key, path.join("."))),
        }
        path.pop();
    }
}

/// Whether a row is for this path or for something below it.
fn leads(keys: &[&str], path: &[&str]) -> bool {
    keys.len() >= path.len() && keys.iter().zip(path).all(|(key, name)| *key == ANY || key == name)
}

/// What holds for a server whose own table does not say it: its limits are those of all programs.
fn general<'t>(tree: &'t Node, path: &[&str]) -> Option<&'t Node> {
    match path {
        ["mcp", _, "sandbox", key] => tree.at(&["sandbox", key]),
        _ => None,
    }
}

fn set(tree: &mut Node, path: &[&str], said: &Member, how: Lay) -> bool {
    let users = tree.at(path).or_else(|| general(tree, path));
    let Some(written) = how(users, &said.node) else { return false };
    let (last, way) = path.split_last().expect("no row is empty");
    let Some(table) = tree.table_at(way, said.key) else { return false };
    let node = Node { place: said.node.place, written };
    table.insert((*last).to_owned(), Member { key: said.key, node });
    true
}
