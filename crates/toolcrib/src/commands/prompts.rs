//! `prompts`: the prompts of other servers, and filling one in, through the gate as the local user.

use std::collections::BTreeMap;

use admin::nearest;
use bytes::Bytes;
use daemon::assemble::Crib;
use gate::{Action, Call, Failure, Payload, Refusal, Shown, Target};
use serde::Deserialize;
use serde_json::{Value, json};
use terminal::{Ending, Trouble, print};

use super::gated::{block, carry, failed, settled, with_crib};
use super::resources::{ASKS, described, listing, visible};
use super::troubles::{tell_troubles, unknown};
use crate::cli::{Cli, Prompts};

pub(super) fn run(cli: &Cli, command: Prompts) -> Result<Ending, Trouble> {
    // Before anything is started: what cannot be read is the caller's mistake.
    let given = match &command {
        Prompts::Get { arguments, .. } => given(arguments)?,
        Prompts::List => BTreeMap::new(),
    };
    with_crib(cli, async |crib| match &command {
        Prompts::List => list(crib, cli.json).await,
        Prompts::Get { name, .. } => get(crib, name, &given, cli.json).await,
    })
}

/// Reads `NAME=VALUE` arguments.
fn given(arguments: &[String]) -> Result<BTreeMap<String, String>, Trouble> {
    let mut given = BTreeMap::new();
    for argument in arguments {
        let Some((name, value)) = argument.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Trouble::Misused(format!("`{argument}` is no argument: write NAME=VALUE")));
        };
        if given.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(Trouble::Misused(format!("the argument `{name}` is given twice")));
        }
    }
    Ok(given)
}

async fn list(crib: &Crib, json: bool) -> Result<Ending, Trouble> {
    let offer = settled(crib).await?;
    let prompts = visible(crib, &offer, &offer.prompts, Action::GetPrompt);
    let facts: Vec<Value> = prompts.iter().map(|one| described(one)).collect();
    let titles = ["PROMPT", "FROM", "ARGUMENTS", "WHAT IT IS FOR"];
    let words = print::Table::titled(titles, prompts.iter().map(|one| row(one)));
    print::found(json, &json!({ "prompts": facts }), &words)?;
    if !json {
        tell_troubles(&crib.upstreams);
    }
    Ok(Ending::Good)
}

fn row(one: &Shown) -> Vec<String> {
    let listing = listing(one);
    let word =
        |key: &str| listing[key].as_str().map(|text| text.lines().next().unwrap_or_default().to_owned());
    let arguments = arguments(&listing);
    let arguments =
        arguments.iter().map(|it| if it.required { it.name.clone() } else { format!("[{}]", it.name) });
    let what = word("description").or_else(|| word("title")).unwrap_or_default();
    vec![one.item.key.to_string(), one.source.to_string(), arguments.collect::<Vec<_>>().join(" "), what]
}

/// An argument that a prompt takes.
#[derive(Deserialize)]
struct Argument {
    name: String,
    #[serde(default)]
    description: String,
    #[serde(default)]
    required: bool,
}

fn arguments(listing: &Value) -> Vec<Argument> {
    let listed = listing["arguments"].as_array().into_iter().flatten();
    listed.filter_map(|argument| Argument::deserialize(argument).ok()).collect()
}

async fn get(
    crib: &Crib,
    name: &str,
    given: &BTreeMap<String, String>,
    json: bool,
) -> Result<Ending, Trouble> {
    let offer = settled(crib).await?;
    let visible = visible(crib, &offer, &offer.prompts, Action::GetPrompt);
    let Some(prompt) = visible.iter().find(|one| &*one.item.key == name) else {
        return Err(no_prompt(crib, name, &visible));
    };
    fits(name, &arguments(&listing(prompt)), given)?;
    let target = Target::Prompt { action: Action::GetPrompt, name };
    let params = Bytes::from(json!({ "name": name, "arguments": given }).to_string());
    let call = || Call { target, ..Call::tool(name, Some(params.clone())) };
    let outcome = match carry(crib, call).await? {
        Ok(outcome) => outcome,
        Err(Failure::Refused(Refusal::UnknownPrompt(_))) => return Err(no_prompt(crib, name, &visible)),
        Err(failure) => return failed(crib, &failure, json),
    };
    let Payload::Relayed { result, .. } = &outcome.payload else {
        return Err(Trouble::Failed(ASKS.to_owned()));
    };
    match json {
        true => print::line(&String::from_utf8_lossy(result))?,
        false => print::foreign(&text(&serde_json::from_slice(result).unwrap_or_default()))?,
    }
    Ok(Ending::Good)
}

