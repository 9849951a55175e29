//! What may be sent to (design 4): compared with the WHATWG's reading of an address, which is the platform's.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "a test may fail so"
)]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;
use statewright_core::address::{Address, AllowList, Host, check};
use url::Url;

/// What is not of the public network, after the IANA's registries of special purposes, and what issue 4 names.
const PRIVATE_V4: [(&str, u32); 17] = [
    ("0.0.0.0", 8),
    ("10.0.0.0", 8),
    ("100.64.0.0", 10),
    ("127.0.0.0", 8),
    ("169.254.0.0", 16),
    ("172.16.0.0", 12),
    ("192.0.0.0", 24),
    ("192.0.2.0", 24),
    ("192.88.99.0", 24),
    ("192.168.0.0", 16),
    ("198.18.0.0", 15),
    ("198.51.100.0", 24),
    ("203.0.113.0", 24),
    ("224.0.0.0", 4),
    ("240.0.0.0", 4),
    ("255.255.255.255", 32),
    ("169.254.169.254", 32),
];
/// That hold an IPv4 address in their last four bytes.
const EMBEDDING: [(&str, u32); 4] = [
    ("::", 96),
    ("::ffff:0:0", 96),
    ("::ffff:0:0:0", 96),
    ("64:ff9b::", 96),
];
const PRIVATE_V6: [(&str, u32); 14] = [
    ("::1", 128),
    ("64:ff9b:1::", 48),
    ("100::", 64),
    ("2001::", 23),
    ("2001:db8::", 32),
    ("2002::", 16),
    ("3fff::", 20),
    ("5f00::", 16),
    ("fc00::", 7),
    ("fe80::", 10),
    ("fec0::", 10),
    ("ff00::", 8),
    ("4000::", 2),
    ("8000::", 1),
];

fn within_v4(ip: Ipv4Addr, (net, bits): (&str, u32)) -> bool {
    let net: Ipv4Addr = net.parse().unwrap();
    (u32::from(ip) ^ u32::from(net)).leading_zeros() >= bits
}

fn within_v6(ip: Ipv6Addr, (net, bits): (&str, u32)) -> bool {
    let net: Ipv6Addr = net.parse().unwrap();
    (u128::from(ip) ^ u128::from(net)).leading_zeros() >= bits
}

fn is_private_v4(ip: Ipv4Addr) -> bool {
    PRIVATE_V4.iter().any(|net| within_v4(ip, *net))
}

fn is_private(host: &url::Host<&str>) -> bool {
    match host {
        url::Host::Domain(name) => {
            let name = name.trim_end_matches('.');
            let below = |domain: &str| name == domain || name.ends_with(&format!(".{domain}"));
            !name.contains('.')
                || ["localhost", "local", "internal", "localdomain"]
                    .iter()
                    .any(|name| below(name))
        }
        url::Host::Ipv4(ip) => is_private_v4(*ip),
        url::Host::Ipv6(ip) => {
            let [.., a, b, c, d] = ip.octets();
            PRIVATE_V6.iter().any(|net| within_v6(*ip, *net))
                || EMBEDDING.iter().any(|net| within_v6(*ip, *net))
                    && is_private_v4(Ipv4Addr::new(a, b, c, d))
        }
    }
}

/// Whether both read the same, and what is private is refused. Says whether it was taken.
fn agrees(text: &str) -> bool {
    let theirs = Url::parse(text);
    if let Ok(theirs) = &theirs
        && theirs.host().is_some_and(|host| is_private(&host))
    {
        let ours = check(text, &AllowList::default());
        assert!(ours.is_err(), "`{text}` leads to {:?}", theirs.host());
    }
    if let Ok(ours) = Address::parse(text) {
        match &theirs {
            Ok(theirs) => same(&ours, theirs),
            // They look into the labels of other scripts, and call nobody where these are none.
            Err(error) => assert!(text.to_ascii_lowercase().contains("xn--"), "`{text}`: {error}"),
        }
    }
    let taken = check(text, &AllowList::default()).is_ok();
    assert!(
        !taken || text.to_ascii_lowercase().starts_with("https://"),
        "{text}"
    );
    taken
}

