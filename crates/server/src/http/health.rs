//! What an operator's machines ask: is it there, is it ready, what are the figures. The first two are answered to
//! everybody and tell nothing else; figures go to those who may look.

use gate::{Caller, Role};
use hyper::{Method, StatusCode};

use super::answer::{self, Answer};
use super::endpoint::Endpoint;

/// Where the figures are.
pub(super) const METRICS: &str = "/metrics";

/// Whether the program is there at all.
const HEALTH: [&str; 2] = ["/health", "/healthz"];

/// Whether it serves as it should.
const READY: [&str; 2] = ["/ready", "/readyz"];

/// The format of the figures (OpenMetrics 1.0), which Prometheus reads.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The scope of a caller that may see the figures whatever its roles.
const SCOPE: &str = "metrics:read";

/// Whether this is a question that anybody may ask.
pub(super) fn is_here(path: &str) -> bool {
    HEALTH.contains(&path) || READY.contains(&path)
}

/// The answer to it.
pub(super) fn to_anybody(endpoint: &Endpoint, path: &str, method: &Method) -> Answer {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return answer::not_allowed("GET, HEAD");
    }
    let unready = if HEALTH.contains(&path) { None } else { endpoint.server.gate().unready() };
    match unready {
        None => answer::json(StatusCode::OK, b"{\"status\":\"ok\"}".to_vec()),
        // Why is in the log: it is nobody's business who only asks whether.
        Some(why) => {
            tracing::debug!(why, "asked whether it is ready, and it is not");
            answer::json(StatusCode::SERVICE_UNAVAILABLE, b"{\"status\":\"not_ready\"}".to_vec())
        }
    }
}

/// The figures, for callers who may see them.
pub(super) fn metrics(endpoint: &Endpoint, caller: &Caller, method: &Method) -> Answer {
    let telemetry = endpoint.server.gate().telemetry();
    if !telemetry.shows_metrics() {
        return answer::nothing_here();
    }
    if *method != Method::GET {
        return answer::not_allowed("GET");
    }
    let may_look =
        [Role::Owner, Role::Maintainer, Role::Auditor].into_iter().any(|role| caller.roles().contains(role));
    if !may_look && !caller.scopes().contains(SCOPE) {
        let why = "forbidden: figures are shown to owners, maintainers and auditors, and to keys with the scope metrics:read";
        return answer::problem(StatusCode::FORBIDDEN, why);
    }
    answer::whole(StatusCode::OK, OPENMETRICS, telemetry.metrics.text())
}
