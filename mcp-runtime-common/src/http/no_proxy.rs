//! What `NO_PROXY` says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The hosts that are reached directly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NoProxy(Vec<Rule>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    hosts: Hosts,
    /// Without one the rule holds for all ports.
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Hosts {
    All,
    /// This name and what is below it.
    Domain(String),
    /// What is below this name.
    Below(String),
    /// The addresses that have so many leading bits in common with this one.
    Network(IpAddr, u8),
}

impl NoProxy {
    /// Reads the list: entries between commas or blanks. What cannot be read is left out.
    pub(super) fn parse(text: &str) -> Self {
        let entries = text.split([',', ' ', '\t', '\n', '\r']).filter(|entry| !entry.is_empty());
        NoProxy(entries.filter_map(Rule::parse).collect())
    }

    /// Whether this host is reached directly. `host` is a name in lower case, or an address.
    pub(super) fn covers(&self, host: &str, port: u16) -> bool {
        self.0.iter().any(|rule| {
            rule.port.is_none_or(|wanted| wanted == port)
                && match (&rule.hosts, address(host)) {
                    (Hosts::All, _) => true,
                    (Hosts::Network(network, bits), Some(address)) => {
                        shares(*network, address, *bits)
                    }
                    (Hosts::Domain(name), None) => host == name || is_below(host, name),
                    (Hosts::Below(name), None) => is_below(host, name),
                    _ => false,
                }
        })
    }
}

impl Rule {
    fn parse(entry: &str) -> Option<Self> {
        let entry = entry.to_ascii_lowercase();
        if entry == "*" {
            return Some(Rule { hosts: Hosts::All, port: None });
        }
        if let Some(hosts) = network(&entry) {
            return Some(Rule { hosts, port: None });
        }
        let (name, port) = match entry.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (&*entry, None),
        };
        if let Some(hosts) = network(name) {
            return Some(Rule { hosts, port });
        }
        let name = name.trim_end_matches('.');
        let below = name.strip_prefix('*').unwrap_or(name);
        let hosts = match below.strip_prefix('.') {
            Some(below) => Hosts::Below(String::from(below)),
            None => Hosts::Domain(String::from(name)),
        };
        let (Hosts::Below(text) | Hosts::Domain(text)) = &hosts else { return None };
        (!text.is_empty()).then_some(Rule { hosts, port })
    }
}

/// An address, or a network such as `10.0.0.0/8`.
fn network(text: &str) -> Option<Hosts> {
    let Some((start, bits)) = text.split_once('/') else {
        let exact = address(text)?;
        return Some(Hosts::Network(exact, if exact.is_ipv4() { 32 } else { 128 }));
    };
    let given: IpAddr = start.parse().ok()?;
    let most = if given.is_ipv4() { 32 } else { 128 };
    let bits: u8 = bits.parse().ok().filter(|bits| *bits <= most)?;
    // A network of mapped addresses is one of IPv4.
    match (given, canonical(given)) {
        (IpAddr::V6(_), mapped @ IpAddr::V4(_)) => {
            Some(Hosts::Network(mapped, bits.checked_sub(96)?))
        }
        _ => Some(Hosts::Network(given, bits)),
    }
}

/// The address that a host is, if it is one: an IPv6 address with or without brackets.
pub(super) fn address(host: &str) -> Option<IpAddr> {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = match bare {
        Some(bare) => bare.parse::<Ipv6Addr>().ok()?.into(),
        None => host.parse().ok()?,
    };
    Some(canonical(address))
}

fn canonical(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

fn shares(network: IpAddr, address: IpAddr, bits: u8) -> bool {
    let bits = u32::from(bits);
    match (network, address) {
        (IpAddr::V4(a), IpAddr::V4(b)) => {
            let all = |ip: Ipv4Addr| u32::from(ip).checked_shr(32 - bits).unwrap_or(0);
            all(a) == all(b)
        }
        (IpAddr::V6(a), IpAddr::V6(b)) => {
            let all = |ip: Ipv6Addr| u128::from(ip).checked_shr(128 - bits).unwrap_or(0);
            all(a) == all(b)
        }
        _ => false,
    }
}

fn is_below(host: &str, name: &str) -> bool {
    host.strip_suffix(name).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}
