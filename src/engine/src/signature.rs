//! Signatures of webhooks, both ways: what is sent is signed after the Standard Webhooks specification, what comes in is
//! verified by the scheme of its source (design 4, 5). Always HMAC with SHA-256, over the body's bytes as they came, before
//! anything is read from them.
//!
//! What each scheme signs:
//!
//! | scheme | signed text | signature | not signed |
//! | --- | --- | --- | --- |
//! | `standard-webhooks` | `{webhook-id}.{webhook-timestamp}.{body}` | `webhook-signature: v1,<base64>`, several apart by spaces; the same headers by the names `svix-…` | other headers |
//! | `github` | `{body}` | `x-hub-signature-256: sha256=<hex>` | all headers, so also `X-GitHub-Delivery` and `X-GitHub-Event`, and no time |
//! | `stripe` | `{t}.{body}` | `stripe-signature: t=…,v1=<hex>`, several `v1` | other headers |
//! | `slack` | `v0:{x-slack-request-timestamp}:{body}` | `x-slack-signature: v0=<hex>` | other headers |
//! | `hmac-sha256` | `{body}`, or `{timestamp header}.{body}` | the source's header: its prefix, then hex or base64 | other headers; any time, without a timestamp header |
//!
//! A time is in seconds since the epoch, and must be within the source's tolerance of now, before and after it.

use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// What a text of a secret begins with whose key is the base64 behind it (Standard Webhooks).
const PREFIX: &[u8] = b"whsec_";

/// How a source's requests are signed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scheme {
    /// Standard Webhooks.
    StandardWebhooks,
    /// GitHub.
    GitHub,
    /// Stripe.
    Stripe,
    /// Slack.
    Slack,
    /// A plain HMAC in a header.
    Hmac(Plain),
}

/// A plain HMAC in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plain {
    /// The header with the signature.
    pub header: String,
    /// How the signature is written.
    pub encoding: Encoding,
    /// What stands before it.
    pub prefix: String,
    /// The header with the time, where that is signed before the body.
    pub timestamp_header: Option<String>,
}

/// How a signature is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Two digits for each byte, in either case.
    Hex,
    /// The standard alphabet, padded or not.
    Base64,
}

/// Why a signature does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unsigned {
    /// A header that the scheme asks for is missing.
    #[error("the header `{0}` is missing")]
    Absent(String),
    /// The signature is not written as the scheme writes it.
    #[error("the header `{header}` has no signature of the form `{form}`")]
    Malformed {
        /// The header.
        header: String,
        /// What it should have.
        form: String,
    },
    /// The time is no number of seconds.
    #[error("the time of the signature is no whole number of seconds since the epoch")]
    NoTime,
    /// The time is too far from now.
    #[error("the signature is {seconds} seconds away from now; the tolerance is {tolerance}")]
    Time {
        /// How far.
        seconds: u64,
        /// How far it may be.
        tolerance: u64,
    },
    /// The signature is of another secret or of another body.
    #[error("the signature is not made with the secret over this body")]
    Wrong,
}

/// Gives the value of a header by its name in lower case.
pub type Headers<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Signs a body that is sent: the value of `webhook-signature`, one signature for each live secret (Standard Webhooks). `id` and
/// `seconds` are what `webhook-id` and `webhook-timestamp` say. Empty where there is no secret.
pub fn sign(secrets: &[String], id: &str, seconds: i64, body: &[u8]) -> String {
    let seconds = seconds.to_string();
    let parts = [id.as_bytes(), b".", seconds.as_bytes(), b".", body];
    let mut header = String::new();
    for secret in secrets {
        let Some(mac) = mac(&standard_key(secret), &parts) else {
            continue;
        };
        if !header.is_empty() {
            header.push(' ');
        }
        header.push_str("v1,");
        header.push_str(&to_base64(&mac.finalize().into_bytes()));
    }
    header
}

