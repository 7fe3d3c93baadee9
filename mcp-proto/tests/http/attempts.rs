//! Starts over HTTP that meet outages, silence and demands: how long they wait, and what the error
//! says.

use std::sync::Arc;
use std::time::Duration;

use mcp_proto::op::ListTools;
use mcp_proto::{
    CallOptions, Connection, Era, EraChoice, ErrorKind, HttpConfig, HttpFailureKind, HttpFault,
    Incompatible, Now, Outcome, Output, Phase, ProtocolVersion, Sent, TimerReason, Transport,
    TransportError,
};

use crate::era::{HTML, TEXT, legacy_answers, probing, starting};
use crate::support::*;

fn fault_of(kind: &ErrorKind) -> &HttpFault {
    let ErrorKind::Transport(TransportError::Http(fault)) = kind else { panic!("{kind}") };
    fault
}

/// A transient failure of the start.
fn fails(bench: &mut Bench, post: &Posted, how: u16) {
    match how {
        0 => bench.breaks(post, HttpFailureKind::Connect, Sent::None),
        1 => bench.breaks(post, HttpFailureKind::Resolve, Sent::None),
        2 => bench.breaks(post, HttpFailureKind::Closed, Sent::All),
        3 => {
            bench.head(post, 200, SSE);
            bench.breaks(post, HttpFailureKind::Closed, Sent::All);
        }
        status => bench.whole(post, status, TEXT, b"outage"),
    }
}

/// M-RTRY-01, M-RTRY-02, M-RTRY-03: an outage is waited for, 1, 2 and 4 s, and decides nothing.
#[test]
fn an_outage_is_waited_for_and_decides_nothing() {
    for how in [0, 1, 2, 3, 500, 502, 503, 504, 599] {
        // It ends in time.
        let (mut bench, call, probe) = probing();
        fails(&mut bench, &probe, how);
        for pause in [1, 2, 4] {
            bench.advance(Duration::from_millis(pause * 1000 - 1));
            bench.quiet();
            bench.advance(Duration::from_millis(1));
            let again = bench.expect("server/discover");
            assert_ne!(again.id(), probe.id());
            if pause < 4 {
                fails(&mut bench, &again, how);
            } else {
                bench.result(&again, discovered(&["2026-07-28"]));
            }
        }
        assert_eq!(bench.done(&call).unwrap().era, Era::Modern);

        // It does not.
        let (mut bench, call, mut probe) = probing();
        for _ in 0..3 {
            fails(&mut bench, &probe, how);
            assert!(bench.is_pending(&call));
            assert_eq!(bench.next_deadline(), TimerReason::StartRetry);
            probe = bench.expect("server/discover");
        }
        fails(&mut bench, &probe, how);
        let error = bench.error(&call);
        match (how, fault_of(error.kind())) {
            (0..=2, HttpFault::Exchange(failure)) => assert_eq!(failure.text, "scripted"),
            (3, HttpFault::StreamClosed) => {}
            (_, HttpFault::Trouble { status, .. }) => assert_eq!(*status, how),
            (_, fault) => panic!("{how}: {fault:?}"),
        }
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.quiet();
    }
}

/// M-RTRY-03, M-RTRY-04: failures that will not pass are told at once.
#[test]
fn what_will_not_pass_is_told_at_once() {
    for kind in [HttpFailureKind::Tls, HttpFailureKind::Proxy, HttpFailureKind::Malformed] {
        let (mut bench, call, probe) = probing();
        bench.breaks(&probe, kind, Sent::None);
        let error = bench.error(&call);
        assert!(matches!(fault_of(error.kind()), HttpFault::Exchange(f) if f.kind == kind));
        bench.quiet();
    }
    let (mut bench, call, probe) = probing();
    bench.whole(&probe, 302, &[("location", "/login")], b"");
    let error = bench.error(&call);
    assert!(matches!(fault_of(error.kind()), HttpFault::Redirect { status: 302, .. }), "{error}");
    assert!(error.to_string().contains("/login"), "{error}");
    bench.quiet();
}

/// M-ERA-08, M-TIME-11: silence over HTTP is an outage, and no sign of an era.
#[test]
fn silence_is_no_sign_of_an_era() {
    for head in [false, true] {
        let (mut bench, call, probe) = probing();
        if head {
            bench.head(&probe, 200, SSE);
        }
        bench.advance(Duration::from_millis(4999));
        assert!(bench.is_pending(&call));
        bench.advance(Duration::from_millis(1));
        let error = bench.error(&call);
        let ErrorKind::Timeout(timeout) = error.kind() else { panic!("{error}") };
        assert_eq!((timeout.phase, timeout.after), (Phase::Start, Duration::from_secs(5)));
        assert!(!bench.watch.is_open(probe.exchange), "its exchange is over");
        bench.quiet();
    }
}

