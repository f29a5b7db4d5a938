//! What a project's file cannot take back of what the user's own file says: one list of keys, each with what holds where
//! both files say something. Everywhere else the project's file speaks last.
//!
//! A project is somebody else's work, and a rule of the user's that a checked-out folder could switch off would be none.
//! What the user's file leaves unsaid is free where it is the project's alone. What reaches beyond it is not: there the
//! default counts as the user's word. Whoever has no file of their own keeps everything in the project's, and it holds.

use std::collections::BTreeMap;

use toml::de::DeTable;

use super::tree::{Member, Node, Place, Written};

/// What counts as the user's word where their file says nothing, beside what a project cannot say at all. These are the
/// defaults.
pub(super) const RELIED_ON: &str = "
server.open_on_loopback = false
rules.mode = 'enforce'
redaction.patterns = true
approvals.roles = ['owner', 'maintainer']
limits.rate = { per_second = 10, burst = 20 }
";

/// The file that these stand in, which is none.
const NO_FILE: usize = usize::MAX;

/// Stands for any name in a path.
const ANY: &str = "*";

/// The keys that are not the project's alone, each with what holds.
const HELD: [(&[&str], Held); 34] = [
    (&["policy", "deny"], Held::Both),
    (&["policy", "rules"], Held::Both),
    (&["policy", "tests"], Held::Both),
    (&["policy", "defaults"], Held::First(&[Word::No, Word::Yes])),
    (&["policy", "allow"], Held::UsersIf(&["policy", "defaults"], Some(Word::No))),
    // The doors, and who comes through them.
    (&["server", "bind"], Held::Users),
    (&["server", "hosts"], Held::Users),
    (&["server", "origins"], Held::Users),
    (&["server", "socket"], Held::Users),
    (&["server", "open_on_loopback"], Held::First(&[Word::No, Word::Yes])),
    // Half of one's own and half of another's trusts somebody whom neither meant.
    (&["identity"], Held::UsersIf(&["identity"], None)),
    (&["identity"], Held::UsersIf(&["server", "open_on_loopback"], Some(Word::No))),
    // Another state has no keys, no pins, no permissions and another book.
    (&["state"], Held::UsersIf(&["state"], None)),
    (&["secrets"], Held::UsersIf(&["secrets"], None)),
    // What is told of all projects goes to one place, with one account.
    (&["telemetry"], Held::UsersAlone),
    (&["rules", "organisation"], Held::Users),
    (&["rules", "project"], Held::Users),
    (&["rules", "project_name"], Held::Users),
    (&["rules", "user"], Held::Users),
    (
        &["rules", "mode"],
        Held::First(&[Word::Text("enforce"), Word::Text("audit-only"), Word::Text("dry-run")]),
    ),
    (&["redaction", "patterns"], Held::First(&[Word::Yes, Word::No])),
    (&["redaction", "allow"], Held::UsersAlone),
    (&["redaction", "disable"], Held::UsersAlone),
    // All projects write in one book.
    (&["audit"], Held::UsersAlone),
    (&["approvals", "roles"], Held::Common),
    (&["approvals", "lasts"], Held::UsersAlone),
    (&["approvals", "elicitation"], Held::First(&[Word::No, Word::Yes])),
    (&["limits", "rate"], Held::Least),
    // These stand in place of `rate`, and a name in place of a pattern.
    (&["limits", "callers"], Held::UsersAlone),
    (&["limits", "tools", ANY], Held::Least),
    (&["limits", "upstreams", ANY], Held::Least),
    (&["mcp", ANY, "exclude"], Held::Both),
    (&["mcp", ANY, "include"], Held::Users),
    (&["mcp", ANY, "trust"], Held::First(&[Word::Text("review"), Word::Text("pin"), Word::Text("trust")])),
];

