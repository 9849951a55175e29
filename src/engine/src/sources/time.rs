//! Times as providers write them.

/// Below this a number is of seconds, from it on of milliseconds: the year 5138 in seconds, 1973 in milliseconds.
const LEAST_MILLIS: i64 = 100_000_000_000;

/// A time in milliseconds since the epoch: of a number of seconds or milliseconds, or of RFC 3339.
pub(crate) fn read(text: &str) -> Option<i64> {
    number(text).or_else(|| rfc3339(text))
}

/// Digits as a number.
fn digits(text: &str) -> Option<i64> {
    let all = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// The thousandths of a fraction, further digits cut off.
fn thousandths(fraction: &str) -> Option<i64> {
    let three: String = fraction.chars().chain("000".chars()).take(3).collect();
    digits(if fraction.is_empty() { "" } else { &three })
        .filter(|_| fraction.bytes().all(|byte| byte.is_ascii_digit()))
}

fn number(text: &str) -> Option<i64> {
    let (sign, plain) = match text.strip_prefix('-') {
        Some(plain) => (-1, plain),
        None => (1, text),
    };
    let (whole, fraction) = plain.split_once('.').unwrap_or((plain, "0"));
    let (whole, fraction) = (digits(whole)?, thousandths(fraction)?);
    let millis = if whole < LEAST_MILLIS {
        whole.checked_mul(1000)?.checked_add(fraction)?
    } else {
        whole
    };
    millis.checked_mul(sign)
}

fn rfc3339(text: &str) -> Option<i64> {
    let (date, time) = text.split_at_checked(10)?;
    let [year, month, day] = three(date, '-', [4, 2, 2])?;
    let time = time.strip_prefix(['T', 't', ' '])?;
    let (clock, rest) = time.split_at_checked(8)?;
    let [hour, minute, second] = three(clock, ':', [2, 2, 2])?;
    // A leap second counts as the one after it.
    if !(1..=12).contains(&month) || !(1..=days_of(year, month)).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let (fraction, zone) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at_checked(rest.find(|digit: char| !digit.is_ascii_digit())?)?,
        None => ("0", rest),
    };
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let (sign, of) = match zone.split_at_checked(1)? {
                ("+", of) => (1, of),
                ("-", of) => (-1, of),
                _ => return None,
            };
            let (hours, minutes) = of
                .split_once(':')
                .filter(|(hours, minutes)| hours.len() + minutes.len() == 4)?;
            let (hours, minutes) = (digits(hours)?, digits(minutes)?);
            if hours > 23 || minutes > 59 {
                return None;
            }
            sign * (hours * 60 + minutes)
        }
    };
    let seconds = days_before(year, month, day) * 86_400 + hour * 3600 + (minute - offset) * 60 + second;
    Some(seconds * 1000 + thousandths(fraction)?)
}

/// Three numbers of so many digits with something between.
fn three(text: &str, between: char, lengths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(between);
    let mut next = |length| parts.next().filter(|part| part.len() == length).and_then(digits);
    let [a, b, c] = lengths;
    Some([next(a)?, next(b)?, next(c)?])
}

fn days_of(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from the epoch to a date of the Gregorian calendar: counted from 1 March of the year 0, where the leap day comes
/// last in its year.
fn days_before(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    year * 365 + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn numbers_are_seconds_or_milliseconds() {
        for (text, millis) in [
            ("0", Some(0)),
            ("1700000000", Some(1_700_000_000_000)),
            ("1700000000123", Some(1_700_000_000_123)),
            ("1355517523.000005", Some(1_355_517_523_000)),
            ("1700000000.5", Some(1_700_000_000_500)),
            ("1700000000.1239", Some(1_700_000_000_123)),
            ("99999999999", Some(99_999_999_999_000)),
            ("100000000000", Some(100_000_000_000)),
            ("-1", Some(-1000)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("", None),
            ("-", None),
            ("1.", None),
            (".5", None),
            ("1e9", None),
            ("+1", None),
            (" 1", None),
            ("1.5x", None),
        ] {
            assert_eq!(read(text), millis, "{text}");
        }
    }

    #[test]
    fn rfc_3339_is_read_with_its_offset() {
        for (text, millis) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2019-05-15T15:20:41Z", Some(1_557_933_641_000)),
            ("2000-02-29T00:00:00.000Z", Some(951_782_400_000)),
            ("2024-02-29T23:59:59.001Z", Some(1_709_251_199_001)),
            ("1969-12-31T23:59:59.999Z", Some(-1)),
            ("0000-03-01T00:00:00Z", Some(-62_162_035_200_000)),
            ("9999-12-31T23:59:59.999999999Z", Some(253_402_300_799_999)),
            // The examples of the RFC.
            ("1985-04-12T23:20:50.52Z", Some(482_196_050_520)),
            ("1996-12-19T16:39:57-08:00", Some(851_042_397_000)),
            ("1990-12-31T23:59:60Z", Some(662_688_000_000)),
            ("1937-01-01T12:00:27.87+00:20", Some(-1_041_337_172_130)),
            ("2023-02-29T00:00:00Z", None),
            ("1900-02-29T00:00:00Z", None),
            ("2023-13-01T00:00:00Z", None),
            ("2023-00-01T00:00:00Z", None),
            ("2023-01-00T00:00:00Z", None),
            ("2023-01-01T24:00:00Z", None),
            ("2023-01-01T00:00:00", None),
            ("2023-01-01T00:00:00.Z", None),
            ("2023-01-01T00:00:00.5", None),
            ("2023-01-01T00:00:00+0100", None),
            ("2023-01-01T00:00:00+1:00", None),
            ("2023-01-01", None),
            ("2023-1-01T00:00:00Z", None),
            ("+023-01-01T00:00:00Z", None),
            ("2023-01-01Té0:00:00Z", None),
        ] {
            assert_eq!(read(text), millis, "{text}");
        }
    }
}
