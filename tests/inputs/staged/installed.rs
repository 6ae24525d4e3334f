//! A system with stages, as linkaudit sees it and after the installation. A case is a directory of
//! the laboratory with `root`, `stage0`, `stage1` and `replaces`.

use super::system::{ldconfig, sh, traced};
use crate::support::{Lab, Tally, linkaudit};
use std::collections::BTreeMap;
use std::path::PathBuf;

pub struct Case {
    /// Below the laboratory.
    pub dir: String,
    pub stages: usize,
    /// The system has a cache.
    pub caches: bool,
    /// Installed paths of the compared files.
    pub files: Vec<String>,
}

impl Case {
    /// Unpacks the stages over a copy of the system, and runs ldconfig there.
    pub fn install(&self, lab: &Lab) -> PathBuf {
        let dir = &self.dir;
        sh(lab, &format!("rm -rf {dir}/whole && cp -a {dir}/root {dir}/whole"));
        sh(
            lab,
            &format!("cd {dir} && touch replaces && sed 's|^|whole|' replaces | xargs -r rm -f"),
        );
        for stage in 0..self.stages {
            let unpack = "tar -C whole --keep-directory-symlink -x";
            sh(lab, &format!("cd {dir} && tar -C $(readlink -f stage{stage}) -c . | {unpack}"));
        }
        let whole = lab.path(&format!("{dir}/whole"));
        if self.caches {
            ldconfig(&whole);
        }
        whole
    }

    /// Our answers by file.
    pub fn ours(&self, lab: &Lab) -> BTreeMap<String, String> {
        let dir = &self.dir;
        let list = lab.write(&format!("{dir}/list"), self.files.join("\n"));
        let mut command = linkaudit();
        command.current_dir(lab.path(dir)).args(["--isolated", "--root", "root", "--as-ldd"]);
        for stage in 0..self.stages {
            command.arg("--staged").arg(format!("stage{stage}"));
        }
        command.args(["--replaces", "replaces", "--format", "ldd", "--files-from"]).arg(list);
        let output = command.output().expect("linkaudit runs");
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut out: BTreeMap<String, String> = BTreeMap::new();
        let mut here = self.files.first().cloned().unwrap_or_default();
        for line in text.lines() {
            let heading =
                line.strip_suffix(':').filter(|path| self.files.iter().any(|f| f == path));
            match heading {
                Some(path) => path.clone_into(&mut here),
                None => out.entry(here.clone()).or_default().push_str(&format!("{line}\n")),
            }
        }
        out
    }

    /// Compares each file.
    pub fn compare(&self, lab: &Lab, tally: &mut Tally) {
        let whole = self.install(lab);
        let mut ours = self.ours(lab);
        for file in &self.files {
            let name = format!("{}: {file}", self.dir);
            tally.compare(&name, &ours.remove(file).unwrap_or_default(), &traced(&whole, file));
        }
    }
}
