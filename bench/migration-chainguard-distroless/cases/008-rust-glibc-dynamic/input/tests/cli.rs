#[test]
fn the_binary_is_named_after_the_package() {
    assert!(env!("CARGO_BIN_EXE_shortener").ends_with("shortener"));
}