fn same(ours: &Address, theirs: &Url) {
    let text = ours.url();
    let host = match theirs.host().unwrap() {
        url::Host::Domain(name) => Host::Name(name.strip_suffix('.').unwrap_or(name).to_owned()),
        url::Host::Ipv4(ip) => Host::Ip(IpAddr::V4(ip)),
        url::Host::Ipv6(ip) => Host::Ip(IpAddr::V6(ip)),
    };
    assert_eq!(*ours.host(), host, "{text}");
    assert_eq!(ours.port(), theirs.port(), "{text}");
    assert_eq!(ours.is_secure(), theirs.scheme() == "https", "{text}");
    assert_eq!((theirs.username(), theirs.password()), ("", None), "{text}");
    let mut bare = theirs.clone();
    bare.set_fragment(None);
    assert_eq!(Url::parse(text).unwrap(), bare, "{text}");
    let origin = Url::parse(&ours.origin()).unwrap();
    let host = |url: &Url| url.host_str().map(|host| host.trim_end_matches('.').to_owned());
    assert_eq!(
        (origin.scheme(), host(&origin), origin.port()),
        (theirs.scheme(), host(theirs), theirs.port())
    );
}

#[test]
fn public_addresses_are_taken() {
    for (text, origin) in [
        ("https://example.com", "https://example.com"),
        ("HTTPS://Example.COM:443/a?b=c#d", "https://example.com"),
        ("https://example.com.:8443/", "https://example.com:8443"),
        ("https://a_b.example-1.com/ü?x=%20@", "https://a_b.example-1.com"),
        ("https://xn--bcher-kva.example/", "https://xn--bcher-kva.example"),
        ("https://1.1.1.1/", "https://1.1.1.1"),
        ("https://1.1.1.1./", "https://1.1.1.1"),
        ("https://0x01010101/", "https://1.1.1.1"),
        ("https://1.1.257/", "https://1.1.1.1"),
        (
            "https://[2606:4700:4700::1111]:99?x",
            "https://[2606:4700:4700::1111]:99",
        ),
        ("https://[::ffff:1.1.1.1]/", "https://[::ffff:1.1.1.1]"),
        ("https://[64:ff9b::8.8.8.8]/", "https://[64:ff9b::808:808]"),
        ("https://127.0.0.1.example.com/", "https://127.0.0.1.example.com"),
        ("https://localhost.example.com/", "https://localhost.example.com"),
        ("https://notlocal.com/", "https://notlocal.com"),
        ("https://example.com/@localhost", "https://example.com"),
        ("https://example.com?@localhost", "https://example.com"),
        ("https://example.com#@localhost", "https://example.com"),
    ] {
        assert!(agrees(text), "{text}: {:?}", check(text, &AllowList::default()));
        assert_eq!(Address::parse(text).unwrap().origin(), origin);
    }
    let address = Address::parse("https://example.com/a?b#secret").unwrap();
    assert_eq!(address.url(), "https://example.com/a?b");
    let long = format!("https://example.com/{}", "a".repeat(2048 - 20));
    assert!(agrees(&long));
    assert!(!agrees(&format!("{long}a")));
}

