//! Chromium without a window: what a page looks like in it, how large it is, what it prints.

use super::picture::Picture;
use crate::harness::scratch;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// One run takes a second or two; a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Browser {
    program: PathBuf,
    folder: PathBuf,
}

/// Where something is on the page.
#[derive(Debug, Clone, Copy, serde::Deserialize)]
pub(crate) struct Place {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) right: f64,
    pub(crate) bottom: f64,
}

/// What a page says of itself.
#[derive(Debug, serde::Deserialize)]
pub(crate) struct Layout {
    /// Of the window, and of what is in it.
    pub(crate) window: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Where the drawings are.
    pub(crate) plots: Vec<Place>,
    /// How large the smallest text in a drawing is, in pixels.
    pub(crate) smallest: f64,
}

impl Browser {
    /// The installed one. `None`: there is none, and that is said; with `CORPUS_COMPLETE=1` it is a failure.
    pub(crate) fn find() -> Option<Browser> {
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let mut programs = std::env::split_paths(&paths).flat_map(|folder| names.map(|name| folder.join(name)));
        let program = programs.find(|program| program.exists());
        if program.is_none() {
            // Past the test runner, which shows the output of failed tests only.
            let _ = writeln!(std::io::stderr(), "page: skipped: chromium is not installed");
            assert!(std::env::var_os("CORPUS_COMPLETE").is_none(), "chromium is not installed");
        }
        Some(Browser { program: program?, folder: scratch("page") })
    }

    /// Puts a page where the browser finds it.
    pub(crate) fn page(&self, name: &str, html: &str) -> PathBuf {
        let path = self.folder.join(format!("{name}.html"));
        std::fs::write(&path, html).expect("a page");
        path
    }

    /// A picture of the page in a window of this size. The browser's own windows have a least width: the page is in a
    /// frame, which has none.
    pub(crate) fn look(&self, page: &Path, (width, height): (u32, u32), dark: bool) -> Picture {
        let frame = self.frame(page, (width, height), "");
        let file = page.with_extension(format!("{width}-{}.png", if dark { "dark" } else { "light" }));
        // Wider than the page, so that nothing is cut off at the window's edge.
        let window = format!("--window-size={},{height}", width.max(600));
        self.run(&frame, dark, &[&format!("--screenshot={}", file.display()), &window]);
        Picture::read(&file, width, height)
    }

    /// What the page says of itself at this width.
    pub(crate) fn measure(&self, page: &Path, width: u32) -> Layout {
        let script = "<script>onload = () => {
            const page = document.querySelector('iframe').contentDocument;
            const root = page.documentElement;
            const place = it => { const at = it.getBoundingClientRect();
                return { left: at.left, top: at.top, right: at.right, bottom: at.bottom } };
            const text = [...page.querySelectorAll('svg text')].map(it => {
                const svg = it.ownerSVGElement;
                return parseFloat(it.getAttribute('font-size')) * svg.clientWidth / svg.viewBox.baseVal.width });
            document.body.textContent = 'LAYOUT' + JSON.stringify({
                window: root.clientWidth, width: root.scrollWidth, height: root.scrollHeight,
                plots: [...page.querySelectorAll('figure svg')].map(place),
                smallest: Math.min(1000, ...text) }) + 'END';
        }</script>";
        let frame = self.frame(page, (width, 200), script);
        let text = String::from_utf8(self.run(&frame, false, &["--dump-dom"])).expect("UTF-8");
        let json = text.split("LAYOUT").last().and_then(|text| text.split("END").next());
        serde_json::from_str(json.unwrap_or_default()).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The page as it is printed.
    pub(crate) fn print(&self, page: &Path) -> Vec<u8> {
        let file = page.with_extension("pdf");
        self.run(page, true, &[&format!("--print-to-pdf={}", file.display()), "--no-pdf-header-footer"]);
        std::fs::read(file).expect("a PDF")
    }

    fn frame(&self, page: &Path, (width, height): (u32, u32), script: &str) -> PathBuf {
        let name = page.file_name().expect("a name").to_string_lossy();
        let frame = format!(
            "<!DOCTYPE html><meta charset=utf-8><body style='margin:0'>{script}\
             <iframe src='{name}' style='border:0;display:block;width:{width}px;height:{height}px'></iframe>"
        );
        let path = page.with_extension(format!("{width}-{height}.frame.html"));
        std::fs::write(&path, frame).expect("a frame");
        path
    }

    fn run(&self, page: &Path, dark: bool, arguments: &[&str]) -> Vec<u8> {
        let profile = tempfile::tempdir_in(&self.folder).expect("a folder");
        let mut command = Command::new(&self.program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage"]);
        command.args(["--allow-file-access-from-files", "--force-device-scale-factor=1"]);
        // The browser's numbers for dark and light.
        command.arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }));
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        command.args(arguments).arg(format!("file://{}", page.display()));
        let output = profile.path().join("stdout");
        let stdout = std::fs::File::create(&output).expect("a file");
        let mut child = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn().expect("chromium");
        let until = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            if Instant::now() > until {
                let _ = child.kill();
                let _ = child.wait();
                panic!("chromium does not come to an end with {}", page.display());
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "chromium: {status}, {}", page.display());
        std::fs::read(output).expect("what it said")
    }
}
