//! Signatures of webhooks against the examples that their specifications give, and against what must not pass (design 4, 5).

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that meets what it does not expect fails"
)]

use std::collections::BTreeMap;

use statewright_engine::signature::{
    Encoding, Plain, Scheme, Unsigned, from_base64, sign, to_base64, verify,
};

/// A request that is signed as its specification says.
#[derive(Clone)]
struct Signed {
    scheme: Scheme,
    secret: &'static str,
    headers: BTreeMap<&'static str, String>,
    body: Vec<u8>,
    at: i64,
}

impl Signed {
    fn verify(&self) -> Result<(), Unsigned> {
        self.verify_with(&[self.secret], 300)
    }

    fn verify_with(&self, secrets: &[&str], tolerance: u64) -> Result<(), Unsigned> {
        let secrets: Vec<String> = secrets.iter().map(ToString::to_string).collect();
        let headers = |name: &str| self.headers.get(name).cloned();
        verify(&self.scheme, &secrets, &headers, &self.body, self.at, tolerance)
    }
}

fn request(
    scheme: Scheme,
    secret: &'static str,
    headers: &[(&'static str, &str)],
    body: &str,
    at: i64,
) -> Signed {
    Signed {
        scheme,
        secret,
        headers: headers
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect(),
        body: body.as_bytes().to_vec(),
        at,
    }
}

fn plain(header: &str, encoding: Encoding, prefix: &str, timestamp_header: Option<&str>) -> Scheme {
    Scheme::Hmac(Plain {
        header: header.to_owned(),
        encoding,
        prefix: prefix.to_owned(),
        timestamp_header: timestamp_header.map(str::to_owned),
    })
}

/// The example of the Standard Webhooks libraries.
fn standard() -> Signed {
    request(
        Scheme::StandardWebhooks,
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        &[
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek"),
            ("webhook-timestamp", "1614265330"),
            (
                "webhook-signature",
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
            ),
        ],
        r#"{"test": 2432232314}"#,
        1_614_265_330,
    )
}

/// The example of GitHub's documentation.
fn github() -> Signed {
    request(
        Scheme::GitHub,
        "It's a Secret to Everybody",
        &[(
            "x-hub-signature-256",
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17",
        )],
        "Hello, World!",
        0,
    )
}

/// The example of Slack's documentation.
fn slack() -> Signed {
    request(
        Scheme::Slack,
        "8f742231b10e8888abcd99yyyzzz85a5",
        &[
            ("x-slack-request-timestamp", "1531420618"),
            (
                "x-slack-signature",
                "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
            ),
        ],
        "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&\
         channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
         response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&\
         trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
        1_531_420_618,
    )
}

/// Signed with openssl: `printf '1700000000.{"id":"evt_1"}' | openssl dgst -sha256 -hmac whsec_test_secret`.
fn stripe() -> Signed {
    request(
        Scheme::Stripe,
        "whsec_test_secret",
        &[("stripe-signature", STRIPE)],
        r#"{"id":"evt_1"}"#,
        1_700_000_000,
    )
}

const STRIPE: &str = "t=1700000000,v1=248a374f50f943a28b0f6ab50faf9a7e7e29b710fa26df9fb1618b9bf8ea9c9a,v0=00";

/// RFC 4231, test case 2.
fn hmac() -> Signed {
    request(
        plain("X-Sig", Encoding::Hex, "hmac ", None),
        "Jefe",
        &[(
            "x-sig",
            "hmac 5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        )],
        "what do ya want for nothing?",
        0,
    )
}

/// The body of the same, behind a time: `printf '1700000000.what do ya want for nothing?' | openssl dgst -sha256 -hmac Jefe
/// -binary | base64`.
fn timed() -> Signed {
    request(
        plain("x-sig", Encoding::Base64, "", Some("X-Time")),
        "Jefe",
        &[
            ("x-sig", "HN0GUMi+HLCXSxeI1Fix54EgbP71m4X6r8WC0uGCxX4="),
            ("x-time", "1700000000"),
        ],
        "what do ya want for nothing?",
        1_700_000_000,
    )
}

/// Each with the header of its signature and that of its time.
fn all() -> [(Signed, &'static str, Option<&'static str>); 6] {
    [
        (standard(), "webhook-signature", Some("webhook-timestamp")),
        (github(), "x-hub-signature-256", None),
        (slack(), "x-slack-signature", Some("x-slack-request-timestamp")),
        (stripe(), "stripe-signature", Some("stripe-signature")),
        (hmac(), "x-sig", None),
        (timed(), "x-sig", Some("x-time")),
    ]
}

#[test]
fn the_examples_of_the_specifications_verify() {
    for (signed, header, _) in all() {
        assert_eq!(signed.verify(), Ok(()), "{header}");
    }
}

#[test]
fn what_is_sent_is_signed_as_the_specification_s_example() {
    let Signed {
        secret,
        headers,
        body,
        ..
    } = standard();
    let sent = sign(
        &[secret.to_owned()],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        &body,
    );
    assert_eq!(sent, headers["webhook-signature"]);
    assert_eq!(sign(&[], "msg", 0, &body), "");
    // Both live secrets sign, the current one first; each receiver finds its own.
    let both = sign(
        &["whsec_bmV3".to_owned(), secret.to_owned()],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        &body,
    );
    assert_eq!(
        both.split(' ').nth(1),
        Some(headers["webhook-signature"].as_str())
    );
    let mut received = standard();
    received.headers.insert("webhook-signature", both);
    for (secrets, holds) in [
        (&["whsec_bmV3"][..], true),
        (&[secret], true),
        (&["bmV3"], false),
        (&["whsec_b3RoZXI="], false),
    ] {
        assert_eq!(received.verify_with(secrets, 300).is_ok(), holds, "{secrets:?}");
    }
    // A text without the prefix is the key itself, byte for byte.
    let raw = sign(
        &["new".to_owned()],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        1_614_265_330,
        &body,
    );
    assert_eq!(both_first(&received), raw);
}

fn both_first(received: &Signed) -> String {
    received.headers["webhook-signature"]
        .split(' ')
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn no_byte_of_a_body_a_secret_or_a_signature_may_differ() {
    for (signed, header, time) in all() {
        for at in 0..signed.body.len() {
            for bit in [1, 0x20, 0x80] {
                let mut other = signed.clone();
                other.body[at] ^= bit;
                assert_eq!(
                    other.verify(),
                    Err(Unsigned::Wrong),
                    "{header}: byte {at} of the body"
                );
            }
        }
        for body in [
            &signed.body[1..],
            &signed.body[..signed.body.len() - 1],
            &[&signed.body[..], b"\n"].concat(),
            &[],
        ] {
            let other = Signed {
                body: body.to_vec(),
                ..signed.clone()
            };
            assert_eq!(other.verify(), Err(Unsigned::Wrong), "{header}");
        }
        for secret in ["", "It's a secret to everybody", "whsec_", "\0"] {
            assert_eq!(
                signed.verify_with(&[secret], 300),
                Err(Unsigned::Wrong),
                "{header}: {secret}"
            );
        }
        assert_eq!(
            signed.verify_with(&[], 300),
            Err(Unsigned::Wrong),
            "{header}: no secret"
        );
        assert_eq!(
            signed.verify_with(&["other", signed.secret], 300),
            Ok(()),
            "{header}: the previous secret"
        );
        let text = signed.headers[header].clone();
        // Of Stripe's header the last part is of a scheme that is not looked at.
        for at in 0..text.find(",v0=").unwrap_or(text.len()) {
            let mut bytes = text.clone().into_bytes();
            bytes[at] ^= 1;
            let mut other = signed.clone();
            other.headers.insert(header, String::from_utf8(bytes).unwrap());
            assert!(other.verify().is_err(), "{header}: character {at}");
        }
        if let Some(time) = time.filter(|time| *time != header) {
            let mut other = signed.clone();
            let later: i64 = signed.headers[time].parse::<i64>().unwrap() + 1;
            other.headers.insert(time, later.to_string());
            assert_eq!(other.verify(), Err(Unsigned::Wrong), "{header}: another time");
        }
    }
}

#[test]
fn standard_webhooks_sign_the_id_and_take_svix_s_names() {
    let mut other = standard();
    other
        .headers
        .insert("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJel".to_owned());
    assert_eq!(other.verify(), Err(Unsigned::Wrong));
    let mut svix = standard();
    svix.headers = standard()
        .headers
        .into_iter()
        .map(|(name, value)| {
            let name = ["svix-id", "svix-timestamp", "svix-signature"]
                .into_iter()
                .find(|of| of.strip_prefix("svix") == name.strip_prefix("webhook"));
            (name.unwrap(), value)
        })
        .collect();
    assert_eq!(svix.verify(), Ok(()));
    // The names are not mixed.
    svix.headers.remove("svix-signature");
    svix.headers.insert(
        "webhook-signature",
        standard().headers["webhook-signature"].clone(),
    );
    assert_eq!(svix.verify(), Err(Unsigned::Absent("svix-signature".to_owned())));
}

#[test]
fn a_time_may_be_the_tolerance_away_before_and_after_now_and_no_more() {
    for (signed, header, time) in all() {
        for (offset, tolerance, holds) in [
            (300, 300, true),
            (-300, 300, true),
            (301, 300, false),
            (-301, 300, false),
            (1, 1, true),
            (-2, 1, false),
            (86_400, 86_400, true),
            (1_000_000_000, 86_400, false),
        ] {
            let other = Signed {
                at: signed.at + offset,
                ..signed.clone()
            };
            let expected = if holds || time.is_none() {
                Ok(())
            } else {
                Err(Unsigned::Time {
                    seconds: i64::unsigned_abs(offset),
                    tolerance,
                })
            };
            assert_eq!(
                other.verify_with(&[signed.secret], tolerance),
                expected,
                "{header}: {offset}"
            );
        }
    }
}

#[test]
fn a_time_is_digits_and_nothing_else() {
    for odd in [
        "",
        "-1700000000",
        "+1700000000",
        "1700000000.0",
        "1.7e9",
        "0x10",
        " 1700000000",
        "１７００００００００",
        "9999999999999999",
        "now",
    ] {
        for (mut signed, header, time) in all() {
            let Some(time) = time else { continue };
            let text = if time == header {
                STRIPE.replace("t=1700000000", &format!("t={odd}"))
            } else {
                odd.to_owned()
            };
            signed.headers.insert(time, text);
            assert_eq!(signed.verify(), Err(Unsigned::NoTime), "{header}: {odd}");
        }
    }
    // As many noughts as one likes are signed as they are.
    let mut signed = timed();
    signed.headers.insert("x-time", "01700000000".to_owned());
    assert_eq!(signed.verify(), Err(Unsigned::Wrong));
}

#[test]
fn headers_that_are_missing_are_told_by_name() {
    for (signed, header, time) in all() {
        for missing in std::iter::once(header).chain(time) {
            let mut other = signed.clone();
            other.headers.remove(missing);
            assert_eq!(other.verify(), Err(Unsigned::Absent(missing.to_owned())));
        }
    }
    let mut other = standard();
    other.headers.remove("webhook-id");
    assert_eq!(other.verify(), Err(Unsigned::Absent("webhook-id".to_owned())));
}

#[test]
fn odd_and_huge_headers_are_no_signature() {
    let long = "a".repeat(200_000);
    let odd = [
        "",
        " ",
        ",",
        "=",
        "v1",
        "v1,",
        "v1,=",
        "v1=",
        "v0=",
        "sha256=",
        "sha256=zz",
        "sha1=757107",
        "t=1,v1=1",
        "\u{0}",
        "é",
        "v1,AAAA",
        "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e1",
        &long,
    ];
    for (signed, header, _) in all() {
        for odd in odd {
            let mut other = signed.clone();
            other.headers.insert(header, odd.to_owned());
            assert!(other.verify().is_err(), "{header}: {odd:.20}");
        }
    }
    // One that holds among many that do not.
    let right = standard().headers["webhook-signature"].clone();
    let wrong = format!("v1,{} ", to_base64(&[7; 32]));
    let mut many = standard();
    many.headers.insert(
        "webhook-signature",
        format!("{}v2,x v1a,y  {right}", wrong.repeat(2000)),
    );
    assert_eq!(many.verify(), Ok(()));
    let mut many = stripe();
    let wrong = format!("v1={},", "0".repeat(64));
    many.headers.insert(
        "stripe-signature",
        STRIPE.replace(",v1", &format!(",{}v1", wrong.repeat(2000))),
    );
    assert_eq!(many.verify(), Ok(()));
    // Digits in capitals are the same digits; a part of the signature is none.
    let mut other = github();
    let text = other.headers["x-hub-signature-256"]
        .to_uppercase()
        .replace("SHA256", "sha256");
    other.headers.insert("x-hub-signature-256", text);
    assert_eq!(other.verify(), Ok(()));
    let short = github().headers["x-hub-signature-256"][..39].to_owned();
    other.headers.insert("x-hub-signature-256", short);
    assert_eq!(other.verify(), Err(Unsigned::Wrong));
}

#[test]
fn a_plain_hmac_has_the_form_that_its_source_says() {
    let hex = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    let bytes: Vec<u8> = (0..32)
        .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap())
        .collect();
    let base64 = to_base64(&bytes);
    assert_eq!(from_base64(&base64), Some(bytes));
    for (encoding, prefix, text, holds) in [
        (Encoding::Hex, "", hex.to_owned(), true),
        (Encoding::Base64, "", base64.clone(), true),
        (
            Encoding::Base64,
            "",
            base64.trim_end_matches('=').to_owned(),
            true,
        ),
        (Encoding::Base64, "v=", format!("v={base64}"), true),
        (Encoding::Hex, "", base64.clone(), false),
        (Encoding::Base64, "", hex.to_owned(), false),
        (Encoding::Hex, "sha256=", hex.to_owned(), false),
        (Encoding::Hex, "", format!("sha256={hex}"), false),
        (Encoding::Hex, "", format!("{hex} "), false),
        (Encoding::Hex, "", format!("{hex}{hex}"), false),
    ] {
        let mut signed = hmac();
        signed.scheme = plain("x-sig", encoding, prefix, None);
        signed.headers.insert("x-sig", text.clone());
        assert_eq!(signed.verify().is_ok(), holds, "{encoding:?} {prefix} {text}");
    }
}
