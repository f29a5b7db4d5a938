//! The `[identity]` section.

use std::collections::BTreeMap;

use gate::{Role, Scope};
use http::Uri;
use schemars::JsonSchema;
use serde::Deserialize;

use super::algorithm::Algorithm;

/// Issuers that are trusted at most.
const ISSUERS_MAX: usize = 16;

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
        for (nth, scope) in self.scopes_supported.iter().flatten().enumerate() {
            if let Err(error) = Scope::parse(scope) {
                report(&["scopes_supported", &nth.to_string()], error.to_string());
            }
        }
        if self.issuers.len() > ISSUERS_MAX {
            report(&["issuers"], format!("there may be {ISSUERS_MAX} at most"));
        }
        for (nth, issuer) in self.issuers.iter().enumerate() {
            let nth_text = nth.to_string();
            let earlier = &self.issuers[..nth];
            issuer.check(earlier, &mut |keys: &[&str], why| {
                let keys: Vec<&str> =
                    ["issuers", &nth_text].into_iter().chain(keys.iter().copied()).collect();
                report(&keys, why);
            });
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

impl Issuer {
    fn check(&self, earlier: &[Issuer], report: &mut dyn FnMut(&[&str], String)) {
        address_fault(&self.issuer).into_iter().for_each(|why| report(&["issuer"], why));
        if let Some(uri) = &self.jwks_uri {
            address_fault(uri).into_iter().for_each(|why| report(&["jwks_uri"], why));
        }
        if earlier.iter().any(|other| other.issuer == self.issuer) {
            report(&["issuer"], format!("{:?} is there twice", self.issuer));
        }
        let key = if self.name.is_some() { "name" } else { "issuer" };
        let name = self.callers_prefix();
        if self.name.is_none() && name.is_empty() {
            // Its address has no host, which is said already.
        } else if ["key", "local"].contains(&name.as_str())
            || name.is_empty()
            || name.len() > 64
            || !name.bytes().all(is_plain)
        {
            let why = "must be 1 to 64 letters, digits, `.`, `-` and `_`, and neither `key` nor `local`";
            report(&["name"], why.to_owned());
        } else if earlier.iter().any(|other| other.callers_prefix() == name && other.issuer != self.issuer) {
            let why = format!(
                "callers of another issuer are named {name}:… already; give one of the two a `name`, so that they can be told apart"
            );
            report(&[key], why);
        }
        if self.audience.as_deref() == Some("") {
            report(&["audience"], "must not be empty; leave it out for the address in `resource`".to_owned());
        }
        if self.algorithms.is_empty() {
            report(&["algorithms"], "must name at least one; leave it out for all".to_owned());
        }
        for (key, claim) in [
            ("id_claim", Some(&self.id_claim)),
            ("scopes_claim", self.scopes_claim.as_ref()),
            ("roles_claim", self.roles_claim.as_ref()),
        ] {
            if claim.is_some_and(String::is_empty) {
                report(&[key], "must not be empty".to_owned());
            }
        }
        self.check_rights(report);
    }

    fn check_rights(&self, report: &mut dyn FnMut(&[&str], String)) {
        match (&self.roles_claim, self.roles.is_empty()) {
            (Some(_), true) => report(
                &["roles_claim"],
                "says nothing without `roles`, such as roles = { \"toolcrib-admins\" = \"owner\" }"
                    .to_owned(),
            ),
            (None, false) => {
                report(&["roles"], "says nothing without `roles_claim`, such as \"groups\"".to_owned())
            }
            _ => {}
        }
        for (word, role) in &self.roles {
            if Role::parse(role).is_none() {
                report(&["roles", word], unknown_role(role));
            }
        }
        if self.default_role != NONE && Role::parse(&self.default_role).is_none() {
            report(&["default_role"], format!("{}, or `{NONE}`", unknown_role(&self.default_role)));
        }
        for (key, scopes) in [("scopes", &self.scopes), ("required_scopes", &self.required_scopes)] {
            for (nth, scope) in scopes.iter().enumerate() {
                if let Err(error) = Scope::parse(scope) {
                    report(&[key, &nth.to_string()], error.to_string());
                }
            }
        }
    }

    /// What its callers' names begin with.
    pub(super) fn callers_prefix(&self) -> String {
        self.name.clone().unwrap_or_else(|| {
            let uri: Option<Uri> = self.issuer.parse().ok();
            uri.and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
        })
    }

    /// The role of callers who have none by the mapping.
    pub(super) fn default_role(&self) -> Option<Role> {
        Role::parse(&self.default_role)
    }
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-_[]".contains(&byte)
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
                identity.issuers[0].roles.x: "emperor" is no role; use one of owner, maintainer, developer, auditor, agent
                identity.issuers[0].default_role: "king" is no role; use one of owner, maintainer, developer, auditor, agent, or `none`
                identity.issuers[0].scopes[0]: unknown scope "a:b:c"; use one of read_workspace, write_workspace, run_tests, network, or `area:verb` in lower-case letters, digits and `_`
                identity.issuers[0].required_scopes[1]: unknown scope "red"; use one of read_workspace, write_workspace, run_tests, network, or `area:verb` in lower-case letters, digits and `_`"#]],
        );
    }
}
