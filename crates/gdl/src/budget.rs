//! Limits on reading and grounding, beyond which a sheet is interpreted or refused.

/// Limits on reading and grounding. All are counts, so that a sheet is treated the same way on every machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Budget {
    /// The bytes of the text.
    pub bytes: usize,
    /// The join steps of grounding; some thirty million take a second.
    pub work: u64,
    /// The different terms and atoms, of up to three arguments on average.
    pub atoms: usize,
    /// The numbers in the list of rule instances: two per instance and one per condition, of four bytes each.
    pub instances: usize,
    /// The facts of a game, and also its moves.
    pub names: usize,
}

/// Opening a sheet within these limits takes some ten seconds and 500 MB at most.
impl Default for Budget {
    fn default() -> Self {
        Budget { bytes: 4 << 20, work: 300_000_000, atoms: 8_000_000, instances: 50_000_000, names: 1_000_000 }
    }
}

impl Budget {
    /// A budget without rule instances, so that every sheet is interpreted. For tests of the interpreter.
    pub fn interpreter() -> Self {
        Budget { instances: 0, ..Budget::default() }
    }
}