#[test]
fn private_and_doubtful_addresses_are_refused_with_the_reason() {
    for (text, problem) in [
        ("http://example.com/", "`http://example.com/` is not encrypted"),
        ("ftp://example.com/", "`ftp://example.com/` is no web address"),
        ("https:example.com", "`https:example.com` is no web address"),
        ("https:/example.com", "`https:/example.com` is no web address"),
        ("//example.com", "`//example.com` is no web address"),
        ("", "`` is no web address"),
        ("https://", "`` is no host"),
        ("https:///example.com", "`` is no host"),
        ("https://?x", "`` is no host"),
        (" https://example.com", "` https://example.com` holds ` `"),
        ("https://exam\tple.com", "`https://exam\tple.com` holds `\\t`"),
        ("https://example.com/\n", "`https://example.com/\n` holds `\\n`"),
        (
            "https://example.com/\u{a0}",
            "`https://example.com/\u{a0}` holds `\\u{a0}`",
        ),
        (
            "https://example.com\\@localhost",
            "`https://example.com\\@localhost` holds `\\\\`",
        ),
        ("https://user@example.com/", "`user@example.com` names a user"),
        (
            "https://example.com:pass@127.0.0.1/",
            "`example.com:pass@127.0.0.1` names a user",
        ),
        ("https://@example.com/", "`@example.com` names a user"),
        (
            "https://example.com:/",
            "`example.com:` has no port behind its colon",
        ),
        (
            "https://example.com:0/",
            "`example.com:0` has no port behind its colon",
        ),
        (
            "https://example.com:65536/",
            "`example.com:65536` has no port behind its colon",
        ),
        (
            "https://example.com:+80/",
            "`example.com:+80` has no port behind its colon",
        ),
        (
            "https://example.com:80:80/",
            "`example.com:80:80` has no port behind its colon",
        ),
        ("https://[::1/", "`[::1` is no IPv6 address"),
        ("https://[::1]x/", "`[::1]x` is no IPv6 address"),
        ("https://[::1]x:80/", "`[::1]x:80` has no port behind its colon"),
        (
            "https://[fe80::1%25eth0]/",
            "`[fe80::1%25eth0]` is no IPv6 address",
        ),
        ("https://exa%6dple.com/", "`exa%6dple.com` is no host"),
        ("https://%31%32%37.0.0.1/", "`%31%32%37.0.0.1` is no IPv4 address"),
        ("https://bücher.example/", "`bücher.example` is no host"),
        ("https://１２７.0.0.1/", "`１２７.0.0.1` is no IPv4 address"),
        ("https://127。0。0。1/", "`127。0。0。1` is no host"),
        ("https://a..com/", "`a..com` is no host"),
        ("https://example.com../", "`example.com..` is no host"),
        ("https://.example.com/", "`.example.com` is no host"),
        ("https://1.2.3.4.5/", "`1.2.3.4.5` is no IPv4 address"),
        ("https://256.1.1.1/", "`256.1.1.1` is no IPv4 address"),
        ("https://1.1.1.256/", "`1.1.1.256` is no IPv4 address"),
        ("https://4294967296/", "`4294967296` is no IPv4 address"),
        (
            "https://99999999999999999999999/",
            "`99999999999999999999999` is no IPv4 address",
        ),
        ("https://08.1.1.1/", "`08.1.1.1` is no IPv4 address"),
        ("https://example.1/", "`example.1` is no IPv4 address"),
        ("https://127.0.0.1/", "`127.0.0.1` is a loopback address"),
        ("https://127.0.0.1./", "`127.0.0.1` is a loopback address"),
        ("https://127.1/", "`127.0.0.1` is a loopback address"),
        ("https://2130706433/", "`127.0.0.1` is a loopback address"),
        ("https://017700000001/", "`127.0.0.1` is a loopback address"),
        ("https://0177.0.0.01/", "`127.0.0.1` is a loopback address"),
        ("https://0x7f000001/", "`127.0.0.1` is a loopback address"),
        ("https://0X7F.1/", "`127.0.0.1` is a loopback address"),
        (
            "https://0x7f.0.0x0.0x1:8443/",
            "`127.0.0.1` is a loopback address",
        ),
        ("https://0/", "`0.0.0.0` is an unspecified address"),
        ("https://0x/", "`0.0.0.0` is an unspecified address"),
        (
            "https://10.1.2.3/",
            "`10.1.2.3` is an address of the private network",
        ),
        (
            "https://172.31.255.255/",
            "`172.31.255.255` is an address of the private network",
        ),
        (
            "https://192.168.1.1/",
            "`192.168.1.1` is an address of the private network",
        ),
        (
            "https://169.254.169.254/",
            "`169.254.169.254` is a link-local address",
        ),
        (
            "https://100.127.0.1/",
            "`100.127.0.1` is an address behind a carrier's translation",
        ),
        ("https://192.0.0.8/", "`192.0.0.8` is a reserved address"),
        ("https://198.19.0.1/", "`198.19.0.1` is a reserved address"),
        ("https://224.0.0.1/", "`224.0.0.1` is a multicast address"),
        (
            "https://255.255.255.255/",
            "`255.255.255.255` is a reserved address",
        ),
        ("https://[::]/", "`[::]` is an unspecified address"),
        ("https://[::1]/", "`[::1]` is a loopback address"),
        ("https://[0:0:0:0:0:0:0:1]/", "`[::1]` is a loopback address"),
        (
            "https://[::ffff:127.0.0.1]/",
            "`[::ffff:127.0.0.1]` is a loopback address",
        ),
        (
            "https://[::ffff:a00:1]/",
            "`[::ffff:10.0.0.1]` is an address of the private network",
        ),
        ("https://[::127.0.0.1]/", "`[::7f00:1]` is a loopback address"),
        (
            "https://[::ffff:0:127.0.0.1]/",
            "`[::ffff:0:7f00:1]` is a loopback address",
        ),
        (
            "https://[64:ff9b::127.0.0.1]/",
            "`[64:ff9b::7f00:1]` is a loopback address",
        ),
        (
            "https://[64:ff9b:1::1]/",
            "`[64:ff9b:1::1]` is a reserved address",
        ),
        ("https://[2002:7f00:1::]/", "`[2002:7f00:1::]` is a 6to4 address"),
        ("https://[2001::1]/", "`[2001::1]` is a Teredo address"),
        ("https://[2001:db8::1]/", "`[2001:db8::1]` is a reserved address"),
        (
            "https://[fd00::1]/",
            "`[fd00::1]` is an address of the private network",
        ),
        ("https://[fe80::1]/", "`[fe80::1]` is a link-local address"),
        ("https://[fec0::1]/", "`[fec0::1]` is a site-local address"),
        ("https://[ff02::1]/", "`[ff02::1]` is a multicast address"),
        (
            "https://localhost/",
            "`localhost` is a name of the private network",
        ),
        (
            "https://LOCALHOST./",
            "`localhost` is a name of the private network",
        ),
        (
            "https://a.localhost:8080/",
            "`a.localhost` is a name of the private network",
        ),
        (
            "https://printer.local/",
            "`printer.local` is a name of the private network",
        ),
        (
            "https://metadata.google.internal/",
            "`metadata.google.internal` is a name of the private network",
        ),
        (
            "https://x.localdomain/",
            "`x.localdomain` is a name of the private network",
        ),
        (
            "https://router.home.arpa/",
            "`router.home.arpa` is a name of the private network",
        ),
        ("https://intranet/", "`intranet` is a name without a domain"),
    ] {
        assert!(!agrees(text), "{text}");
        let fault = check(text, &AllowList::default()).unwrap_err();
        assert_eq!(fault.problem, problem, "{text}");
        assert!(!fault.expected.is_empty());
    }
}

