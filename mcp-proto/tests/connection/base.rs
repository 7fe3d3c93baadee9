//! JSON-RPC as it is and as it is found (specification: basic, "Messages").

use mcp_proto::op::{CustomRequest, ListTools, Ping};
use mcp_proto::{Error, ErrorKind, PeerError};
use serde_json::{Map, Value, json};

use crate::support::*;

fn custom(method: &str) -> CustomRequest {
    CustomRequest::new(method, Map::new())
}

/// M-BASE-01: a thousand requests at once have a thousand ids, and each answer finds its call, in
/// any order.
#[test]
fn every_answer_finds_its_call() {
    in_both_eras_with(quick(), |bench| {
        let calls: Vec<_> = (0..1000).map(|_| bench.begin(custom("x/y"))).collect();
        let sent = bench.take_messages();
        let ids: std::collections::BTreeSet<_> =
            sent.iter().map(|sent| sent.id().as_u64().unwrap()).collect();
        assert_eq!(ids.len(), 1000);
        for request in sent.iter().rev() {
            bench.completes(request, json!({ "echo": request.id() }));
        }
        for (call, request) in calls.iter().zip(&sent) {
            let result = bench.done(call).unwrap().parse::<Value>().unwrap();
            assert_eq!(&result["echo"], request.id());
        }
    });
}

/// M-BASE-01, M-UNTR-13: an id that comes back as a text or a decimal is the same id; any other is
/// nobody's.
#[test]
fn ids_come_back_in_other_shapes() {
    in_both_eras(|bench| {
        let calls: Vec<_> = (0..4).map(|_| bench.begin(custom("x/y"))).collect();
        let sent = bench.take_messages();
        let spelled: [fn(u64) -> String; 4] = [
            |id| format!("{id}"),
            |id| format!("\"{id}\""),
            |id| format!("{id}.0"),
            |id| format!(" {id}.000 "),
        ];
        for (request, spelled) in sent.iter().zip(spelled) {
            let id = request.id().as_u64().unwrap();
            for wrong in [format!("{}", id + 100), format!("-{id}"), format!("{id}.5")] {
                bench.line(&format!(r#"{{"jsonrpc":"2.0","id":{wrong},"result":{{}}}}"#));
            }
            let wrong = format!(r#"{{"jsonrpc":"2.0","id":"0{id}","result":{{}}}}"#);
            bench.line(&wrong);
            let id = spelled(id);
            bench.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"ok":true}}}}"#));
        }
        for call in &calls {
            assert_eq!(bench.done(call).unwrap().as_str(), r#"{"ok":true}"#);
        }
    });
}

/// M-UNTR-13, M-TIME-08: answers to nothing are dropped: told when no such request ever was, and
/// without a trace when they come late or twice.
#[test]
fn answers_to_nothing_are_dropped() {
    in_both_eras(|bench| {
        let call = bench.begin(custom("x/y"));
        let sent = bench.next_message();
        bench.trace();
        for id in ["999", "\"x\"", "null"] {
            bench.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#));
            let trace = bench.trace();
            assert_eq!(trace.len(), 1, "{trace:?}");
            assert!(trace[0].starts_with("event MessageDropped"), "{trace:?}");
        }
        bench.completes(&sent, json!({ "n": 1 }));
        bench.trace();
        bench.completes(&sent, json!({ "n": 2 }));
        bench.refuse(&sent, -32603, "too late");
        assert_eq!(bench.trace(), [""; 0]);
        assert_eq!(bench.done(&call).unwrap().parse::<Value>().unwrap()["n"], 1);
    });
}

