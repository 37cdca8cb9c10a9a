//! Pieces of work on several threads, whose results one thread receives as they are done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, mpsc};

/// Does the pieces of work on so many threads, and hands what comes of each to `receive`. Nothing more is begun by a thread
/// whose work gives `None`, nor by any once `receive` gives `false`.
pub fn in_parallel<I: Send, T: Send>(
    todo: impl Iterator<Item = I> + Send,
    threads: usize,
    work: impl Fn(I) -> Option<T> + Sync,
    mut receive: impl FnMut(T) -> bool,
) {
    let most = todo.size_hint().1.unwrap_or(usize::MAX);
    let (todo, ended) = (Mutex::new(todo), AtomicBool::new(false));
    let next = || if ended.load(Ordering::Relaxed) { None } else { lock(&todo).next() };
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1).min(most) {
            let (sender, next, work) = (sender.clone(), &next, &work);
            scope.spawn(move || {
                while let Some(piece) = next()
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

/// Does so many pieces of work on so many threads and gives what comes of them in order, or the first failure, after which no
/// more are begun.
pub fn try_in_parallel<T: Send, E: Send>(
    pieces: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let mut all: Vec<Option<Result<T, E>>> = (0..pieces).map(|_| None).collect();
    let work = |i| Some((i, work(i)));
    in_parallel(0..pieces, threads, work, |(i, result)| all[i].insert(result).is_ok());
    all.into_iter().flatten().collect()
}

/// Locks what no panic can leave in disorder.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}
