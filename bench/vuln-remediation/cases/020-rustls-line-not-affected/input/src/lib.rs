//! Which names a front end answers for.

use std::collections::BTreeMap;

/// The certificate files by server name, as the configuration lists them.
pub fn certificates(lines: &str) -> BTreeMap<String, String> {
    lines
        .lines()
        .filter_map(|line| line.split_once('='))
        .map(|(name, file)| (name.trim().to_ascii_lowercase(), file.trim().to_owned()))
        .collect()
}

/// The protocol versions that are offered.
pub fn versions() -> &'static [&'static rustls::SupportedProtocolVersion] {
    rustls::ALL_VERSIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_lower_case() {
        assert_eq!(certificates("Example.COM = a.pem\nbroken\n")["example.com"], "a.pem");
    }
}
