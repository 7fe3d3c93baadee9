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
    /// Whether only modern servers are meant.
    modern: bool,
    faults: &'static [Fault],
    /// Why.
    pub reason: &'static str,
}

/// The one table of them.
const IMPOSSIBLE: [Impossible; 2] = [
    Impossible {
        wires: &[Wire::Stdio, Wire::Stream],
        modern: false,
        faults: &[Fault::ClientError, Fault::ServerError, Fault::LostSession, Fault::Redirect],
        reason: "statuses, sessions and redirects are HTTP's",
    },
    Impossible {
        wires: &[Wire::Json, Wire::Events],
        modern: true,
        faults: &[Fault::LostSession],
        reason: "modern servers have no sessions",
    },
];

/// Why a cell cannot be met, if it cannot.
#[must_use]
pub fn impossible(modern: bool, wire: Wire, fault: Fault) -> Option<&'static str> {
    let fits = |row: &&Impossible| {
        let era = modern || !row.modern;
        era && row.wires.contains(&wire) && row.faults.contains(&fault)
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
        let cells =
            cells().filter(|(modern, wire, fault, _)| impossible(*modern, *wire, *fault).is_none());
        let least = cells.min_by_key(|cell| self.met(*cell))?;
        let (modern, wire, fault, kind) = least;
        Some((format!("{} {wire:?} {fault:?} {kind:?}", era(modern)), self.met(least)))
    }

    /// Cells that were met although nothing can meet them.
    pub fn wonders(&self) -> impl Iterator<Item = String> + '_ {
        let wonder =
            |(modern, wire, fault, _): &&Cell| impossible(*modern, *wire, *fault).is_some();
        self.cells.keys().filter(wonder).map(|cell| format!("{cell:?}"))
    }
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
        write!(f, "{:7} {:7} {:12}", "era", "wire", "fault")?;
        for kind in CallKind::ALL {
            write!(f, "{:>9}", short(kind))?;
        }
        for (modern, wire, fault) in rows() {
            write!(f, "\n{:7} {:7} {:12}", era(modern), format!("{wire:?}"), format!("{fault:?}"))?;
            if let Some(reason) = impossible(modern, wire, fault) {
                write!(f, " never: {reason}")?;
                continue;
            }
            for kind in CallKind::ALL {
                write!(f, "{:>9}", self.met((modern, wire, fault, kind)))?;
            }
        }
        Ok(())
    }
}
