//! What the event stream decoder makes of bytes.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "one test measures time")]

use std::time::{Duration, Instant};

use mcp_proto::SkipReason;
use mcp_proto::wire::sse::{
    MAX_EVENT_ID_CHARS, MAX_EVENT_TYPE_BYTES, MAX_RETRY, SseData, SseDecoder, SseEvent,
};
use proptest::prelude::*;

const MAX: usize = 1000;

fn events(decoder: &mut SseDecoder, mut bytes: &[u8]) -> Vec<SseEvent> {
    std::iter::from_fn(|| decoder.decode(&mut bytes)).collect()
}

/// All events of a stream, and what its end brings.
fn decode(max: usize, chunks: &[&[u8]]) -> (Vec<SseEvent>, Option<SseEvent>) {
    let mut decoder = SseDecoder::new(max);
    let complete = chunks.iter().flat_map(|chunk| events(&mut decoder, chunk)).collect();
    (complete, decoder.finish())
}

fn complete(bytes: &[u8]) -> Vec<SseEvent> {
    decode(MAX, &[bytes]).0
}

/// The data of each event, after a check that it has nothing else.
fn texts(bytes: &[u8]) -> Vec<String> {
    let text = |event: SseEvent| match event {
        SseEvent { kind: None, data: SseData::Text(text), id: None, retry: None } => text,
        other => panic!("more than text: {other:?}"),
    };
    complete(bytes).into_iter().map(text).collect()
}

fn only(data: SseData) -> SseEvent {
    SseEvent { kind: None, data, id: None, retry: None }
}

fn bad(why: SkipReason, bytes: u64, answers: Option<u64>) -> SseEvent {
    only(SseData::Bad { why, bytes, answers })
}

fn ids(stream: &str) -> Vec<Option<String>> {
    complete(stream.as_bytes()).into_iter().map(|event| event.id).collect()
}

fn retries(stream: &str) -> Vec<Option<Duration>> {
    complete(stream.as_bytes()).into_iter().map(|event| event.retry).collect()
}

/// M-HTTP-14
#[test]
fn lines_end_with_lf_cr_or_crlf() {
    for end in ["\n", "\r", "\r\n"] {
        let stream = ["data: a", "data: b", "", "", "data: c", "", ""].join(end);
        assert_eq!(texts(stream.as_bytes()), ["a\nb", "c"], "{end:?}");
    }
    assert_eq!(texts(b"data: a\r\ndata: b\ndata: c\r\n\rdata: d\n\r"), ["a\nb\nc", "d"]);
    // The event is there with the second CR, whatever follows: nobody waits for a byte that a
    // server of lone CRs sends only with its next event.
    assert_eq!(texts(b"data: a\r\r"), ["a"]);
}

/// M-HTTP-14
#[test]
fn every_split_of_a_stream_gives_the_same_events() {
    let stream = "\u{feff}event: x\r\ndata: é\r\ndata: 工具\r\n\r\n:c\r\nid: 1\r\ndata\r\n\r\n\
        retry: 5\rdata: {}\r\r"
        .as_bytes();
    let whole = decode(MAX, &[stream]);
    assert_eq!(whole.0.len(), 3);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(decode(MAX, &bytes), whole);
    for cut in 0..=stream.len() {
        let (head, tail) = stream.split_at(cut);
        assert_eq!(decode(MAX, &[head, tail]), whole, "cut at {cut}");
        assert_eq!(decode(MAX, &[head, b"", tail]), whole, "cut at {cut}, nothing between");
    }
}

#[test]
fn one_space_after_the_colon_is_dropped() {
    assert_eq!(
        texts(b"data:a\n\ndata: a\n\ndata:  a\n\ndata:\ta\n\ndata: a \n\n"),
        ["a", "a", " a", "\ta", "a "]
    );
}

/// M-HTTP-08
#[test]
fn comments_and_unknown_fields_are_dropped() {
    let stream =
        b":\n\n: ping\r\n\r\n:data: x\n\ndata: a\n:data: b\ndata: c\nfoo: x\nfoo\nDATA: x\n\
        data : x\n data: x\ndatax: x\n\nfoo: x\n\nevent: x\n\n";
    assert_eq!(texts(stream), ["a\nc"]);
}

