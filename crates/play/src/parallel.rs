//! Pieces of work on several threads, whose results one thread receives as they are done.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Does the pieces of work on so many threads, and hands what comes of each to `receive`. Nothing more is begun by a thread
/// whose work gives `None`, nor by any once `receive` gives `false`.
pub fn in_parallel<I: Copy + Sync, T: Send>(
    todo: &[I],
    threads: usize,
    work: impl Fn(I) -> Option<T> + Sync,
    mut receive: impl FnMut(T) -> bool,
) {
    let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1).min(todo.len()) {
            let (sender, next, ended, work) = (sender.clone(), &next, &ended, &work);
            scope.spawn(move || {
                while !ended.load(Ordering::Relaxed)
                    && let Some(&piece) = todo.get(next.fetch_add(1, Ordering::Relaxed))
                    && let Some(done) = work(piece)
                    && sender.send(done).is_ok()
                {}
            });
        }
        drop(sender);
        for done in receiver {
            if !receive(done) {
                ended.store(true, Ordering::Relaxed);
            }
        }
    });
}
