//! Times as receivers read and write them.

use std::time::UNIX_EPOCH;

use statewright_core::ids::Millis;

/// The least and the most that a receiver may ask to wait.
const WAITS_MS: std::ops::RangeInclusive<i64> = 1_000..=3_600_000;

/// A time as ISO 8601 in UTC, to the millisecond.
pub(crate) fn iso(time: Millis) -> String {
    let (days, millis) = (time.0.div_euclid(86_400_000), time.0.rem_euclid(86_400_000));
    // Days of the era of 400 years from 1 March of year 0.
    let shifted = days.saturating_add(719_468);
    let (era, of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era.saturating_mul(400) + i64::from(month <= 2);
    let (hours, minutes) = (millis / 3_600_000, millis / 60_000 % 60);
    let (seconds, rest) = (millis / 1000 % 60, millis % 1000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{rest:03}Z")
}

/// How long a Retry-After asks to wait: seconds, or an HTTP date.
pub(crate) fn retry_after(text: &str, now: Millis) -> Option<i64> {
    let text = text.trim();
    let wait = if text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Longer than any number holds is too long anyhow.
        text.parse::<i64>()
            .map_or(i64::MAX, |seconds| seconds.saturating_mul(1000))
    } else {
        let date = httpdate::parse_http_date(text).ok()?;
        let since = date.duration_since(UNIX_EPOCH).ok()?;
        i64::try_from(since.as_millis()).ok()?.saturating_sub(now.0)
    };
    (!text.is_empty()).then(|| wait.clamp(*WAITS_MS.start(), *WAITS_MS.end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_iso_8601_in_utc() {
        for (millis, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_001, "2024-02-29T23:59:59.001Z"),
            (1_735_689_600_000, "2025-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
        ] {
            assert_eq!(iso(Millis(millis)), text);
        }
    }

    #[test]
    fn a_receiver_asks_to_wait_in_seconds_or_until_a_date() {
        let now = Millis(784_111_777_000);
        for (text, wait) in [
            ("120", Some(120_000)),
            (" 2 ", Some(2_000)),
            ("0", Some(1_000)),
            ("99999999999999999999", Some(3_600_000)),
            ("Sun, 06 Nov 1994 08:49:47 GMT", Some(10_000)),
            ("Sun, 06 Nov 1994 08:49:07 GMT", Some(1_000)),
            ("soon", None),
            ("-5", None),
            ("", None),
        ] {
            assert_eq!(retry_after(text, now), wait, "{text}");
        }
    }
}