/// Verifies a request against the live secrets of its source, any of which may have signed it. The comparison takes the same
/// time whatever the signature.
///
/// # Errors
/// Why it does not hold; for the log and for whoever sets a source up, not for the sender.
pub fn verify(
    scheme: &Scheme,
    secrets: &[String],
    headers: Headers<'_>,
    body: &[u8],
    now_seconds: i64,
    tolerance: u64,
) -> Result<(), Unsigned> {
    let read = |name: &str| headers(name).ok_or_else(|| Unsigned::Absent(name.to_owned()));
    let in_time = |text: &str| within(text, now_seconds, tolerance);
    let given;
    let (before, signatures, header, form): (Vec<String>, Vec<_>, &str, &str) = match scheme {
        Scheme::StandardWebhooks => {
            let [id, time, signature] = standard_headers(headers);
            let (id, time) = (read(id)?, read(time)?);
            given = read(signature)?;
            in_time(&time)?;
            let texts = given.split_ascii_whitespace();
            let texts = texts.filter_map(|text| from_base64(text.strip_prefix("v1,")?));
            (
                vec![id, ".".to_owned(), time, ".".to_owned()],
                texts.collect(),
                signature,
                "v1,<base64>",
            )
        }
        Scheme::GitHub => {
            let header = "x-hub-signature-256";
            given = read(header)?;
            let signature = given.strip_prefix("sha256=").and_then(from_hex);
            (
                Vec::new(),
                signature.into_iter().collect(),
                header,
                "sha256=<hex>",
            )
        }
        Scheme::Stripe => {
            let header = "stripe-signature";
            given = read(header)?;
            let pairs = || given.split(',').filter_map(|pair| pair.trim().split_once('='));
            let of = |wanted: &'static str| {
                pairs().filter_map(move |(key, value)| (key == wanted).then_some(value))
            };
            let time = of("t").next().ok_or(Unsigned::NoTime)?.to_owned();
            in_time(&time)?;
            (
                vec![time, ".".to_owned()],
                of("v1").filter_map(from_hex).collect(),
                header,
                "t=<seconds>,v1=<hex>",
            )
        }
        Scheme::Slack => {
            let header = "x-slack-signature";
            let time = read("x-slack-request-timestamp")?;
            given = read(header)?;
            in_time(&time)?;
            let signature = given.strip_prefix("v0=").and_then(from_hex);
            (
                vec![format!("v0:{time}:")],
                signature.into_iter().collect(),
                header,
                "v0=<hex>",
            )
        }
        Scheme::Hmac(plain) => {
            let mut before = Vec::new();
            if let Some(header) = &plain.timestamp_header {
                let time = read(&header.to_ascii_lowercase())?;
                in_time(&time)?;
                before = vec![time, ".".to_owned()];
            }
            given = read(&plain.header.to_ascii_lowercase())?;
            let signature = given.strip_prefix(plain.prefix.as_str());
            let (signature, form) = match plain.encoding {
                Encoding::Hex => (signature.and_then(from_hex), "<prefix><hex>"),
                Encoding::Base64 => (signature.and_then(from_base64), "<prefix><base64>"),
            };
            (
                before,
                signature.into_iter().collect(),
                plain.header.as_str(),
                form,
            )
        }
    };
    if signatures.is_empty() {
        return Err(Unsigned::Malformed {
            header: header.to_owned(),
            form: form.to_owned(),
        });
    }
    let mut parts: Vec<&[u8]> = before.iter().map(String::as_bytes).collect();
    parts.push(body);
    let standard = *scheme == Scheme::StandardWebhooks;
    let mut holds = false;
    for secret in secrets {
        let key = if standard {
            standard_key(secret)
        } else {
            secret.as_bytes().to_vec()
        };
        let Some(mac) = mac(&key, &parts) else { continue };
        for signature in &signatures {
            holds |= mac.clone().verify_slice(signature).is_ok();
        }
    }
    holds.then_some(()).ok_or(Unsigned::Wrong)
}

/// The names of the headers of Standard Webhooks: id, time, signature. Svix sends them under its own name as well, or only.
pub(crate) fn standard_headers(headers: Headers<'_>) -> [&'static str; 3] {
    if headers("webhook-id").is_none() && headers("svix-id").is_some() {
        ["svix-id", "svix-timestamp", "svix-signature"]
    } else {
        ["webhook-id", "webhook-timestamp", "webhook-signature"]
    }
}

/// The key of a secret's text after Standard Webhooks: `whsec_` and base64, or the text itself.
fn standard_key(secret: &str) -> Vec<u8> {
    let text = secret.as_bytes();
    let coded = text.strip_prefix(PREFIX).and_then(|_| secret.get(PREFIX.len()..));
    let key = coded.and_then(from_base64).filter(|key| !key.is_empty());
    key.unwrap_or_else(|| text.to_vec())
}

/// The keyed hash of parts, one behind the other.
fn mac(key: &[u8], parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
    // A key of any length does.
    let mut mac = Hmac::<Sha256>::new_from_slice(key).ok()?;
    for part in parts {
        mac.update(part);
    }
    Some(mac)
}

fn within(text: &str, now: i64, tolerance: u64) -> Result<(), Unsigned> {
    let digits = (1..=15).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let time: i64 = digits
        .then(|| text.parse().ok())
        .flatten()
        .ok_or(Unsigned::NoTime)?;
    let seconds = now.abs_diff(time);
    if seconds > tolerance {
        return Err(Unsigned::Time { seconds, tolerance });
    }
    Ok(())
}

