//! The `[identity]` section.

use std::collections::BTreeMap;

use gate::{Role, Scope};
use http::Uri;
use schemars::JsonSchema;
use serde::Deserialize;

use super::algorithm::Algorithm;

/// Issuers that are trusted at most.
const ISSUERS_MAX: usize = 16;

/// What a name of an issuer must be.
const PLAIN_NAME: &str = "must be 1 to 64 letters, digits, `.`, `-` and `_`, and neither `key` nor `local`";

/// The word for no role.
const NONE: &str = "none";

/// Who may call over HTTP with a token, and who says so. API keys need no configuration: see `toolcrib keys`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The address of the MCP endpoint as clients know it, such as `https://crib.example/mcp` behind a reverse proxy.
    /// Clients are told it, and ask for tokens that are good for it only. By default it is the address in
    /// `server.bind`; where that is not a loopback address and there are issuers, it must be set.
    pub resource: Option<String>,
    /// The scopes that clients are told to ask for when they sign in, such as `["read_workspace", "write_workspace"]`.
    /// Name only what your provider knows: many refuse others. By default the `required_scopes` of the issuers; what
    /// callers may do follows from their roles then.
    pub scopes_supported: Option<Vec<String>>,
    /// OpenID providers (or other issuers of JWT access tokens) whose users may call. Clients that know MCP's
    /// authorisation find them by themselves and sign in there.
    pub issuers: Vec<Issuer>,
}

/// One issuer of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Issuer {
    /// Its address, exactly as it is written in the `iss` of its tokens, such as `https://login.example/realms/team`.
    /// Only `https`, or `http` on this machine.
    pub issuer: String,
    /// What its callers' names begin with, as in `login.example:ada`. By default the host of `issuer`.
    pub name: Option<String>,
    /// What must be in the `aud` of its tokens. By default the address in `resource`.
    pub audience: Option<String>,
    /// Signatures that are accepted. `none` and those with a shared secret (HS256) never are.
    pub algorithms: Vec<Algorithm>,
    /// Where its keys are. By default its metadata says so (`/.well-known/openid-configuration`, or
    /// `/.well-known/oauth-authorization-server`).
    pub jwks_uri: Option<String>,
    /// The claim that names the caller.
    pub id_claim: String,
    /// The claim with the scopes of a token, as text with blanks between them or as a list. By default `scope`, or `scp`.
    /// A token that has scopes of toolcrib's is good for these only; they never give more than roles and `scopes` do.
    pub scopes_claim: Option<String>,
    /// The claim with the caller's roles or groups, such as `groups`, or with dots for a claim in a claim, such as
    /// `realm_access.roles`. Needs `roles`.
    pub roles_claim: Option<String>,
    /// What the words in `roles_claim` mean here, such as `{ "toolcrib-admins" = "owner" }`. Roles are `owner`,
    /// `maintainer`, `developer`, `auditor` and `agent`.
    pub roles: BTreeMap<String, String>,
    /// The role of callers who have none by `roles`: unless it says otherwise, everybody with a good token for this address
    /// is an agent, who may read and write files and run tests. With `none` they are refused.
    pub default_role: String,
    /// What its callers may do besides what their roles say, such as `git:call`.
    pub scopes: Vec<String>,
    /// Whether its tokens are in the hands of people only, and never of agents: only then do those who bring one answer
    /// approvals, as their roles allow. A client that an agent drives shows the same token as its user, so say it of an
    /// issuer that such clients are not given tokens by. By default nobody answers by a token.
    pub people: bool,
    /// Scopes that every token must have. Callers without are told to sign in again with them.
    pub required_scopes: Vec<String>,
}

impl Default for Issuer {
    fn default() -> Issuer {
        Issuer {
            issuer: String::new(),
            name: None,
            audience: None,
            algorithms: Algorithm::ALL.to_vec(),
            jwks_uri: None,
            id_claim: "sub".to_owned(),
            scopes_claim: None,
            roles_claim: None,
            roles: BTreeMap::new(),
            default_role: Role::Agent.as_str().to_owned(),
            scopes: Vec::new(),
            people: false,
            required_scopes: Vec::new(),
        }
    }
}

/// A value of the section that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("identity{}: {why}", path(keys))]
pub struct Problem {
    /// The keys that lead to it.
    pub keys: Vec<String>,
    /// Why not, as a sentence.
    pub why: String,
}

/// Keys as a path, places in a list in brackets.
fn path(keys: &[String]) -> String {
    let place = |key: &String| key.bytes().all(|byte| byte.is_ascii_digit());
    keys.iter().map(|key| if place(key) { format!("[{key}]") } else { format!(".{key}") }).collect()
}