#[test]
fn what_an_operator_allows_is_taken_and_nothing_else() {
    let allow = AllowList::read(" localhost, 127.0.0.1:8788,[::1] ,*.test.internal, Shop.Example:80,,?,a b");
    for text in [
        "http://localhost/",
        "https://LOCALHOST.:9999/x",
        "http://127.0.0.1:8788/",
        "http://0x7f.1:8788/",
        "http://[::1]:5/",
        "http://[0:0::1]/",
        "https://a.test.internal/",
        "http://a.b.test.internal:81/",
        "http://shop.example/",
        "http://shop.example:80/",
        "https://shop.example:80/",
        "https://shop.example/",
    ] {
        assert_eq!(check(text, &allow), Ok(()), "{text}");
    }
    for text in [
        "http://127.0.0.1/",
        "http://127.0.0.1:87/",
        "http://127.0.0.2:8788/",
        "https://test.internal/",
        "https://xtest.internal/",
        "http://shop.example:8080/",
        "http://example.com/",
        "http://a.localhost/",
        "http://[::2]/",
        "http://user@localhost/",
        "http://local%68ost/",
        "ftp://localhost/",
    ] {
        assert!(check(text, &allow).is_err(), "{text}");
    }
    assert!(!AllowList::read("").has(&Address::parse("https://example.com").unwrap()));
    assert_eq!(
        AllowList::read("*.127.0.0.1,http://a.b,user@a.b"),
        AllowList::default()
    );
}