/// M-BASE-03: on a modern server a result is complete, or its type is wrong.
#[test]
fn the_type_of_a_result_counts_on_modern_servers() {
    fn bogus(error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::Peer(PeerError::ResultType(kind)) if kind == "bogus")
    }
    fn asks(error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::Peer(PeerError::InputRequired))
    }
    fn other(error: &Error) -> bool {
        matches!(error.kind(), ErrorKind::Peer(PeerError::Result(_)))
    }
    type Fits = fn(&Error) -> bool;
    let cases: [(&str, Option<Fits>); 12] = [
        (r#"{"tools":[]}"#, None),
        (r#"{"resultType":"complete","tools":[]}"#, None),
        (r#"{"resultType":null,"tools":[]}"#, None),
        (r#"{"result\u0054ype":"compl\u0065te","tools":[]}"#, None),
        (r#"{"resultType":"bogus","tools":[]}"#, Some(bogus)),
        (r#"{"result\u0054ype":"b\u006fgus","tools":[]}"#, Some(bogus)),
        (r#"{"resultType":"input_required","inputRequests":{}}"#, Some(asks)),
        (r#"{"resultType":7,"tools":[]}"#, Some(other)),
        (
            r#"{"resultType":"Complete","tools":[]}"#,
            Some(|e| matches!(e.kind(), ErrorKind::Peer(_))),
        ),
        ("null", Some(other)),
        ("[]", Some(other)),
        ("\"ok\"", Some(other)),
    ];
    let mut bench = Bench::modern(config());
    for (result, want) in cases {
        let call = bench.begin(ListTools);
        let sent = bench.expect("tools/list");
        bench.answers(&sent, result);
        match (bench.done(&call), want) {
            (Ok(_), None) => {}
            (Err(error), Some(fits)) => assert!(fits(&error), "{result}: {error}"),
            (got, _) => panic!("{result}: {got:?}"),
        }
        bench.quiet();
    }
}

/// M-BASE-03: on a legacy server there is no such member, whatever stands under its name.
#[test]
fn the_type_of_a_result_means_nothing_on_legacy_servers() {
    let mut bench = Bench::legacy(config());
    for kind in ["\"bogus\"", "\"input_required\"", "7"] {
        let call = bench.begin(tool("x", json!({})));
        let sent = bench.next_message();
        bench.answers(&sent, &format!(r#"{{"resultType":{kind},"content":[]}}"#));
        bench.done(&call).unwrap();
        let list = bench.begin(ListTools);
        let sent = bench.next_message();
        bench.answers(&sent, &format!(r#"{{"resultType":{kind},"tools":[]}}"#));
        bench.done(&list).unwrap();
    }
}

/// M-BASE-08: old servers send batches; each element counts for itself.
#[test]
fn batches_of_old_servers_are_read() {
    in_both_eras(|bench| {
        let calls = [bench.begin(custom("a")), bench.begin(custom("b")), bench.begin(custom("c"))];
        let sent = bench.take_messages();
        let [a, b, c] = [sent[0].id(), sent[1].id(), sent[2].id()];
        bench.line(
            &format!(
                r#"[{{"jsonrpc":"2.0","id":{b},"result":{{"n":2}}}}, 7, {{"id":{c}}},
                {{"jsonrpc":"2.0","method":"notifications/x"}},
                {{"jsonrpc":"2.0","id":{a},"error":{{"code":1,"message":"no"}}}}]"#
            )
            .replace('\n', " "),
        );
        assert_eq!(bench.error(&calls[0]).server_error().unwrap().code, 1);
        assert_eq!(bench.done(&calls[1]).unwrap().as_str(), r#"{"n":2}"#);
        assert!(matches!(bench.error(&calls[2]).kind(), ErrorKind::Peer(PeerError::Malformed(_))));
        bench.quiet();
    });
}

/// M-BASE-06: members that are missing or unknown cost nothing; with a result and an error, the
/// error counts.
#[test]
fn envelopes_are_read_leniently() {
    let answers: [(&str, Result<&str, i64>); 7] = [
        (r#"{"id":ID,"result":{}}"#, Ok("{}")),
        (r#"{"result":{},"id":ID,"jsonrpc":"1.0"}"#, Ok("{}")),
        (r#"{"id":ID,"result":{},"error":null,"method":null,"x":{"id":1}}"#, Ok("{}")),
        (r#"{ "id" : ID , "result" : { "a" : 1 } }"#, Ok(r#"{ "a" : 1 }"#)),
        (r#"{"i\u0064":ID,"re\u0073ult":{"a":2}}"#, Ok(r#"{"a":2}"#)),
        (r#"{"id":ID,"result":{},"error":{"code":8}}"#, Err(8)),
        (r#"{"id":ID,"result":null,"error":{"code":9}}"#, Err(9)),
    ];
    in_both_eras(|bench| {
        for (answer, want) in answers {
            let call = bench.begin(custom("x/y"));
            let sent = bench.next_message();
            bench.line(&answer.replace("ID", &sent.id().to_string()));
            match (bench.done(&call), want) {
                (Ok(raw), Ok(text)) => assert_eq!(raw.as_str(), text),
                (Err(error), Err(code)) => assert_eq!(error.server_error().unwrap().code, code),
                (got, _) => panic!("{answer}: {got:?}"),
            }
        }
    });
}

/// M-UNTR-02, M-BASE-06: a result that is nested a hundred thousand deep costs its call at the most.
#[test]
fn depth_is_no_danger() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    in_both_eras_with(quick(), |bench| {
        for result in [
            deep.clone(),
            format!(r#"{{"content":[{{"type":"text","text":"ok"}}],"structuredContent":{deep}}}"#),
            format!(r#"{{"content":[{{"type":"hologram","data":{deep}}}]}}"#),
            format!(r#"{{"tools":[{{"name":"x","inputSchema":{deep}}},{deep}],"x":{deep}}}"#),
        ] {
            let call = bench.begin(tool("x", json!({})));
            let list = bench.begin(ListTools);
            let sent = bench.take_messages();
            bench.answers(&sent[0], &result);
            bench.answers(&sent[1], &result);
            let _ = (bench.done(&call), bench.done(&list));
            bench.line(&format!(r#"{{"method":"x","params":{{"a":{deep}}}}}"#));
            bench.line(&deep);
        }
        let call = bench.begin(Ping);
        let sent = bench.next_message();
        bench.completes(&sent, json!({}));
        bench.done(&call).unwrap();
    });
}
