//! What can be done with us, and what clients can do: capabilities, ours written and theirs read.

use bytes::Bytes;
use gate::{Abilities, Offer};
use serde_json::{Map, Value, json};
use wire::message::Text;
use wire::{Object, Revision, WireError, meta};

/// The extension for tasks.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What a client must declare to use tasks.
const NEEDS_TASKS: &str = r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#;

/// Our `ServerCapabilities`.
///
/// Lists can always change, since sources come and go. While a source has not reported, everything is declared
/// that it might turn out to have: to start it for the answer would make each probe of a client start it.
/// Where calls can become `jobs`, they can be asked for as tasks.
pub(crate) fn declared(offer: &Offer, revision: Revision, jobs: bool) -> Value {
    let known = if offer.is_settled { offer.abilities() } else { everything() };
    let mut all = json!({ "tools": { "listChanged": true } });
    if known.prompts {
        all["prompts"] = json!({ "listChanged": true });
    }
    if known.resources {
        all["resources"] = json!({ "listChanged": true });
    }
    if known.resources && known.subscribe {
        all["resources"]["subscribe"] = true.into();
    }
    if known.completions && revision >= Revision::V2025_03_26 {
        all["completions"] = json!({});
    }
    if known.logging {
        all["logging"] = json!({});
    }
    // Tasks as the extension knows them need requests that only the modern revision has.
    let usable = |name: &str| revision.is_modern() || (revision.has_execution() && name != TASKS);
    for (name, settings) in known.extensions.iter().filter(|(name, _)| usable(name)) {
        all["extensions"][&**name] = serde_json::from_slice(settings).unwrap_or_default();
    }
    for (name, value) in &known.experimental {
        all["experimental"][&**name] = serde_json::from_slice(value).unwrap_or_default();
    }
    if jobs && revision.is_modern() {
        all["extensions"][TASKS] = json!({});
    }
    if jobs && revision.has_execution() {
        all["tasks"] = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
    }
    all
}

fn everything() -> Abilities {
    Abilities {
        logging: true,
        completions: true,
        prompts: true,
        resources: true,
        subscribe: true,
        extensions: vec![(TASKS.into(), Bytes::from_static(b"{}"))],
        experimental: Vec::new(),
    }
}

/// What a legacy client can do through us, of what it says in its handshake: not what its revision does not have;
/// not tasks, which it would know in another form; and roots without word of their changes, which nobody hears.
pub(crate) fn usable(capabilities: Option<&Text>, revision: Revision) -> Bytes {
    let all = capabilities.and_then(|text| serde_json::from_str::<Map<String, Value>>(text.as_str()).ok());
    let Some(mut all) = all else { return Bytes::from_static(b"{}") };
    all.remove("tasks");
    for (ability, part) in [("extensions", TASKS), ("roots", "listChanged")] {
        all.get_mut(ability).and_then(Value::as_object_mut).map(|ability| ability.remove(part));
    }
    if revision < Revision::V2025_06_18 {
        all.remove("elicitation");
    } else if !has_url_elicitation(revision)
        && let Some(elicitation) = all.get_mut("elicitation").filter(|elicitation| elicitation.is_object())
    {
        *elicitation = json!({});
    }
    Value::Object(all).to_string().into()
}

/// True if there is anything that a client with these capabilities can be asked for.
pub(crate) fn can_be_asked(capabilities: &[u8]) -> bool {
    read(capabilities).is_some_and(|all| {
        all.members().any(|member| ["elicitation", "sampling", "roots"].iter().any(|kind| member.is(kind)))
    })
}

/// True if elicitations in URL mode have an id and an end that is told; the modern revision does without.
pub(crate) fn has_url_elicitation(revision: Revision) -> bool {
    revision == Revision::V2025_11_25
}

/// True if the client declares tasks.
pub(crate) fn has_tasks(capabilities: &str) -> bool {
    let extensions = Object::parse(capabilities).and_then(|all| all.object("extensions"));
    extensions.is_some_and(|extensions| extensions.get(TASKS).is_some())
}

