//! Searches behave as they did when the signature was last accepted. `UPDATE=1 cargo test` accepts a change.

#[test]
fn the_signature_is_the_accepted_one() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/signature.txt");
    let now = ludex_play::signature().to_string();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, format!("{now}\n")).unwrap();
    }
    let accepted = std::fs::read_to_string(&path).unwrap();
    assert_eq!(now, accepted.trim(), "a search behaves differently; UPDATE=1 cargo test accepts it");
}
