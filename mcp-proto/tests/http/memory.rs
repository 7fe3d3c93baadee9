//! What is remembered of a server: within a connection, and with the host beyond it.

use std::time::Duration;

use mcp_proto::op::{Connect, ListTools};
use mcp_proto::{
    Answer, ConnectionConfig, Era, EraChoice, ErrorKind, Event, Hearing, Input, LOAD_WAIT, Now,
    Outcome, Owner, Question, QuestionId, Setting, Stored,
};
use serde_json::{Map, Value, json};

use crate::support::*;

const KEY: &str = "era of http://server.test";

fn storing() -> ConnectionConfig {
    let mut config = config();
    config.hears = vec![Hearing::Load, Hearing::Save];
    config
}

/// A start that waits for what the host has stored.
fn loading() -> (Bench, QuestionId) {
    let mut bench = Bench::new(storing(), target());
    bench.begin(Connect);
    let (id, owner, question) = bench.question();
    assert_eq!((owner, question), (Owner::Connection, Question::Load { key: KEY.into() }));
    bench.quiet();
    (bench, id)
}

/// The host has stored this.
fn loaded(value: Option<&str>) -> Bench {
    let (mut bench, id) = loading();
    bench.reply(id, Answer::Loaded(value.map(String::from)));
    bench
}

/// What the host is to store.
fn saved(bench: &mut Bench) -> String {
    let (id, owner, question) = bench.question();
    let Question::Save(Stored { key, value, .. }) = question else { panic!("{question:?}") };
    assert_eq!((owner, &*key), (Owner::Connection, KEY));
    bench.reply(id, Answer::Saved);
    value
}

fn rest(bench: &mut Bench) {
    bench.input(Input::Disconnect);
    for post in bench.take_posts() {
        bench.accepts(&post);
    }
}

fn told(bench: &Bench, event: &Event) -> usize {
    bench.events.iter().filter(|told| *told == event).count()
}

/// M-ERA-22, M-ERA-02: a legacy server is greeted without a probe when the connection begins anew; a
/// modern one is asked what it can do.
#[test]
fn a_server_is_known_again() {
    let mut bench = Bench::legacy();
    rest(&mut bench);
    let list = bench.begin(ListTools);
    bench.greet("2025-11-25", Some("session-2"));
    let post = bench.expect("tools/list");
    bench.result(&post, json!({ "tools": [] }));
    bench.done(&list).unwrap();
    let mut bench = Bench::modern();
    rest(&mut bench);
    bench.begin(Connect);
    bench.speak_modern();
    assert_eq!(bench.era(), Era::Modern);
}

/// M-ERA-22, M-ERA-20: what proves wrong is asked for anew, in both directions.
#[test]
fn what_proves_wrong_is_asked_for_anew() {
    let mut bench = Bench::legacy();
    rest(&mut bench);
    bench.begin(Connect);
    let initialize = bench.expect("initialize");
    bench.says(&initialize, 404, &refusal(&initialize, -32601));
    bench.speak_modern();
    assert_eq!((bench.era(), told(&bench, &Event::StoredWrong)), (Era::Modern, 1));
    rest(&mut bench);
    bench.begin(Connect);
    bench.speak_legacy("2025-11-25", None);
    assert_eq!((bench.era(), told(&bench, &Event::StoredWrong)), (Era::Legacy, 2));
}

/// M-ERA-22, M-TIME-11: a start that fails leaves nothing to assume.
#[test]
fn a_failed_start_leaves_no_assumption() {
    let mut bench = Bench::legacy();
    rest(&mut bench);
    let call = bench.begin(Connect);
    bench.expect("initialize");
    bench.advance(Duration::from_secs(60));
    assert!(bench.error(&call).is_timeout());
    bench.begin(Connect);
    bench.speak_modern();
}