/// Checks that the client declares tasks.
///
/// # Errors
/// `MissingClientCapability`.
pub(crate) fn check_tasks(capabilities: &str) -> Result<(), WireError> {
    if has_tasks(capabilities) { Ok(()) } else { Err(meta::missing_capability(NEEDS_TASKS)) }
}

/// What a client must declare to be asked by `method`: a `ClientCapabilities` object as JSON text. Nothing if it
/// has declared that.
///
/// # Errors
/// No client can be asked this; in words for a model.
pub(crate) fn missing(
    capabilities: &[u8],
    method: &str,
    params: Option<Object<'_>>,
) -> Result<Option<&'static str>, String> {
    let all = read(capabilities);
    let ability = |name| all.and_then(|all| all.object(name));
    let says = |key: &str| params.is_some_and(|params| params.get(key).is_some());
    let (is_there, needed) = match method {
        "roots/list" => (ability("roots").is_some(), r#"{"roots":{}}"#),
        "sampling/createMessage" if says("tools") || says("toolChoice") => (
            ability("sampling").is_some_and(|sampling| sampling.get("tools").is_some()),
            r#"{"sampling":{"tools":{}}}"#,
        ),
        "sampling/createMessage" => (ability("sampling").is_some(), r#"{"sampling":{}}"#),
        "elicitation/create" if is_by_url(params) => (
            ability("elicitation").is_some_and(|elicitation| elicitation.get("url").is_some()),
            r#"{"elicitation":{"url":{}}}"#,
        ),
        "elicitation/create" => {
            // An empty object stands for forms only.
            let forms = |elicitation: Object<'_>| {
                elicitation.get("form").is_some() || elicitation.get("url").is_none()
            };
            (ability("elicitation").is_some_and(forms), r#"{"elicitation":{"form":{}}}"#)
        }
        _ => {
            let method: String = method.chars().take(100).collect();
            return Err(format!(
                "the tool asks for `{method}`, which is nothing that a client can be asked for"
            ));
        }
    };
    Ok((!is_there).then_some(needed))
}

/// True for an elicitation in URL mode.
pub(crate) fn is_by_url(params: Option<Object<'_>>) -> bool {
    params.and_then(|params| params.string("mode")).as_deref() == Some("url")
}

fn read(capabilities: &[u8]) -> Option<Object<'_>> {
    std::str::from_utf8(capabilities).ok().and_then(Object::parse)
}

#[cfg(test)]
mod tests {
    use gate::{Catalog, Features};

    use super::*;

    #[track_caller]
    fn check_usable(revision: Revision, said: &str, expected: &str) {
        let said = Text::check(Bytes::copy_from_slice(said.as_bytes())).expect("a sample is sound");
        assert_eq!(usable(Some(&said), revision), expected, "{}", revision.name());
    }

