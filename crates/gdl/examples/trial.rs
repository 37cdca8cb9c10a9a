//! trial
use ludex_core::*;
use ludex_gdl::*;
fn main() {
    let interp = std::env::var("INTERP").is_ok();
    for f in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&f).unwrap();
        let mut o = Options::default();
        if interp {
            o.budget = Budget::interpreter();
        }
        match GdlGame::new(&f, &text, &o) {
            Err(e) => println!("{f}: {e}"),
            Ok(g) => {
                println!("{f}: set-up {:?} {}", g.set_up(), g.sizes());
                let h = g.habits();
                println!(
                    "  matches {} turn {} sum {:?} longest {} unfinished {} counter {} at_most {:?} exclusive {}",
                    h.matches,
                    h.turn_taking,
                    h.constant_sum,
                    h.longest,
                    h.unfinished,
                    h.counter.len(),
                    h.at_most,
                    h.exclusive.len()
                );
                let mut rng = Rng::new(1);
                let s = g.initial();
                let mut n = 0;
                let t = std::time::Instant::now();
                let (mut tot, mut plies) = (0.0, 0);
                while t.elapsed().as_secs_f64() < 1.0 {
                    let (p, l) = playouts(&g, &s, 10, &mut rng);
                    n += 10;
                    tot += p[0];
                    plies += l;
                }
                println!(
                    "  {:.0} playouts/s, plies {:.2}, mean {:.3}",
                    n as f64 / t.elapsed().as_secs_f64(),
                    plies as f64 / n as f64,
                    50.0 + 50.0 * tot / n as f64
                );
            }
        }
    }
}