impl Config {
    /// Checks every value. `bind` is where the server listens.
    ///
    /// # Errors
    /// All that cannot be used.
    pub fn check(&self, bind: std::net::SocketAddr) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut report = |keys: &[&str], why: String| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            problems.push(Problem { keys, why });
        };
        match &self.resource {
            Some(resource) => address_fault(resource).into_iter().for_each(|why| report(&["resource"], why)),
            None if !self.issuers.is_empty() && !bind.ip().is_loopback() => report(
                &["resource"],
                "must be set to the address that clients use, such as \"https://crib.example/mcp\": the tokens of \
                 issuers are good for it only, and server.bind does not say it"
                    .to_owned(),
            ),
            None => {}
        }
        for (nth, why) in scope_faults(self.scopes_supported.iter().flatten()) {
            report(&["scopes_supported", &nth], why);
        }
        if self.issuers.len() > ISSUERS_MAX {
            report(&["issuers"], format!("there may be {ISSUERS_MAX} at most"));
        }
        for (nth, issuer) in self.issuers.iter().enumerate() {
            for (key, why) in issuer.faults(&self.issuers[..nth]) {
                report(&["issuers", &nth.to_string(), key], why);
            }
            for (word, role) in issuer.roles.iter().filter(|(_, role)| Role::parse(role).is_none()) {
                report(&["issuers", &nth.to_string(), "roles", word], unknown_role(role));
            }
            for (key, scopes) in [("scopes", &issuer.scopes), ("required_scopes", &issuer.required_scopes)] {
                for (at, why) in scope_faults(scopes) {
                    report(&["issuers", &nth.to_string(), key, &at], why);
                }
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

impl Issuer {
    /// What is wrong with single settings, each under its key.
    fn faults(&self, earlier: &[Issuer]) -> impl Iterator<Item = (&'static str, String)> {
        let says = |is_wrong: bool, why: &str| is_wrong.then(|| why.to_owned());
        let is_empty = |text: Option<&String>| says(text.is_some_and(String::is_empty), "must not be empty");
        let is_twice = earlier.iter().any(|other| other.issuer == self.issuer);
        let without_roles =
            "says nothing without `roles`, such as roles = { \"toolcrib-admins\" = \"owner\" }";
        let has_no_role = self.default_role != NONE && Role::parse(&self.default_role).is_none();
        let faults = [
            ("issuer", address_fault(&self.issuer)),
            ("jwks_uri", self.jwks_uri.as_deref().and_then(address_fault)),
            ("issuer", is_twice.then(|| format!("{:?} is there twice", self.issuer))),
            ("name", says(!self.has_plain_name(), PLAIN_NAME)),
            (if self.name.is_some() { "name" } else { "issuer" }, self.shared_name(earlier)),
            (
                "audience",
                says(
                    self.audience.as_deref() == Some(""),
                    "must not be empty; leave it out for the address in `resource`",
                ),
            ),
            ("algorithms", says(self.algorithms.is_empty(), "must name at least one; leave it out for all")),
            ("id_claim", is_empty(Some(&self.id_claim))),
            ("scopes_claim", is_empty(self.scopes_claim.as_ref())),
            ("roles_claim", is_empty(self.roles_claim.as_ref())),
            ("roles_claim", says(self.roles_claim.is_some() && self.roles.is_empty(), without_roles)),
            (
                "roles",
                says(
                    self.roles_claim.is_none() && !self.roles.is_empty(),
                    "says nothing without `roles_claim`, such as \"groups\"",
                ),
            ),
            (
                "default_role",
                has_no_role.then(|| format!("{}, or `{NONE}`", unknown_role(&self.default_role))),
            ),
        ];
        faults.into_iter().filter_map(|(key, why)| Some((key, why?)))
    }

    /// Whether its callers can be named. An address without a host gives no name, and is refused as such.
    fn has_plain_name(&self) -> bool {
        let name = self.callers_prefix();
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_[]".contains(&byte);
        let is_sound = (1..=64).contains(&name.len()) && name.bytes().all(is_plain);
        (self.name.is_none() && name.is_empty()) || (is_sound && !["key", "local"].contains(&name.as_str()))
    }

    fn shared_name(&self, earlier: &[Issuer]) -> Option<String> {
        let name = self.callers_prefix();
        let is_shared = !name.is_empty()
            && self.has_plain_name()
            && earlier.iter().any(|other| other.callers_prefix() == name && other.issuer != self.issuer);
        is_shared.then(|| {
            format!(
                "callers of another issuer are named {name}:… already; give one of the two a `name`, so that they can be told apart"
            )
        })
    }

    /// What its callers' names begin with.
    pub(super) fn callers_prefix(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let uri: Option<Uri> = self.issuer.parse().ok();
            uri.and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
        })
    }
}

/// The scopes that are none, by their places.
fn scope_faults<'a>(scopes: impl IntoIterator<Item = &'a String>) -> impl Iterator<Item = (String, String)> {
    let faults = scopes.into_iter().map(|scope| Scope::parse(scope).err()).enumerate();
    faults.filter_map(|(nth, error)| Some((nth.to_string(), error?.to_string())))
}

