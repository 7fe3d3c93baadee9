//! What a host is told of deprecated features (specification: deprecated).

use std::sync::{Arc, Mutex};

use mcp_proto::DeprecatedFeature::{self, Logging, Roots, Sampling};
use mcp_proto::model::{Root, SamplingResult};
use mcp_runtime_common::Notices;
use serde_json::json;

use super::Stage;
use super::conversation::echo;
use crate::client::Setup;
use crate::logs;
use crate::script::Script;

type Seen = Arc<Mutex<Vec<DeprecatedFeature>>>;

fn collected() -> (Notices, Seen) {
    let seen = Seen::default();
    let to = Arc::clone(&seen);
    let notices = Notices::to(move |entry| to.lock().unwrap().push(entry.feature));
    (notices, seen)
}

/// A host that uses all it can.
fn setup(notices: &Notices) -> Setup {
    Setup::new()
        .with(|config| {
            config.roots = vec![Root::new("file:///work").unwrap()];
            config.meta.insert("io.modelcontextprotocol/logLevel".into(), json!("info"));
        })
        .on_sampling(false, |_, _| async { Ok(SamplingResult::text("Paris", "m")) })
        .notices(notices.clone())
}

fn plays() -> [Script; 2] {
    let log = |script: Script| {
        script
            .expect_as("tools/call", "call")
            .notify("notifications/message", r#"{"level":"info","data":"marker-7741"}"#)
            .text_for("call", "\"on\"")
            .answer_rest()
    };
    [log(Script::modern()), log(Script::legacy("2025-11-25"))]
}

/// M-DEPR-04, M-DEPR-05, M-DEPR-06: two clients, one notice of each feature.
pub fn a_host_is_told_once_of_each_feature(on: &Stage) {
    let (notices, seen) = collected();
    for script in plays() {
        let setup = setup(&notices);
        let name = setup.server_name().to_owned();
        let (client, playing) = on.play_with(script, setup);
        assert_eq!(echo(&client, ""), "on");
        client.close();
        playing.finish().check();
        assert_eq!(*seen.lock().unwrap(), [Roots, Sampling, Logging]);
        // Which server it is about stands in the log of each client.
        let about = logs::of(&name);
        let deprecated = about.iter().filter(|line| line.contains("deprecated")).count();
        assert_eq!(deprecated, 3, "{about:#?}");
    }
}

/// M-DEPR-07: the level is the server's to know; its messages are told without any.
pub fn a_host_is_told_of_messages_that_it_did_not_ask_for(on: &Stage) {
    for script in plays() {
        let (notices, seen) = collected();
        let (client, playing) = on.play_with(script, Setup::new().notices(notices));
        assert_eq!(*seen.lock().unwrap(), []);
        assert_eq!(echo(&client, ""), "on");
        client.close();
        playing.finish().check();
        assert_eq!(*seen.lock().unwrap(), [Logging]);
    }
}

/// M-DEPR-10, M-DEPR-12: features work when nothing is told, or nobody can be.
pub fn features_work_whatever_becomes_of_their_notices(on: &Stage) {
    let ways = [Notices::silent(), Notices::to(|_| panic!("a collector that cannot collect"))];
    for notices in ways {
        for script in plays() {
            let (client, playing) = on.play_with(script, setup(&notices));
            assert_eq!(echo(&client, ""), "on");
            client.close();
            let written = playing.finish().check();
            let call = &written.of("tools/call")[0]["params"]["_meta"];
            assert_eq!(call["io.modelcontextprotocol/logLevel"], "info");
        }
    }
}
