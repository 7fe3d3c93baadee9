//! What a seed stands for: a setup, and steps that fit what has happened so far.

use mcp_proto::testing::{
    Answering, CallKind, Choice, Dice, Fault, Manner, Probed, Setup, Split, Step, Wire, World,
};

use super::cover::impossible;

/// What kind of server there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Temper {
    /// It does everything right.
    Honest,
    /// It was written in a hurry.
    Sloppy,
    /// It means harm.
    Hostile,
}

/// What is decided before the first step.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) setup: Setup,
    pub(super) temper: Temper,
    /// How many steps there are.
    pub(super) length: u64,
    /// Whether it is recorded, and replayed.
    pub(super) recorded: bool,
    /// What it is after: this fault, met by this kind of call. So rare ones are met too.
    pub(super) after: Option<(Fault, CallKind)>,
    /// It is played once more, with this split.
    pub(super) twin: Option<Split>,
}

/// Draws a plan.
pub(super) fn plan(dice: &mut Dice) -> Plan {
    let modern = dice.percent(50);
    // A byte stream has one life, so that each world of it meets less. HTTP+SSE has one era.
    let often = |wire| match wire {
        Wire::Stream => (4, wire),
        Wire::Sse => (1, wire),
        _ => (2, wire),
    };
    let wire = dice.pick(&Wire::ALL.map(often)).unwrap_or_default();
    let modern = modern && wire != Wire::Sse;
    let choices = [(12, Choice::Auto), (2, Choice::Fitting), (1, Choice::Other)];
    let probed = [(6, Probed::Refuses), (1, Probed::Silent), (1, Probed::Dies)];
    let setup = Setup {
        wire,
        open: wire.is_http() && dice.percent(30),
        modern,
        choice: dice.pick(&choices).unwrap_or_default(),
        version: dice.byte(),
        probed: dice.pick(&probed).unwrap_or_default(),
        sessions: dice.percent(70),
        ready: dice.percent(20),
        metadata: dice.percent(15),
        elicitation: dice.percent(40),
        notified: dice.percent(50),
        small: dice.percent(30),
        lets_go: dice.percent(60),
        split: split(dice),
        doctored: 0,
    };
    let after = after(dice, &setup);
    // Once a server is known, a call that connects waits for nothing.
    let connects = after.is_some_and(|(_, kind)| kind == CallKind::Connect);
    let setup = Setup { ready: setup.ready && !connects, ..setup };
    let tempers = [(2, Temper::Honest), (2, Temper::Sloppy), (1, Temper::Hostile)];
    let recorded = dice.percent(12);
    let twin = dice
        .percent(25)
        .then(|| if setup.split == Split::Whole { other(dice) } else { Split::Whole });
    Plan {
        setup,
        temper: dice.pick(&tempers).unwrap_or(Temper::Honest),
        length: 150 + dice.below(220),
        recorded,
        after,
        twin,
    }
}

/// One of the cells that can be met.
fn after(dice: &mut Dice, setup: &Setup) -> Option<(Fault, CallKind)> {
    let cells = Fault::ALL.into_iter().flat_map(|fault| CallKind::ALL.map(|kind| (fault, kind)));
    let cells = cells.filter(|(fault, kind)| {
        let sessions = setup.has_sessions();
        let session = matches!(fault, Fault::LostSession | Fault::LostMidCall);
        (sessions || !session) && impossible(setup.modern, setup.wire, *fault, *kind).is_none()
    });
    // Of the start of a server there is not much in a world.
    let often = |kind| if kind == CallKind::Connect { 2 } else { 1 };
    let cells: Vec<_> = cells.map(|cell| (often(cell.1), cell)).collect();
    dice.pick(&cells)
}

fn split(dice: &mut Dice) -> Split {
    if dice.percent(85) { Split::Whole } else { other(dice) }
}

fn other(dice: &mut Dice) -> Split {
    let lengths = [dice.byte(), dice.byte() % 16, dice.byte() % 64];
    dice.pick(&[(1, Split::Bytes), (9, Split::Lengths(lengths))]).unwrap_or_default()
}