/// What holds where both files say something.
#[derive(Debug, Clone, Copy)]
enum Held {
    /// The items of both lists, the user's first.
    Both,
    /// The items that stand in both lists.
    Common,
    /// What the user's file says, key by key.
    Users,
    /// The same, and the default where it says nothing: the project's file says nothing.
    UsersAlone,
    /// The same, but only if the user's file says this at that path, or anything there; and then the project's file
    /// says nothing.
    UsersIf(&'static [&'static str], Option<Word>),
    /// Whichever word stands first here, the strictest.
    First(&'static [Word]),
    /// The smaller number of each key; in `per_second` 0 is no limit.
    Least,
}

/// A setting of few values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    Yes,
    No,
    Text(&'static str),
}

impl Word {
    fn is(self, node: &Node) -> bool {
        match (self, &node.written) {
            (Word::Yes, Written::Switch(on)) => *on,
            (Word::No, Written::Switch(on)) => !on,
            (Word::Text(word), Written::Text(text)) => word == text,
            _ => false,
        }
    }
}

/// What makes a table of `mcp` the server that it is: what runs, what is spoken to, and what is handed to it. `env` and
/// `inherit` are among them, as variables can have a program run other code; so is `oauth`, which names who is given the
/// client's secret.
const WHICH_SERVER: [&str; 10] =
    ["command", "args", "cwd", "url", "socket", "transport", "env", "inherit", "headers", "oauth"];

/// What holds of a user's table of a server even if a project puts another server in its place.
const RESTRAINTS: [&str; 3] = ["include", "exclude", "trust"];

/// The project's file laid over the user's, as far as it may be; over what other programs say if the user has none.
pub(super) fn joined(users: &Node, projects: Node, has_users: bool) -> Node {
    if !has_users {
        return users.clone().overlaid(projects);
    }
    let mut tree = apart(users, &projects).overlaid(projects.clone());
    let relied_on =
        Node::of(NO_FILE, &DeTable::parse(RELIED_ON).expect("it is TOML")).overlaid(users.clone());
    for (path, held) in HELD {
        hold(held, path, users, &relied_on, &projects, &mut tree);
    }
    drop_defaults(&mut tree);
    tree
}

/// Takes out what was held because it is the default: it is so anyway.
fn drop_defaults(node: &mut Node) {
    let Written::Table(members) = &mut node.written else { return };
    members.retain(|_, member| {
        drop_defaults(&mut member.node);
        !is_default(member) || matches!(member.node.written, Written::Table(_))
    });
}

fn is_default(member: &Member) -> bool {
    member.node.place.file == NO_FILE
}

/// What the project's file `said` and `tree`, which was made of it, does not say: the keys with their places.
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

/// The user's file without what a project's is not to have of it: where that makes another server of one of the user's, it
/// gets none of the secrets, accounts and folders of the first.
fn apart(users: &Node, projects: &Node) -> Node {
    let mut users = users.clone();
    let Written::Table(sections) = &mut users.written else { return users };
    let servers = (sections.get_mut("mcp"), projects.member("mcp"));
    let (Some(Member { node: Node { written: Written::Table(servers), .. }, .. }), Some(others)) = servers
    else {
        return users;
    };
    for (name, server) in servers.iter_mut() {
        let other = others.node.member(name).map(|other| &other.node);
        let Some(other) = other.filter(|other| is_another(&server.node, other)) else { continue };
        if let Written::Table(keys) = &mut server.node.written
            && matches!(other.written, Written::Table(_))
        {
            keys.retain(|key, _| RESTRAINTS.contains(&key.as_str()));
        }
    }
    users
}

/// Whether a project's table makes another server of the user's.
fn is_another(users: &Node, projects: &Node) -> bool {
    WHICH_SERVER.iter().any(|key| {
        projects.member(key).is_some_and(|said| {
            users.member(key).is_none_or(|kept| kept.node.to_json() != said.node.to_json())
        })
    })
}

