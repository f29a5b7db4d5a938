//! What an upstream offers beside its tools: prompts, resources, templates, and what can be done with them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use pins::{HeldBack, What};
use tool_api::{
    Abilities, Action, AnyTool, Claims, DIRECTORY_READ, ExtensionMethods, Features, Item, SKILLS_EXTENSION,
    SkillLoader,
};
use wire::Object;
use wire::message::Text;
use wire::uri_template::Templates;
use wire::uris::{self, Maps};

use crate::answer::TASKS;
use crate::closed::{Closed, TEMPLATES_MATCHED_MAX};
use crate::draft::Draft;
use crate::kind::Kind;
use crate::lists::Lists;
use crate::names::{self, Names};
use crate::remote_action::{RemoteAction, Target};
use crate::remote_skill::RemoteSkill;
use crate::settings::Settings;
use crate::tasks;
use crate::uri_map::UriMap;

/// Longest instructions that are passed on, in bytes: every conversation of every client begins with them.
const INSTRUCTIONS_BYTES_MAX: usize = 16 * 1024;

/// Most extensions, and most experimental capabilities, of one server that are passed on.
const EXTENSIONS_MAX: usize = 64;

/// Longest name and settings of one that are passed on, in bytes together: every conversation of every
/// client begins with them.
const EXTENSION_BYTES_MAX: usize = 4 * 1024;

/// The features that follow from a server's lists. What is not offered is said in the draft.
pub(crate) fn features(draft: &mut Draft<'_>) -> Features {
    let Draft { lists, settings, upstream, judge, .. } = *draft;
    // Of a server of which it is not known what was accepted not even its abilities are used.
    let abilities = if judge.is_blind() { Abilities::default() } else { abilities(lists) };
    let map = settings.uri_map();
    let (prompts, names) = prompts(draft);
    let resources = located(draft, Kind::Resources, &map);
    let templates = located(draft, Kind::Templates, &map);
    let claims = abilities.resources.then(|| claims(&map, &resources, &templates));
    let closed = Closed::of(lists, judge, settings);
    let target = Arc::new(Target { upstream: upstream.clone(), map, prompts: names, closed });
    let actions = actions(&abilities)
        .filter_map(|action| {
            let tool: Arc<dyn AnyTool> = Arc::new(RemoteAction::new(action, settings, target.clone())?);
            Some((action, tool))
        })
        .collect();
    let instructions = lists.instructions.as_deref().filter(|text| {
        let why = judge.objection_to_instructions(text);
        let name = What::WHOLE.to_owned();
        let held = why.map(|why| HeldBack { what: What::Instructions, name, why });
        let is_held = held.is_some();
        draft.offer.held.extend(held);
        !is_held
    });
    let instructions = instructions.map(|text| settings.mask().lines(text, INSTRUCTIONS_BYTES_MAX));
    // It knows its tools by other names than clients do.
    let named = |text: String| match settings.prefix.is_empty() {
        true => text,
        false => format!("What this calls NAME is offered as `{}_NAME`.\n\n{text}", settings.prefix),
    };
    let instructions = instructions.filter(|text| !text.is_empty()).map(named).map(Arc::from);
    let skills = skills(&abilities, settings, &target);
    let extension_methods = extension_methods(&abilities, settings, target);
    Features {
        prompts,
        resources,
        templates,
        claims,
        actions,
        extension_methods,
        skills,
        abilities,
        instructions,
        held: Vec::new(),
        freshness: Some(upstream.clone()),
    }
}

/// The methods of the extensions that the server declares; nothing if it declares none but tasks, which have actions.
fn extension_methods(
    abilities: &Abilities,
    settings: &Settings,
    target: Arc<Target>,
) -> Option<ExtensionMethods> {
    let declared = abilities.extensions.iter().map(|(name, _)| name).filter(|name| ***name != *TASKS);
    let declared: Vec<Arc<str>> = declared.cloned().collect();
    let skills = abilities.extensions.iter().find(|(name, _)| **name == *SKILLS_EXTENSION);
    let has_skills = skills.is_some();
    let reads_directories = skills.is_some_and(|(_, settings)| {
        std::str::from_utf8(settings).ok().and_then(Object::parse).and_then(|all| all.get("directoryRead"))
            == Some("true")
    });
    if declared.is_empty() {
        return None;
    }
    let settings = settings.clone();
    Some(Arc::new(move |method| {
        if has_skills
            && (matches!(method, "skills/list" | "skills/get")
                || reads_directories && method == DIRECTORY_READ)
        {
            let tool = RemoteAction::skills(method, &settings, target.clone())?;
            return Some(Arc::new(tool) as Arc<dyn AnyTool>);
        }
        // The method `skills/list` is one of the extension `VENDOR/skills`.
        let (prefix, _) = method.split_once('/')?;
        declared.iter().find(|name| name.rsplit('/').next() == Some(prefix))?;
        let tool = RemoteAction::extension(method, &settings, target.clone())?;
        Some(Arc::new(tool) as Arc<dyn AnyTool>)
    }))
}