/// M-ERA-22: what was learnt is stored with the host, loaded before the first start of another
/// connection, and not stored again as long as it is right.
#[test]
fn the_host_stores_what_was_learnt() {
    let mut bench = loaded(None);
    bench.speak_legacy("2025-06-18", None);
    let legacy = saved(&mut bench);
    rest(&mut bench);
    bench.begin(Connect);
    bench.greet("2025-06-18", None);
    assert!(bench.asked.is_empty(), "it is loaded once, and nothing is new");

    let mut bench = loaded(Some(&legacy));
    bench.greet("2025-06-18", None);
    assert!(bench.asked.is_empty());
    rest(&mut bench);

    let mut bench = loaded(Some(&legacy));
    let initialize = bench.expect("initialize");
    bench.says(&initialize, 400, &refusal(&initialize, -32022));
    bench.speak_modern();
    assert_eq!(told(&bench, &Event::StoredWrong), 1);
    let modern = saved(&mut bench);
    assert_ne!(modern, legacy);

    let mut bench = loaded(Some(&modern));
    bench.speak_modern();
    assert!(bench.asked.is_empty());
    let mut bench = loaded(Some(&modern));
    bench.speak_legacy("2025-06-18", None);
    assert_eq!(saved(&mut bench), legacy);
}

/// M-ERA-22: what cannot be used is ignored, and that is told.
#[test]
fn what_is_bad_old_or_foreign_is_ignored() {
    let mut bench = loaded(None);
    bench.speak_legacy("2025-06-18", None);
    let good = saved(&mut bench);
    for bad in [
        "",
        "\0",
        "{}",
        "[]",
        &good.replace("server.test", "other.test"),
        &good.replace("2025-06-18", "2038-01-19"),
        &good.replace(r#""format":1"#, r#""format":9"#),
        &good.replace(r#""at":0"#, r#""at":1"#),
        &"x".repeat(1 << 20),
    ] {
        let mut bench = loaded(Some(bad));
        assert!(matches!(bench.events.last(), Some(Event::StoredIgnored { .. })), "{bad:?}");
        bench.speak_legacy("2025-06-18", None);
        assert_eq!(saved(&mut bench), good);
    }
    // A day later it is too old.
    let (mut bench, id) = loading();
    let later = Now { mono: bench.now, unix: Duration::from_secs(24 * 60 * 60 + 1) };
    bench.watch.answered(id);
    bench.connection.handle(Input::Answer(id, Answer::Loaded(Some(good))), later);
    bench.timeout();
    bench.speak_modern();
    saved(&mut bench);
}

/// M-ERA-22, M-TIME-11: a host that cannot say, or does not, holds nothing up for long.
#[test]
fn a_host_that_does_not_say_is_not_waited_for() {
    for answer in [Answer::Failed, Answer::Saved, Answer::RequestMeta(Map::new())] {
        let (mut bench, id) = loading();
        bench.reply(id, answer);
        assert!(matches!(bench.events.last(), Some(Event::StoredIgnored { .. })));
        bench.speak_modern();
        saved(&mut bench);
    }
    let (mut bench, id) = loading();
    bench.advance(LOAD_WAIT - Duration::from_millis(1));
    bench.quiet();
    bench.advance(Duration::from_millis(1));
    assert!(bench.trace().contains(&format!("withdraw {id} of Connection")));
    let probe = bench.expect("server/discover");
    bench.input(Input::Answer(id, Answer::Loaded(None)));
    bench.quiet();
    bench.result(&probe, discovered(&["2026-07-28"]));
    saved(&mut bench);
}

/// M-ERA-22: what is to be stored outlives a rest, but not the connection; a host that cannot store
/// it is asked again the next time.
#[test]
fn what_is_to_be_stored_outlives_a_rest() {
    let mut bench = loaded(None);
    bench.speak_modern();
    let (id, ..) = bench.question();
    rest(&mut bench);
    assert_eq!(bench.watch.open_questions(), [id]);
    bench.reply(id, Answer::Failed);
    assert_eq!(bench.events.last(), Some(&Event::NotStored));
    bench.begin(Connect);
    bench.speak_modern();
    let (id, ..) = bench.question();
    bench.input(Input::Close);
    assert!(bench.trace().contains(&format!("withdraw {id} of Connection")));
}

/// M-ERA-07, M-ERA-22: who says which era is spoken need not learn it.
#[test]
fn a_forced_era_is_not_stored() {
    for era in [EraChoice::Modern, EraChoice::Legacy] {
        let mut config = storing();
        config.era = era;
        let mut bench = Bench::new(config, target());
        bench.begin(Connect);
        match era {
            EraChoice::Modern => bench.speak_modern(),
            _ => bench.greet("2025-11-25", None),
        }
        assert!(bench.asked.is_empty());
    }
}

/// M-ERA-22: a close or a disconnect while the host is asked ends the start.
#[test]
fn a_start_that_loads_can_be_ended() {
    for input in [Input::Close, Input::Disconnect] {
        let (mut bench, id) = loading();
        bench.input(input);
        assert!(bench.trace().contains(&format!("withdraw {id} of Connection")));
        assert_eq!(bench.deadline(), None);
        bench.quiet();
    }
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("{value}") };
    map
}

/// M-ERA-06, M-CONN-14: the first questions carry the host's metadata as well: what it has set, and
/// what it computes for each.
#[test]
fn the_first_questions_carry_the_hosts_metadata() {
    let mut config = config();
    config.meta = map(json!({ "a": "set", "b": "set" }));
    config.hears = vec![Hearing::RequestMeta];
    let mut bench = Bench::new(config, target());
    bench.says_little = false;
    let call = bench.begin(Connect);
    for method in ["server/discover", "initialize"] {
        let (id, owner, question) = bench.question();
        assert_eq!(owner, Owner::Connection);
        assert_eq!(question, Question::RequestMeta { method: method.into() });
        bench.quiet();
        bench.reply(id, Answer::RequestMeta(map(json!({ "b": method }))));
        let post = bench.expect(method);
        assert_eq!((&post.meta()["a"], &post.meta()["b"]), (&json!("set"), &json!(method)));
        if method == "server/discover" {
            bench.says(&post, 404, "");
        } else {
            bench.welcome(&post, "2025-11-25", None);
        }
    }
    let notification = bench.expect(INITIALIZED);
    bench.accepts(&notification);
    bench.done(&call).unwrap();
}

/// M-ERA-06, M-ERR-07: a host without metadata, or with some that no request may carry, fails what it
/// was asked for: the start and its calls, or the one call.
#[test]
fn metadata_is_checked_wherever_it_comes_from() {
    let wrong = || Answer::RequestMeta(map(json!({ "not a key": 1 })));
    let mut config = config();
    config.hears = vec![Hearing::RequestMeta];
    for answer in [Answer::Failed, wrong()] {
        let mut bench = Bench::new(config.clone(), target());
        bench.says_little = false;
        let call = bench.begin(ListTools);
        let (id, ..) = bench.question();
        bench.reply(id, answer.clone());
        let error = bench.error(&call);
        assert!(matches!(error.kind(), ErrorKind::Validation(_)), "{error}");
        assert_eq!(error.outcome(), Outcome::NotSent);
        bench.quiet();
        // The next start asks anew.
        bench.begin(ListTools);
        let (id, ..) = bench.question();
        bench.reply(id, Answer::RequestMeta(Map::new()));
        bench.speak_modern();
        let (id, ..) = bench.question();
        bench.reply(id, answer);
        bench.quiet();
    }
    config.hears.clear();
    let mut bench = Bench::modern_with(config.clone());
    let setting = Setting::Meta(map(json!({ "not a key": 1, "good": 2 })));
    assert!(setting.check().unwrap_err().to_string().contains("not a key"));
    bench.input(Input::Set(setting));
    bench.begin(ListTools);
    let post = bench.expect("tools/list");
    assert_eq!((&post.meta()["good"], post.meta().get("not a key")), (&json!(2), None));
    config.meta = map(json!({ "not a key": 1 }));
    assert!(config.check().unwrap_err().to_string().contains("not a key"));
}