/// What a step is about.
#[derive(Clone, Copy, Debug)]
enum Topic {
    Begin,
    Cancel,
    Pull,
    Listen,
    Answer,
    Set,
    Rest,
    Close,
    Wait,
    Long,
    Deadline,
    Early,
    Reply,
    Beside,
    Stderr,
    LetGo,
    Read,
    Fault,
}

/// Draws the next step. `left` is how many are to come.
pub(super) fn step(dice: &mut Dice, world: &World, plan: &Plan, left: u64) -> Step {
    if let Some(cell) = plan.after
        && dice.percent(20)
        && let Some(step) = towards(dice, world, cell, left)
    {
        return step;
    }
    let temper = plan.temper;
    let open = world.open_calls();
    let some = |there: usize, weight| if there > 0 { weight } else { 0 };
    let (faults, beside) = match temper {
        Temper::Honest => (12, 8),
        Temper::Sloppy => (16, 14),
        Temper::Hostile => (20, 24),
    };
    let asleep = open > 0 && world.messages() == 0;
    let topics = [
        (if open == 0 { 60 } else { 24 / (open as u64) }, Topic::Begin),
        (some(open, 2), Topic::Cancel),
        (some(open, 5), Topic::Pull),
        (if world.setup().notified { 3 } else { 0 }, Topic::Listen),
        (some(world.open_questions(), 25), Topic::Answer),
        (1, Topic::Set),
        (if world.era().is_some() { 2 } else { 0 }, Topic::Rest),
        (u64::from(left < 5 && dice.percent(20)), Topic::Close),
        (8, Topic::Wait),
        (if asleep { 4 } else { 1 }, Topic::Long),
        (if asleep { 12 } else { 1 }, Topic::Deadline),
        (1, Topic::Early),
        (some(world.messages(), 34), Topic::Reply),
        (some(world.messages(), beside), Topic::Beside),
        (1, Topic::Stderr),
        (if asleep { 8 } else { 3 }, Topic::LetGo),
        (some(world.unread(), 3), Topic::Read),
        (some(open, faults), Topic::Fault),
    ];
    let topic = dice.pick(&topics).unwrap_or(Topic::Begin);
    about(topic, dice, world, temper)
}

/// A step towards a cell: its fault, or a call that can meet it.
fn towards(
    dice: &mut Dice,
    world: &World,
    (fault, kind): (Fault, CallKind),
    left: u64,
) -> Option<Step> {
    let how = dice.byte();
    let setup = world.setup();
    let starts = kind == CallKind::Connect || (setup.modern && kind == CallKind::SetLoggingLevel);
    if let Some(to) = world.message_for(kind) {
        // A byte stream has one life, and what ends it comes late, if it can.
        let ends = matches!(fault, Fault::Exit | Fault::Reset) && setup.wire == Wire::Stream;
        return (!ends || left < 60 || starts).then_some(Step::Fault { fault, to, how });
    }
    if world.has_open(kind) {
        return None;
    }
    if starts && world.era().is_some() && how < 64 {
        return Some(Step::Disconnect);
    }
    Some(Step::Begin { kind, progress: how & 1 == 0, timeout: None })
}

fn about(topic: Topic, dice: &mut Dice, world: &World, temper: Temper) -> Step {
    // The oldest message most of the time, and the latest at times.
    let to = if dice.percent(60) { 0 } else { dice.byte() };
    match topic {
        Topic::Begin => begin(dice, world),
        Topic::Cancel => Step::Cancel(dice.byte()),
        Topic::Pull => Step::Pull(dice.byte()),
        Topic::Listen => Step::PullNotification,
        Topic::Answer => {
            let how = [(8, Answering::Fitting), (1, Answering::Other), (1, Answering::Failed)];
            Step::Answer(dice.byte(), dice.pick(&how).unwrap_or(Answering::Fitting))
        }
        Topic::Set if dice.percent(50) => Step::Hear { elicitation: dice.percent(80) },
        Topic::Set => Step::Meta(dice.byte()),
        Topic::Rest => Step::Disconnect,
        Topic::Close => Step::Close,
        Topic::Wait => Step::Wait(short(dice, 60)),
        Topic::Long if dice.percent(30) => Step::Sleep(short(dice, 20_000)),
        Topic::Long => Step::Wait(short(dice, 8_000)),
        Topic::Deadline => Step::Deadline,
        Topic::Early => Step::Early,
        Topic::Reply => Step::Reply { to, manner: manner(dice, temper) },
        Topic::Beside => beside(dice, to, temper),
        Topic::Stderr => Step::Stderr(dice.byte()),
        Topic::LetGo => Step::LetGo,
        Topic::Read => Step::Read,
        Topic::Fault => Step::Fault { fault: fault(dice, world), to, how: dice.byte() },
    }
}

