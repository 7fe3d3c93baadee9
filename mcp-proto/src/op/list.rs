//! Lists in pages (specification: server/utilities/pagination): all of a list, or one page of it.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Operation, Params, Reply, Spec, Wire};
use crate::model::{Prompt, Resource, ResourceTemplate, Tool};
use crate::text::excerpt;
use crate::{ApiMisuse, Error, HeaderParameters, Raw};

/// The whole of a list, in the server's order.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct List<T> {
    /// The items.
    pub items: Vec<T>,
    /// What is wrong with the items that were left out because they are malformed, or because their
    /// annotations break a rule.
    pub malformed: Vec<String>,
}

/// The tools of a server.
pub type ToolList = List<Tool>;

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Page<T> {
    /// The items.
    pub items: Vec<T>,
    /// What is wrong with the items that were left out because they are malformed, or because their
    /// annotations break a rule.
    pub malformed: Vec<String>,
    /// With which cursor the next page is asked for; `None` after the last one. An empty text is a
    /// cursor like any other.
    pub next_cursor: Option<String>,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List { items: Vec::new(), malformed: Vec::new() }
    }
}

impl<T> IntoIterator for List<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a List<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<T> std::ops::Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<T> List<T> {
    /// Takes in what stands on a page. A malformed item costs itself alone.
    fn take(
        &mut self,
        page: &Raw,
        member: &'static str,
        read: impl Fn(Raw) -> Result<T, String>,
    ) -> Result<Option<String>, Error> {
        let wrong = |error| Error::result(crate::wire::json_trouble(&error));
        let mut text = serde_json::Deserializer::from_str(page.as_str());
        let found = Members(member).deserialize(&mut text).map_err(wrong)?;
        self.items.reserve(found.items.len());
        for item in found.items {
            match read(page.cut(item.get())) {
                Ok(item) => self.items.push(item),
                Err(why) => self.malformed.push(why),
            }
        }
        let next = found.next.map(|next| serde_json::from_str::<Option<String>>(next.get()));
        Ok(next.transpose().map_err(wrong)?.flatten())
    }
}

/// What a list may leave out although it is well-formed.
trait Listed {
    fn check(&self, _reply: &Reply) -> Result<(), String> {
        Ok(())
    }
}

impl Listed for Prompt {}
impl Listed for Resource {}
impl Listed for ResourceTemplate {}

impl Listed for Tool {
    /// Over HTTP a tool is left out whose annotations break the rules (specification: server/tools,
    /// "x-mcp-header").
    fn check(&self, reply: &Reply) -> Result<(), String> {
        if !reply.mirrors {
            return Ok(());
        }
        let left_out = |why| format!("the tool {:?} is left out: {why}", excerpt(&self.name));
        HeaderParameters::of(&self.input_schema).map(drop).map_err(left_out)
    }
}

/// Reads an item of a list, and says what is wrong with one that is left out.
fn reader<T: Listed>(
    read: fn(Raw) -> Result<T, serde_json::Error>,
    reply: &Reply,
) -> impl Fn(Raw) -> Result<T, String> {
    move |raw| {
        let item = read(raw).map_err(|error| crate::wire::json_trouble(&error))?;
        item.check(reply).map(|()| item)
    }
}

/// Finds the items of a page, under this name, and its cursor.
struct Members(&'static str);

struct Found<'a> {
    items: Vec<&'a RawValue>,
    next: Option<&'a RawValue>,
}

impl<'de> DeserializeSeed<'de> for Members {
    type Value = Found<'de>;

    fn deserialize<D: serde::Deserializer<'de>>(self, text: D) -> Result<Found<'de>, D::Error> {
        text.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Members {
    type Value = Found<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with `{}`", self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Found<'de>, A::Error> {
        let (mut items, mut next) = (None, None);
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            if *key == *self.0 {
                items = Some(map.next_value()?);
            } else if *key == *"nextCursor" {
                next = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        let items = items.ok_or_else(|| A::Error::missing_field(self.0))?;
        Ok(Found { items, next })
    }
}

const fn list(name: &'static str, method: &'static str, paged: Option<&'static str>) -> Spec {
    let wire = Wire::Request(method);
    Spec { name, modern: wire, legacy: wire, paged, may_ask: false, idempotent: true, needs: &[] }
}

/// How a list of tools is read that the connection asks for itself.
pub(crate) const LIST_TOOLS: &Spec = ListTools::SPEC;

/// The items of a page. None, where it is no page.
pub(crate) fn list_items(page: &Raw, member: &'static str) -> Vec<Raw> {
    let mut text = serde_json::Deserializer::from_str(page.as_str());
    let found = Members(member).deserialize(&mut text).map(|found| found.items);
    found.unwrap_or_default().into_iter().map(|item| page.cut(item.get())).collect()
}

/// Two operations for a kind of item: one for all of a list, and one for a page of it.
macro_rules! lists {
    ($(
        $item:ty, $method:literal, $member:literal, $what:literal:
        $all:ident, $page:ident;
    )*) => {$(
        #[doc = concat!("Lists all ", $what, " of a server, page after page.")]
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $all;

        impl $all {
            pub(super) const SPEC: &'static Spec = &list($method, $method, Some($member));
        }

        impl Operation for $all {
            type Output = List<$item>;

            fn spec(&self) -> &'static Spec {
                Self::SPEC
            }

            fn params(&self) -> Result<Params, ApiMisuse> {
                Ok(Params::none())
            }

            fn decode(&self, reply: &Reply) -> Result<List<$item>, Error> {
                let mut list = List::default();
                for page in &reply.pages {
                    list.take(page, $member, reader(<$item>::read, reply))?;
                }
                Ok(list)
            }
        }

        #[doc = concat!("Reads one page of the ", $what, " of a server.")]
        #[derive(Clone, Debug, Default)]
        pub struct $page {
            cursor: Option<String>,
        }

        impl $page {
            pub(super) const SPEC: &'static Spec =
                &list(concat!($method, " (one page)"), $method, None);

            /// The page to which this cursor leads; without one it is the first.
            #[must_use]
            pub fn new(cursor: Option<String>) -> Self {
                Self { cursor }
            }
        }

        impl Operation for $page {
            type Output = Page<$item>;

            fn spec(&self) -> &'static Spec {
                Self::SPEC
            }

            fn params(&self) -> Result<Params, ApiMisuse> {
                let cursor = self.cursor.as_deref();
                Ok(cursor.map_or_else(Params::none, |cursor| {
                    Params::text(serde_json::json!({ "cursor": cursor }).to_string())
                }))
            }

            fn decode(&self, reply: &Reply) -> Result<Page<$item>, Error> {
                let mut list = List::default();
                let next_cursor = list.take(reply.result()?, $member, reader(<$item>::read, reply))?;
                let List { items, malformed } = list;
                Ok(Page { items, malformed, next_cursor })
            }
        }
    )*

    /// The operations of this file, for journals.
    pub(super) const SPECS: &[&Spec] = &[$($all::SPEC, $page::SPEC),*];
    };
}

lists! {
    Tool, "tools/list", "tools", "tools": ListTools, ListToolsPage;
    Prompt, "prompts/list", "prompts", "prompts": ListPrompts, ListPromptsPage;
    Resource, "resources/list", "resources", "resources": ListResources, ListResourcesPage;
    ResourceTemplate, "resources/templates/list", "resourceTemplates", "resource templates":
        ListResourceTemplates, ListResourceTemplatesPage;
}