/// The SHA-256 of bytes in hex.
pub(crate) fn hash(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16);
    let pairs = text.as_bytes().chunks(2).map(|pair| match *pair {
        [high, low] => u8::try_from(digit(high)? << 4 | digit(low)?).ok(),
        _ => None,
    });
    pairs.collect()
}

/// Bytes in base64 (RFC 4648, section 4).
pub fn to_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let bits = (0..3).fold(0_u32, |bits, at| {
            bits << 8 | u32::from(three.get(at).copied().unwrap_or(0))
        });
        for (place, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let digit = DIGITS
                .get((bits >> shift) as usize & 63)
                .filter(|_| place <= three.len());
            text.push(char::from(digit.copied().unwrap_or(b'=')));
        }
    }
    text
}

/// The bytes of a base64 text (RFC 4648, section 4), padded or not; none where it is no such text to the last bit.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let padding = text.len().saturating_sub(digits.len());
    if digits.len() % 4 == 1 || padding > 0 && (padding > 2 || !text.len().is_multiple_of(4)) {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len());
    for four in digits.chunks(4) {
        let mut bits = 0_u32;
        for at in 0..4 {
            let value = match four.get(at).copied() {
                None => 0,
                Some(digit @ b'A'..=b'Z') => digit - b'A',
                Some(digit @ b'a'..=b'z') => digit - b'a' + 26,
                Some(digit @ b'0'..=b'9') => digit - b'0' + 52,
                Some(b'+') => 62,
                Some(b'/') => 63,
                Some(_) => return None,
            };
            bits = bits << 6 | u32::from(value);
        }
        let [_, three @ ..] = bits.to_be_bytes();
        let (kept, rest) = three.split_at_checked(four.len().saturating_sub(1))?;
        // What no byte takes is nought, or two texts would stand for the same bytes.
        if rest.iter().any(|byte| *byte != 0) {
            return None;
        }
        bytes.extend_from_slice(kept);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_4231_hmac_sha_256_of_keys_shorter_and_longer_than_a_block() {
        let long: &[u8] = b"This is a test using a larger than block-size key and a larger than block-size data. The key needs \
            to be hashed before being used by the HMAC algorithm.";
        let cases: [(&[u8], &[u8], &str); 5] = [
            (
                &[0x0b; 20],
                b"Hi There",
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
            ),
            (
                b"Jefe",
                b"what do ya want for nothing?",
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
            ),
            (
                &[0xaa; 20],
                &[0xdd; 50],
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe",
            ),
            (
                &[0xaa; 131],
                b"Test Using Larger Than Block-Size Key - Hash Key First",
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
            ),
            (
                &[0xaa; 131],
                long,
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2",
            ),
        ];
        for (key, data, expected) in cases {
            // In two parts: what is hashed is one behind the other.
            let (head, tail) = data.split_at(3);
            let mac = mac(key, &[head, tail]).unwrap();
            assert_eq!(
                mac.finalize().into_bytes().as_slice(),
                from_hex(expected).unwrap()
            );
        }
    }

    #[test]
    fn rfc_4648_base64_both_ways() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (plain, coded) in cases {
            assert_eq!(to_base64(plain.as_bytes()), coded);
            assert_eq!(from_base64(coded).unwrap(), plain.as_bytes());
            assert_eq!(
                from_base64(coded.trim_end_matches('=')).unwrap(),
                plain.as_bytes()
            );
        }
        assert_eq!(to_base64(&[0xfb, 0xef, 0xbe, 0xff]), "++++/w==");
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_base64(&to_base64(&all)).unwrap(), all);
        for wrong in [
            "Z",
            "Zg=",
            "Zg===",
            "Zm9v=",
            "====",
            "=",
            "Zm9vZ===",
            "Zh==",
            "Zm9=",
            "Zm 9v",
            "Zm9v\n",
            "Z-9_",
            "Zm9vYg==Zg==",
            "é",
        ] {
            assert_eq!(from_base64(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn hex_is_pairs_of_digits_and_nothing_else() {
        assert_eq!(from_hex("00fFa9").unwrap(), [0, 0xff, 0xa9]);
        for wrong in ["0", "+f", "0x", "f ", "ｆｆ", "fff"] {
            assert_eq!(from_hex(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_secret_is_decoded_only_where_it_is_base64() {
        assert_eq!(standard_key("whsec_Zm9v"), b"foo");
        for raw in ["Zm9v", "whsec_", "whsec_!", "whsec_Zm9", "WHSEC_Zm9v", "é"] {
            assert_eq!(standard_key(raw), raw.as_bytes());
        }
    }
}
