//! Keeps texts by what the host gives it, as `notes.c` does: `isolated = { program: './notes', bindings: ['DB'] }`.
//! cargo build --release -p mayfly-guest --example notes
use mayfly_guest::{CallError, Guest, Response, Value};

fn main() {
    let mut guest = Guest::new();
    while let Some(mut request) = guest.wait_for_request() {
        let key = format!("[{:?}]", request.path());
        let kept = (request.method() == "PUT").then(|| request.body().to_vec());
        let function = if kept.is_some() { "DB.set" } else { "DB.get" };
        let (status, body) = match request.call(function, &key, kept.as_deref()) {
            Ok(Value::Bytes(text)) => (200, text.to_vec()),
            Ok(Value::Json("null")) if kept.is_some() => (204, Vec::new()),
            Ok(Value::Json("null")) => (404, b"nothing is kept here\n".to_vec()),
            Ok(Value::Json(json)) => (200, json.as_bytes().to_vec()),
            Err(CallError::Unheard) => (200, Vec::new()),
            Err(error) => (503, error.to_string().into_bytes()),
        };
        request.respond(Response::new(status).body(&body));
    }
}