/// Goes down `path` in the user's file `users`, in the project's and in what was made of the two, and settles what stands
/// at its end. `root` is the whole of the user's file, and `users` what is relied on of it, defaults included.
fn hold(held: Held, path: &[&str], root: &Node, users: &Node, projects: &Node, tree: &mut Node) {
    let Some((first, rest)) = path.split_first() else { return };
    let Written::Table(said) = &projects.written else { return };
    let Written::Table(members) = &mut tree.written else { return };
    for (name, projects) in said.iter().filter(|(name, _)| *first == ANY || name.as_str() == *first) {
        let users = users.member(name);
        match (rest.is_empty(), held, users) {
            (false, _, _) => {
                let nothing = Node::nothing();
                let users = users.map_or(&nothing, |member| &member.node);
                if let Some(member) = members.get_mut(name) {
                    hold(held, rest, root, users, &projects.node, &mut member.node);
                }
            }
            (true, Held::UsersIf(path, word), users) if says(root, path, word) => {
                alone(members, name, users);
            }
            (true, Held::UsersAlone, users) => alone(members, name, users),
            (true, Held::UsersIf(..), _) | (true, _, None) => {}
            (true, held, Some(users)) => {
                members.insert(name.clone(), settled(held, users, projects));
            }
        }
    }
}

/// Nothing but what the user's file says.
fn alone(members: &mut BTreeMap<String, Member>, name: &str, users: Option<&Member>) {
    match users {
        Some(users) => members.insert(name.to_owned(), users.clone()),
        None => members.remove(name),
    };
}

fn says(root: &Node, path: &[&str], word: Option<Word>) -> bool {
    let found = path.iter().try_fold(root, |node, key| Some(&node.member(key)?.node));
    found.is_some_and(|node| word.is_none_or(|word| word.is(node)))
}

/// What holds of two things that were said. What is nothing that is meant for its place stays, to be told of.
fn settled(held: Held, users: &Member, projects: &Member) -> Member {
    let lists = (&users.node.written, &projects.node.written);
    let with = |written| Member { key: projects.key, node: Node { place: projects.node.place, written } };
    match (held, lists) {
        (Held::Both, (Written::List(first), Written::List(then))) => {
            with(Written::List(first.iter().chain(then).cloned().collect()))
        }
        (Held::Common, (Written::List(first), Written::List(then))) => {
            let is_in_both = |item: &&Node| first.iter().any(|one| one.to_json() == item.to_json());
            with(Written::List(then.iter().filter(is_in_both).cloned().collect()))
        }
        (Held::Users, (Written::Table(_), Written::Table(_))) => {
            Member { key: users.key, node: projects.node.clone().overlaid(users.node.clone()) }
        }
        (Held::First(order), _) => {
            let rank = |member: &Member| order.iter().position(|word| word.is(&member.node));
            match (rank(users), rank(projects)) {
                (None, _) => users.clone(),
                (Some(_), None) => projects.clone(),
                // Of the same word, the one that stands in a file.
                (Some(first), Some(then)) => {
                    let is_projects = then < first || (then == first && is_default(users));
                    if is_projects { projects } else { users }.clone()
                }
            }
        }
        (Held::Least, (Written::Table(limits), Written::Table(said))) => {
            let mut least = limits.clone();
            for (name, projects) in said {
                let is_kept = least
                    .get(name)
                    .is_some_and(|users| rank_of_limit(name, users) <= rank_of_limit(name, projects));
                if !is_kept {
                    least.insert(name.clone(), projects.clone());
                }
            }
            with(Written::Table(least))
        }
        // One of them is no list or no table, or the user's file has the word.
        (Held::Both | Held::Common | Held::Least, (Written::List(_) | Written::Table(_), _)) => {
            projects.clone()
        }
        (Held::Both | Held::Common | Held::Least | Held::Users | Held::UsersAlone | Held::UsersIf(..), _) => {
            users.clone()
        }
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
