//! What lets the script of a web page read our answers (WHATWG Fetch, "CORS protocol"). Only pages of configured
//! origins get these headers.

use hyper::StatusCode;
use hyper::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ALLOW, HeaderMap,
    HeaderName, HeaderValue, VARY,
};

use super::answer::{self, Answer};

/// The methods of the endpoint.
pub(super) const METHODS: &str = "GET, POST, DELETE, OPTIONS";

/// What scripts may send. `Mcp-Param-*` is open-ended and is allowed name by name, as asked for.
const MAY_SEND: &str = "MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, Last-Event-ID, Authorization, \
                        Accept, Content-Type";

/// What scripts may read.
const MAY_READ: &str = "Mcp-Session-Id, WWW-Authenticate, MCP-Protocol-Version";

/// How long a browser may remember the answer to a preflight, in seconds. Browsers cap it near here.
const REMEMBERED_S: &str = "7200";

/// Most `Mcp-Param-*` names that are allowed in one answer; a tool has a handful.
const PARAMS_MAX: usize = 64;

/// Lets a page read an answer.
pub(super) fn admit(answer: &mut Answer, origin: HeaderValue) {
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(MAY_READ));
    headers.append(VARY, HeaderValue::from_static("Origin"));
}

/// Answers `OPTIONS`: to a browser what its page may do, to others the methods of the path.
pub(super) fn preflight(request: &HeaderMap, is_page: bool, methods: &'static str) -> Answer {
    let mut answer = answer::empty(StatusCode::NO_CONTENT);
    let headers = answer.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static(methods));
    if is_page {
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(methods));
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, may_send(request));
        headers.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(REMEMBERED_S));
    }
    answer
}

fn may_send(request: &HeaderMap) -> HeaderValue {
    let asked =
        request.get_all(ACCESS_CONTROL_REQUEST_HEADERS).iter().filter_map(|names| names.to_str().ok());
    let params = asked
        .flat_map(|names| names.split(','))
        .filter_map(|name| HeaderName::try_from(name.trim()).ok())
        .filter(|name| name.as_str().starts_with(wire::http::PARAM_PREFIX))
        .take(PARAMS_MAX);
    let all = params.fold(MAY_SEND.to_owned(), |all, name| all + ", " + name.as_str());
    HeaderValue::try_from(all).expect("names of headers are legal in a header")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preflight_names_what_a_page_may_do() {
        let mut request = HeaderMap::new();
        let asked = "content-type, Mcp-Param-Region, x-evil, mcp-param-a b";
        request.insert(ACCESS_CONTROL_REQUEST_HEADERS, HeaderValue::from_static(asked));
        let answer = preflight(&request, true, METHODS);
        assert_eq!(answer.status(), StatusCode::NO_CONTENT);
        assert_eq!(answer.headers()[ACCESS_CONTROL_ALLOW_METHODS], METHODS);
        let allowed = answer.headers()[ACCESS_CONTROL_ALLOW_HEADERS].to_str().expect("text");
        assert_eq!(allowed, format!("{MAY_SEND}, mcp-param-region"));
        let answer = preflight(&request, false, "GET, OPTIONS");
        assert_eq!(answer.headers()[ALLOW], "GET, OPTIONS");
        assert!(!answer.headers().contains_key(ACCESS_CONTROL_ALLOW_HEADERS));
    }

    #[test]
    fn an_answer_for_a_page_says_for_which() {
        let mut answer = answer::problem(StatusCode::OK, "x");
        admit(&mut answer, HeaderValue::from_static("https://app.example"));
        let headers = answer.headers();
        assert_eq!(headers[ACCESS_CONTROL_ALLOW_ORIGIN], "https://app.example");
        assert_eq!(
            (&headers[VARY], &headers[ACCESS_CONTROL_EXPOSE_HEADERS]),
            (&"Origin".parse().expect("sound"), &MAY_READ.parse().expect("sound"))
        );
    }
}
