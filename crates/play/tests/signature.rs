//! Searches behave as they did when the signatures were last accepted. `UPDATE=1 cargo test` accepts a change.

use ludex_play::signature::{node_count, signature};

#[test]
fn the_signature_is_the_accepted_one() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/signature.txt");
    let now = format!("{}\n{:016x}\n", node_count(), signature());
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let accepted = std::fs::read_to_string(&path).unwrap();
    assert_eq!(now, accepted, "a search behaves differently; UPDATE=1 cargo test accepts it");
}
