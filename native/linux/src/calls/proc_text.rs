//! The text of the files under `/proc` and `/sys`.

use crate::bounds::MAPPINGS;
use crate::fs::vfs::ProcFile;
use crate::kernel::Kernel;
use crate::machine::{Machine, PAGE};
use crate::task::process::{PID, UID};

/// The kernel release that guests see: old enough to promise little, new enough for every libc.
pub(super) const RELEASE: &str = "6.1.0-mayfly";

impl Kernel {
    /// The text of a file, or a piece of it from `from` on (0 at first) and where the next one starts.
    pub(super) fn proc_text(
        &self,
        m: &mut impl Machine,
        file: ProcFile,
        from: u64,
    ) -> (Vec<u8>, Option<u64>) {
        if file == ProcFile::Maps {
            let (text, next) = self.space.tree.describe(from, MAPPINGS);
            return (text.into_bytes(), next);
        }
        (self.proc_text_whole(m, file), None)
    }

    fn proc_text_whole(&self, m: &mut impl Machine, file: ProcFile) -> Vec<u8> {
        let name = self
            .threads
            .iter()
            .next()
            .map_or([0; 16], |(_, thread)| thread.name);
        let name =
            String::from_utf8_lossy(name.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned();
        let (total, free) = (m.total_pages() * PAGE / 1024, m.free_pages() * PAGE / 1024);
        let used = total.saturating_sub(free);
        let uptime = self.now(m) as f64 / 1e9;
        let threads = self.threads.count();
        let size = self.space.tree.reserved();
        let text = match file {
            ProcFile::Maps => self.space.tree.describe(0, usize::MAX).0,
            ProcFile::Status => format!(
                "Name:\t{name}\nUmask:\t{:04o}\nState:\tR (running)\nTgid:\t{PID}\nNgid:\t0\nPid:\t{PID}\nPPid:\t1\nTracerPid:\t0\nUid:\t{UID}\t{UID}\t{UID}\t{UID}\nGid:\t{UID}\t{UID}\t{UID}\t{UID}\nFDSize:\t64\nGroups:\t\nVmPeak:\t{} kB\nVmSize:\t{} kB\nVmHWM:\t{used} kB\nVmRSS:\t{used} kB\nThreads:\t{threads}\nCpus_allowed:\t1\nCpus_allowed_list:\t0\n",
                self.process.umask, size / 1024, size / 1024
            ),
            ProcFile::Stat => format!(
                "{PID} ({name}) R 1 {PID} {PID} 0 -1 0 0 0 0 0 0 0 0 0 20 0 {threads} 0 0 {size} {} 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
                used / 4
            ),
            ProcFile::Statm => format!("{} {} 0 0 0 {} 0\n", size / PAGE, used / 4, used / 4),
            ProcFile::Cmdline => return self.process.command_line.clone(),
            ProcFile::Comm => format!("{name}\n"),
            ProcFile::Auxv => return self.process.auxiliary.clone(),
            ProcFile::Cgroup => "0::/\n".to_owned(),
            ProcFile::Mountinfo => "1 0 0:1 / / ro - tmpfs none ro\n2 1 0:2 / /proc ro - proc proc ro\n3 1 0:3 / /tmp rw - tmpfs none rw\n".to_owned(),
            ProcFile::Limits => "Limit                     Soft Limit           Hard Limit           Units     \n".to_owned(),
            ProcFile::Meminfo => format!(
                "MemTotal:       {total:8} kB\nMemFree:        {free:8} kB\nMemAvailable:   {free:8} kB\nBuffers:               0 kB\nCached:                0 kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n"
            ),
            ProcFile::Cpuinfo => "processor\t: 0\nvendor_id\t: GenericVirtual\nmodel name\t: virtual\ncpu cores\t: 1\n\n".to_owned(),
            ProcFile::Uptime => format!("{uptime:.2} 0.00\n"),
            ProcFile::Loadavg => format!("0.00 0.00 0.00 1/{threads} {PID}\n"),
            ProcFile::SystemStat => "cpu  0 0 0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\nbtime 0\nprocesses 1\n".to_owned(),
            ProcFile::Version => format!("Linux version {RELEASE}\n"),
            ProcFile::Osrelease => format!("{RELEASE}\n"),
            ProcFile::OvercommitMemory => "1\n".to_owned(),
            ProcFile::MaxMapCount => format!("{}\n", self.limits.mappings),
            ProcFile::ThpEnabled => "always madvise [never]\n".to_owned(),
            ProcFile::CpuOnline => "0\n".to_owned(),
        };
        text.into_bytes()
    }
}
