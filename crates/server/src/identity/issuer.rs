//! One issuer that is trusted: its tokens become callers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use data_encoding::HEXLOWER;
use gate::{Caller, CallerKind, Role, Roles, Scope, Scopes, Via};
use ring::digest::{SHA256, digest};
use serde_json::{Map, Value};

use super::config;
use super::jwt::Token;
use super::key_source::{Held, KeySource};
use super::unknown::Unknown;

/// Longest name of a caller behind its issuer's, in bytes: it stands in every record.
const SUBJECT_BYTES_MAX: usize = 128;

/// An issuer that is trusted.
pub(super) struct Issuer {
    pub(super) config: config::Issuer,
    /// Since when its tokens have meant what they mean now.
    pub(super) since: Instant,
    /// What its callers' names begin with.
    name: String,
    roles: BTreeMap<String, Role>,
    /// What all its callers may do besides what their roles say.
    granted: Scopes,
    required: Vec<Scope>,
    /// The scopes that mean something in its tokens.
    vocabulary: Scopes,
    pub(super) keys: Arc<KeySource>,
}

impl Issuer {
    /// From its section, which has been checked, with the keys from this source.
    pub(super) fn new(config: &config::Issuer, keys: Arc<KeySource>) -> Issuer {
        let scopes =
            |names: &[String]| names.iter().filter_map(|name| Scope::parse(name).ok()).collect::<Vec<_>>();
        let roles = config.roles.iter().filter_map(|(word, role)| Some((word.clone(), Role::parse(role)?)));
        let (granted, required) = (scopes(&config.scopes), scopes(&config.required_scopes));
        let audit = Role::Auditor.scopes();
        let vocabulary = Scope::known().into_iter().chain(granted.iter().chain(&required).cloned());
        Issuer {
            config: config.clone(),
            since: Instant::now(),
            name: config.callers_prefix(),
            roles: roles.collect(),
            vocabulary: vocabulary.chain(audit.named().unwrap_or_default().iter().cloned()).collect(),
            granted: granted.into_iter().collect(),
            required,
            keys,
        }
    }

    /// True for callers whom its tokens speak for.
    pub(super) fn speaks_for(&self, caller: &Caller) -> bool {
        caller.id().strip_prefix(&*self.name).is_some_and(|rest| rest.starts_with(':'))
    }

    /// The caller that a token speaks for, and the keys by which it was checked. `is_ours` tells our
    /// audience.
    ///
    /// # Errors
    /// The token is not good, or cannot be checked at the moment.
    pub(super) async fn caller(
        &self,
        token: &Token<'_>,
        now_s: i64,
        is_ours: impl Fn(&str) -> bool,
    ) -> Result<(Caller, Arc<Held>), Unknown> {
        if !self.config.algorithms.contains(&token.algorithm) {
            return Err(Unknown::invalid(
                "the token is not signed in a way that is accepted from its issuer",
            ));
        }
        // What can be told without the keys: nobody has them fetched by an old token.
        if token.claims.has_expired(now_s) {
            return Err(Unknown::Expired("the token has expired".into()));
        }
        let checked = match &self.config.audience {
            Some(audience) => token.claims.check(now_s, |one| one == audience),
            None => token.claims.check(now_s, is_ours),
        };
        checked.map_err(Unknown::invalid)?;
        let kid = token.kid.as_deref();
        let held = self.keys.with(|set| set.find(kid, token.algorithm).is_some()).await?;
        let key = held.set.find(kid, token.algorithm);
        let key = key.ok_or_else(|| {
            Unknown::invalid("the token is signed with a key that its issuer does not have")
        })?;
        token.check_signature(key).map_err(Unknown::invalid)?;
        Ok((self.made_of(&token.claims.rest)?, held))
    }

    /// The caller of a token that is believed.
    fn made_of(&self, claims: &Map<String, Value>) -> Result<Caller, Unknown> {
        let subject =
            claims.get(&self.config.id_claim).and_then(Value::as_str).filter(|subject| !subject.is_empty());
        let subject = subject.ok_or_else(|| Unknown::invalid("the token does not say whose it is"))?;
        let said = self.scopes_said(claims);
        if self.required.iter().any(|needed| !said.contains(needed.as_str())) {
            let needed = self.required.iter().map(|scope| scope.as_str().to_owned()).collect();
            return Err(Unknown::TooLittle { needed });
        }
        let roles = self.roles_said(claims);
        if roles.is_empty() {
            return Err(Unknown::invalid("the one whom the token speaks for has no role here"));
        }
        let rights = roles.scopes().with(&self.granted);
        let is_silent = said.named().is_some_and(<[Scope]>::is_empty);
        let scopes = if is_silent { rights } else { rights.within(&said) };
        let id = format!("{}:{}", self.name, clean(subject));
        let caller = Caller::new(id.into(), CallerKind::Token, roles, scopes, Via::Http);
        Ok(if self.config.people { caller.as_person() } else { caller })
    }

