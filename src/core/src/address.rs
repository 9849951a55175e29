//! Addresses that a service may send to: read strictly, so that what is checked is what is called.
//!
//! The platform that sends reads an address by the WHATWG rules, which mend much: tabs, backslashes, full-width digits,
//! percent-encoded hosts. Here nothing is mended. What is taken has one reading, and that is the platform's too.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::definition::shape::shortened;

/// Most bytes of an address.
pub const MAX_ADDRESS_BYTES: usize = 2048;

/// What is wrong with an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}; expected {expected}")]
pub struct AddressFault {
    /// What is wrong, with the value in backticks.
    pub problem: String,
    /// What would be right.
    pub expected: String,
}

fn fault<T>(problem: impl Into<String>, expected: &str) -> Result<T, AddressFault> {
    Err(AddressFault {
        problem: problem.into(),
        expected: expected.to_owned(),
    })
}

/// An address of the web, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Without its fragment.
    url: String,
    secure: bool,
    host: Host,
    port: Option<u16>,
}

/// Who is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Host {
    /// A name, in lower case, without a dot behind it.
    Name(String),
    /// An address of a network.
    Ip(IpAddr),
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => f.write_str(name),
            Self::Ip(IpAddr::V4(ip)) => ip.fmt(f),
            Self::Ip(IpAddr::V6(ip)) => write!(f, "[{ip}]"),
        }
    }
}

impl Address {
    /// Reads an address.
    ///
    /// # Errors
    /// It is no `https` or `http` address, or one that could be read in more than one way.
    pub fn parse(text: &str) -> Result<Self, AddressFault> {
        if text.len() > MAX_ADDRESS_BYTES {
            return fault(
                format!("the address has {} bytes", text.len()),
                "an address of at most 2048 bytes",
            );
        }
        if let Some(odd) = text
            .chars()
            .find(|c| *c == '\\' || c.is_whitespace() || c.is_control())
        {
            return fault(
                format!("`{}` holds `{}`", shortened(text), odd.escape_default()),
                "an address without spaces, backslashes and control characters",
            );
        }
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let secure = scheme.eq_ignore_ascii_case("https");
        if !secure && !scheme.eq_ignore_ascii_case("http") {
            return fault(
                format!("`{}` is no web address", shortened(text)),
                "an address that starts with `https://`",
            );
        }
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') {
            return fault(
                format!("`{}` names a user", shortened(authority)),
                "an address without a user; a secret goes into a header",
            );
        }
        let (host, port) = split_port(authority)?;
        let host = Host::parse(host)?;
        let port = port.filter(|port| *port != if secure { 443 } else { 80 });
        let url = text.split('#').next().unwrap_or_default().to_owned();
        Ok(Self {
            url,
            secure,
            host,
            port,
        })
    }

    /// The text, without its fragment: what is called.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Whether it is `https`.
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Who is called.
    pub fn host(&self) -> &Host {
        &self.host
    }

    /// The port, where it is not the scheme's own.
    pub fn port(&self) -> Option<u16> {
        self.port
    }

    /// Scheme, host and port in one spelling, such as `https://example.com:8443`: addresses of one server have the same.
    pub fn origin(&self) -> String {
        let scheme = if self.secure { "https" } else { "http" };
        match self.port {
            Some(port) => format!("{scheme}://{}:{port}", self.host),
            None => format!("{scheme}://{}", self.host),
        }
    }

    fn true_port(&self) -> u16 {
        self.port.unwrap_or(if self.secure { 443 } else { 80 })
    }
}

/// Reads an address and checks that a service may send to it: over `https` to the public network, or to whom its
/// operator allows.
///
/// # Errors
/// It is no address, or of a network that is not public, and not allowed.
pub fn check(url: &str, allow: &AllowList) -> Result<(), AddressFault> {
    let address = Address::parse(url)?;
    if allow.has(&address) {
        return Ok(());
    }
    if !address.secure {
        return fault(
            format!("`{}` is not encrypted", shortened(url)),
            "an address that starts with `https://`",
        );
    }
    let problem = match &address.host {
        Host::Name(name) => private_name(name),
        Host::Ip(ip) => private_ip(*ip),
    };
    match problem {
        Some(problem) => fault(
            format!("`{}` is {problem}", shortened(&address.host.to_string())),
            "a host of the public network, or one that WEBHOOK_ALLOW names",
        ),
        None => Ok(()),
    }
}

