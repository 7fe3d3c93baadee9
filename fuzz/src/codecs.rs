//! One target a codec. What holds for all: nothing panics, and however bytes are cut, what comes of
//! them is the same.

use mcp_proto::Raw;
use mcp_proto::journal::replay;
use mcp_proto::wire::headers as values;
use mcp_proto::wire::jsonrpc::{self, Message};
use mcp_proto::wire::lines::{Line, LineDecoder};
use mcp_proto::wire::sse::{SseData, SseDecoder};
use serde_json::Value;

use super::http1_oracle::difference;
use super::http1_support::{in_pieces as answer_in_pieces, whole};

/// A bound, pieces of bytes, and all of them.
type Cut<'a> = (usize, Vec<&'a [u8]>, &'a [u8]);

/// The first bytes say how the others are cut and what the bound is.
fn cut(data: &[u8]) -> Option<Cut<'_>> {
    let (&[bound, size], bytes) = data.split_first_chunk()?;
    let pieces = bytes.chunks(usize::from(size).max(1)).collect();
    Some((usize::from(bound) + 1, pieces, bytes))
}

/// Lines of stdout.
pub fn lines(data: &[u8]) {
    let Some((max, pieces, bytes)) = cut(data) else { return };
    let read = |pieces: &[&[u8]]| {
        let mut decoder = LineDecoder::new(max);
        let mut all = Vec::new();
        for mut piece in pieces.iter().copied() {
            all.extend(std::iter::from_fn(|| decoder.decode(&mut piece)));
            assert!(piece.is_empty(), "bytes are left");
        }
        all.extend(decoder.finish());
        all
    };
    let whole = read(&[bytes]);
    assert_eq!(read(&pieces), whole, "cut in another way");
    assert!(whole.len() <= bytes.split(|byte| *byte == b'\n').count());
    for line in whole {
        match line {
            Line::Text(text) => {
                assert!(text.len() <= max && !text.contains('\n'), "{text:?}");
                assert!(bytes.windows(text.len().max(1)).any(|it| it == text.as_bytes()));
            }
            Line::Bad { bytes: size, .. } => assert!(size <= bytes.len() as u64),
        }
    }
}

/// Event streams.
pub fn sse(data: &[u8]) {
    let Some((max, pieces, bytes)) = cut(data) else { return };
    let read = |pieces: &[&[u8]]| {
        let mut decoder = SseDecoder::new(max);
        let mut all = Vec::new();
        for mut piece in pieces.iter().copied() {
            all.extend(std::iter::from_fn(|| decoder.decode(&mut piece)));
            assert!(piece.is_empty(), "bytes are left");
        }
        all.extend(decoder.finish());
        all
    };
    let whole = read(&[bytes]);
    assert_eq!(read(&pieces), whole, "cut in another way");
    for event in whole {
        if let SseData::Text(text) = &event.data {
            assert!(text.len() <= max, "{text:?}");
        }
        let id = event.id.unwrap_or_default();
        assert!(id.len() <= mcp_proto::wire::sse::MAX_EVENT_ID_CHARS && !id.contains(['\r', '\n']));
        assert!(event.retry.unwrap_or_default() <= mcp_proto::wire::sse::MAX_RETRY);
    }
}

/// Messages.
pub fn jsonrpc(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let whole = serde_json::from_str::<&serde_json::value::RawValue>(text);
    let Ok(read) = jsonrpc::read(String::from(text)) else {
        assert!(serde_json::from_str::<Value>(text).is_err(), "JSON that was not read: {text:?}");
        return;
    };
    if whole.is_err() {
        // What a message carries is parsed by whoever uses it; here it is cut out.
        return;
    }
    let valid = |raw: &Raw| {
        let piece = serde_json::from_str::<&serde_json::value::RawValue>(raw.as_str());
        assert!(piece.is_ok(), "a piece that is no JSON: {raw:?}");
    };
    for message in &read.messages {
        match message {
            Message::Request { id, params, .. } => {
                valid(id);
                params.iter().for_each(valid);
                let line = jsonrpc::response_line(id, Ok("{}"));
                let value: Value = serde_json::from_slice(&line).expect("an answer is JSON");
                let same =
                    serde_json::from_str::<Value>(id.as_str()).is_ok_and(|id| id == value["id"]);
                assert!(same, "another id: {value}");
            }
            Message::Notification { params, .. } => params.iter().for_each(valid),
            Message::Response { outcome: Ok(raw) | Err(raw), .. } => valid(raw),
        }
    }
    // What can be read whole is understood in the same way.
    if let (Ok(value), [Message::Response { id: Some(id), outcome: Ok(raw) }]) =
        (serde_json::from_str::<Value>(text), &*read.messages)
        && let Some(object) = value.as_object()
    {
        // Some servers send numbers back as texts or with a fraction of zero.
        let named = match object.get("id") {
            Some(Value::String(named)) => named.parse().ok(),
            Some(named) => named.as_f64(),
            None => None,
        };
        assert_eq!(named, Some(*id as f64), "another request: {text:?}");
        if let Ok(result) = serde_json::from_str::<Value>(raw.as_str()) {
            assert_eq!(object.get("result"), Some(&result), "another result: {text:?}");
        }
    }
}

/// Answers over HTTP, against another reader.
pub fn http1(data: &[u8]) {
    let Some((&[method, size], bytes)) = data.split_first_chunk() else { return };
    let method = ["GET", "POST", "HEAD", "DELETE"][usize::from(method) % 4];
    let cuts: Vec<_> = (1..bytes.len()).step_by(usize::from(size).max(1)).collect();
    let (at_once, in_pieces) = (whole(method, bytes), answer_in_pieces(method, bytes, &cuts));
    // Whether something follows is told only by what comes in one piece with the end.
    let complete = at_once.end.is_ok() && in_pieces.end.is_ok();
    assert!(at_once.end == in_pieces.end || complete, "{at_once:?}\n{in_pieces:?}");
    assert_eq!((at_once.head, at_once.body), (in_pieces.head, in_pieces.body));
    // Where both have an end, `difference` insists on the same answer.
    let difference = difference(method, bytes).unwrap_or_default();
    assert!(!difference.starts_with("we take it, they wait"), "{difference}");
    assert!(!difference.starts_with("we keep, they close"), "{difference}");
}

/// Values of headers.
pub fn headers(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let encoded = values::encode(text);
    assert!(values::is_value(&encoded), "{encoded:?} cannot be sent");
    assert_eq!(values::decode(&encoded).as_deref(), Some(text), "by way of {encoded:?}");
    if let Some(decoded) = values::decode(text) {
        let again = values::encode(&decoded);
        assert_eq!(values::decode(&again).as_deref(), Some(&*decoded));
    }
    let _ = (values::is_name(text), values::is_session_id(text));
    assert_eq!(
        values::is_media_type(text, "text/event-stream"),
        values::is_media_type(&text.to_ascii_uppercase(), "text/event-stream"),
    );
}

/// Journals.
pub fn journal(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let replayed = replay(text);
    assert_eq!(replay(text), replayed, "another time");
    if let Err(error) = replayed {
        assert!(error.to_string().len() < 8192, "a text that nobody reads");
    }
}
