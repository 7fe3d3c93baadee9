//! Inputs in a journal: complete, so that they can be handed in again.

use std::fmt;
use std::time::Duration;

use base64::Engine as _;
use serde::{Deserialize, Serialize, de};
use serde_json::{Map, Value};

use crate::interface::{
    Answer, CallOptions, ExitStatus, HttpFailure, HttpInput, Input, IoFailure, Mailbox, Setting,
    StatusCode, StdioInput,
};
use crate::op::{Continuation, ErasedCall, Params, Spec};
use crate::{CallId, ExchangeId, ProcessId, QuestionId, Raw};

use super::secrets::{Secrets, answer_headers};

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum InputRecord {
    Timeout,
    Start(StartRecord),
    Cancel(CallId),
    Answer(QuestionId, Answer),
    Set(Setting),
    Pull(Mailbox),
    Disconnect,
    Close,
    Stdio(ProcessId, StdioRecord),
    Http(ExchangeId, HttpRecord),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct StartRecord {
    call: CallId,
    op: String,
    params: Params,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Duration>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    meta: Map<String, Value>,
    #[serde(default)]
    progress: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    stream: bool,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StdioRecord {
    Spawned(u32),
    SpawnFailed(IoFailure),
    Stdout(Bytes),
    StdoutClosed,
    Stderr(Bytes),
    StderrClosed,
    Written(u64),
    WriteFailed(IoFailure),
    Exited(ExitStatus),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HttpRecord {
    Connecting,
    Connected,
    Head(StatusCode, Vec<(String, String)>),
    Body(Bytes),
    End,
    Failed(HttpFailure),
}

impl InputRecord {
    pub(super) fn of(input: &Input<'_>, secrets: &Secrets) -> Self {
        match input {
            Input::Timeout => InputRecord::Timeout,
            Input::Start(call, erased) => {
                InputRecord::Start(StartRecord::of(*call, erased, secrets))
            }
            Input::Cancel(call) => InputRecord::Cancel(*call),
            Input::Answer(id, answer) => InputRecord::Answer(*id, masked_answer(answer, secrets)),
            Input::Set(Setting::Meta(meta)) => {
                InputRecord::Set(Setting::Meta(masked_members(meta, secrets)))
            }
            Input::Set(setting) => InputRecord::Set(setting.clone()),
            Input::Pull(mailbox) => InputRecord::Pull(*mailbox),
            Input::Disconnect => InputRecord::Disconnect,
            Input::Close => InputRecord::Close,
            Input::Stdio(id, input) => InputRecord::Stdio(*id, StdioRecord::of(input, secrets)),
            Input::Http(id, input) => InputRecord::Http(*id, HttpRecord::of(input, secrets)),
        }
    }

    /// The input itself.
    pub(super) fn input(&self) -> Result<Input<'_>, String> {
        Ok(match self {
            InputRecord::Timeout => Input::Timeout,
            InputRecord::Start(start) => Input::Start(start.call, start.erased()?),
            InputRecord::Cancel(call) => Input::Cancel(*call),
            InputRecord::Answer(id, answer) => Input::Answer(*id, answer.clone()),
            InputRecord::Set(setting) => Input::Set(setting.clone()),
            InputRecord::Pull(mailbox) => Input::Pull(*mailbox),
            InputRecord::Disconnect => Input::Disconnect,
            InputRecord::Close => Input::Close,
            InputRecord::Stdio(id, input) => Input::Stdio(*id, input.input()),
            InputRecord::Http(id, input) => Input::Http(*id, input.input()),
        })
    }
}

impl StartRecord {
    fn of(call: CallId, erased: &ErasedCall, secrets: &Secrets) -> Self {
        StartRecord {
            call,
            op: String::from(erased.spec.name),
            params: masked_params(&erased.params, secrets),
            timeout: erased.options.timeout,
            meta: masked_members(&erased.options.meta, secrets),
            progress: erased.options.progress,
            stream: erased.options.stream,
        }
    }

    fn erased(&self) -> Result<ErasedCall, String> {
        let spec = Spec::find(&self.op).ok_or_else(|| {
            format!("it names the operation {:?}, which this version does not have", self.op)
        })?;
        let options = CallOptions {
            timeout: self.timeout,
            meta: self.meta.clone(),
            progress: self.progress,
            stream: self.stream,
        };
        Ok(ErasedCall { spec, params: self.params.clone(), options })
    }
}

fn masked_params(params: &Params, secrets: &Secrets) -> Params {
    let text = |text: &String| secrets.masked(text);
    let resume = params.resume.as_ref().map(|from| Box::new(masked_continuation(from, secrets)));
    Params {
        method: params.method.as_ref().map(text),
        name: params.name.as_ref().map(text),
        object: masked_raw(&params.object, secrets),
        meta: masked_members(&params.meta, secrets),
        level: params.level,
        resume,
    }
}

fn masked_continuation(from: &Continuation, secrets: &Secrets) -> Continuation {
    Continuation {
        operation: from.operation.clone(),
        params: masked_params(&from.params, secrets),
        requests: from.requests.as_ref().map(|requests| masked_raw(requests, secrets)),
        state: from.state.as_ref().map(|state| masked_raw(state, secrets)),
        answers: masked_members(&from.answers, secrets),
        round: from.round,
        resumable: from.resumable,
    }
}

fn masked_raw(raw: &Raw, secrets: &Secrets) -> Raw {
    Raw::new(secrets.masked(raw.as_str()))
}

fn masked_members(members: &Map<String, Value>, secrets: &Secrets) -> Map<String, Value> {
    let mut members = members.clone();
    members.values_mut().for_each(|value| secrets.mask_value(value));
    members
}

fn masked_answer(answer: &Answer, secrets: &Secrets) -> Answer {
    let mut answer = answer.clone();
    match &mut answer {
        Answer::RequestMeta(meta) => {
            meta.values_mut().for_each(|value| secrets.mask_value(value));
        }
        Answer::Elicit(value) | Answer::Sample(value) => secrets.mask_value(value),
        Answer::Loaded(Some(value)) => *value = secrets.masked(value),
        Answer::Loaded(None) | Answer::Saved | Answer::Wait(_) | Answer::Failed => {}
    }
    answer
}

fn masked_failure(failure: &IoFailure, secrets: &Secrets) -> IoFailure {
    IoFailure { kind: failure.kind.clone(), text: secrets.masked(&failure.text) }
}

impl StdioRecord {
    fn of(input: &StdioInput<'_>, secrets: &Secrets) -> Self {
        match input {
            StdioInput::Spawned { pid } => StdioRecord::Spawned(*pid),
            StdioInput::SpawnFailed(failure) => {
                StdioRecord::SpawnFailed(masked_failure(failure, secrets))
            }
            StdioInput::Stdout(bytes) => StdioRecord::Stdout(Bytes(bytes.to_vec())),
            StdioInput::StdoutClosed => StdioRecord::StdoutClosed,
            StdioInput::Stderr(bytes) => StdioRecord::Stderr(Bytes(bytes.to_vec())),
            StdioInput::StderrClosed => StdioRecord::StderrClosed,
            StdioInput::Written(total) => StdioRecord::Written(*total),
            StdioInput::WriteFailed(failure) => {
                StdioRecord::WriteFailed(masked_failure(failure, secrets))
            }
            StdioInput::Exited(status) => StdioRecord::Exited(*status),
        }
    }

    fn input(&self) -> StdioInput<'_> {
        match self {
            StdioRecord::Spawned(pid) => StdioInput::Spawned { pid: *pid },
            StdioRecord::SpawnFailed(failure) => StdioInput::SpawnFailed(failure.clone()),
            StdioRecord::Stdout(bytes) => StdioInput::Stdout(&bytes.0),
            StdioRecord::StdoutClosed => StdioInput::StdoutClosed,
            StdioRecord::Stderr(bytes) => StdioInput::Stderr(&bytes.0),
            StdioRecord::StderrClosed => StdioInput::StderrClosed,
            StdioRecord::Written(total) => StdioInput::Written(*total),
            StdioRecord::WriteFailed(failure) => StdioInput::WriteFailed(failure.clone()),
            StdioRecord::Exited(status) => StdioInput::Exited(*status),
        }
    }
}

impl HttpRecord {
    fn of(input: &HttpInput<'_>, secrets: &Secrets) -> Self {
        match input {
            HttpInput::Connecting => HttpRecord::Connecting,
            HttpInput::Connected => HttpRecord::Connected,
            HttpInput::Head { status, headers } => {
                let mut headers = answer_headers(headers);
                headers.iter_mut().for_each(|(_, value)| secrets.mask(value));
                HttpRecord::Head(*status, headers)
            }
            HttpInput::Body(bytes) => HttpRecord::Body(Bytes(bytes.to_vec())),
            HttpInput::End => HttpRecord::End,
            HttpInput::Failed(failure) => {
                let mut failure = failure.clone();
                secrets.mask(&mut failure.text);
                HttpRecord::Failed(failure)
            }
        }
    }

    fn input(&self) -> HttpInput<'_> {
        match self {
            HttpRecord::Connecting => HttpInput::Connecting,
            HttpRecord::Connected => HttpInput::Connected,
            HttpRecord::Head(status, headers) => {
                HttpInput::Head { status: *status, headers: headers.clone() }
            }
            HttpRecord::Body(bytes) => HttpInput::Body(&bytes.0),
            HttpRecord::End => HttpInput::End,
            HttpRecord::Failed(failure) => HttpInput::Failed(failure.clone()),
        }
    }
}

/// Bytes: a text where they are one, else `{"base64":"…"}`.
#[derive(Debug)]
pub(super) struct Bytes(pub(super) Vec<u8>);

#[derive(Serialize, Deserialize)]
struct Coded {
    base64: String,
}

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => {
                let base64 = base64::prelude::BASE64_STANDARD.encode(&self.0);
                Coded { base64 }.serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> de::Visitor<'de> for Either {
            type Value = Bytes;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text, or an object with base64")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
                Ok(Bytes(text.as_bytes().to_vec()))
            }
            fn visit_string<E: de::Error>(self, text: String) -> Result<Bytes, E> {
                Ok(Bytes(text.into_bytes()))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<Bytes, A::Error> {
                let coded = Coded::deserialize(de::value::MapAccessDeserializer::new(map))?;
                let decoded = base64::prelude::BASE64_STANDARD.decode(coded.base64);
                decoded.map(Bytes).map_err(de::Error::custom)
            }
        }
        deserializer.deserialize_any(Either)
    }
}
