//! The revisions of the protocol that the demo server speaks.

/// A revision, in the order of publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Revision {
    /// 2024-11-05
    V2024_11_05,
    /// 2025-03-26
    V2025_03_26,
    /// 2025-06-18
    V2025_06_18,
    /// 2025-11-25
    V2025_11_25,
    /// 2026-07-28, the first without a handshake
    V2026_07_28,
}

impl Revision {
    /// The revision that carries its metadata in each request.
    pub const MODERN: Revision = Revision::V2026_07_28;

    /// Those that start with `initialize`, the newest first.
    pub const LEGACY: [Revision; 4] = [
        Revision::V2025_11_25,
        Revision::V2025_06_18,
        Revision::V2025_03_26,
        Revision::V2024_11_05,
    ];

    /// The date that names it on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Revision::V2024_11_05 => "2024-11-05",
            Revision::V2025_03_26 => "2025-03-26",
            Revision::V2025_06_18 => "2025-06-18",
            Revision::V2025_11_25 => "2025-11-25",
            Revision::V2026_07_28 => "2026-07-28",
        }
    }

    /// The legacy revision of this name.
    pub fn legacy(name: &str) -> Option<Revision> {
        Self::LEGACY.into_iter().find(|it| it.name() == name)
    }

    /// Tools carry annotations, progress carries a message.
    pub(super) fn has_annotations(self) -> bool {
        self >= Revision::V2025_03_26
    }

    /// Titles, output schemas and structured content.
    pub(super) fn has_structured_content(self) -> bool {
        self >= Revision::V2025_06_18
    }

    /// `server/discover`, `resultType`, cache hints, server info in every result.
    pub(super) fn is_modern(self) -> bool {
        self >= Revision::MODERN
    }
}
