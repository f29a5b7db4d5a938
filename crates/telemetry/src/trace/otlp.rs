//! Spans as OTLP in its JSON form (OpenTelemetry Protocol 1.x, "JSON Protobuf Encoding"): ids as hexadecimal
//! digits, 64-bit numbers as texts, names in camel case.

use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use data_encoding::HEXLOWER;
use serde_json::{Value, json};

use super::finished::{Finished, Step, Trace};

/// `SPAN_KIND_SERVER` and `SPAN_KIND_INTERNAL`.
const SERVER: u8 = 2;
const INTERNAL: u8 = 1;

/// `STATUS_CODE_ERROR`.
const ERROR: u8 = 2;

/// An `ExportTraceServiceRequest`.
pub(crate) fn request(version: &str, batch: &[Finished]) -> Bytes {
    let spans: Vec<Value> = batch.iter().flat_map(spans).collect();
    let resource = json!({
        "attributes": [text("service.name", "toolcrib"), text("service.version", version)],
    });
    let scope = json!({ "name": "toolcrib", "version": version });
    let request = json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": [{ "scope": scope, "spans": spans }] }] });
    request.to_string().into()
}

fn spans(call: &Finished) -> Vec<Value> {
    let Finished { trace: Trace { parent, above, begun_at, steps, .. }, method, tool, outcome, .. } = call;
    let (trace, own) = (HEXLOWER.encode(&parent.trace), HEXLOWER.encode(&parent.span));
    let begun_ns = begun_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let at = |since: Duration| (begun_ns + since.as_nanos()).to_string();
    let mut attributes = vec![
        text("mcp.method.name", method),
        text("gen_ai.tool.name", tool),
        text("toolcrib.outcome", outcome),
    ];
    attributes.extend(call.upstream.as_deref().map(|upstream| text("toolcrib.upstream", upstream)));
    attributes.extend(call.code.as_deref().map(|code| text("error.type", code)));
    let mut root = json!({
        "traceId": trace, "spanId": own, "name": format!("{method} {tool}"), "kind": SERVER,
        "startTimeUnixNano": at(Duration::ZERO), "endTimeUnixNano": at(call.took), "attributes": attributes,
        "status": status(*outcome == "result"),
    });
    if let Some(above) = above {
        root["parentSpanId"] = HEXLOWER.encode(above).into();
    }
    let step = |(nth, step): (usize, &Step)| {
        json!({
            "traceId": trace, "spanId": HEXLOWER.encode(&below(parent.span, nth)), "parentSpanId": own, "name": step.name,
            "kind": INTERNAL, "startTimeUnixNano": at(step.from), "endTimeUnixNano": at(step.to),
            "status": status(step.is_good),
        })
    };
    std::iter::once(root).chain(steps.iter().enumerate().map(step)).collect()
}

fn status(is_good: bool) -> Value {
    if is_good { json!({}) } else { json!({ "code": ERROR }) }
}

fn text(key: &str, value: &str) -> Value {
    json!({ "key": key, "value": { "stringValue": value } })
}

/// The id of a step's span: unlike those of its call and of its neighbours.
fn below(span: [u8; 8], nth: usize) -> [u8; 8] {
    (u64::from_be_bytes(span) ^ ((nth as u64 + 1) << 32).wrapping_mul(0x9E37_79B9)).max(1).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use expect_test::expect;

    use super::super::parent::TraceParent;

    use super::*;

    #[test]
    fn a_call_becomes_a_span_with_its_steps_below() {
        let ms = Duration::from_millis;
        let trace = Trace {
            parent: TraceParent { trace: [0xAB; 16], span: [1, 2, 3, 4, 5, 6, 7, 8], sampled: true },
            above: Some([9; 8]),
            begun_at: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            begun: Instant::now(),
            steps: vec![
                Step { name: "scope", from: ms(1), to: ms(2), is_good: true },
                Step { name: "policy", from: ms(2), to: ms(3), is_good: false },
            ],
        };
        let finished = Finished {
            trace,
            took: ms(12),
            method: "tools/call",
            tool: "git_push".into(),
            upstream: Some("git".into()),
            outcome: "refused",
            code: Some("policy_denied".into()),
        };
        let body: Value = serde_json::from_slice(&request("1.2.3", &[finished])).expect("it is JSON");
        expect![[r#"
            {
              "resourceSpans": [
                {
                  "resource": {
                    "attributes": [
                      {
                        "key": "service.name",
                        "value": {
                          "stringValue": "toolcrib"
                        }
                      },
                      {
                        "key": "service.version",
                        "value": {
                          "stringValue": "1.2.3"
                        }
                      }
                    ]
                  },
                  "scopeSpans": [
                    {
                      "scope": {
                        "name": "toolcrib",
                        "version": "1.2.3"
                      },
                      "spans": [
                        {
                          "attributes": [
                            {
                              "key": "mcp.method.name",
                              "value": {
                                "stringValue": "tools/call"
                              }
                            },
                            {
                              "key": "gen_ai.tool.name",
                              "value": {
                                "stringValue": "git_push"
                              }
                            },
                            {
                              "key": "toolcrib.outcome",
                              "value": {
                                "stringValue": "refused"
                              }
                            },
                            {
                              "key": "toolcrib.upstream",
                              "value": {
                                "stringValue": "git"
                              }
                            },
                            {
                              "key": "error.type",
                              "value": {
                                "stringValue": "policy_denied"
                              }
                            }
                          ],
                          "endTimeUnixNano": "1700000000012000000",
                          "kind": 2,
                          "name": "tools/call git_push",
                          "parentSpanId": "0909090909090909",
                          "spanId": "0102030405060708",
                          "startTimeUnixNano": "1700000000000000000",
                          "status": {
                            "code": 2
                          },
                          "traceId": "abababababababababababababababab"
                        },
                        {
                          "endTimeUnixNano": "1700000000002000000",
                          "kind": 1,
                          "name": "scope",
                          "parentSpanId": "0102030405060708",
                          "spanId": "9f357abd05060708",
                          "startTimeUnixNano": "1700000000001000000",
                          "status": {},
                          "traceId": "abababababababababababababababab"
                        },
                        {
                          "endTimeUnixNano": "1700000000003000000",
                          "kind": 1,
                          "name": "policy",
                          "parentSpanId": "0102030405060708",
                          "spanId": "3d6cf07605060708",
                          "startTimeUnixNano": "1700000000002000000",
                          "status": {
                            "code": 2
                          },
                          "traceId": "abababababababababababababababab"
                        }
                      ]
                    }
                  ]
                }
              ]
            }"#]]
        .assert_eq(&serde_json::to_string_pretty(&body).expect("it is JSON"));
    }
}
