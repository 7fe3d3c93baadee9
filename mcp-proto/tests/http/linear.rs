//! What the way in which an answer arrives may cost.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "it measures time")]

use std::time::Instant;

use serde_json::json;

use crate::support::*;

/// How long a connection takes for answers of so many bytes in all that come byte by byte, each
/// stream with one event or with many.
fn seconds(bytes: usize, is_one: bool, coding: &[(&str, &str)]) -> f64 {
    let mut bench = Bench::modern();
    bench.split = Split::Bytes;
    let call = bench.begin(tool("x", json!({})));
    let post = bench.expect("tools/call");
    let before = match is_one {
        true => format!(": {}\n\n", "x".repeat(bytes)),
        false => "event: ping\ndata: x\n\n".repeat(bytes / 20),
    };
    let text = if is_one { "y".repeat(bytes) } else { String::new() };
    let result = bench.complete(json!({ "content": [{ "type": "text", "text": text }] }));
    let stream = before + &event(&answer(&post, &result));
    let stream = if coding.is_empty() { stream.into_bytes() } else { gzip_stored(&stream) };
    let headers: Vec<_> = SSE.iter().chain(coding).copied().collect();
    bench.head(&post, 200, &headers);
    let start = Instant::now();
    bench.body(&post, &stream);
    let took = start.elapsed().as_secs_f64();
    assert_eq!(bench.done(&call).unwrap().text().len(), text.len());
    took
}

/// Compressed without getting smaller, so that there are as many bytes to hand in.
fn gzip_stored(text: &str) -> Vec<u8> {
    use std::io::Write as _;
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    to.write_all(text.as_bytes()).unwrap();
    to.finish().unwrap()
}

/// M-UNTR-01, M-HTTP-14: a stream that comes byte by byte costs as much for each byte, however long
/// it is: one long event, and many short ones, compressed or not.
#[test]
fn streams_that_come_byte_by_byte_take_linear_time() {
    const BYTES: usize = 4 << 10;
    for is_one in [true, false] {
        for coding in [&[][..], &[("content-encoding", "gzip")]] {
            // The best of three: other work on the machine only adds. Quadratic would be sixteen.
            let best =
                |bytes| (0..3).map(|_| seconds(bytes, is_one, coding)).fold(f64::MAX, f64::min);
            let (once, four_times) = (best(BYTES), best(4 * BYTES));
            assert!(four_times < 10.0 * once, "{is_one} {coding:?}: {once} s, {four_times} s");
        }
    }
}
