//! Settings and targets, and what they become.

use std::time::Duration;

use mcp_runtime_common::proto::model::Implementation;
use mcp_runtime_common::proto::{
    ApiMisuse, Command, ConnectionConfig, EraChoice, ErrorKind, StderrPolicy, Target, Transport,
};
use mcp_runtime_common::serde_json::{Map, Value};
use mcp_runtime_common::{ClientOptions, Clock, IntoTarget, seed};

fn command(target: impl IntoTarget) -> Command {
    let Target::Command(command) = target.into_target().unwrap() else {
        panic!("it is a command");
    };
    command
}

/// M-CONN-05, M-CONN-07
#[test]
fn everything_that_names_a_server_is_a_target() {
    let expected = Command::new("server").args(["a b", "c"]);
    let text = String::from("server 'a b' c");
    let words = ["server", "a b", "c"];
    let array = &words;
    let owned = words.map(String::from).to_vec();
    for found in [
        command(text.as_str()),
        command(&text),
        command(text.clone()),
        command(words),
        command(array),
        command(&words[..]),
        command(&owned),
        command(owned.as_slice()),
        command(owned.clone()),
        command(expected.clone()),
        command(Target::from(expected.clone())),
    ] {
        assert_eq!(found, expected);
    }
}

/// M-CONN-10
#[test]
fn what_names_no_server_is_refused() {
    let misuses = [
        "".into_target(),
        "ftp://x".into_target(),
        "a 'b".into_target(),
        [""; 0].into_target(),
        Vec::<String>::new().into_target(),
        Command::new("").into_target(),
    ];
    for misuse in misuses {
        assert!(matches!(misuse, Err(ApiMisuse::Target(_))), "{misuse:?}");
    }
    let error = ClientOptions::new().hub("").unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Validation(_)));
}

/// M-CONN-15
#[test]
fn settings_reach_the_connection() {
    let second = Duration::from_secs(1);
    let meta = Map::from_iter([(String::from("com.example/k"), Value::from(1))]);
    let options = ClientOptions::new()
        .client_info(Implementation::new("host", "1.2"))
        .send_client_info(false)
        .era(EraChoice::Legacy)
        .discover_timeout(second)
        .start_timeout(second * 2)
        .call_timeout(second * 3)
        .max_message_bytes(4)
        .meta(meta.clone())
        .env("B", "options")
        .env("C", "options")
        .dir("/dir")
        .stderr(StderrPolicy::Null);
    let given =
        Command::new("server").arg("x y").env("A", "command").env("B", "command").dir("/other");
    let (config, transport) = options.connection(&Target::from(given)).unwrap();

    let mut expected = ConnectionConfig::default();
    expected.name = String::from("server 'x y'");
    expected.client_info = Implementation::new("host", "1.2");
    expected.send_client_info = false;
    expected.era = EraChoice::Legacy;
    expected.discover_timeout = second;
    expected.start_timeout = second * 2;
    expected.call_timeout = Some(second * 3);
    expected.max_message_bytes = 4;
    expected.meta = meta;
    assert_eq!(config, expected);
    let command = Command::new("server")
        .arg("x y")
        .env("A", "command")
        .env("B", "options")
        .env("C", "options")
        .dir("/dir")
        .stderr(StderrPolicy::Null);
    assert_eq!(transport, Transport::Stdio(command));
    let hub = options.hub("server");
    assert!(hub.unwrap().server().is_none(), "it is at rest");
}

#[test]
fn without_settings_the_command_and_the_defaults_hold() {
    let options = ClientOptions::new();
    let given = Command::new("server").stderr(StderrPolicy::Inherit).dir("/d");
    let (config, transport) = options.connection(&Target::from(given.clone())).unwrap();
    assert_eq!(config.call_timeout, None);
    assert_eq!(transport.call_timeout(), Duration::from_secs(15));
    assert!(!config.journal);
    assert_eq!(transport, Transport::Stdio(given));

    let named = options.name("mine").journal(std::io::sink());
    let (config, _) = named.connection(&"server".into_target().unwrap()).unwrap();
    assert_eq!(config.name, "mine");
    assert!(config.journal);
    let (config, transport) = named.stream().unwrap();
    assert_eq!((config.name.as_str(), transport), ("mine", Transport::Stream));
    assert_eq!(ClientOptions::new().stream().unwrap().0.name, "stream");
    assert!(named.stream_hub().is_ok());
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let bad_key = Map::from_iter([(String::from("-bad"), Value::Null)]);
    for (options, word) in [
        (ClientOptions::new().max_message_bytes(0), "max_message_bytes"),
        (ClientOptions::new().call_timeout(Duration::ZERO), "call_timeout"),
        (ClientOptions::new().meta(bad_key), "-bad"),
    ] {
        let misuse = options.stream().unwrap_err();
        assert!(misuse.to_string().contains(word), "{misuse}");
        let error = options.hub("server").unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
    }
}

#[test]
fn values_of_the_environment_are_not_shown() {
    let options = ClientOptions::new().env("TOKEN", "secret");
    let text = format!("{options:?}");
    assert!(text.contains("TOKEN") && !text.contains("secret"), "{text}");
}

#[test]
fn seeds_differ() {
    assert_ne!(seed().unwrap(), seed().unwrap());
}

#[test]
fn the_monotonic_clock_begins_at_zero_and_never_goes_back() {
    let clock = Clock::new();
    let (first, second) = (clock.now(), clock.now());
    assert!(first.mono <= second.mono);
    assert!(second.mono < Duration::from_secs(60), "it counts from new()");
    assert!(second.unix > Duration::from_secs(1_700_000_000));
    assert_eq!(clock.until(Duration::ZERO), Duration::ZERO);
    assert!(clock.until(Duration::from_secs(3600)) > Duration::from_secs(3000));
    assert!(clock.instant(Duration::from_secs(1)).is_some());
    assert!(clock.instant(Duration::MAX).is_none());
}

/// A builder of an adapter's own.
#[derive(Default)]
struct Builder {
    options: ClientOptions,
}

impl Builder {
    mcp_runtime_common::mcp_client_settings!(self => self.options);
}

#[test]
fn builders_of_adapters_have_the_same_setters() {
    let builder = Builder::default().name("mine").env("A", "1").dir("/d");
    assert_eq!(builder.options.config.name, "mine");
    assert_eq!(builder.options.env.len(), 1);
    assert_eq!(builder.options.dir.unwrap().to_str(), Some("/d"));
}