/// What loads the server's skills, which have names of their own behind a prefix alone.
fn skills(abilities: &Abilities, settings: &Settings, target: &Arc<Target>) -> Option<SkillLoader> {
    let has_skills = abilities.extensions.iter().any(|(name, _)| **name == *SKILLS_EXTENSION);
    if !has_skills || settings.prefix.is_empty() {
        return None;
    }
    let loader = Arc::new(RemoteSkill::new(settings, target.clone())?);
    let (prefix, foreign) = (settings.prefix.clone(), settings.foreign.load_full());
    Some(Arc::new(move |name| {
        let is_ours = name.strip_prefix(&*prefix).is_some_and(|rest| rest.starts_with('_'));
        let is_theirs = || names::owner(&foreign, &prefix, name).is_some();
        (is_ours && !is_theirs()).then(|| loader.clone() as Arc<dyn AnyTool>)
    }))
}

fn abilities(lists: &Lists) -> Abilities {
    let all = lists.capabilities.object();
    let has = |name| all.is_some_and(|all| all.object(name).is_some());
    let subscribe = all.and_then(|all| all.object("resources")?.get("subscribe")) == Some("true");
    // Members of a capability that are objects, as they are written.
    let members = |name| {
        let members = all.and_then(|all| all.object(name)).into_iter().flat_map(Object::members);
        members
            .filter(|member| member.value.starts_with('{'))
            .filter(|member| member.key().len() + member.value.len() <= EXTENSION_BYTES_MAX)
            .take(EXTENSIONS_MAX)
            .map(|member| (member.key().into(), Bytes::copy_from_slice(member.value.as_bytes())))
            .collect::<Vec<(Arc<str>, Bytes)>>()
    };
    let mut extensions = members("extensions");
    // Modern clients are given tasks of 2025-11-25 in the form of the extension.
    if tasks::declared(all) && !extensions.iter().any(|(name, _)| **name == *TASKS) {
        extensions.push((TASKS.into(), Bytes::from_static(b"{}")));
    }
    Abilities {
        logging: has("logging"),
        completions: has("completions"),
        prompts: has("prompts"),
        resources: has("resources"),
        subscribe,
        extensions,
        experimental: members("experimental"),
    }
}

/// What can be done with what a server of these abilities has.
fn actions(abilities: &Abilities) -> impl Iterator<Item = Action> {
    let tasks = abilities.extensions.iter().any(|(name, _)| **name == *TASKS);
    let (resources, subscribe) = (abilities.resources, abilities.resources && abilities.subscribe);
    let (prompts, completions) = (abilities.prompts, abilities.completions);
    Action::ALL.into_iter().filter(move |action| match action {
        Action::ReadResource => resources,
        Action::Subscribe | Action::Unsubscribe => subscribe,
        Action::GetPrompt => prompts,
        Action::Complete => completions,
        Action::GetTask | Action::UpdateTask | Action::CancelTask => tasks,
    })
}

/// The prompts, and their own names by those offered.
fn prompts(draft: &mut Draft<'_>) -> (Vec<Item>, HashMap<Arc<str>, Box<str>>) {
    let listed = draft.lists.of(Kind::Prompts);
    let mut names = Names::new(draft.settings, listed.entries.len());
    let mut own = HashMap::with_capacity(listed.entries.len());
    let mut items = Vec::with_capacity(listed.entries.len());
    for entry in &listed.entries {
        match names.give(&entry.key) {
            Ok(name) if draft.hold_back(Kind::Prompts, entry).is_none() => {
                let renamed = |_: &str| name.as_str().to_owned();
                let maps = Maps { name: Some(&renamed), ..Maps::default() };
                items.push(item(name.shared(), &entry.text, maps));
                own.insert(name.shared(), entry.key.as_str().into());
            }
            Ok(_) => {}
            Err(why) => draft.withhold(Kind::Prompts, &entry.key, why),
        }
    }
    draft.withhold_unusable(listed);
    (items, own)
}

