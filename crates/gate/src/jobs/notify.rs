//! `Notify`: telling somebody outside that a job has ended, by a program of the owner's, a webhook, or both. What is told names the
//! job, and says nothing of what it was asked or what it gave. It holds up no job, and is told once at most.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use ::jobs::Job;
use bytes::Bytes;
use data_encoding::HEXLOWER;
use http::{Request, StatusCode, Uri, header};
use ring::hmac;
use sandbox::egress::{CompanyProxy, HostClient, HostRules, Journal, WayOut};
use sandbox::{Client, ask_program};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// How long the program may take.
const PROGRAM_MAX: Duration = Duration::from_secs(10);

/// How long an answer of the webhook may take.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(10);

/// How long is waited before each further attempt to reach the webhook.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// The header with the signature of what is told: `sha256=` and the HMAC-SHA256 of the body in hexadecimal digits.
const SIGNATURE: &str = "toolcrib-signature";

/// Who is told that a job has ended: a program, a webhook, or both. They get a JSON object with the job's `id`, `tool`, `caller`,
/// `state` and times, and neither arguments nor results. Only your own file says it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Notify {
    /// A program with its arguments, such as `["/home/ada/bin/job-ended"]`, which reads the object on its standard input. It
    /// runs with your rights, for at most ten seconds.
    pub command: Vec<String>,
    /// An `http` or `https` address to which the object is posted. It is tried three times.
    pub webhook: Option<String>,
    /// Signs what is posted, best as a reference: `"${env:HOOK_SECRET}"`. The header `Toolcrib-Signature` has `sha256=` and the
    /// HMAC-SHA256 of the body.
    pub secret: Option<NotifySecret>,
    /// The proxy that lets anybody out, from another section.
    #[serde(skip)]
    #[schemars(skip)]
    pub company: Option<CompanyProxy>,
}

/// A text that nobody is shown.
#[derive(Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct NotifySecret(pub String);

impl std::fmt::Debug for NotifySecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("***")
    }
}

impl Notify {
    /// What is wrong with it, by key.
    pub fn check(&self) -> Vec<(&'static str, String)> {
        let mut problems = Vec::new();
        match &self.webhook {
            None if self.command.is_empty() => {
                problems.push(("command", "name a program here, or an address in `webhook`".to_owned()));
            }
            None if self.secret.is_some() => {
                problems.push(("secret", "there is no `webhook` whose messages it signs".to_owned()));
            }
            Some(webhook) if address(webhook).is_none() => {
                let why = "it must be an http or https address with a plain host and without a user";
                problems.push(("webhook", why.to_owned()));
            }
            None | Some(_) => {}
        }
        problems
    }

    /// Tells of the end of a job; what could not be told is in the log.
    pub(super) async fn tell(&self, client: &Client, job: &Job) {
        let told = told(job);
        let program = async {
            if let Err(why) = self.run(told.clone()).await {
                tracing::warn!(job = %job.id, tool = %job.tool, why, "the program of jobs.notify was not told of the end of a job");
            }
        };
        let webhook = async {
            if let Err(why) = self.post(client, told.clone().into()).await {
                tracing::warn!(job = %job.id, tool = %job.tool, why, "the webhook of jobs.notify was not told of the end of a job");
            }
        };
        tokio::join!(program, webhook);
    }