#[test]
fn a_byte_order_mark_is_dropped_at_the_very_beginning_only() {
    assert_eq!(texts(b"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n"), ["a"]);
    assert_eq!(
        texts(b"\xef\xbb\xbf\n\xef\xbb\xbfdata: b\n\ndata: \xef\xbb\xbfc\n\n"),
        ["\u{feff}c"]
    );
    assert_eq!(texts(b"\xef\xbb\xbf:data: x\ndata: y\n\n"), ["y"]);
    assert_eq!(texts(b"\xef\xbbdata: x\n\ndata: y\n\n"), ["y"]);
    assert_eq!(texts(b"\n\xef\xbb\xbfdata: a\n\ndata: b\n\n"), ["b"]);
}

/// M-HTTP-14
#[test]
fn events_without_data_are_told_for_their_id_or_pause() {
    let event = |id: Option<&str>, retry: Option<u64>| SseEvent {
        id: id.map(String::from),
        retry: retry.map(Duration::from_millis),
        ..only(SseData::None)
    };
    for stream in ["id: 7\n\n", "id: 7\ndata:\n\n", "data\nid: 7\n\n", "id: 7\ndata:  \n\n"] {
        assert_eq!(complete(stream.as_bytes()), [event(Some("7"), None)], "{stream:?}");
    }
    assert_eq!(complete(b"retry: 500\n\n"), [event(None, Some(500))]);
    assert_eq!(complete(b"data:\n\n"), [event(None, None)]);
    assert_eq!(complete(b"event: x\n\n\n\n"), []);
}

#[test]
fn the_type_is_message_unless_another_is_named() {
    let kind = |stream: &str| {
        let mut events = complete(stream.as_bytes());
        assert_eq!(events.len(), 1, "{stream:?}");
        let event = events.remove(0);
        assert_eq!(event.is_message(), event.kind.is_none());
        event.kind
    };
    assert_eq!(kind("data: a\n\n"), None);
    assert_eq!(kind("event: message\ndata: a\n\n"), None);
    assert_eq!(kind("event:\ndata: a\n\n"), None);
    assert_eq!(kind("event: ping\nevent: message\ndata: a\n\n"), None);
    assert_eq!(kind("data: a\nevent: endpoint\n\n").as_deref(), Some("endpoint"));
    assert_eq!(kind("event: Message\ndata: a\n\n").as_deref(), Some("Message"));
    let long = "x".repeat(5000);
    let cut = kind(&format!("event: {long}\ndata: a\n\n"));
    assert_eq!(cut.as_deref(), Some(&long[..MAX_EVENT_TYPE_BYTES]));
    // It holds for one event only.
    assert!(complete(b"event: ping\ndata: a\n\ndata: b\n\n")[1].is_message());
}

/// M-UNTR-05, M-UNTR-06
#[test]
fn ids_are_kept_if_they_are_short_and_printable() {
    let longest = "~".repeat(MAX_EVENT_ID_CHARS);
    for kept in ["1", "a b", "", "~ !", "\u{20}", &longest] {
        let told = ids(&format!("id:{kept}\ndata: a\n\n"));
        let want = kept.strip_prefix(' ').unwrap_or(kept);
        assert_eq!(told, [Some(String::from(want))], "{kept:?}");
    }
    let longer = longest.clone() + "~";
    for dropped in ["a\0b", "a\tb", "é", "\u{7f}", &longer, &longer.repeat(50)] {
        assert_eq!(ids(&format!("id:{dropped}\ndata: a\n\n")), [None], "{dropped:?}");
        // The id before it in the same event still holds.
        let two = format!("id: 1\nid:{dropped}\ndata: a\n\n");
        assert_eq!(ids(&two), [Some(String::from("1"))]);
    }
    assert_eq!(
        ids("id: 1\nid: 2\ndata: a\n\ndata: b\n\nid\ndata: c\n\n"),
        [Some(String::from("2")), None, Some(String::new())]
    );
}

#[test]
fn pauses_are_digits_and_bounded() {
    let millis = |millis| Some(Duration::from_millis(millis));
    assert_eq!(retries("retry: 500\ndata: a\n\n"), [millis(500)]);
    assert_eq!(retries("retry: 0\n\n"), [millis(0)]);
    assert_eq!(retries("retry: 007\n\n"), [millis(7)]);
    for wrong in ["", "+5", "-5", "5s", " 5", "5 ", "0x5", "1e3", "1.5", "５"] {
        assert_eq!(retries(&format!("retry: {wrong}\ndata: a\n\n")), [None], "{wrong:?}");
    }
    for long in ["86400001", "18446744073709551616", &"9".repeat(1000)] {
        assert_eq!(retries(&format!("retry: {long}\n\n")), [Some(MAX_RETRY)], "{long}");
    }
    assert_eq!(retries(&format!("retry: {}\ndata: a\n\n", "9".repeat(2000))), [None]);
}

