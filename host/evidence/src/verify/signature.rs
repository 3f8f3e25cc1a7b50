//! interim
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordSignature {
    None,
    UnknownKey,
    Trusted { name: String },
}
impl RecordSignature {
    pub const fn is_trusted(&self) -> bool {
        matches!(self, Self::Trusted { .. })
    }
}
