//! What may happen to a connection, step by step.
//!
//! A step names things by where they stand (the third open call, the latest message), so that a
//! list of steps still means something when some of them are taken out of it.

/// One thing that happens in a [`World`](super::World).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    // The host
    /// A call begins.
    Begin {
        /// What is asked.
        kind: CallKind,
        /// Whether its progress is wanted.
        progress: bool,
        /// How long it may take, in milliseconds.
        timeout: Option<u16>,
    },
    /// The host gives up a call: one of those that are open, modulo their number.
    Cancel(u8),
    /// The host asks for the next item of an open call.
    Pull(u8),
    /// The host asks for the next notification.
    PullNotification,
    /// The host answers an open question.
    Answer(u8, Answering),
    /// The host has one more callback: for elicitations, or for metadata.
    Hear {
        /// Which of the two.
        elicitation: bool,
    },
    /// The host changes the metadata of all requests.
    Meta(u8),
    /// The host lets the connection go to rest.
    Disconnect,
    /// The host closes the connection.
    Close,
    // Time
    /// So many milliseconds pass, and each deadline on the way is kept.
    Wait(u16),
    /// So many milliseconds pass, and what ran out meanwhile is told at once, late.
    Sleep(u16),
    /// The next deadline comes.
    Deadline,
    /// A timeout is handed in that nobody waits for.
    Early,
    // The server
    /// The server answers a message: one of those it has, counted from the oldest.
    Reply {
        /// Which message.
        to: u8,
        /// How.
        manner: Manner,
    },
    /// The server tells how far a request is.
    Progress {
        /// Which request.
        to: u8,
        /// How: 0 to 3 are as they should be.
        how: u8,
    },
    /// The server sends a request of its own, on the exchange of a message where there is one.
    Request {
        /// On which exchange.
        to: u8,
        /// What it asks.
        what: u8,
    },
    /// The server sends a notification.
    Notify {
        /// On which exchange.
        to: u8,
        /// Which one.
        what: u8,
    },
    /// The server writes on its stderr.
    Stderr(u8),
    /// The server reads what was written to it.
    Read,
    /// The performer lets go of the exchanges and processes that it was told to end.
    LetGo,
    /// Something goes wrong.
    Fault {
        /// What.
        fault: Fault,
        /// With which message, where it is a matter of one.
        to: u8,
        /// In which of its ways.
        how: u8,
    },
}

/// What a host asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// [`op::Connect`](crate::op::Connect).
    Connect,
    /// [`op::Ping`](crate::op::Ping).
    Ping,
    /// [`op::ListTools`](crate::op::ListTools).
    ListTools,
    /// [`op::ListToolsPage`](crate::op::ListToolsPage).
    ListToolsPage,
    /// [`op::CallTool`](crate::op::CallTool).
    CallTool,
    /// [`op::ListPrompts`](crate::op::ListPrompts).
    ListPrompts,
    /// [`op::GetPrompt`](crate::op::GetPrompt).
    GetPrompt,
    /// [`op::ListResources`](crate::op::ListResources).
    ListResources,
    /// [`op::ListResourceTemplates`](crate::op::ListResourceTemplates).
    ListResourceTemplates,
    /// [`op::ReadResource`](crate::op::ReadResource).
    ReadResource,
    /// [`op::Complete`](crate::op::Complete).
    Complete,
    /// [`op::SetLoggingLevel`](crate::op::SetLoggingLevel).
    SetLoggingLevel,
    /// [`op::CustomRequest`](crate::op::CustomRequest).
    Custom,
}

impl CallKind {
    /// All of them.
    pub const ALL: [CallKind; 13] = [
        CallKind::Connect,
        CallKind::Ping,
        CallKind::ListTools,
        CallKind::ListToolsPage,
        CallKind::CallTool,
        CallKind::ListPrompts,
        CallKind::GetPrompt,
        CallKind::ListResources,
        CallKind::ListResourceTemplates,
        CallKind::ReadResource,
        CallKind::Complete,
        CallKind::SetLoggingLevel,
        CallKind::Custom,
    ];

    /// Whether a modern server may ask for input before it answers.
    #[must_use]
    pub fn may_be_asked(self) -> bool {
        matches!(self, CallKind::CallTool | CallKind::GetPrompt | CallKind::ReadResource)
    }
}

/// How a host answers a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answering {
    /// With what was asked for.
    Fitting,
    /// With the answer to another kind of question.
    Other,
    /// Not at all.
    Failed,
}

/// How a server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// As it should.
    Good,
    /// As it should, with one more page to come where there are pages.
    Page,
    /// By asking for input first.
    Ask(u8),
    /// With an error.
    Refuse(u8),
    /// In one of many ways that are not quite right, or all wrong.
    Odd(u8),
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// An answer arrives in pieces.
    Split,
    /// An answer arrives much later, and others before it.
    Delay,
    /// A message is never answered.
    Drop,
    /// An answer arrives twice.
    Duplicate,
    /// An answer is cut off.
    Truncate,
    /// The way to the server breaks, though the server lives.
    Reset,
    /// An HTTP status of 400 to 499.
    ClientError,
    /// An HTTP status of 500 to 599.
    ServerError,
    /// The server has forgotten the session.
    LostSession,
    /// The server sends the client elsewhere.
    Redirect,
    /// The server ends.
    Exit,
    /// The server does nothing any more, and takes no hint.
    Hang,
    /// The server says what no protocol knows.
    Garbage,
    /// The server says far too much.
    Flood,
    /// The server does not read.
    SlowReader,
    /// The stream of an answer ends before the answer. In the legacy era it may say where it goes
    /// on.
    Cut,
    /// The server forgets the session while it answers.
    LostMidCall,
    /// The host gives up a call just as the server asks something, and the server goes on to ask.
    AskedInCancel,
    /// The server has what it asked for, and answers the next round with an HTTP status of 500 to
    /// 599.
    ErrorInRound,
    /// The server answers as servers of the other era do.
    WrongEra,
}

impl Fault {
    /// All of them.
    pub const ALL: [Fault; 20] = [
        Fault::Split,
        Fault::Delay,
        Fault::Drop,
        Fault::Duplicate,
        Fault::Truncate,
        Fault::Reset,
        Fault::ClientError,
        Fault::ServerError,
        Fault::LostSession,
        Fault::Redirect,
        Fault::Exit,
        Fault::Hang,
        Fault::Garbage,
        Fault::Flood,
        Fault::SlowReader,
        Fault::Cut,
        Fault::LostMidCall,
        Fault::AskedInCancel,
        Fault::ErrorInRound,
        Fault::WrongEra,
    ];
}
