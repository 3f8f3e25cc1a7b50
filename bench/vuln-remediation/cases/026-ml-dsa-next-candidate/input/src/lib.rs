//! Names the keys of the signing service.

pub use ml_dsa::MlDsa65 as Parameters;

/// The label under which a key is stored.
pub fn label(owner: &str, year: u16) -> String {
    format!("ml-dsa-65/{owner}/{year}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_names_owner_and_year() {
        assert_eq!(label("billing", 2026), "ml-dsa-65/billing/2026");
    }
}