/// M-ERA-07, M-CONN-15: a demanded era is asked for alone, and has all the time of the start.
#[test]
fn a_demanded_era_is_asked_for_alone() {
    for (status, head, body) in legacy_answers() {
        let (mut bench, call, probe) = starting(EraChoice::Modern);
        assert_eq!(probe.method(), "server/discover");
        bench.whole(&probe, status, head, body.as_bytes());
        let error = bench.error(&call);
        let attempts = |kind: &_| {
            let ErrorKind::Incompatible(Incompatible::Attempts { forced, attempts }) = kind else {
                return false;
            };
            *forced == Some(Era::Modern) && attempts.len() == 1
        };
        assert!(attempts(error.kind()), "{status} {body}: {error}");
        bench.quiet();
    }
    for (era, method) in [(EraChoice::Modern, "server/discover"), (EraChoice::Legacy, "initialize")]
    {
        let (mut bench, call, first) = starting(era);
        assert_eq!(first.method(), method);
        bench.advance(Duration::from_secs(59));
        assert!(bench.is_pending(&call));
        bench.advance(Duration::from_secs(1));
        assert!(bench.error(&call).is_timeout());
        bench.quiet();
    }
    let (mut bench, call, initialize) = starting(EraChoice::Legacy);
    assert_eq!(initialize.params()["protocolVersion"], "2025-11-25");
    bench.welcome(&initialize, "2024-11-05", Some("s-1"));
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    assert_eq!(bench.done(&call).unwrap().version, ProtocolVersion::V2024_11_05);
    let (mut bench, call, initialize) = starting(EraChoice::Legacy);
    bench.says(&initialize, 404, "");
    bench.error(&call);
    bench.quiet();
}

/// M-CONN-09: when everything has failed, the error names each attempt. An address that names its
/// transport is tried with no other.
#[test]
fn the_error_names_each_attempt() {
    let (mut bench, call, probe) = probing();
    bench.whole(&probe, 404, TEXT, b"nothing here");
    let initialize = bench.expect("initialize");
    bench.whole(&initialize, 405, HTML, b"<html>");
    let error = bench.error(&call);
    let ErrorKind::Incompatible(Incompatible::Attempts { forced: None, attempts }) = error.kind()
    else {
        panic!("{error}");
    };
    let methods: Vec<_> = attempts.iter().map(|attempt| attempt.method).collect();
    assert_eq!(methods, ["server/discover", "initialize"]);
    let text = error.to_string();
    for words in ["404", "405", "nothing here"] {
        assert!(text.contains(words), "{text}");
    }
    bench.quiet();
}

/// M-CONN-09, M-RTRY-02: an outage that begins between the two questions is told with both, and
/// each question has retries of its own.
#[test]
fn the_error_of_an_outage_names_what_was_met_before() {
    let (mut bench, call, probe) = probing();
    fails(&mut bench, &probe, 503);
    bench.advance(Duration::from_secs(1));
    let again = bench.expect("server/discover");
    bench.whole(&again, 404, TEXT, b"nothing here");
    for pause in [1, 2, 4] {
        let initialize = bench.expect("initialize");
        fails(&mut bench, &initialize, 0);
        bench.advance(Duration::from_secs(pause));
    }
    let initialize = bench.expect("initialize");
    fails(&mut bench, &initialize, 0);
    let error = bench.error(&call);
    assert!(matches!(fault_of(error.kind()), HttpFault::Exchange(_)));
    let text = error.to_string();
    for words in ["could not be reached", "server/discover", "404"] {
        assert!(text.contains(words), "{text}");
    }
    bench.quiet();
}

/// M-CONN-20, M-ERR-07: what is no address is told with each call, and nothing is sent anywhere.
#[test]
fn what_is_no_address_is_told() {
    let bad = [
        HttpConfig::new("nonsense"),
        HttpConfig::new("ftp://server.test/"),
        HttpConfig::new("http://user:pw@server.test/"),
        HttpConfig::new("http://server.test/").header("host", "x"),
    ];
    for target in bad {
        let transport = Transport::Http(target);
        let now = Now::at(Duration::from_secs(1000));
        let mut connection = Connection::new(Arc::new(config()), transport, [7; 32], now);
        for _ in 0..2 {
            let call = connection.start(ListTools, CallOptions::default(), now).unwrap();
            let mut ends = 0;
            while let Some(output) = connection.poll_output() {
                assert!(!matches!(output, Output::Stdio(..) | Output::Http(..)), "{output:?}");
                if let Output::Done(id, done) = output {
                    assert_eq!(id, call.id());
                    let error = call.finish(done).unwrap_err();
                    assert!(matches!(fault_of(error.kind()), HttpFault::Address(_)), "{error}");
                    assert_eq!(error.outcome(), Outcome::NotSent);
                    ends += 1;
                }
            }
            assert_eq!(ends, 1);
            assert!(connection.at_rest() && connection.is_idle());
            assert_eq!(connection.poll_timeout(), None);
        }
    }
}