fn number(value: u32) -> impl Strategy<Value = String> {
    prop_oneof![
        Just(format!("{value}")),
        Just(format!("0{value:o}")),
        Just(format!("000{value:o}")),
        Just(format!("0x{value:x}")),
        Just(format!("0X{value:X}")),
        Just(format!("0x00{value:x}")),
    ]
}

/// An IPv4 address in one of the spellings that platforms read.
fn spelled(ip: Ipv4Addr) -> impl Strategy<Value = String> {
    let [a, b, c, d] = ip.octets().map(u32::from);
    let bits = u32::from(ip);
    prop_oneof![
        number(bits),
        (number(a), number(bits & 0xff_ffff)).prop_map(|(a, b)| format!("{a}.{b}")),
        (number(a), number(b), number(bits & 0xffff)).prop_map(|(a, b, c)| format!("{a}.{b}.{c}")),
        (number(a), number(b), number(c), number(d)).prop_map(|(a, b, c, d)| format!("{a}.{b}.{c}.{d}")),
        Just(format!("[::ffff:{ip}]")),
        Just(format!("[::{ip}]")),
        Just(format!("[64:ff9b::{ip}]")),
        Just(format!("[::ffff:{:x}:{:x}]", bits >> 16, bits & 0xffff)),
        Just(format!("[0:0:0:0:0:FFFF:{:X}:{:X}]", bits >> 16, bits & 0xffff)),
    ]
}

/// Ways in which platforms mend a host.
fn disguised(host: &str) -> impl Strategy<Value = String> + use<> {
    let percent: Vec<String> = host.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let wide: String = host
        .chars()
        .map(|c| match c {
            '.' => '。',
            '!'..='~' => char::from_u32(u32::from(c) + 0xfee0).unwrap(),
            other => other,
        })
        .collect();
    let tabbed = host.chars().flat_map(|c| [c, '\t']).collect::<String>();
    prop_oneof![
        6 => Just(host.to_owned()),
        1 => Just(format!("{host}.")),
        1 => Just(format!("{host}..")),
        1 => Just(format!("user:pass@{host}")),
        1 => Just(format!("example.com@{host}")),
        1 => Just(format!("example.com\\@{host}")),
        1 => Just(percent.concat()),
        1 => Just(wide),
        1 => Just(tabbed),
        1 => Just(format!("{host}\u{ad}")),
        1 => Just(host.to_uppercase()),
    ]
}

fn address(host: &str) -> impl Strategy<Value = String> + use<> {
    let schemes = prop_oneof![
        6 => Just("https://"),
        1 => Just("http://"),
        1 => Just("HttpS://"),
        1 => Just("https:"),
        1 => Just("https:/"),
        1 => Just("https:///"),
        1 => Just("https:\\\\"),
        1 => Just(" https://"),
        1 => Just("ht\ntps://"),
    ];
    let rest = prop_oneof![
        4 => Just(""),
        1 => Just("/"),
        1 => Just(":443"),
        1 => Just(":8443/x"),
        1 => Just(":"),
        1 => Just(":0"),
        1 => Just("?q"),
        1 => Just("#f"),
        1 => Just("\\x"),
        1 => Just("/\u{a0}"),
        1 => Just(":00443"),
    ];
    (schemes, disguised(host), rest).prop_map(|(scheme, host, rest)| format!("{scheme}{host}{rest}"))
}