/// Resources or templates under the URIs offered.
fn located(draft: &mut Draft<'_>, kind: Kind, map: &UriMap) -> Vec<Item> {
    let listed = draft.lists.of(kind);
    let mut seen = HashSet::with_capacity(listed.entries.len());
    let outward = |uri: &str| map.outward(uri).into_owned();
    let mut items = Vec::with_capacity(listed.entries.len());
    for entry in &listed.entries {
        let key = entry.key.as_str();
        if !seen.insert(key) {
            draft.withhold(kind, key, "an earlier entry of the list has the same".to_owned());
        } else if let Some(start) = map.owner(key) {
            draft.withhold(kind, key, format!("what begins with `{start}` is another's"));
        } else if draft.hold_back(kind, entry).is_none() {
            let maps = match kind {
                _ if map.is_plain() => Maps::default(),
                Kind::Templates => Maps { template: Some(&outward), ..Maps::default() },
                Kind::Tools | Kind::Prompts | Kind::Resources => {
                    Maps { uri: Some(&outward), ..Maps::default() }
                }
            };
            items.push(item(outward(key).into(), &entry.text, maps));
        }
    }
    draft.withhold_unusable(listed);
    items
}

fn item(key: Arc<str>, text: &Text, maps: Maps<'_>) -> Item {
    Item { key, listing: uris::rewrite_list_entry(text, maps).bytes() }
}