fn unknown_role(role: &str) -> String {
    let known = Role::ALL.map(Role::as_str).join(", ");
    format!("{role:?} is no role; use one of {known}")
}

/// Why a text is no address that may be trusted with who somebody is.
fn address_fault(text: &str) -> Option<String> {
    let sound = !text.contains('#')
        && text.parse::<Uri>().is_ok_and(|uri| match (uri.scheme_str(), uri.host()) {
            (Some("https"), Some(_)) => true,
            (Some("http"), Some(host)) => super::resource::is_loopback(host),
            _ => false,
        });
    (!sound)
        .then(|| format!("{text:?} must be a full https address (http only on this machine), without `#`"))
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(bind: &str, text: &str, expected: Expect) {
        let config: Config = toml::from_str(text).expect("a sample reads");
        let bind: SocketAddr = bind.parse().expect("a sample parses");
        let problems = config.check(bind).err().unwrap_or_default();
        let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
        expected.assert_eq(&said.join("\n"));
    }

    const LOCAL: &str = "127.0.0.1:3000";

    #[test]
    fn good_sections() {
        for text in [
            "",
            "resource = 'https://crib.example/mcp'",
            "[[issuers]]\nissuer = 'https://login.example'",
            "[[issuers]]\nissuer = 'http://127.0.0.1:4000'\nname = 'dev'",
            "[[issuers]]\nissuer = 'https://a.example/x'\n[[issuers]]\nissuer = 'https://a.example/y'\nname = 'y'",
            "[[issuers]]\nissuer = 'https://a.example'\nroles_claim = 'groups'\nroles = { 'a b' = 'owner' }\ndefault_role = 'none'",
        ] {
            check(LOCAL, text, expect![""]);
        }
        check(
            "0.0.0.0:1",
            "resource = 'https://crib.example/mcp'\n[[issuers]]\nissuer = 'https://login.example'",
            expect![""],
        );
    }

    #[test]
    fn every_problem_is_told_with_its_place() {
        check(
            "0.0.0.0:1",
            "[[issuers]]\nissuer = 'https://login.example'",
            expect![[
                r#"identity.resource: must be set to the address that clients use, such as "https://crib.example/mcp": the tokens of issuers are good for it only, and server.bind does not say it"#
            ]],
        );
        check(
            LOCAL,
            "resource = 'http://crib.example/mcp'\nscopes_supported = ['reed']\n[[issuers]]\n[[issuers]]\nissuer = 'http://login.example#x'",
            expect![[r#"
                identity.resource: "http://crib.example/mcp" must be a full https address (http only on this machine), without `#`
                identity.scopes_supported[0]: unknown scope "reed"; use one of read_workspace, write_workspace, run_tests, network, or `area:verb` in lower-case letters, digits and `_`
                identity.issuers[0].issuer: "" must be a full https address (http only on this machine), without `#`
                identity.issuers[1].issuer: "http://login.example#x" must be a full https address (http only on this machine), without `#`"#]],
        );
        check(
            LOCAL,
            "[[issuers]]\nissuer = 'https://a.example/x'\n[[issuers]]\nissuer = 'https://a.example/y'\n[[issuers]]\nissuer = 'https://a.example/x'\nname = 'key'",
            expect![[r#"
                identity.issuers[1].issuer: callers of another issuer are named a.example:… already; give one of the two a `name`, so that they can be told apart
                identity.issuers[2].issuer: "https://a.example/x" is there twice
                identity.issuers[2].name: must be 1 to 64 letters, digits, `.`, `-` and `_`, and neither `key` nor `local`"#]],
        );
        check(
            LOCAL,
            "[[issuers]]\nissuer = 'https://a.example'\naudience = ''\nalgorithms = []\njwks_uri = 'ftp://a.example'\nid_claim = ''\nroles = { x = 'emperor' }\ndefault_role = 'king'\nscopes = ['a:b:c']\nrequired_scopes = ['read', 'red']",
            expect![[r#"
                identity.issuers[0].jwks_uri: "ftp://a.example" must be a full https address (http only on this machine), without `#`
                identity.issuers[0].audience: must not be empty; leave it out for the address in `resource`
                identity.issuers[0].algorithms: must name at least one; leave it out for all
                identity.issuers[0].id_claim: must not be empty
                identity.issuers[0].roles: says nothing without `roles_claim`, such as "groups"
                identity.issuers[0].default_role: "king" is no role; use one of owner, maintainer, developer, auditor, agent, or `none`
                identity.issuers[0].roles.x: "emperor" is no role; use one of owner, maintainer, developer, auditor, agent
                identity.issuers[0].scopes[0]: unknown scope "a:b:c"; use one of read_workspace, write_workspace, run_tests, network, or `area:verb` in lower-case letters, digits and `_`
                identity.issuers[0].required_scopes[1]: unknown scope "red"; use one of read_workspace, write_workspace, run_tests, network, or `area:verb` in lower-case letters, digits and `_`"#]],
        );
    }
}
