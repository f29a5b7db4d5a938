//! What an operator sees of one call: figures, and spans if it is traced.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use telemetry::{Meter, Telemetry, Trace, TraceParent, Tracer};

use crate::failure::Refusal;
use crate::offer::Offered;

/// The member of `_meta` by which a trace goes on (MCP 2026-07-28, "Trace Context").
const TRACEPARENT: &str = "traceparent";

/// One call as an operator sees it. It is counted as running until this is dropped.
pub(crate) struct CallSpan<'t> {
    telemetry: &'t Telemetry,
    meter: Option<Arc<Meter>>,
    trace: Option<Traced>,
}

struct Traced {
    /// Takes it when it has ended, whatever is in force by then.
    tracer: Arc<Tracer>,
    trace: Trace,
    /// When the step began that is under way.
    from: Instant,
}

impl<'t> CallSpan<'t> {
    /// A call has come that belongs to this trace, as far as its caller says.
    pub(crate) fn open(telemetry: &'t Telemetry, parent: Option<TraceParent>) -> CallSpan<'t> {
        telemetry.metrics.began();
        let trace = telemetry.begin(parent);
        let trace = trace.map(|(tracer, trace)| Traced { tracer, trace, from: Instant::now() });
        CallSpan { telemetry, meter: None, trace }
    }

    /// A call was refused before anything was looked at.
    pub(crate) fn turned_away(telemetry: &Telemetry, check: &'static str, refusal: &Refusal) {
        let metrics = &telemetry.metrics;
        metrics.began();
        metrics.refused(check, refusal.code());
        metrics.nobody().ended("refused", Duration::ZERO);
        metrics.went();
    }

    /// The tool is known.
    pub(crate) fn found(&mut self, offered: &Offered) {
        self.meter = Some(offered.meter(&self.telemetry.metrics).clone());
        self.step("find", true);
    }

    /// A step is over, and the next one begins.
    pub(crate) fn step(&mut self, name: &'static str, is_good: bool) {
        if let Some(traced) = &mut self.trace {
            traced.trace.step(name, traced.from, is_good);
            traced.from = Instant::now();
        }
    }

    /// A step refused. Both words are of a fixed list.
    pub(crate) fn refused(&self, step: &'static str, code: &'static str) {
        self.telemetry.metrics.refused(step, code);
    }

    /// Places were struck out of the result.
    pub(crate) fn redacted(&self, places: u32) {
        if places > 0 {
            self.telemetry.metrics.redacted(places);
        }
    }

    /// The trace that the call belongs to, as records name it, if it was begun here or told.
    pub(crate) fn trace_id(&self) -> Option<Arc<str>> {
        self.trace.as_ref().map(|traced| traced.trace.parent().trace_id().into())
    }

    /// The `_meta` that an upstream is sent: with our span above its own, if the call is traced.
    pub(crate) fn onward(&self, meta: Option<Bytes>) -> Option<Bytes> {
        let Some(traced) = &self.trace else { return meta };
        let text = meta.as_deref().unwrap_or(b"{}");
        let Ok(mut members) = serde_json::from_slice::<BTreeMap<String, Box<RawValue>>>(text) else {
            return meta;
        };
        let parent = RawValue::from_string(format!("\"{}\"", traced.trace.parent()));
        members.insert(TRACEPARENT.to_owned(), parent.expect("hexadecimal digits in quotes are JSON"));
        Some(serde_json::to_vec(&members).expect("texts of JSON become JSON").into())
    }

    /// The call has ended.
    pub(crate) fn close(
        &mut self,
        outcome: &'static str,
        took: Duration,
        names: (&'static str, Arc<str>, Option<Arc<str>>),
        code: Option<&str>,
    ) {
        let meter = self.meter.as_ref().unwrap_or(self.telemetry.metrics.nobody());
        meter.ended(outcome, took);
        let Some(Traced { tracer, trace, from: _ }) = self.trace.take() else { return };
        let (method, tool, upstream) = names;
        // What nobody offers is a caller's word.
        let tool = if self.meter.is_some() { tool } else { Arc::from("unknown") };
        tracer.finish(trace.finish(method, tool, upstream, outcome, code.map(str::to_owned)));
    }
}

impl Drop for CallSpan<'_> {
    fn drop(&mut self) {
        self.telemetry.metrics.went();
    }
}

/// What a `_meta` object says of the trace that its call belongs to.
pub(crate) fn trace_parent(meta: &[u8]) -> Option<TraceParent> {
    // Every modern call has a `_meta`, and few tell of a trace: a search costs less than reading it. Only escapes could
    // spell the key in another way.
    let text = str::from_utf8(meta).ok()?;
    if !text.contains(TRACEPARENT) && !text.contains("\\u") {
        return None;
    }
    #[derive(Deserialize)]
    struct Parent<'m> {
        #[serde(borrow)]
        traceparent: Cow<'m, str>,
    }
    TraceParent::parse(&serde_json::from_str::<Parent<'_>>(text).ok()?.traceparent)
}

#[cfg(test)]
mod tests {
    use telemetry::{Config, TracesConfig};