#[test]
fn an_unfinished_event_is_handed_out_at_the_end_without_its_id() {
    for stream in ["id: 1\ndata: {}", "id: 1\ndata: {}\n", "data: {}\r\nid: 1", "data: {}\nid: 1\r"]
    {
        let (complete, left) = decode(MAX, &[stream.as_bytes()]);
        assert_eq!(complete, [], "{stream:?}");
        assert_eq!(left, Some(only(SseData::Text(String::from("{}")))), "{stream:?}");
    }
    // A field without its line end may lack its last characters.
    assert_eq!(decode(MAX, &[b"retry: 5"]).1, None);
    let pause = SseEvent { retry: Some(Duration::from_millis(5)), ..only(SseData::None) };
    assert_eq!(decode(MAX, &[b"retry: 5\n"]).1, Some(pause));
    for nothing in ["", "\n", "data", "id: 1\n", ": ping", "event: x\n", "data: {}\n\n"] {
        assert_eq!(decode(MAX, &[nothing.as_bytes()]).1, None, "{nothing:?}");
    }
}

#[test]
fn what_is_not_utf8_is_bad_and_names_its_call() {
    let events =
        complete(b"data: {\"id\":4,\"result\":\"\xff\"}\n\ndata: \xfe\n\nevent: \xff\ndata: a\n\n");
    assert_eq!(
        events[..2],
        [bad(SkipReason::NotUtf8, 21, Some(4)), bad(SkipReason::NotUtf8, 1, None)]
    );
    assert_eq!(events[2].kind.as_deref(), Some("\u{fffd}"));
}

/// M-UNTR-02
#[test]
fn the_bound_holds_for_the_data_alone() {
    let long = bad(SkipReason::TooLong, 4, None);
    for (stream, want) in [
        ("data: 1234\n\n", only(SseData::Text(String::from("1234")))),
        ("data: 12\ndata: 3\n\n", only(SseData::Text(String::from("12\n3")))),
        ("data: 12345\n\n", long.clone()),
        ("data: 12\ndata: 34\n\n", long.clone()),
        ("data: 1234\ndata\n\n", long.clone()),
        ("data\ndata\ndata\ndata\ndata\ndata\n\n", long),
    ] {
        let (mut events, left) = decode(4, &[stream.as_bytes(), b":012345678\ndata: a\n\n"]);
        assert_eq!(events.pop(), Some(only(SseData::Text(String::from("a")))));
        assert_eq!((events, left), (vec![want], None), "{stream:?}");
    }
}

/// M-UNTR-02
#[test]
fn data_that_is_too_long_is_told_once_its_call_is_known_and_its_id_still_counts() {
    let mut decoder = SseDecoder::new(24);
    let start = b"id: 9\ndata: {\"id\":4,\"result\":\"0123456789";
    assert_eq!(events(&mut decoder, start), [bad(SkipReason::TooLong, 24, Some(4))]);
    let id = SseEvent { id: Some(String::from("9")), ..only(SseData::None) };
    let rest = b"0123456789\"}\n\ndata: a\n\n";
    assert_eq!(events(&mut decoder, rest), [id, only(SseData::Text(String::from("a")))]);

    // Without an early end of the search, the call is known with the event.
    let late =
        b"id: 9\nretry: 1\ndata: {\"result\":\"0123456789 0123456789\",\ndata: \"id\":4}\n\n";
    let (told, left) = decode(24, &[late]);
    let with_it = SseEvent {
        id: Some(String::from("9")),
        retry: Some(Duration::from_millis(1)),
        ..only(SseData::None)
    };
    assert_eq!((told, left), (vec![bad(SkipReason::TooLong, 24, Some(4)), with_it], None));
}

#[test]
fn the_call_is_found_at_the_end_of_a_line_without_a_colon() {
    let stream = b"data: {\"result\":\"0123456789 0123456789\",\"id\":4\ndata\n\nid: 1\n\n";
    let id = SseEvent { id: Some(String::from("1")), ..only(SseData::None) };
    assert_eq!(complete_with(24, stream), [bad(SkipReason::TooLong, 24, Some(4)), id]);
}

