//! How often which fault was met, by whom: era × transport × fault × kind of call.

use std::collections::BTreeMap;
use std::fmt;

use mcp_proto::testing::{CallKind, Fault, Wire};

use super::case::Played;

type Cell = (bool, Wire, Fault, CallKind);

/// How often each cell was met.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    cells: BTreeMap<Cell, u64>,
}

/// Cells that nothing can meet.
#[derive(Clone, Copy, Debug)]
pub struct Impossible {
    wires: &'static [Wire],
    /// Whether only servers of one era are meant: modern ones, or legacy ones.
    modern: Option<bool>,
    faults: &'static [Fault],
    /// Whether it can be for some kinds of call.
    but: fn(CallKind) -> bool,
    /// Why.
    pub reason: &'static str,
}

const PIPES: &[Wire] = &[Wire::Stdio, Wire::Stream];
const HTTP: &[Wire] = &[Wire::Json, Wire::Events, Wire::Sse, Wire::Plain];
const ONE_TEXT: &[Wire] = &[Wire::Json, Wire::Plain];

fn none(_: CallKind) -> bool {
    false
}

/// The one table of them.
const IMPOSSIBLE: [Impossible; 8] = [
    Impossible {
        wires: &[Wire::Sse],
        modern: Some(true),
        faults: &Fault::ALL,
        but: none,
        reason: "no modern revision has HTTP+SSE",
    },
    Impossible {
        wires: PIPES,
        modern: None,
        faults: &[
            Fault::ClientError,
            Fault::ServerError,
            Fault::LostSession,
            Fault::LostMidCall,
            Fault::Redirect,
            Fault::ErrorInRound,
        ],
        but: none,
        reason: "statuses, sessions and redirects are HTTP's",
    },
    Impossible {
        wires: PIPES,
        modern: None,
        faults: &[Fault::Cut],
        but: none,
        reason: "a pipe is one stream for all answers, and its end is that of the server: Reset, Exit",
    },
    Impossible {
        wires: ONE_TEXT,
        modern: None,
        faults: &[Fault::Cut],
        but: none,
        reason: "an answer that is one JSON text says nowhere that it goes on: Truncate, Reset",
    },
    Impossible {
        wires: HTTP,
        modern: Some(true),
        faults: &[Fault::LostSession, Fault::LostMidCall],
        but: none,
        reason: "modern servers have no sessions",
    },
    Impossible {
        wires: &[Wire::Json, Wire::Events, Wire::Plain],
        modern: Some(false),
        faults: &[Fault::LostMidCall],
        but: |kind| kind != CallKind::Connect,
        reason: "the requests that begin a session are in none",
    },
    Impossible {
        wires: HTTP,
        modern: Some(false),
        faults: &[Fault::ErrorInRound],
        but: none,
        reason: "legacy calls have one round",
    },
    Impossible {
        wires: HTTP,
        modern: Some(true),
        faults: &[Fault::ErrorInRound],
        but: CallKind::may_be_asked,
        reason: "only tools/call, prompts/get and resources/read may ask for input",
    },
];

/// Why a cell cannot be met, if it cannot.
#[must_use]
pub fn impossible(modern: bool, wire: Wire, fault: Fault, kind: CallKind) -> Option<&'static str> {
    let fits = |row: &&Impossible| {
        let era = row.modern.is_none_or(|era| era == modern);
        era && row.wires.contains(&wire) && row.faults.contains(&fault) && !(row.but)(kind)
    };
    IMPOSSIBLE.iter().find(fits).map(|row| row.reason)
}

impl Cover {
    /// Adds what a seed has met.
    pub fn add(&mut self, played: &Played) {
        for ((fault, kind), times) in &played.end.met {
            let cell = (played.setup.modern, played.setup.wire, *fault, *kind);
            *self.cells.entry(cell).or_default() += u64::from(*times);
        }
    }

    /// Adds what others have met.
    pub fn join(&mut self, other: &Cover) {
        for (cell, times) in &other.cells {
            *self.cells.entry(*cell).or_default() += times;
        }
    }

    fn met(&self, cell: Cell) -> u64 {
        self.cells.get(&cell).copied().unwrap_or_default()
    }

    /// The cell that was met least of those that can be, and how often.
    #[must_use]
    pub fn least(&self) -> Option<(String, u64)> {
        let cells = cells().filter(|cell| never(*cell).is_none());
        let least = cells.min_by_key(|cell| self.met(*cell))?;
        let (modern, wire, fault, kind) = least;
        Some((format!("{} {wire:?} {fault:?} {kind:?}", era(modern)), self.met(least)))
    }

    /// Cells that were met although nothing can meet them.
    pub fn wonders(&self) -> impl Iterator<Item = String> + '_ {
        self.cells.keys().filter(|cell| never(**cell).is_some()).map(|cell| format!("{cell:?}"))
    }
}

fn never((modern, wire, fault, kind): Cell) -> Option<&'static str> {
    impossible(modern, wire, fault, kind)
}

/// The name of a kind, in eight letters.
fn short(kind: CallKind) -> String {
    let name = format!("{kind:?}").replace("List", "").replace("Get", "").replace("Call", "");
    name.chars().take(8).collect()
}

fn era(modern: bool) -> &'static str {
    if modern { "modern" } else { "legacy" }
}

fn rows() -> impl Iterator<Item = (bool, Wire, Fault)> {
    let wires = [true, false].into_iter().flat_map(|era| Wire::ALL.map(|wire| (era, wire)));
    wires.flat_map(|(era, wire)| Fault::ALL.map(|fault| (era, wire, fault)))
}

fn cells() -> impl Iterator<Item = Cell> {
    rows().flat_map(|(era, wire, fault)| CallKind::ALL.map(|kind| (era, wire, fault, kind)))
}

impl fmt::Display for Cover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:7} {:7} {:13}", "era", "wire", "fault")?;
        for kind in CallKind::ALL {
            write!(f, "{:>9}", short(kind))?;
        }
        for (modern, wire, fault) in rows() {
            write!(f, "\n{:7} {:7} {:13}", era(modern), format!("{wire:?}"), format!("{fault:?}"))?;
            let why = |kind: &CallKind| impossible(modern, wire, fault, *kind);
            let never: Vec<_> = CallKind::ALL.iter().filter_map(why).collect();
            let all = never.len() == CallKind::ALL.len();
            for kind in CallKind::ALL.iter().filter(|_| !all) {
                match why(kind) {
                    Some(_) => write!(f, "{:>9}", "-")?,
                    None => write!(f, "{:>9}", self.met((modern, wire, fault, *kind)))?,
                }
            }
            if let Some(reason) = never.first() {
                write!(f, "  never: {reason}")?;
            }
        }
        Ok(())
    }
}
