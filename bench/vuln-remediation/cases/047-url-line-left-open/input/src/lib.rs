//! Which hosts a proxy may talk to.

use url::Url;

/// Whether a URL's host is on the list, or below a domain on it.
pub fn allowed(url: &str, hosts: &[&str]) -> bool {
    let Ok(url) = Url::parse(url) else { return false };
    let Some(host) = url.host_str() else { return false };
    hosts.iter().any(|allowed| host == *allowed || host.ends_with(&format!(".{allowed}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subdomain_is_allowed_and_a_suffix_is_not() {
        assert!(allowed("https://a.example.com/x", &["example.com"]));
        assert!(!allowed("https://notexample.com/", &["example.com"]));
    }
}