    /// The scopes of ours that a token names. Issuers have others in their tokens, of which we know nothing.
    fn scopes_said(&self, claims: &Map<String, Value>) -> Scopes {
        let claim = match &self.config.scopes_claim {
            Some(claim) => claims.get(claim),
            None => claims.get("scope").or_else(|| claims.get("scp")),
        };
        let ours = words(claim).into_iter().filter_map(|word| Scope::parse(word).ok());
        ours.filter(|scope| self.vocabulary.contains(scope.as_str())).collect()
    }

    fn roles_said(&self, claims: &Map<String, Value>) -> Roles {
        let claim = self.config.roles_claim.as_deref().and_then(|path| at(claims, path));
        let mapped: Roles = match claim {
            // Names of groups may have blanks in them.
            Some(Value::String(word)) => self.roles.get(word).copied().into_iter().collect(),
            claim => words(claim).into_iter().filter_map(|word| self.roles.get(word).copied()).collect(),
        };
        if mapped.is_empty() { Role::parse(&self.config.default_role).into_iter().collect() } else { mapped }
    }
}

/// A claim by its name, or by names with dots between them.
fn at<'c>(claims: &'c Map<String, Value>, path: &str) -> Option<&'c Value> {
    if let Some(claim) = claims.get(path) {
        return Some(claim);
    }
    let (first, rest) = path.split_once('.')?;
    rest.split('.').try_fold(claims.get(first)?, |value, name| value.get(name))
}

