//! `Asking`: a tool whose work a server does that is asked over HTTP.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use http::StatusCode;
use http_body_util::{BodyExt as _, Limited};
use serde_json::{Value, json};
use tool_api::{AnyTool, Arguments, Context, Definition, Outcome, Secrets, ToolError};

use crate::attempts::Attempts;
use crate::printed::OUTPUT_BYTES_MAX;
use crate::program::outcome;
use crate::request::RequestTemplate;
use crate::told::Meter;

/// How much of an answer an error repeats.
const TOLD_CHARS_MAX: usize = 2_000;

/// The same in bytes: a character has at most four.
const TOLD_BYTES_MAX: usize = 4 * TOLD_CHARS_MAX;

/// How many bytes of an answer secrets are struck out of at a time.
const PIECE_BYTES: usize = 4 * 1024;

/// Opens kept secrets for the hosts that a person has bound them to.
pub trait KeptSecrets: Send + Sync {
    /// What the secret says. Blocks on the disk.
    ///
    /// # Errors
    /// There is none, or it is not for this host: a sentence with what to do.
    fn for_host(&self, name: &str, host: &str) -> Result<String, String>;
}

pub(crate) struct Asking {
    pub(crate) definition: Definition,
    pub(crate) request: RequestTemplate,
    pub(crate) secrets: Option<Arc<dyn KeptSecrets>>,
    pub(crate) retries: u8,
}

impl AnyTool for Asking {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn run<'a>(&'a self, arguments: Arguments, cx: &'a Context) -> BoxFuture<'a, Result<Outcome, ToolError>> {
        Box::pin(async move {
            let meter = Meter::new(cx, self.definition.name.as_str());
            let mut attempts = Attempts::of(self.retries);
            let secrets = self.opened(cx).await?;
            loop {
                match self.ask_once(arguments.value(), &secrets, cx).await {
                    Ok(value) => return Ok(outcome(&self.definition, &value, None)),
                    Err(failure) => attempts.after(failure, &meter).await?,
                }
            }
        })
    }
}

impl Asking {
    /// The secrets that it sends, with what they say.
    async fn opened(&self, cx: &Context) -> Result<Vec<(String, String)>, ToolError> {
        let (names, host, kept) = (self.request.secrets(), self.request.host.clone(), self.secrets.clone());
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let open = move || {
            let opened = |name: String| {
                let kept = kept.as_ref().ok_or_else(|| "there is no place where secrets are kept".to_owned());
                let value = kept.and_then(|kept| kept.for_host(&name, &host));
                value.map(|value| (name, value)).map_err(|why| ToolError::new("secret_missing", why))
            };
            names.into_iter().map(opened).collect()
        };
        cx.blocking(open).await
    }

