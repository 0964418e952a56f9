//! Answers of the front's own: problem documents (RFC 9457).

use hyper::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use mayfly_pool::Outcome;

use crate::body::Body;

/// An answer of the front's own.
#[must_use]
pub fn problem(status: StatusCode, detail: &str) -> Response<Body> {
    let document = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": detail,
    });
    let mut response = Response::new(Body::from(document.to_string().into_bytes()));
    *response.status_mut() = status;
    let kind = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        response
            .headers_mut()
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// What a client is told of a request that has no answer, and nothing of the inside.
#[must_use]
pub fn of_outcome(outcome: &Outcome) -> (StatusCode, &'static str) {
    match outcome {
        Outcome::Timeout => (StatusCode::GATEWAY_TIMEOUT, "The program took too long"),
        Outcome::CpuOver => (StatusCode::GATEWAY_TIMEOUT, "The program worked too long"),
        Outcome::OutOfMemory => (
            StatusCode::INSUFFICIENT_STORAGE,
            "The program needs more memory than it may have",
        ),
        Outcome::OutputOver => (StatusCode::BAD_GATEWAY, "The program's answer is too long"),
        Outcome::CallsOver => (StatusCode::BAD_GATEWAY, "The program made too many system calls"),
        Outcome::Exited(_) | Outcome::Killed(_) => (StatusCode::BAD_GATEWAY, "The program ended"),
        Outcome::Stuck => (StatusCode::BAD_GATEWAY, "The program waits and gives no answer"),
        Outcome::Answered(_) | Outcome::Misbehaved(_) => {
            (StatusCode::BAD_GATEWAY, "The program's answer is no answer")
        }
        Outcome::Refused(_) => (
            StatusCode::SERVICE_UNAVAILABLE,
            "Requests that wait hold too much memory",
        ),
        Outcome::Failed(_) | Outcome::CalledOff => (StatusCode::BAD_GATEWAY, "The machine failed"),
    }
}