/// The words of a claim: a text with blanks, or a list.
fn words(claim: Option<&Value>) -> Vec<&str> {
    match claim {
        Some(Value::String(text)) => text.split_ascii_whitespace().collect(),
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// A subject as it may stand in logs and records: what is not plain is written as `%` and two hexadecimal digits, and
/// what is long ends in a hash, so that no two become one.
fn clean(subject: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._@|+=/:".contains(&byte);
    let cleaned: String = subject
        .bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect();
    if cleaned.len() <= SUBJECT_BYTES_MAX {
        return cleaned;
    }
    let hash: String = HEXLOWER.encode(&digest(&SHA256, subject.as_bytes()).as_ref()[..16]);
    format!("{}~{hash}", &cleaned[..SUBJECT_BYTES_MAX - hash.len() - 1])
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[track_caller]
    fn check(section: &str, claims: &str, expected: Expect) {
        let config: config::Config =
            toml::from_str(&format!("[[issuers]]\nissuer = 'https://login.example/x'\n{section}"))
                .expect("a sample reads");
        config.check(([127, 0, 0, 1], 1).into()).expect("a good section");
        let config = &config.issuers[0];
        let issuer = Issuer::new(config, Arc::new(KeySource::of(config, sandbox::Client::new())));
        let claims = serde_json::from_str(claims).expect("claims");
        let said = match issuer.made_of(&claims) {
            Ok(caller) => {
                let scopes = caller.scopes().named().map_or("all".to_owned(), |named| {
                    named.iter().map(Scope::as_str).collect::<Vec<_>>().join(" ")
                });
                let person = if caller.is_person() { " a person" } else { "" };
                format!("{} {:?} {scopes}{person}", caller.id(), caller.roles())
            }
            Err(unknown) => format!("{unknown:?}"),
        };
        expected.assert_eq(&said);
    }

    #[test]
    fn a_token_is_a_persons_if_its_issuer_is_said_to_give_them_to_people() {
        let (owner, admins) = ("default_role = 'owner'", r#"{"sub":"ada"}"#);
        check(owner, admins, expect!["login.example:ada {Owner} all"]);
        check(&format!("{owner}\npeople = false"), admins, expect!["login.example:ada {Owner} all"]);
        check(&format!("{owner}\npeople = true"), admins, expect!["login.example:ada {Owner} all a person"]);
    }

    const GROUPS: &str = "roles_claim = 'groups'\nroles = { admins = 'owner', 'the auditors' = 'auditor' }";

    #[test]
    fn who_a_token_speaks_for() {
        check(
            "",
            r#"{"sub":"ada"}"#,
            expect!["login.example:ada {Agent} read_workspace run_tests write_workspace"],
        );
        check(
            "",
            r#"{"sub":"ada","scope":"openid read_workspace network"}"#,
            expect!["login.example:ada {Agent} read_workspace"],
        );
        check(
            "",
            r#"{"sub":"ada","scp":["openid","write"]}"#,
            expect!["login.example:ada {Agent} write_workspace"],
        );
        check(
            "",
            r#"{"sub":"ada","scope":"openid mcp:tools"}"#,
            expect!["login.example:ada {Agent} read_workspace run_tests write_workspace"],
        );
        check(
            "scopes = ['git:call']",
            r#"{"sub":"ada","scope":"git:call"}"#,
            expect!["login.example:ada {Agent} git:call"],
        );
        check(
            "scopes_claim = 'perms'",
            r#"{"sub":"ada","scope":"network","perms":"read"}"#,
            expect!["login.example:ada {Agent} read_workspace"],
        );
        check(
            "id_claim = 'email'\nname = 'corp'",
            r#"{"sub":"1","email":"ada@corp.example"}"#,
            expect!["corp:ada@corp.example {Agent} read_workspace run_tests write_workspace"],
        );
        check(
            "",
            r#"{"sub":"a b\u0007ü"}"#,
            expect!["login.example:a%20b%07%C3%BC {Agent} read_workspace run_tests write_workspace"],
        );
    }

    #[test]
    fn roles_come_from_the_claim_that_was_named() {
        check(
            GROUPS,
            r#"{"sub":"ada","groups":["staff","admins"]}"#,
            expect!["login.example:ada {Owner} all"],
        );
        check(
            GROUPS,
            r#"{"sub":"ada","groups":"the auditors"}"#,
            expect!["login.example:ada {Auditor} audit:read read_workspace"],
        );
        check(
            GROUPS,
            r#"{"sub":"ada","groups":["owner"]}"#,
            expect!["login.example:ada {Agent} read_workspace run_tests write_workspace"],
        );
        check(
            GROUPS,
            r#"{"sub":"ada","groups":["admins"],"scope":"read"}"#,
            expect!["login.example:ada {Owner} read_workspace"],
        );
        check(
            &format!("{GROUPS}\ndefault_role = 'none'"),
            r#"{"sub":"ada","groups":["staff"]}"#,
            expect![[r#"Invalid("the one whom the token speaks for has no role here")"#]],
        );
        let nested = GROUPS.replace("'groups'", "'realm_access.roles'");
        check(
            &nested,
            r#"{"sub":"ada","realm_access":{"roles":["admins"]}}"#,
            expect!["login.example:ada {Owner} all"],
        );
        check(
            &nested,
            r#"{"sub":"ada","realm_access":["admins"]}"#,
            expect!["login.example:ada {Agent} read_workspace run_tests write_workspace"],
        );
    }

    #[test]
    fn tokens_that_speak_for_nobody_or_for_too_little() {
        check("", "{}", expect![[r#"Invalid("the token does not say whose it is")"#]]);
        check("", r#"{"sub":""}"#, expect![[r#"Invalid("the token does not say whose it is")"#]]);
        check("", r#"{"sub":7}"#, expect![[r#"Invalid("the token does not say whose it is")"#]]);
        check(
            "required_scopes = ['read', 'crib:use']",
            r#"{"sub":"ada","scope":"read_workspace"}"#,
            expect![[r#"TooLittle { needed: ["read_workspace", "crib:use"] }"#]],
        );
        check(
            "required_scopes = ['read', 'crib:use']",
            r#"{"sub":"ada","scope":"read_workspace crib:use"}"#,
            expect!["login.example:ada {Agent} read_workspace"],
        );
    }

    #[test]
    fn long_subjects_stay_apart() {
        let long = |end: &str| clean(&format!("{}{end}", "x".repeat(300)));
        assert_eq!(long("a").len(), SUBJECT_BYTES_MAX);
        assert_ne!(long("a"), long("b"));
        assert_eq!(clean("auth0|5f7c8ec7c33c6c004bbafe82"), "auth0|5f7c8ec7c33c6c004bbafe82");
        assert_ne!(clean("a b"), clean("a%20b"));
    }
}