    async fn ask_once(
        &self,
        arguments: &Value,
        secrets: &[(String, String)],
        cx: &Context,
    ) -> Result<Value, ToolError> {
        let secret = |wanted: &str| {
            let found = secrets.iter().find(|(name, _)| name == wanted);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let answer = cx.net()?.send(self.request.request(arguments, secret)?).await?;
        let (status, host) = (answer.status(), &self.request.host);
        let body = Limited::new(answer.into_body(), OUTPUT_BYTES_MAX).collect().await.map_err(|error| {
            let mib = OUTPUT_BYTES_MAX / (1024 * 1024);
            match error.is::<http_body_util::LengthLimitError>() {
                true => ToolError::new(
                    "result_too_large",
                    format!("{host} answers with more than {mib} MiB; ask for less at once"),
                ),
                false => ToolError::new("no_answer", format!("the answer of {host} broke off: {error}")),
            }
        })?;
        self.value(status, &body.to_bytes(), cx.secrets.as_deref())
    }

    /// What an answer gives.
    fn value(
        &self,
        status: StatusCode,
        body: &[u8],
        secrets: Option<&dyn Secrets>,
    ) -> Result<Value, ToolError> {
        let host = &self.request.host;
        if !status.is_success() {
            let code = match status {
                StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT => "http_unavailable",
                _ => "http_status",
            };
            let said = repeated(body, secrets);
            let said = if said.trim().is_empty() { String::new() } else { format!("; it said:\n{said}") };
            let message = format!("{host} answers with {status}{said}");
            return Err(ToolError::new(code, message).with_details(json!({ "status": status.as_u16() })));
        }
        let has_contract = self.definition.output_schema.is_some();
        match serde_json::from_slice(body) {
            Ok(value) => Ok(value),
            Err(_) if body.trim_ascii().is_empty() => Ok(if has_contract { json!({}) } else { Value::Null }),
            Err(_) if !has_contract && std::str::from_utf8(body).is_ok() => {
                Ok(String::from_utf8_lossy(body).into_owned().into())
            }
            Err(error) => Err(ToolError::new(
                "invalid_output",
                format!("the answer of {host} is no JSON value: {error}"),
            )),
        }
    }
}

/// What an error repeats of an answer. Secrets are struck out before it is cut: half of one is not known as one any more.
fn repeated(body: &[u8], secrets: Option<&dyn Secrets>) -> String {
    let clean = secrets.map(|secrets| struck(body, secrets));
    String::from_utf8_lossy(clean.as_deref().unwrap_or(body)).chars().take(TOLD_CHARS_MAX).collect()
}

/// The beginning of an answer without secrets, at least as much as is repeated of it. What comes behind is not looked at.
fn struck(body: &[u8], secrets: &dyn Secrets) -> Vec<u8> {
    let (mut striking, mut clean) = (secrets.striking(), Vec::new());
    for piece in body.chunks(PIECE_BYTES) {
        clean.extend(striking.push(piece));
        if clean.len() >= TOLD_BYTES_MAX {
            return clean;
        }
    }
    clean.extend(striking.finish());
    clean
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use tool_api::Striking;

    use super::*;

    struct Planted;

    impl Secrets for Planted {
        fn placeholder_lines(&self, _: &[u8]) -> Vec<usize> {
            Vec::new()
        }

        fn are_in(&self, _: &[u8]) -> bool {
            true
        }

        fn striking(&self) -> Box<dyn Striking> {
            Box::new(Whole(Vec::new()))
        }
    }

    /// Gives all of it at its end.
    struct Whole(Vec<u8>);

    impl Striking for Whole {
        fn push(&mut self, piece: &[u8]) -> Vec<u8> {
            self.0.extend_from_slice(piece);
            Vec::new()
        }

        fn finish(&mut self) -> Vec<u8> {
            String::from_utf8_lossy(&self.0).replace("planted", "*").into_bytes()
        }
    }

    #[test]
    fn what_an_error_repeats_is_cut_and_holds_no_half_of_a_secret() {
        assert_eq!(repeated("é".repeat(3_000).as_bytes(), None), "é".repeat(TOLD_CHARS_MAX));
        // The secret begins four characters before the end of what is repeated.
        let body = format!("{}planted{}", "x".repeat(TOLD_CHARS_MAX - 4), "y".repeat(9));
        assert_eq!(
            repeated(body.as_bytes(), Some(&Planted)),
            format!("{}*yyy", "x".repeat(TOLD_CHARS_MAX - 4))
        );
    }

    /// Gives back at once what it takes, and counts it.
    struct Counting(Arc<AtomicUsize>);

    impl Secrets for Counting {
        fn placeholder_lines(&self, _: &[u8]) -> Vec<usize> {
            Vec::new()
        }

        fn are_in(&self, _: &[u8]) -> bool {
            false
        }

        fn striking(&self) -> Box<dyn Striking> {
            Box::new(Counting(self.0.clone()))
        }
    }

    impl Striking for Counting {
        fn push(&mut self, piece: &[u8]) -> Vec<u8> {
            self.0.fetch_add(piece.len(), Ordering::SeqCst);
            piece.to_vec()
        }

        fn finish(&mut self) -> Vec<u8> {
            Vec::new()
        }
    }

    #[test]
    fn of_a_long_answer_only_the_beginning_is_looked_at() {
        let seen = Arc::new(AtomicUsize::default());
        let told = repeated("é".repeat(1_000_000).as_bytes(), Some(&Counting(seen.clone())));
        assert_eq!(told, "é".repeat(TOLD_CHARS_MAX));
        assert!(seen.load(Ordering::SeqCst) < TOLD_BYTES_MAX + PIECE_BYTES);
    }
}