fn complete_with(max: usize, stream: &[u8]) -> Vec<SseEvent> {
    let whole = decode(max, &[stream]);
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(decode(max, &bytes), whole);
    whole.0
}

#[test]
fn an_unfinished_event_that_is_too_long_is_told_at_the_end() {
    let (events, left) = decode(24, &[b"data: 0123456789 0123456789 0123456789"]);
    assert_eq!((events, left), (vec![], Some(bad(SkipReason::TooLong, 24, None))));
}

#[test]
fn a_burst_of_skipped_events_is_worked_through_one_by_one() {
    let burst = ": ping\n\nevent: x\n\n".repeat(25_000);
    assert_eq!(complete(burst.as_bytes()), []);
    let burst = "data: x\n\n".repeat(50_000);
    assert_eq!(complete(burst.as_bytes()).len(), 50_000);
}

/// The buffer in which the data is collected is the text, however large it is.
#[test]
fn the_data_of_an_event_is_moved_out_not_copied() {
    let payload = "x".repeat(8 << 20);
    let mut decoder = SseDecoder::new(usize::MAX);
    assert_eq!(events(&mut decoder, b"data: "), []);
    for chunk in payload.as_bytes().chunks(16 << 10) {
        assert_eq!(events(&mut decoder, chunk), []);
    }
    let ended = events(&mut decoder, b"\n\n").remove(0);
    let SseData::Text(text) = ended.data else { panic!("no text: {:?}", ended.data) };
    assert_eq!(text.len(), payload.len());
    // A copy would have the capacity of its length; a buffer that grew has a power of two.
    assert!(text.capacity().is_power_of_two());
}

/// How long a stream takes that never ends its event, in chunks of this size.
fn seconds(max: usize, bytes: usize, chunk: usize) -> f64 {
    let mut decoder = SseDecoder::new(max);
    let filler = vec![b'x'; chunk];
    let start = Instant::now();
    assert_eq!(events(&mut decoder, b"data: {\"id\":1,\"x\":\""), []);
    for _ in 0..bytes / chunk {
        assert_eq!(events(&mut decoder, &filler), []);
    }
    start.elapsed().as_secs_f64()
}

/// M-UNTR-01
#[test]
fn an_event_that_never_ends_takes_linear_time_and_bounded_memory() {
    let (discarded, kept) = (1 << 12, 1 << 30);
    for (max, bytes, chunk) in [
        (discarded, 512 << 10, 16 << 10),
        (kept, 8 << 20, 16 << 10),
        (discarded, 32 << 10, 1),
        (kept, 32 << 10, 1),
    ] {
        // The best of three: other work on the machine only adds. Quadratic would be sixteen.
        let best = |bytes| (0..3).map(|_| seconds(max, bytes, chunk)).fold(f64::MAX, f64::min);
        let (once, four_times) = (best(bytes), best(4 * bytes));
        assert!(four_times < 10.0 * once + 0.02, "{max} {bytes} {chunk}: {once} s, {four_times} s");
    }
    // What is kept is little more than the bound, and nothing of what was thrown away.
    let mut decoder = SseDecoder::new(1 << 10);
    for field in ["data: ", "\nid: ", "\nevent: ", "\n", "\n:", "\nretry: "] {
        assert_eq!(events(&mut decoder, field.as_bytes()), []);
        for _ in 0..300 {
            assert_eq!(events(&mut decoder, &[b'7'; 1 << 10]), []);
        }
    }
    assert!(format!("{decoder:?}").len() < 16 << 10);
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                "data: ", "data:", "data", "event: ", "id: ", "retry: ", ":", "\n", "\n", "\n", "\r",
                "\r\n", "\r\n", "{\"id\":1,\"result\":", "{\"method\":\"m\"", ",\"id\":2", "}", "5",
                "\u{feff}", "é", "\"", "\\", " ", "0123456789", "\0",
            ]),
            0..60,
        ),
        cuts in proptest::collection::vec(0usize..300, 0..12),
        max in 1usize..60,
    ) {
        let bytes = pieces.concat().into_bytes();
        let mut cuts: Vec<_> = cuts.into_iter().filter(|cut| *cut < bytes.len()).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut from = 0;
        for cut in cuts {
            chunks.push(&bytes[from..cut]);
            from = cut;
        }
        chunks.push(&bytes[from..]);
        let whole = decode(max, &[&bytes]);
        prop_assert_eq!(&decode(max, &chunks), &whole);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&decode(max, &single), &whole);
    }
}