fn short(dice: &mut Dice, most: u64) -> u16 {
    u16::try_from(dice.below(most)).unwrap_or(u16::MAX)
}

fn begin(dice: &mut Dice, world: &World) -> Step {
    // A connect ends at once on a connection that is ready.
    let connect = if world.era().is_some() { 1 } else { 8 };
    let local = if world.setup().modern { connect } else { 2 };
    let kinds = [
        (connect, CallKind::Connect),
        (2, CallKind::Ping),
        (4, CallKind::ListTools),
        (2, CallKind::ListToolsPage),
        (6, CallKind::CallTool),
        (2, CallKind::ListPrompts),
        (2, CallKind::GetPrompt),
        (2, CallKind::ListResources),
        (2, CallKind::ListResourceTemplates),
        (2, CallKind::ReadResource),
        (2, CallKind::Complete),
        (local, CallKind::SetLoggingLevel),
        (2, CallKind::Custom),
    ];
    let timeout = dice.percent(30).then(|| short(dice, 20_000));
    let kind = dice.pick(&kinds).unwrap_or(CallKind::Connect);
    Step::Begin { kind, progress: dice.percent(50), timeout }
}

fn manner(dice: &mut Dice, temper: Temper) -> Manner {
    let (refuse, odd) = match temper {
        Temper::Honest => (4, 0),
        Temper::Sloppy => (8, 12),
        Temper::Hostile => (12, 40),
    };
    let (some, any) = (dice.byte(), dice.byte());
    let manners = [
        (70, Manner::Good),
        (16, Manner::Page),
        (6, Manner::Ask(some % if odd == 0 { 5 } else { 6 })),
        (refuse, Manner::Refuse(some)),
        (odd, Manner::Odd(any)),
    ];
    dice.pick(&manners).unwrap_or(Manner::Good)
}

/// Something that answers nothing.
fn beside(dice: &mut Dice, to: u8, temper: Temper) -> Step {
    let (what, how) = (dice.byte(), dice.byte());
    let honest = temper == Temper::Honest;
    let request = if honest { what % 3 } else { what };
    let how = if honest { how % 4 } else { how % 12 };
    let steps = [
        (6, Step::Progress { to, how }),
        (2, Step::Request { to, what: request }),
        (4, Step::Notify { to, what: if honest { what % 6 } else { what } }),
    ];
    dice.pick(&steps).unwrap_or(Step::Early)
}

/// Something that can go wrong on this transport.
fn fault(dice: &mut Dice, world: &World) -> Fault {
    let setup = world.setup();
    let http = u64::from(setup.wire.is_http());
    let faults = Fault::ALL.map(|fault| {
        let weight = match fault {
            Fault::ClientError | Fault::ServerError | Fault::Redirect => 4 * http,
            Fault::LostSession => 8 * http * u64::from(setup.has_sessions()),
            Fault::LostMidCall => 4 * http * u64::from(setup.has_sessions()),
            Fault::Cut if setup.wire == Wire::Sse => 2,
            Fault::Cut => 6 * u64::from(setup.wire == Wire::Events),
            Fault::ErrorInRound => 4 * http * u64::from(setup.modern),
            // What holds up everything is not to hold up all of the time.
            Fault::Hang | Fault::SlowReader => 2,
            Fault::Exit | Fault::Reset if setup.wire == Wire::Stream => 1,
            Fault::Exit | Fault::Reset => 3,
            _ => 4,
        };
        (weight, fault)
    });
    dice.pick(&faults).unwrap_or(Fault::Drop)
}
