//! Decodes a corpus of answers with `http1` and with `ureq-proto`, and knows every difference.

mod http1_corpus;
mod http1_oracle;
mod http1_support;

use std::collections::BTreeMap;

use http1_corpus::case;
use http1_oracle::{difference, ours};

/// How many answers are compared.
const CASES: u64 = 40_000;

/// Every kind of difference, and its reason. What the corpus shows besides fails the test, and so
/// does a kind that it does not show any more.
const DIFFERENCES: [(&str, &str); 20] = [
    // Ambiguous framing: two readers could see two ends of the answer.
    ("we refuse LengthBesideCoding, they take it", "they drop the length"),
    ("we refuse TransferCoding, they take it", "they look for `chunked` anywhere, or ignore it"),
    ("we refuse TransferCodingOn10, they take it", "they ignore the coding"),
    ("we refuse ChunkSize, they take it", "they accept a sign and blanks before the size"),
    ("we refuse ChunkSize, they wait", "they look at a size once its line has ended"),
    ("we refuse ChunkLine, they take it", "they accept an LF or a control character inside"),
    ("we refuse ChunkLine, they wait", "they look for the next CRLF, however far away"),
    ("we refuse ChunkEnd, they wait", "the same, after the data of a chunk"),
    ("we refuse Trailer, they take it", "they skip whatever stands before an empty line"),
    ("we refuse Trailer, they wait", "they look for the next CRLF"),
    // What a client of a server that behaves never meets.
    ("we refuse NotHttp, they take it", "they skip empty lines before the head"),
    ("we refuse SwitchingProtocols, they take it", "they hand the 101 on"),
    ("we take it, they refuse HeadersWith100", "they accept no header in a 100"),
    // Reuse of the connection.
    ("we close, they keep", "an answer without a body (204) tells a length: it may still come"),
    ("we close, they keep, more bytes", "they do not see what follows the answer"),
    // Lengths and codings mean nothing where there is no body.
    ("we take it, they refuse BadContentLengthHeader", "they check it at HEAD, 204 and 304, too"),
    ("we take it, they refuse TooManyContentLengthHeaders", "the same"),
    // Bounds, and when something is looked at.
    ("we take it, they refuse ChunkExpectedCrLf", "their line before a chunk has 20 bytes at most"),
    ("we wait, they refuse HttpParseFail", "we look at a head once its last line has come"),
    ("we wait, they refuse HeadersWith100", "the answer is broken off after a 100 with headers"),
];

#[test]
fn answers_mean_the_same_as_to_ureq_proto() {
    let mut seen: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    let mut same = 0;
    for number in 0..CASES {
        let case = case(number);
        match difference(case.method, &case.bytes) {
            Some(difference) => seen.entry(difference).or_insert((0, number)).0 += 1,
            None => same += 1,
        }
    }
    for (difference, (count, first)) in &seen {
        let known = DIFFERENCES.iter().any(|(known, _)| known == difference);
        assert!(known, "{difference}: {count} times, first in case {first}, {:?}", case(*first));
    }
    for (difference, why) in DIFFERENCES {
        assert!(seen.contains_key(difference), "{difference} ({why}): not any more");
    }
    assert!(same > CASES / 2, "only {same} cases are the same");
}

/// The corpus is worth something only if many of its answers are valid.
#[test]
fn the_corpus_is_balanced() {
    let complete = (0..CASES / 10).filter(|number| {
        let case = case(*number);
        ours(case.method, &case.bytes).is_ok()
    });
    let (complete, all) = (complete.count(), (CASES / 10) as usize);
    assert!(all * 2 / 5 < complete && complete < all * 4 / 5, "{complete} of {all}");
}