/// Says of an offered URI whether it is this server's. With a prefix it says so itself.
fn claims(map: &UriMap, resources: &[Item], templates: &[Item]) -> Claims {
    if !map.is_plain() {
        let map = map.clone();
        return Arc::new(move |uri| map.inward(uri).is_some());
    }
    let listed: HashSet<Arc<str>> = resources.iter().map(|item| item.key.clone()).collect();
    let templates = Templates::parse(templates.iter().take(TEMPLATES_MATCHED_MAX).map(|item| &*item.key));
    let map = map.clone();
    Arc::new(move |uri| {
        let is_foreign = map.owner(uri).is_some();
        listed.contains(uri) || !is_foreign && templates.matches(uri)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Weak;
    use std::time::Duration;

    use expect_test::{Expect, expect};
    use pins::Judge;

    use super::*;
    use crate::config::Config;
    use crate::offer::{Offer, Withheld};

    fn settings(name: &str, prefix: &str) -> Settings {
        let (command, prefix) = (Some("x".to_owned()), Some(prefix.to_owned()));
        let table = Config { command, prefix, ..Config::default() };
        let settled = table.settle(name, Duration::from_secs(5), &|_| unreachable!("no reference"));
        settled.expect("sound")
    }

    fn features_of(prefix: &str, definitions: &str) -> (Features, Vec<Withheld>) {
        let settings = settings("it", prefix).knowing(&[settings("it", prefix), settings("other", "o_o")]);
        let lists = Lists::remembered(definitions).expect("lists");
        let (upstream, judge, offer) = (&Weak::new(), &Judge::Everything, Offer::default());
        let mut draft = Draft { lists: &lists, settings: &settings, upstream, judge, offer };
        (features(&mut draft), draft.offer.withheld)
    }

    const LISTS: &str = r#"{"prompts":[{"name":"a.b", "x":1.0},{"name":"a/b"},{"name":"c"}],
        "resources":[{"uri":"file:///a" ,"name":"n"},{"uri":"file:///a"},{"uri":"ui://x"}],
        "resourceTemplates":[{"uriTemplate":"db://{t}"}],
        "capabilities":{"prompts":{},"resources":{"subscribe":false},"logging":null}}"#;

    #[track_caller]
    fn check(prefix: &str, expected: Expect) {
        let (features, withheld) = features_of(prefix, LISTS);
        let items = features.prompts.iter().chain(&features.resources).chain(&features.templates);
        let items = items.map(|item| format!("{} {}\n", item.key, String::from_utf8_lossy(&item.listing)));
        let withheld = withheld.iter().map(|it| format!("withheld {} {}: {}\n", it.kind, it.name, it.why));
        expected.assert_eq(&items.chain(withheld).collect::<String>());
    }

    #[test]
    fn what_is_offered_says_whose_it_is() {
        check(
            "p_q",
            expect![[r#"
                p_q_a_b {"name":"p_q_a_b", "x":1.0}
                p_q_c {"name":"p_q_c"}
                p-q+file:///a {"uri":"p-q+file:///a" ,"name":"n"}
                ui://p-q/x {"uri":"ui://p-q/x"}
                p-q+db://{t} {"uriTemplate":"p-q+db://{t}"}
                withheld prompt a/b: its name would be `p_q_a_b`, which `a.b` already has
                withheld resource file:///a: an earlier entry of the list has the same
            "#]],
        );
    }

    #[test]
    fn without_a_prefix_it_is_what_it_was() {
        check(
            "",
            expect![[r#"
                a.b {"name":"a.b", "x":1.0}
                a_b {"name":"a_b"}
                c {"name":"c"}
                file:///a {"uri":"file:///a" ,"name":"n"}
                ui://x {"uri":"ui://x"}
                db://{t} {"uriTemplate":"db://{t}"}
                withheld resource file:///a: an earlier entry of the list has the same
            "#]],
        );
    }

    #[test]
    fn only_its_own_is_claimed() {
        let claimed = |prefix: &str, uris: [&str; 5]| {
            let claims = features_of(prefix, LISTS).0.claims.expect("it has resources");
            uris.map(|uri| claims(uri))
        };
        let uris = ["file:///a", "file:///b", "db://t", "db://t/x", "ui://x"];
        assert_eq!(claimed("", uris), [true, false, true, false, true]);
        assert_eq!(claimed("p", uris), [false; 5]);
        let own = ["p+file:///a", "p+file:///b", "ui://p/y", "P+a:b", "pp+a:b"];
        assert_eq!(claimed("p", own), [true, true, true, false, false]);
        assert!(features_of("p", r#"{"resources":[{"uri":"a:b"}],"capabilities":{}}"#).0.claims.is_none());
    }

    #[test]
    fn what_reads_like_anothers_is_neither_offered_nor_claimed() {
        let lists = r#"{"prompts":[{"name":"o_o_p"},{"name":"o_op"}],
            "resources":[{"uri":"o-o+file:///a"},{"uri":"ui://o-o/x"},{"uri":"o-o:a"}],
            "resourceTemplates":[{"uriTemplate":"o-o+{+x}"},{"uriTemplate":"{+x}"}],
            "capabilities":{"prompts":{},"resources":{}}}"#;
        let (features, withheld) = features_of("", lists);
        let offered = features.prompts.iter().chain(&features.resources).chain(&features.templates);
        assert_eq!(offered.map(|item| &*item.key).collect::<Vec<_>>(), ["o_op", "o-o:a", "{+x}"]);
        let whys: Vec<_> = withheld.iter().map(|it| it.why.as_str()).collect();
        let expected = [
            "its name would be `o_o_p`, and those that begin with `o_o_` are another's",
            "what begins with `o-o+` is another's",
            "what begins with `ui://o-o/` is another's",
            "what begins with `o-o+` is another's",
        ];
        assert_eq!(whys, expected);
        let claims = features.claims.expect("it has resources");
        assert_eq!(
            ["o-o+b:c", "ui://o-o/y", "o-o:b", "p:q"].map(|uri| claims(uri)),
            [false, false, true, true]
        );
        // Behind a prefix of its own nothing reads so.
        let (features, withheld) = features_of("p", lists);
        assert_eq!((features.resources.len(), withheld.len()), (3, 0), "{withheld:?}");
    }

    #[test]
    fn abilities_and_actions_are_what_it_declares() {
        let show = |capabilities: &str| {
            let (features, _) = features_of("", &format!(r#"{{"capabilities":{capabilities}}}"#));
            let actions: Vec<_> = features.actions.iter().map(|(action, _)| action.name()).collect();
            actions.join(" ")
        };
        assert_eq!(show("{}"), "");
        assert_eq!(show(r#"{"tools":{},"tasks":{},"resources":null}"#), "");
        let tasks = r#"{"tasks":{"requests":{"tools":{"call":{}}}}}"#;
        assert_eq!(show(tasks), "tasks_get tasks_update tasks_cancel");
        assert_eq!(show(r#"{"resources":{},"prompts":{}}"#), "resources_read prompts_get");
        assert_eq!(
            show(r#"{"resources":{"subscribe":true},"completions":{}}"#),
            "resources_read resources_subscribe resources_unsubscribe completion_complete"
        );
        assert_eq!(
            show(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#),
            "tasks_get tasks_update tasks_cancel"
        );
        let (features, _) =
            features_of("", r#"{"capabilities":{"extensions":{"a/b": {"c":1.0},"d/e":true}}}"#);
        let expected: (Arc<str>, Bytes) = ("a/b".into(), Bytes::from_static(br#"{"c":1.0}"#));
        assert_eq!(features.abilities.extensions, [expected]);
        let kept = |bytes: usize| {
            let value = format!("{{\"x\":\"{}\"}}", "x".repeat(bytes - "a/b".len() - r#"{"x":""}"#.len()));
            let (features, _) =
                features_of("", &format!(r#"{{"capabilities":{{"extensions":{{"a/b":{value}}}}}}}"#));
            features.abilities.extensions.len()
        };
        assert_eq!((kept(EXTENSION_BYTES_MAX), kept(EXTENSION_BYTES_MAX + 1)), (1, 0));
    }

    #[test]
    fn instructions_are_cleaned_and_have_an_end() {
        let said = |instructions: &str| {
            let (features, _) = features_of("", &format!(r#"{{"instructions":"{instructions}"}}"#));
            features.instructions.map(|said| said.to_string())
        };
        assert_eq!(said(r"be\u0007 kind\n\tor not\u202e").as_deref(), Some("be kind\n\tor not"));
        assert_eq!(said(r" \n "), None);
        assert_eq!(said(&"x".repeat(20_000)).expect("some").len(), INSTRUCTIONS_BYTES_MAX + "…".len());
    }
}
