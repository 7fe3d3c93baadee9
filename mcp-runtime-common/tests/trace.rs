//! What a host sees of events in `tracing`.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use mcp_runtime_common::proto::{
    CallId, Era, Event, ExitStatus, ProcessId, ProtocolVersion, SkipReason, model::LoggingLevel,
};
use mcp_runtime_common::trace;
use tracing::field::{Field, Visit};
use tracing::span;

/// Writes each event as a line.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<String>>);

struct Fields<'a>(&'a mut String);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, " {}={value:?}", field.name()).unwrap();
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut lines = self.0.lock().unwrap();
        let meta = event.metadata();
        write!(lines, "{} {}:", meta.level(), meta.target()).unwrap();
        event.record(&mut Fields(&mut lines));
        lines.push('\n');
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[test]
fn each_event_has_a_level_and_its_fields() {
    let (process, call) = (ProcessId::new(2), CallId::new(3));
    let events = [
        Event::EraDecided { era: Era::Modern, version: ProtocolVersion::V2026_07_28 },
        Event::ProbeUnanswered,
        Event::ProbeKilled(process),
        Event::LineSkipped { why: SkipReason::NotJson, bytes: 7 },
        Event::MessageDropped { why: "nobody asked", method: Some(String::from("x/y")) },
        Event::MessageDropped { why: "nobody asked", method: None },
        Event::ItemDropped(call),
        Event::Stderr(String::from("ERROR words")),
        Event::Exited { process, status: ExitStatus::Code(1) },
    ];
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        events.iter().for_each(|event| trace("srv", event));
    });
    let text = lines.0.lock().unwrap().clone();
    let expected = [
        ("DEBUG", "era=modern version=2026-07-28"),
        ("INFO", "initialize"),
        ("INFO", "process=process#2"),
        ("WARN", "why=NotJson bytes=7"),
        ("DEBUG", "why=\"nobody asked\" method=\"x/y\""),
        ("DEBUG", "why=\"nobody asked\""),
        ("WARN", "call=call#3"),
        ("DEBUG", "line=\"ERROR words\""),
        ("INFO", "process=process#2 status=Code(1)"),
    ];
    assert_eq!(text.lines().count(), expected.len());
    for (line, (level, fields)) in text.lines().zip(expected) {
        let start = format!("{level} mcp:");
        assert!(line.starts_with(&start), "{line}");
        assert!(line.contains(fields), "{line}");
        assert!(line.contains("server=\"srv\""), "{line}");
    }
}

/// M-LOG-05: each of the eight levels of a server's log messages has one in the local log.
#[test]
fn log_messages_have_the_level_of_the_local_log() {
    let lines = Lines::default();
    tracing::subscriber::with_default(lines.clone(), || {
        for level in LoggingLevel::ALL {
            let (logger, text) = (Some(String::from("db")), String::from("slow"));
            trace("srv", &Event::Log { level, logger, text });
        }
    });
    let text = lines.0.lock().unwrap().clone();
    let local = ["DEBUG", "INFO", "INFO", "WARN", "ERROR", "ERROR", "ERROR", "ERROR"];
    assert_eq!(text.lines().count(), local.len());
    for ((line, level), local) in text.lines().zip(LoggingLevel::ALL).zip(local) {
        assert!(line.starts_with(&format!("{local} mcp:")), "{line}");
        assert!(line.contains(&format!("level=\"{level}\" logger=\"db\" text=\"slow\"")), "{line}");
    }
}
