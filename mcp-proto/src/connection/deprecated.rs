//! The use of features that the specification has deprecated. Each is told once for a connection;
//! whether a process is told once is its host's matter.

use serde_json::{Map, Value};

use super::{Connection, Phase};
use crate::interface::Hearing;
use crate::question::Wanted;
use crate::{DeprecatedFeature, Event, meta};

impl Connection {
    /// A deprecated feature is used. What a host sets after the end is used no more.
    pub(super) fn deprecated(&mut self, feature: DeprecatedFeature) {
        if !matches!(self.phase, Phase::Closed(_)) && self.deprecated.insert(feature) {
            self.event(Event::Deprecated(feature));
        }
    }

    /// The connection begins: what its host has asked for from the start is used now.
    pub(super) fn tell_of_configured(&mut self) {
        if !self.roots.is_empty() {
            self.deprecated(DeprecatedFeature::Roots);
        }
        for hearing in self.hears.clone() {
            self.tell_of_hearing(hearing);
        }
    }

    pub(super) fn tell_of_hearing(&mut self, hearing: Hearing) {
        if matches!(hearing, Hearing::Sampling | Hearing::SamplingTools) {
            self.deprecated(DeprecatedFeature::Sampling);
        }
    }

    /// Metadata of the host's, on its way to the server.
    pub(super) fn tell_of_meta(&mut self, meta: &Map<String, Value>) {
        if !meta.is_empty() && meta.contains_key(meta::LOG_LEVEL) {
            self.deprecated(DeprecatedFeature::Logging);
        }
    }

    /// A question of the server's, on its way to the host.
    pub(super) fn tell_of_question(&mut self, wanted: &Wanted) {
        if wanted.includes_context() {
            self.deprecated(DeprecatedFeature::IncludeContext);
        }
    }
}
