//! The `[approvals]` section.

use std::time::Duration;

use policy::{Role, Roles};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize as _, Serializer};
use units::Span;

/// The longest time a call waits for a person. Clients give up on calls that take longer.
const WAIT_MAX: Duration = Duration::from_secs(60 * 60);

/// The shortest time a question stays open: a person must be able to read it.
const LASTS_MIN: Duration = Duration::from_secs(10);

/// The longest one. What was asked a week ago is not what would be answered today.
const LASTS_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Calls that a person must allow first: how long they wait, and who may answer.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// How long a call waits for an answer before it is refused, to be made again once somebody has answered, such as
    /// `"20s"`, at most `"1h"`. `"0s"` never waits.
    #[serde(deserialize_with = "wait", serialize_with = "written")]
    #[schemars(with = "Span")]
    pub wait: Duration,
    /// How long a question stays open, and how long a permission may be used that was given for one call: between
    /// `"10s"` and `"7d"`. Only your own file, or one that is named, says so.
    #[serde(deserialize_with = "lasts", serialize_with = "written")]
    #[schemars(with = "Span")]
    pub lasts: Duration,
    /// Who may answer, by role: `"owner"`, `"maintainer"`, `"developer"`; only people do, whatever the role. A rule may name others for its own questions.
    /// With `[]` nobody may, and such a call is refused at once.
    #[serde(deserialize_with = "roles", serialize_with = "words")]
    #[schemars(with = "Vec<String>")]
    pub roles: Roles,
    /// Whether a client is asked that can show a question to its user (MCP elicitation). Only one whose caller has such
    /// a role itself is, and of those the one that started Toolcrib over stdio and ones with a person's key or token.
    pub elicitation: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            wait: Duration::from_secs(20),
            lasts: Duration::from_secs(10 * 60),
            roles: [Role::Owner, Role::Maintainer].into_iter().collect(),
            elicitation: true,
        }
    }
}

impl Config {
    /// The same for a job, which waits for an answer by itself, and whose client may be gone.
    pub(crate) fn without_waiting(&self) -> Config {
        Config { wait: Duration::ZERO, elicitation: false, ..self.clone() }
    }
}

fn wait<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let Span(time) = Span::deserialize(deserializer)?;
    if time <= WAIT_MAX { Ok(time) } else { Err(D::Error::custom("a call waits at most 1h")) }
}

fn lasts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    let Span(time) = Span::deserialize(deserializer)?;
    let fits = (LASTS_MIN..=LASTS_MAX).contains(&time);
    if fits { Ok(time) } else { Err(D::Error::custom("a question stays open between 10s and 7d")) }
}

/// A default as people would write it.
fn written<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    Span(*time).serialize(serializer)
}

fn words<S: Serializer>(roles: &Roles, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(roles.iter().map(Role::as_str))
}

fn roles<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Roles, D::Error> {
    let words = Vec::<String>::deserialize(deserializer)?;
    let role = |word: &String| match Role::parse(word) {
        Some(Role::Agent) => {
            Err(D::Error::custom("an agent answers for nothing; name owner, maintainer or developer"))
        }
        Some(Role::Auditor) => {
            Err(D::Error::custom("an auditor changes nothing; name owner, maintainer or developer"))
        }
        Some(role) => Ok(role),
        None => {
            Err(D::Error::custom(format!("{word:?} is no role; there are owner, maintainer and developer")))
        }
    };
    words.iter().map(role).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(toml: &str, expected: Result<Config, &str>) {
        let read = toml::from_str::<Config>(toml).map_err(|error| error.message().to_owned());
        assert_eq!(read, expected.map_err(str::to_owned), "{toml}");
    }

    #[test]
    fn the_defaults_are_shown_as_they_are_written() {
        let schema = serde_json::to_value(schemars::schema_for!(Config)).expect("a schema");
        let default = |key: &str| schema["properties"][key]["default"].to_string();
        let keys = ["wait", "lasts", "roles", "elicitation"].map(default);
        assert_eq!(keys, [r#""20s""#, r#""10m""#, r#"["owner","maintainer"]"#, "true"]);
    }

    #[test]
    fn a_section_means_what_it_says_or_is_refused() {
        let default = Config::default;
        let s = Duration::from_secs;
        check("", Ok(default()));
        check("wait = \"0s\"", Ok(Config { wait: s(0), ..default() }));
        check("wait = \"1m 30s\"", Ok(Config { wait: s(90), ..default() }));
        check("lasts = \"7d\"", Ok(Config { lasts: s(7 * 86_400), ..default() }));
        check("roles = []", Ok(Config { roles: Roles::default(), ..default() }));
        check("roles = [\"developer\"]", Ok(Config { roles: Role::Developer.into(), ..default() }));
        check("elicitation = false", Ok(Config { elicitation: false, ..default() }));
        check("wait = \"2h\"", Err("a call waits at most 1h"));
        for text in ["-1s", "20", "99999999999999999999d"] {
            let expected = format!("invalid value: string \"{text}\", expected {}", Span::EXPECTED);
            check(&format!("wait = \"{text}\""), Err(&expected));
            check(&format!("lasts = \"{text}\""), Err(&expected));
        }
        check("lasts = \"9s\"", Err("a question stays open between 10s and 7d"));
        check("roles = [\"king\"]", Err("\"king\" is no role; there are owner, maintainer and developer"));
        check(
            "roles = [\"agent\"]",
            Err("an agent answers for nothing; name owner, maintainer or developer"),
        );
        check(
            "roles = [\"auditor\"]",
            Err("an auditor changes nothing; name owner, maintainer or developer"),
        );
    }
}
