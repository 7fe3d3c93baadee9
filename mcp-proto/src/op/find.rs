//! Finding tools in a list by their names.

use super::ToolList;
use crate::model::Tool;

/// What a name is looked for by: a text that stands somewhere in it, or a function that knows, such
/// as `|name: &str| regex.is_match(name)`. Case counts.
pub trait NamePattern {
    /// Whether the name is one of those that are looked for.
    fn fits(&self, name: &str) -> bool;
}

impl NamePattern for &str {
    fn fits(&self, name: &str) -> bool {
        name.contains(self)
    }
}

impl<F: Fn(&str) -> bool> NamePattern for F {
    fn fits(&self, name: &str) -> bool {
        self(name)
    }
}

impl ToolList {
    /// The tool with exactly this name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<&Tool> {
        self.items.iter().find(|tool| tool.name == name)
    }

    /// The first tool, in the server's order, whose name fits.
    pub fn find(&self, pattern: impl NamePattern) -> Option<&Tool> {
        self.items.iter().find(|tool| pattern.fits(&tool.name))
    }

    /// All tools whose names fit, in the server's order.
    pub fn find_all<P: NamePattern>(&self, pattern: P) -> impl Iterator<Item = &Tool> + use<'_, P> {
        self.items.iter().filter(move |tool| pattern.fits(&tool.name))
    }
}
