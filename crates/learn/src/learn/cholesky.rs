//! Symmetric positive definite systems A·x = b by the Cholesky factorisation A = L·L', in `f64`.
//!
//! Written here rather than taken from a library because a library picks its kernels by processor: this code gives the
//! same bits on every machine, and a system of 323 unknowns takes a few milliseconds. There is no pivoting: a matrix
//! that is not positive definite to rounding is refused.

use crate::simd::dot64;

/// A symmetric matrix, of which only the lower triangle is used; row-major.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Symmetric {
    n: usize,
    cells: Vec<f64>,
}

impl Symmetric {
    pub(crate) fn zero(n: usize) -> Self {
        Symmetric { n, cells: vec![0.0; n * n] }
    }

    pub(crate) fn len(&self) -> usize {
        self.n
    }

    /// Cell (i, j) with j <= i.
    #[inline(always)]
    pub(crate) fn cell(&mut self, i: usize, j: usize) -> &mut f64 {
        &mut self.cells[i * self.n + j]
    }

    /// Row `i`; valid up to the diagonal.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> &[f64] {
        &self.cells[i * self.n..][..self.n]
    }

    #[inline(always)]
    pub(crate) fn row_mut(&mut self, i: usize) -> &mut [f64] {
        &mut self.cells[i * self.n..][..self.n]
    }

    /// A larger matrix: this one in the upper left corner, zeros elsewhere.
    pub(crate) fn grown(&self, n: usize) -> Self {
        let mut grown = Symmetric::zero(n);
        for i in 0..self.n {
            grown.row_mut(i)[..self.n].copy_from_slice(self.row(i));
        }
        grown
    }

    /// The factor L of A = L·L'; `None` if A is not positive definite.
    pub(crate) fn cholesky(mut self) -> Option<Factor> {
        for i in 0..self.n {
            let (above, row) = self.cells.split_at_mut(i * self.n);
            for j in 0..i {
                let other = &above[j * self.n..][..=j];
                row[j] = (row[j] - dot64(&row[..j], &other[..j])) / other[j];
            }
            let left = row[i] - dot64(&row[..i], &row[..i]);
            if left.is_nan() || left <= 0.0 {
                return None;
            }
            row[i] = left.sqrt();
        }
        Some(Factor(self))
    }
}

/// The factor L of a Cholesky factorisation.
#[derive(Clone, Debug)]
pub(crate) struct Factor(Symmetric);

impl Factor {
    /// Solves L·L'·x = b.
    pub(crate) fn solve(&self, b: &[f64]) -> Vec<f64> {
        let n = self.0.n;
        let mut x = b.to_vec();
        for i in 0..n {
            let row = self.0.row(i);
            x[i] = (x[i] - dot64(&row[..i], &x[..i])) / row[i];
        }
        for i in (0..n).rev() {
            let row = self.0.row(i);
            x[i] /= row[i];
            let xi = x[i];
            x[..i].iter_mut().zip(row).for_each(|(x, l)| *x -= l * xi);
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ludex_core::Rng;

    #[test]
    fn a_solution_satisfies_the_system() {
        let mut rng = Rng::new(1);
        for n in [1, 2, 7, 40] {
            let rows: Vec<Vec<f64>> = (0..n).map(|_| (0..n + 5).map(|_| rng.normal()).collect()).collect();
            let mut a = Symmetric::zero(n);
            for i in 0..n {
                for j in 0..=i {
                    *a.cell(i, j) = dot64(&rows[i], &rows[j]);
                }
            }
            let want: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
            let full = |i: usize, j: usize| a.row(i.max(j))[i.min(j)];
            let b: Vec<f64> = (0..n).map(|i| (0..n).map(|j| full(i, j) * want[j]).sum()).collect();
            let got = a.clone().cholesky().unwrap().solve(&b);
            got.iter().zip(&want).for_each(|(g, w)| assert!((g - w).abs() < 1e-8, "{g} is not {w}"));
        }
    }

    #[test]
    fn a_matrix_that_is_not_positive_definite_is_refused() {
        let mut a = Symmetric::zero(2);
        (*a.cell(0, 0), *a.cell(1, 0), *a.cell(1, 1)) = (1.0, 2.0, 1.0);
        assert!(a.cholesky().is_none());
    }
}