    async fn run(&self, told: String) -> Result<(), String> {
        let Some((program, args)) = self.command.split_first() else { return Ok(()) };
        let (program, args) = (program.clone(), args.to_vec());
        let asked = spawn_blocking(move || {
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            ask_program(&program, &args, &told, PROGRAM_MAX)
        });
        match asked.await.map_err(|_| "the process is ending".to_owned())? {
            Ok(answer) if answer.is_success => Ok(()),
            Ok(_) => Err("it failed".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Err("it took too long".to_owned()),
            Err(error) => Err(format!("it was not started: {error}")),
        }
    }

    async fn post(&self, client: &Client, told: Bytes) -> Result<(), String> {
        let Some((uri, rules)) = self.webhook.as_deref().and_then(address) else { return Ok(()) };
        let way = Arc::new(WayOut { rules, company: self.company.clone(), judge: None });
        let client = HostClient::new(client, way, Arc::new(Journal::new())).await;
        let mut pauses = PAUSES.into_iter();
        loop {
            let request = self.request(&uri, told.clone()).map_err(|error| error.to_string())?;
            let why = match timeout(ANSWER_MAX, client.send(request)).await {
                Ok(Ok(answer)) if answer.status().is_success() => return Ok(()),
                Ok(Ok(answer)) if !may_pass(answer.status()) => {
                    return Err(format!("it answers with {}", answer.status()));
                }
                Ok(Ok(answer)) => format!("it answers with {}", answer.status()),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it does not answer".to_owned(),
            };
            sleep(pauses.next().ok_or(why)?).await;
        }
    }

    fn request(&self, uri: &Uri, told: Bytes) -> Result<Request<Bytes>, http::Error> {
        let mut request = Request::post(uri)
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::USER_AGENT, "toolcrib");
        if let Some(NotifySecret(secret)) = &self.secret {
            request = request.header(SIGNATURE, signature(secret, &told));
        }
        request.body(told)
    }
}

fn signature(secret: &str, told: &[u8]) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    format!("sha256={}", HEXLOWER.encode(hmac::sign(&key, told).as_ref()))
}

/// Whether another attempt may come out otherwise.
fn may_pass(status: StatusCode) -> bool {
    status.is_server_error() || matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS)
}

/// The address, and the rule for its host; nothing if it is none that can be asked.
pub(super) fn address(text: &str) -> Option<(Uri, HostRules)> {
    let uri: Uri = text.parse().ok()?;
    let usual = match uri.scheme_str()? {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
    let rule = format!("{}:{}", authority.host(), authority.port_u16().unwrap_or(usual));
    let rules = HostRules::parse([rule]).ok()?;
    Some((uri, rules))
}

/// What is told of a job.
fn told(job: &Job) -> String {
    let Job { id, tool, caller, state, created_at_ms, started_at_ms, ended_at_ms, .. } = job;
    json!({
        "id": id, "tool": tool, "caller": caller, "state": state, "created_at_ms": created_at_ms,
        "started_at_ms": started_at_ms, "ended_at_ms": ended_at_ms,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys that are wrong.
    #[track_caller]
    fn check(notify: serde_json::Value, wrong: &[&str]) {
        let read: Notify = serde_json::from_value(notify.clone()).expect("it is one");
        let found: Vec<&str> = read.check().into_iter().map(|(key, _)| key).collect();
        assert_eq!(found, wrong, "{notify}");
    }

    #[test]
    fn what_nobody_could_be_told_by_is_wrong() {
        check(json!({ "command": ["x"] }), &[]);
        check(json!({ "webhook": "https://example.com/a?b=c", "secret": "s" }), &[]);
        check(json!({ "webhook": "http://127.0.0.1:8080/" }), &[]);
        check(json!({}), &["command"]);
        check(json!({ "command": ["x"], "secret": "s" }), &["secret"]);
        for webhook in ["", "example.com", "ftp://example.com", "https://a:b@example.com/", "/x"] {
            check(json!({ "webhook": webhook }), &["webhook"]);
        }
    }

    #[test]
    fn a_signature_is_that_of_the_standard_and_the_secret_is_shown_nowhere() {
        // RFC 4231, test case 2.
        assert_eq!(
            signature("Jefe", b"what do ya want for nothing?"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
        let notify = Notify { secret: Some(NotifySecret("s3cret".to_owned())), ..Notify::default() };
        assert!(!format!("{notify:?}").contains("s3cret"));
        let request = notify.request(&Uri::from_static("http://h/"), Bytes::from_static(b"{}")).expect("one");
        assert_eq!(request.headers()[SIGNATURE], signature("s3cret", b"{}"));
        let unsigned = Notify::default().request(&Uri::from_static("http://h/"), Bytes::new()).expect("one");
        assert!(!unsigned.headers().contains_key(SIGNATURE));
    }
}