    use super::*;

    const TOLD: &str =
        r#"{"a":1.0,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01","z":{"b": 2}}"#;

    fn traced(sample: f64) -> Telemetry {
        let traces = TracesConfig { endpoint: Some("http://127.0.0.1:1/".to_owned()), sample };
        let telemetry = Telemetry::untraced("1");
        telemetry.govern(&Config { traces, ..Config::default() }).expect("it has an endpoint");
        telemetry
    }

    /// What an upstream is sent for this `_meta`.
    #[track_caller]
    fn check(
        telemetry: &Telemetry,
        meta: Option<&'static str>,
        expected: impl Fn(Option<&str>, &CallSpan<'_>) -> bool,
    ) {
        let meta = meta.map(|text| Bytes::from_static(text.as_bytes()));
        let span = CallSpan::open(telemetry, meta.as_deref().and_then(trace_parent));
        let onward = span.onward(meta);
        let text = onward.as_deref().map(|text| std::str::from_utf8(text).expect("it is text"));
        assert!(expected(text, &span), "{text:?}");
    }

    #[test]
    fn an_upstream_is_below_our_span_and_all_else_stays() {
        let untraced = Telemetry::untraced("1");
        check(&untraced, Some(TOLD), |text, span| text == Some(TOLD) && span.trace_id().is_none());
        check(&untraced, None, |text, _| text.is_none());
        check(&traced(0.0), None, |text, _| text.is_none());
        check(&traced(1.0), None, |text, span| {
            let trace = span.trace_id().expect("it is traced");
            text.is_some_and(|text| text.starts_with(&format!(r#"{{"traceparent":"00-{trace}-"#)))
        });
        check(&traced(0.0), Some(TOLD), |text, span| {
            let text = text.expect("it is traced");
            span.trace_id().as_deref() == Some("0af7651916cd43dd8448eb211c80319c")
                && text.starts_with(r#"{"a":1.0,"traceparent":"00-0af7651916cd43dd8448eb211c80319c-"#)
                && text.ends_with(r#"-01","z":{"b": 2}}"#)
                && !text.contains("b7ad6b7169203331")
        });
    }

    #[test]
    fn a_call_is_running_until_it_is_gone() {
        let telemetry = Telemetry::untraced("1");
        let running =
            |count: u32| telemetry.metrics.text().contains(&format!("toolcrib_calls_running {count}\n"));
        let mut span = CallSpan::open(&telemetry, None);
        assert!(running(1));
        span.close(
            "refused",
            Duration::ZERO,
            ("tools/call", "a secret name".into(), None),
            Some("unknown_tool"),
        );
        drop(span);
        assert!(running(0));
        assert!(!telemetry.metrics.text().contains("a secret name"));
    }

    #[test]
    fn a_trace_is_taken_from_a_well_formed_parent_only() {
        let trace_id = |meta: &[u8]| trace_parent(meta).map(|parent| parent.trace_id());
        let of = |parent: &str| trace_id(format!("{{\"a\":[1],\"traceparent\":{parent:?}}}").as_bytes());
        let id = "0af7651916cd43dd8448eb211c80319c";
        assert_eq!(of(&format!("00-{id}-b7ad6b7169203331-01")).as_deref(), Some(id));
        assert_eq!(of(&format!("01-{id}-b7ad6b7169203331-01-more")).as_deref(), Some(id));
        let escaped = format!(r#"{{"trace\u0070arent":"00-{id}-b7ad6b7169203331-01"}}"#);
        assert_eq!(trace_id(escaped.as_bytes()).as_deref(), Some(id));
        for wrong in [
            "",
            "00-1",
            &format!("00-{}-b7ad6b7169203331-01", id.to_uppercase()),
            &format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            &format!("00-{id}-b7ad6b716920333-01"),
            &format!("00-{id}é-b7ad6b7169203331-01"),
        ] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
        assert_eq!(trace_id(b"{}"), None);
        assert_eq!(trace_id(b"no JSON"), None);
    }
}