/// The hosts that an operator allows whatever network they are of, over `http` too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowList(Vec<Allowed>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Allowed {
    host: AllowedHost,
    /// Any, where none is named.
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum AllowedHost {
    One(Host),
    /// A dot and the domain.
    Below(String),
}

impl AllowList {
    /// Reads `host`, `host:port`, `*.domain` and `[::1]`, with commas between. What is none of that allows nothing.
    pub fn read(text: &str) -> Self {
        let read = |entry: &str| {
            let (host, port) = split_port(entry.trim()).ok()?;
            let host = match host.strip_prefix("*.") {
                Some(domain) => match Host::parse(domain).ok()? {
                    Host::Name(name) => AllowedHost::Below(format!(".{name}")),
                    Host::Ip(_) => return None,
                },
                None => AllowedHost::One(Host::parse(host).ok()?),
            };
            Some(Allowed { host, port })
        };
        Self(text.split(',').filter_map(read).collect())
    }

    /// Whether it allows an address.
    pub fn has(&self, address: &Address) -> bool {
        self.0.iter().any(|allowed| {
            let host = match (&allowed.host, &address.host) {
                (AllowedHost::One(host), other) => host == other,
                (AllowedHost::Below(domain), Host::Name(name)) => name.ends_with(domain),
                (AllowedHost::Below(_), Host::Ip(_)) => false,
            };
            host && allowed.port.is_none_or(|port| port == address.true_port())
        })
    }
}

/// The host of an authority, as it is written, and its port.
fn split_port(authority: &str) -> Result<(&str, Option<u16>), AddressFault> {
    if authority.starts_with('[') && !authority.contains(']') {
        return Ok((authority, None));
    }
    let after_brackets = authority.rfind(']').map_or(0, |at| at.saturating_add(1));
    let (brackets, rest) = authority.split_at(after_brackets);
    let Some((name, digits)) = rest.split_once(':') else {
        return Ok((authority, None));
    };
    let host = if brackets.is_empty() { name } else { brackets };
    let digits_only = digits.bytes().all(|byte| byte.is_ascii_digit());
    let port = digits.parse().ok().filter(|port| *port > 0 && digits_only);
    let apart = brackets.is_empty() || name.is_empty();
    match port.filter(|_| apart) {
        Some(port) => Ok((host, Some(port))),
        None => fault(
            format!("`{}` has no port behind its colon", shortened(authority)),
            "a port from 1 to 65535, or no colon",
        ),
    }
}

impl Host {
    fn parse(text: &str) -> Result<Self, AddressFault> {
        if let Some(inner) = text.strip_prefix('[') {
            let ip = inner.strip_suffix(']').and_then(|inner| inner.parse().ok());
            return match ip {
                Some(ip) => Ok(Self::Ip(IpAddr::V6(ip))),
                None => fault(
                    format!("`{}` is no IPv6 address", shortened(text)),
                    "an address in brackets, such as `[2606:4700::1111]`",
                ),
            };
        }
        let name = text.strip_suffix('.').unwrap_or(text);
        let last = name.rsplit('.').next().unwrap_or_default();
        if is_number(last) {
            return match ipv4(name) {
                Some(ip) => Ok(Self::Ip(IpAddr::V4(ip))),
                None => fault(
                    format!("`{}` is no IPv4 address", shortened(text)),
                    "four numbers from 0 to 255, or a name",
                ),
            };
        }
        let is_label = |label: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            (1..=63).contains(&label.len()) && label.bytes().all(plain)
        };
        if name.len() > 253 || !name.split('.').all(is_label) {
            return fault(
                format!("`{}` is no host", shortened(text)),
                "a name of letters, digits and hyphens; one of other scripts in its `xn--` form",
            );
        }
        Ok(Self::Name(name.to_ascii_lowercase()))
    }
}

