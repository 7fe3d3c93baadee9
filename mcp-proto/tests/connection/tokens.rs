//! The tokens by which progress finds its call (specification: basic/patterns/progress).

use mcp_proto::op::Ping;
use serde_json::json;

use crate::progress::{finishes, got, tells, token, wanted};
use crate::support::*;

/// M-PROG-02, M-PROG-03: each call has a token of its own, and what comes under it reaches that
/// call only, for as long as it lives.
#[test]
fn tokens_tell_calls_apart() {
    in_both_eras(|bench| {
        let calls: Vec<_> =
            (0..3).map(|_| bench.begin_with(tool("x", json!({})), wanted())).collect();
        let sent = bench.take_messages();
        let tokens: Vec<_> = sent.iter().map(token).collect();
        assert!(tokens[0] != tokens[1] && tokens[1] != tokens[2] && tokens[0] != tokens[2]);
        for call in &calls {
            bench.pull(call);
        }
        tells(bench, &tokens[1], json!({ "progress": 1 }));
        assert_eq!(bench.items.pop().unwrap().0, calls[1].id());
        finishes(bench, &calls[1], &sent[1]);
        tells(bench, &tokens[1], json!({ "progress": 2 }));
        for unknown in [json!("x"), json!(99), json!(null), json!({}), json!(-1), json!(1.5)] {
            tells(bench, &unknown, json!({ "progress": 3 }));
        }
        assert_eq!(bench.items, []);
        for (call, sent) in [(&calls[0], &sent[0]), (&calls[2], &sent[2])] {
            finishes(bench, call, sent);
        }
    });
}

/// M-PROG-04, M-PROG-05: the host may choose a token, also among the arguments, from where it is
/// lifted; it is a text or a whole number, and what is sent back finds the call.
#[test]
fn the_hosts_token_is_kept() {
    in_both_eras(|bench| {
        for own in [json!("own"), json!(""), json!(0), json!(-5), json!("é\u{0}")] {
            let arguments = json!({ "a": 1, "_meta": { "progressToken": own, "x/y": 1 } });
            let call = bench.begin_with(tool("x", arguments), wanted());
            let sent = bench.expect("tools/call");
            assert_eq!(sent.params()["arguments"], json!({ "a": 1 }));
            assert_eq!((&token(&sent), &sent.meta()["x/y"]), (&own, &json!(1)));
            bench.pull(&call);
            tells(bench, &own, json!({ "progress": 1 }));
            assert_eq!(got(bench), [1.0], "{own}");
            finishes(bench, &call, &sent);
        }
    });
}

/// M-PROG-05: what is no token is replaced by one when progress is wanted, and left out otherwise.
#[test]
fn what_the_host_chose_must_be_a_token() {
    in_both_eras(|bench| {
        for own in [json!(1.5), json!(null), json!([1]), json!({ "a": 1 }), json!(true)] {
            for progress in [true, false] {
                let mut with = options(None, progress);
                with.meta.insert("progressToken".into(), own.clone());
                let call = bench.begin_with(tool("x", json!({})), with);
                let sent = bench.expect("tools/call");
                let token = sent.meta().get("progressToken");
                assert_eq!(token.is_some(), progress, "{own}");
                assert!(token.is_none_or(|token| token.is_u64() || token.is_string()), "{own}");
                finishes(bench, &call, &sent);
            }
        }
    });
}

/// M-PROG-05: no two live requests share a token, whoever chose it, and whether or not progress is
/// wanted under it.
#[test]
fn live_tokens_are_never_shared() {
    in_both_eras(|bench| {
        let next = bench.begin(Ping);
        let id = bench.next_message().id().as_u64().unwrap();
        // The token that the next but one call would get, taken by the host; then once more.
        let mut chosen = Vec::new();
        for (token, progress) in [
            (json!(id + 3), false),
            (json!(id + 3), true),
            (json!("own"), true),
            (json!("own"), false),
            (json!("own"), true),
        ] {
            let mut with = options(None, progress);
            with.meta.insert("progressToken".into(), token);
            chosen.push(bench.begin_with(tool("x", json!({})), with));
        }
        for _ in 0..4 {
            chosen.push(bench.begin_with(tool("x", json!({})), wanted()));
        }
        let sent = bench.take_messages();
        let tokens: Vec<_> = sent.iter().map(|sent| sent.meta().get("progressToken")).collect();
        let all: Vec<_> = tokens.iter().flatten().map(|token| token.to_string()).collect();
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len(), "{all:?}");
        // What is told under a token comes to the call that sent it.
        let wants = [false, true, true, false, true, true, true, true, true];
        for ((call, token), wants) in chosen.iter().zip(tokens).zip(wants) {
            bench.pull(call);
            if let Some(token) = token {
                tells(bench, token, json!({ "progress": 1 }));
            }
            let items = std::mem::take(&mut bench.items);
            assert_eq!(
                items.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
                vec![call.id(); wants.into()]
            );
        }
        bench.cancel(&next);
        for call in &chosen {
            bench.cancel(call);
        }
        bench.take_messages();
    });
}

/// M-PROG-02: a server that sends the number back as a text or a decimal is understood.
#[test]
fn tokens_come_back_in_other_shapes() {
    in_both_eras(|bench| {
        let call = bench.begin_with(tool("x", json!({})), wanted());
        let sent = bench.expect("tools/call");
        let number = token(&sent).as_u64().unwrap();
        for token in [format!("\"{number}\""), format!("{number}.0"), format!("{number}")] {
            bench.pull(&call);
            let params = format!(r#"{{"progress":1,"progressToken":{token}}}"#);
            bench.line(&format!(r#"{{"method":"notifications/progress","params":{params}}}"#));
            assert_eq!(got(bench), [1.0], "{token}");
        }
        finishes(bench, &call, &sent);
    });
}
