//! The formats of texts that a form may ask for.

/// Whether a text has a format. A format that is not known says nothing about a text.
pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "email" => email(text),
        "uri" => url::Url::parse(text).is_ok(),
        "date" => date(text).is_some(),
        "date-time" => date_time(text).is_some(),
        _ => true,
    }
}

/// As strict as mail itself: something on both sides of the last at sign, and no blanks.
fn email(text: &str) -> bool {
    let blank = |c: char| c.is_whitespace() || c.is_control();
    match text.rsplit_once('@') {
        Some((local, domain)) => {
            !local.is_empty()
                && !domain.is_empty()
                && !text.contains(blank)
                && !domain.starts_with('.')
                && !domain.ends_with('.')
        }
        None => false,
    }
}

/// Digits, as a number.
fn digits(text: &str, count: usize) -> Option<u32> {
    let all = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// `YYYY-MM-DD` (RFC 3339, `full-date`).
fn date(text: &str) -> Option<()> {
    let mut parts = text.splitn(3, '-');
    let year = digits(parts.next()?, 4)?;
    let month = digits(parts.next()?, 2)?;
    let day = digits(parts.next()?, 2)?;
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    (1..=days).contains(&day).then_some(())
}

/// A date, a time and an offset (RFC 3339, `date-time`). A leap second may be anywhere.
fn date_time(text: &str) -> Option<()> {
    let at = text.find(['T', 't', ' '])?;
    date(text.get(..at)?)?;
    let rest = text.get(at + 1..)?;
    let end = rest.find(['Z', 'z', '+', '-'])?;
    let (time, offset) = rest.split_at_checked(end)?;
    let (whole, fraction) = time.split_once('.').map_or((time, None), |(w, f)| (w, Some(f)));
    let plain = |f: &str| !f.is_empty() && f.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = whole.splitn(3, ':');
    let hour = digits(parts.next()?, 2)?;
    let minute = digits(parts.next()?, 2)?;
    let second = digits(parts.next()?, 2)?;
    let good = hour < 24 && minute < 60 && second <= 60 && fraction.is_none_or(plain);
    let zone = match offset {
        "Z" | "z" => true,
        _ => {
            let (hours, minutes) = offset.get(1..)?.split_once(':')?;
            digits(hours, 2)? < 24 && digits(minutes, 2)? < 60
        }
    };
    (good && zone).then_some(())
}