fn any_v4() -> impl Strategy<Value = Ipv4Addr> {
    let private = (0..PRIVATE_V4.len(), any::<u32>()).prop_map(|(net, bits)| {
        let (net, length) = PRIVATE_V4[net];
        let host = bits.checked_shr(length).unwrap_or(0);
        Ipv4Addr::from(u32::from(net.parse::<Ipv4Addr>().unwrap()) | host)
    });
    prop_oneof![3 => private, 1 => any::<u32>().prop_map(Ipv4Addr::from)]
}

fn any_v6() -> impl Strategy<Value = Ipv6Addr> {
    let nets: Vec<(&str, u32)> = PRIVATE_V6.into_iter().chain(EMBEDDING).collect();
    let private = (0..nets.len(), any::<u128>()).prop_map(move |(net, bits)| {
        let (net, length) = nets[net];
        let host = bits.checked_shr(length).unwrap_or(0);
        Ipv6Addr::from(u128::from(net.parse::<Ipv6Addr>().unwrap()) | host)
    });
    let edge = (0_u16..=u16::MAX, any::<[u16; 7]>()).prop_map(|(a, [b, c, d, e, f, g, h])| {
        Ipv6Addr::new(a, b & 0x3ff, c & 1, d & 1, e & 1, f | 0xfff0, g, h)
    });
    prop_oneof![2 => private, 1 => any::<u128>().prop_map(Ipv6Addr::from), 1 => edge]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_spelling_of_a_private_ipv4_address_is_taken(
        text in any_v4().prop_flat_map(spelled).prop_flat_map(|host| address(&host))
    ) {
        agrees(&text);
    }

    #[test]
    fn no_private_ipv6_address_is_taken(text in any_v6().prop_flat_map(|ip| address(&format!("[{ip}]")))) {
        agrees(&text);
    }

    #[test]
    fn no_spelling_of_a_private_name_is_taken(
        text in prop::sample::select(vec![
            "localhost", "a.localhost", "LocalHost", "db.internal", "x.local", "a.localdomain", "intranet", "example.com",
        ])
        .prop_flat_map(address)
    ) {
        agrees(&text);
    }

    #[test]
    fn whatever_is_taken_has_the_same_host_for_the_platform(
        text in "(https|http|HTTPS)://[a-z0-9.:@%\\[\\]\\-_/?#\\\\xX \t!$&'()*+,;=~^|<>\"`{}\u{ff0e}\u{3002}\u{2460}\u{df}\u{ad}]{0,24}"
    ) {
        agrees(&text);
    }

    #[test]
    fn hosts_of_numbers_read_as_the_platform_reads_them(text in "https://[0-9xXa-f.]{1,16}(:[0-9]{0,5})?/?") {
        agrees(&text);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in any::<String>()) {
        agrees(&text);
        agrees(&format!("https://{text}"));
    }
}

#[test]
fn every_private_network_is_refused_to_its_edges() {
    for (net, bits) in PRIVATE_V4 {
        let first = u32::from(net.parse::<Ipv4Addr>().unwrap());
        let last = first | u32::MAX.checked_shr(bits).unwrap_or(0);
        for ip in [first, last] {
            assert!(!agrees(&format!("https://{}/", Ipv4Addr::from(ip))), "{net}");
        }
        for ip in [first.wrapping_sub(1), last.wrapping_add(1)].map(Ipv4Addr::from) {
            assert_eq!(
                agrees(&format!("https://{ip}/")),
                !is_private_v4(ip),
                "{ip} beside {net}"
            );
        }
    }
    for (net, bits) in PRIVATE_V6 {
        let first = u128::from(net.parse::<Ipv6Addr>().unwrap());
        let last = first | u128::MAX.checked_shr(bits).unwrap_or(0);
        for ip in [first, last] {
            assert!(!agrees(&format!("https://[{}]/", Ipv6Addr::from(ip))), "{net}");
        }
    }
    for ip in [
        "2001:200::1",
        "2000::1",
        "3ffe:ffff::1",
        "3fff:1000::1",
        "2003::1",
        "2001:db7::1",
        "2001:db9::1",
    ] {
        assert!(agrees(&format!("https://[{ip}]/")), "{ip}");
    }
}