    #[test]
    fn a_legacy_client_is_taken_at_the_word_of_its_revision() {
        let said = r#"{"roots":{"listChanged":true},"elicitation":{"form":{},"url":{}},"tasks":{"list":{}},"x":1.0}"#;
        check_usable(Revision::V2025_03_26, said, r#"{"roots":{},"x":1.0}"#);
        check_usable(Revision::V2025_06_18, said, r#"{"elicitation":{},"roots":{},"x":1.0}"#);
        check_usable(
            Revision::V2025_11_25,
            said,
            r#"{"elicitation":{"form":{},"url":{}},"roots":{},"x":1.0}"#,
        );
        let extensions = r#"{"extensions":{"io.modelcontextprotocol/tasks":{},"x/y":{}}}"#;
        check_usable(Revision::V2025_11_25, extensions, r#"{"extensions":{"x/y":{}}}"#);
        check_usable(Revision::V2025_11_25, "{}", "{}");
        assert_eq!(usable(None, Revision::V2025_11_25), "{}");
    }

    #[test]
    fn what_is_asked_for_must_be_declared() {
        let url = r#"{"mode":"url"}"#;
        let tools = r#"{"tools":[]}"#;
        // capabilities, method, params, what is missing
        let cases = [
            (r#"{"roots":{}}"#, "roots/list", "{}", Ok(None)),
            ("{}", "roots/list", "{}", Ok(Some(r#"{"roots":{}}"#))),
            (r#"{"sampling":{}}"#, "sampling/createMessage", "{}", Ok(None)),
            (r#"{"sampling":{}}"#, "sampling/createMessage", tools, Ok(Some(r#"{"sampling":{"tools":{}}}"#))),
            (r#"{"sampling":{"tools":{}}}"#, "sampling/createMessage", tools, Ok(None)),
            (r#"{"elicitation":{}}"#, "elicitation/create", "{}", Ok(None)),
            (
                r#"{"elicitation":{"url":{}}}"#,
                "elicitation/create",
                "{}",
                Ok(Some(r#"{"elicitation":{"form":{}}}"#)),
            ),
            (
                r#"{"elicitation":{"form":{}}}"#,
                "elicitation/create",
                url,
                Ok(Some(r#"{"elicitation":{"url":{}}}"#)),
            ),
            (r#"{"elicitation":{"form":{},"url":{}}}"#, "elicitation/create", url, Ok(None)),
            (
                r#"{"x":{}}"#,
                "tools/call",
                "{}",
                Err("the tool asks for `tools/call`, which is nothing that a client can be asked for"
                    .to_owned()),
            ),
        ];
        for (capabilities, method, params, expected) in cases {
            let found = missing(capabilities.as_bytes(), method, Object::parse(params));
            assert_eq!(found, expected, "{capabilities} {method} {params}");
        }
        assert!(can_be_asked(br#"{"roots":{}}"#) && !can_be_asked(br#"{"experimental":{}}"#));
        assert!(check_tasks(NEEDS_TASKS).is_ok());
        assert!(check_tasks(r#"{"extensions":{}}"#).is_err() && check_tasks("{}").is_err());
    }

    #[test]
    fn we_declare_what_the_sources_have_and_everything_while_some_are_missing() {
        let catalog = Catalog::new(Vec::new());
        let with_jobs = |revision| declared(&catalog.offer(), revision, true);
        let declared = |revision| declared(&catalog.offer(), revision, false);
        let changing = json!({ "listChanged": true });
        assert_eq!(declared(Revision::MODERN), json!({ "tools": changing }));
        catalog.expect("files");
        let resources = json!({ "subscribe": true, "listChanged": true });
        let mut all =
            json!({ "tools": changing, "prompts": changing, "resources": resources, "logging": {} });
        assert_eq!(declared(Revision::V2024_11_05), all);
        all["completions"] = json!({});
        all["extensions"] = json!({ (TASKS): {} });
        assert_eq!(declared(Revision::MODERN), all);
        let abilities = Abilities {
            resources: true,
            extensions: vec![(TASKS.into(), "{}".into()), ("x/y".into(), "{\"a\":1}".into())],
            experimental: vec![("z".into(), "{\"b\":2}".into())],
            ..Abilities::default()
        };
        // Of one key the first source's value counts.
        let others = [("z".into(), "{}".into()), ("y".into(), "{}".into())].into();
        let later = Abilities { experimental: others, ..Abilities::default() };
        catalog.replace("files", Vec::new(), Features { abilities, ..Features::default() });
        catalog.replace("later", Vec::new(), Features { abilities: later, ..Features::default() });
        let experimental = json!({ "z": { "b": 2 }, "y": {} });
        assert_eq!(
            declared(Revision::V2025_11_25),
            json!({
                "tools": changing,
                "resources": changing,
                "extensions": { "x/y": { "a": 1 } },
                "experimental": experimental,
            })
        );
        let tasks = json!({ "list": {}, "cancel": {}, "requests": { "tools": { "call": {} } } });
        assert_eq!(with_jobs(Revision::V2025_11_25)["tasks"], tasks);
        assert_eq!(with_jobs(Revision::V2025_06_18), declared(Revision::V2025_06_18));
        catalog.replace("files", Vec::new(), Features::default());
        let modern = with_jobs(Revision::MODERN);
        assert_eq!((&modern["extensions"], modern.get("tasks")), (&json!({ (TASKS): {} }), None));
    }
}