/// Whether what is given fits what the prompt takes.
fn fits(prompt: &str, takes: &[Argument], given: &BTreeMap<String, String>) -> Result<(), Trouble> {
    let known = || takes.iter().map(|it| it.name.as_str());
    let mut wrong = Vec::new();
    for name in given.keys().filter(|name| !known().any(|known| known == name.as_str())) {
        wrong.push(match nearest(name, known()) {
            Some(near) => format!("`{prompt}` has no argument `{name}`; did you mean `{near}`?"),
            None => format!("`{prompt}` has no argument `{name}`"),
        });
    }
    for it in takes.iter().filter(|it| it.required && !given.contains_key(&it.name)) {
        let what = if it.description.is_empty() { String::new() } else { format!(" ({})", it.description) };
        wrong.push(format!("`{prompt}` needs the argument `{}`{what}: add {}=VALUE", it.name, it.name));
    }
    if wrong.is_empty() { Ok(()) } else { Err(Trouble::Misused(print::harmless(&wrong.join("\n")))) }
}

fn no_prompt(crib: &Crib, name: &str, known: &[&Shown]) -> Trouble {
    let known = known.iter().map(|one| &*one.item.key);
    unknown(&crib.upstreams, "prompt", name, known)
}

/// A filled-in prompt for people: what is to be said alone, or with who says it if there are several.
fn text(result: &Value) -> String {
    let messages: Vec<&Value> = result["messages"].as_array().into_iter().flatten().collect();
    if let [only] = messages.as_slice() {
        return block(&only["content"]);
    }
    let said = |message: &&Value| {
        format!("[{}]\n{}", message["role"].as_str().unwrap_or("unknown"), block(&message["content"]))
    };
    messages.iter().map(said).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arguments: &[&str], expected: Result<(), &str>) {
        let takes = super::arguments(&json!({ "arguments": [
            { "name": "topic", "description": "what it is about", "required": true },
            { "name": "style" },
        ] }));
        let words: Vec<String> = arguments.iter().map(|&word| word.to_owned()).collect();
        let checked = given(&words).and_then(|given| fits("p", &takes, &given));
        assert_eq!(checked.map_err(|trouble| trouble.to_string()), expected.map_err(str::to_owned));
    }

    #[test]
    fn arguments_are_held_against_what_the_prompt_takes() {
        check(&["topic=a=b", "style="], Ok(()));
        check(&[], Err("`p` needs the argument `topic` (what it is about): add topic=VALUE"));
        check(
            &["topik=a"],
            Err("`p` has no argument `topik`; did you mean `topic`?\n\
                 `p` needs the argument `topic` (what it is about): add topic=VALUE"),
        );
        check(&["topic"], Err("`topic` is no argument: write NAME=VALUE"));
        check(&["=a"], Err("`=a` is no argument: write NAME=VALUE"));
        check(&["style=a", "style=b"], Err("the argument `style` is given twice"));
    }

    #[test]
    fn one_message_stands_alone() {
        let message =
            |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
        assert_eq!(text(&json!({ "messages": [message("user", "a\nb")] })), "a\nb");
        let both = json!({ "messages": [message("user", "a"), message("assistant", "b")] });
        assert_eq!(text(&both), "[user]\na\n\n[assistant]\nb");
        assert_eq!(text(&json!({})), "");
    }
}
