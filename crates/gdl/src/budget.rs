//! How much a rulesheet may ask for before it is handed to the interpreter, or refused.

/// Limits on reading and grounding. All are counts: the same sheet is treated the same way on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// Bytes of text.
    pub bytes: usize,
    /// Steps of joining; some thirty million take a second.
    pub work: u64,
    /// Different terms and atoms, of up to three arguments on average.
    pub atoms: usize,
    /// Numbers in the list of rule instances, four bytes each.
    pub instances: usize,
    /// Facts, and moves, that a game may have.
    pub names: usize,
}

/// Some ten seconds and 500 MB at the very most.
impl Default for Budget {
    fn default() -> Self {
        Budget { bytes: 4 << 20, work: 300_000_000, atoms: 8_000_000, instances: 50_000_000, names: 1_000_000 }
    }
}

impl Budget {
    /// A budget so small that only the interpreter can play anything: for tests of the interpreter.
    pub fn interpreter() -> Self {
        Budget { instances: 0, ..Budget::default() }
    }
}
