//! Threads that submit requests, and as many that complete them: every block is freed by another thread than its own.
//!
//! Modelled on the write-up that ran QEMU with glibc's malloc, jemalloc and tcmalloc: one virtual machine, random 4 KiB
//! reads at queue depth 32, one I/O thread a disk, from 1 to 15 disks. One allocator fell to a sixth of its rate as
//! disks were added, so the figure to sweep is `iops` over `--threads`.

use clap::Parser;
use fastrand::Rng;
use jeshim_workloads::{Checksum, Size, figure, figure_f64, memory_figure};
use std::{
    process::ExitCode,
    sync::mpsc::{Receiver, SyncSender, sync_channel},
    thread,
    time::Instant,
};

/// Allocates requests and buffers of mixed sizes in N threads and frees them in N others
#[derive(Parser)]
#[command(version)]
struct Options {
    #[command(flatten)]
    size: Size,

    /// Disks: a submitting and a completing thread for each
    #[arg(long, default_value_t = 2, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=512))]
    threads: u32,

    /// Requests in flight that are submitted together
    #[arg(long, default_value_t = 32, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=4096))]
    depth: u32,
}

/// What a block layer allocates for one request: the request itself, a vector of segments, and the data.
struct Request {
    sector: u64,
    segments: Vec<Box<[u8]>>,
    /// The rest of the request structure, at its size in the original.
    _state: [u8; 168],
}

type Batch = Vec<Box<Request>>;

/// Mostly single 4 KiB pages, some short control blocks, some long transfers in several segments.
fn request(rng: &mut Rng) -> Box<Request> {
    let lengths: &[usize] = match rng.u32(..100) {
        0..70 => &[4096],
        70..85 => &[512],
        85..95 => &[96, 8192],
        _ => &[16384, 16384, 4096],
    };
    let sector = rng.u64(..);
    let segments = lengths
        .iter()
        .map(|&length| {
            let mut data = vec![0; length].into_boxed_slice();
            // A word at each end is enough to see that no other request was given the same block.
            data[..8].copy_from_slice(&sector.to_le_bytes());
            data[length - 8..].copy_from_slice(&sector.to_le_bytes());
            data
        })
        .collect();
    Box::new(Request { sector, segments, _state: [0; 168] })
}

fn submit(mut rng: Rng, requests: usize, depth: usize, queue: SyncSender<Batch>) {
    let mut left = requests;
    while left > 0 {
        let count = left.min(depth);
        let batch = (0..count).map(|_| request(&mut rng)).collect();
        left -= count;
        if queue.send(batch).is_err() {
            // The other side is gone, and says why in its own result.
            return;
        }
    }
}

/// Frees what comes in, in the order it came, and returns a sum of what the blocks held.
fn complete(queue: Receiver<Batch>) -> (u64, u64) {
    let mut checksum = Checksum::default();
    let mut segments = 0;
    for batch in queue {
        for request in batch {
            for segment in &request.segments {
                checksum.number(request.sector);
                checksum.bytes(&segment[..8]);
                checksum.bytes(&segment[segment.len() - 8..]);
                segments += 1;
            }
        }
    }
    (checksum.value(), segments)
}

fn main() -> ExitCode {
    let options = Options::parse();
    let requests = options.size.scaled(250_000).div_ceil(options.threads as usize);
    let depth = options.depth as usize;

    let start = Instant::now();
    let mut disks = Vec::new();
    for disk in 0..options.threads {
        // Two batches in flight: one being filled while the other is being freed.
        let (submitted, queue) = sync_channel(2);
        let rng = Rng::with_seed(options.size.seed.wrapping_add(u64::from(disk) << 32));
        let name = |side: &str| thread::Builder::new().name(format!("{side}-{disk}"));
        let submitter = name("submit").spawn(move || submit(rng, requests, depth, submitted));
        let completer = name("complete").spawn(move || complete(queue));
        match (submitter, completer) {
            (Ok(submitter), Ok(completer)) => disks.push((submitter, completer)),
            (Err(error), _) | (_, Err(error)) => {
                eprintln!("io-threads: cannot start the threads of disk {disk}: {error}; try fewer --threads");
                return ExitCode::FAILURE;
            }
        }
    }

    let mut checksum = Checksum::default();
    let mut blocks = 0;
    for (disk, (submitter, completer)) in disks.into_iter().enumerate() {
        let (Ok(()), Ok((sum, segments))) = (submitter.join(), completer.join()) else {
            eprintln!("io-threads: a thread of disk {disk} failed");
            return ExitCode::FAILURE;
        };
        checksum.number(sum);
        // A request and its vector of segments, beside the segments.
        blocks += segments + 2 * requests as u64;
    }
    let seconds = start.elapsed().as_secs_f64();

    let total = requests * options.threads as usize;
    figure("disks", options.threads, "count");
    figure("requests", total, "count");
    figure("blocks", blocks, "count");
    figure_f64("iops", total as f64 / seconds, "requests/s");
    figure_f64("elapsed", seconds * 1e3, "ms");
    memory_figure("rss", None);
    checksum.print();
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, requests: usize, depth: usize) -> (u64, u64) {
        let (submitted, queue) = sync_channel(2);
        let submitter = thread::spawn(move || submit(Rng::with_seed(seed), requests, depth, submitted));
        let result = complete(queue);
        submitter.join().expect("the submitting thread");
        result
    }

    #[test]
    fn the_depth_changes_the_batches_and_not_the_requests() {
        assert_eq!(run(3, 1000, 32), run(3, 1000, 7));
        assert_ne!(run(3, 1000, 32), run(4, 1000, 32));
    }
}