/// Whether a label makes its host an IPv4 address: it is of digits, or a hexadecimal number.
fn is_number(label: &str) -> bool {
    let digits = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_digit());
    digits || number(label).is_some()
}

/// A decimal, octal or hexadecimal number.
fn number(label: &str) -> Option<u64> {
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    let (digits, radix) = match (hex, label.strip_prefix('0')) {
        (Some(digits), _) => (digits, 16),
        (None, Some(digits)) if !digits.is_empty() => (digits, 8),
        _ if label.is_empty() => return None,
        _ => (label, 10),
    };
    if !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    if digits.is_empty() {
        return Some(0);
    }
    // What has more digits is too large for an address.
    Some(u64::from_str_radix(digits, radix).unwrap_or(u64::MAX))
}

/// The address that up to four numbers spell: the last fills what the others leave.
fn ipv4(text: &str) -> Option<Ipv4Addr> {
    let numbers: Vec<u64> = text.split('.').map(number).collect::<Option<_>>()?;
    let (last, first) = numbers.split_last()?;
    let mut bits = u32::try_from(*last).ok()?;
    let left = 4_usize.checked_sub(first.len())?;
    if left == 0 || left < 4 && u64::from(bits) >> (8 * left) > 0 {
        return None;
    }
    for (place, number) in first.iter().enumerate() {
        let byte = u8::try_from(*number).ok()?;
        bits |= u32::from(byte) << (24 - 8 * place);
    }
    Some(Ipv4Addr::from(bits))
}

/// What makes a name one of a private network.
fn private_name(name: &str) -> Option<&'static str> {
    const PRIVATE: [&str; 5] = ["localhost", "local", "internal", "localdomain", "home.arpa"];
    if PRIVATE.iter().any(|domain| {
        let above = name.strip_suffix(domain);
        above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
    }) {
        return Some("a name of the private network");
    }
    (!name.contains('.')).then_some("a name without a domain")
}

fn private_ip(ip: IpAddr) -> Option<&'static str> {
    match ip {
        IpAddr::V4(ip) => private_ipv4(ip),
        IpAddr::V6(ip) => private_ipv6(ip),
    }
}

/// What keeps an address from being one of the public network, after the IANA's registry of special purposes.
fn private_ipv4(ip: Ipv4Addr) -> Option<&'static str> {
    match ip.octets() {
        [127, ..] => Some("a loopback address"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("an address of the private network"),
        [169, 254, ..] => Some("a link-local address"),
        [100, 64..=127, ..] => Some("an address behind a carrier's translation"),
        [0, ..] => Some("an unspecified address"),
        [224..=239, ..] => Some("a multicast address"),
        [192, 0, 0 | 2, _]
        | [192, 88, 99, _]
        | [198, 18 | 19, ..]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [240..=255, ..] => Some("a reserved address"),
        _ => None,
    }
}

fn private_ipv6(ip: Ipv6Addr) -> Option<&'static str> {
    let segments = ip.segments();
    let [.., high, low] = segments;
    let [a, b] = high.to_be_bytes();
    let [c, d] = low.to_be_bytes();
    let inner = Ipv4Addr::new(a, b, c, d);
    match segments {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("an unspecified address"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("a loopback address"),
        // Mapped, compatible, translated, and behind NAT64: each leads to the address within.
        [0, 0, 0, 0, 0, 0 | 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] | [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            private_ipv4(inner)
        }
        [0xfc00..=0xfdff, ..] => Some("an address of the private network"),
        [0xfe80..=0xfebf, ..] => Some("a link-local address"),
        [0xfec0..=0xfeff, ..] => Some("a site-local address"),
        [0xff00..=0xffff, ..] => Some("a multicast address"),
        [0x2002, ..] => Some("a 6to4 address"),
        [0x2001, 0, ..] => Some("a Teredo address"),
        [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => Some("a reserved address"),
        [0x2000..=0x3fff, ..] => None,
        _ => Some("a reserved address"),
    }
}
