//! The pages of the systems: each shows the output of a real run, and `docs/` has all of them.

use linkaudit::hooks::SYSTEMS;
use std::path::{Path, PathBuf};

use super::kit::Ran;

/// Systems whose pages are in `docs/ci.md`; all others are in `docs/packagers.md`.
const CI: &[&str] = &["pre-commit", "github", "gitlab", "jenkins"];
const OPEN: &str = "```text\n";

fn update() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The first block of the system's page is `command` with the last ten lines of this run.
#[track_caller]
pub fn shows(system: &str, command: &str, ran: &Ran) {
    let path = repository(&format!("integrations/{system}/page.md"));
    let text = read(&path);
    let begin = text.find(OPEN).expect("a block of output") + OPEN.len();
    let end = begin + text[begin..].find("```").expect("its end");
    let block = format!("$ {command}\n{}", ran.end());
    if update() {
        let new = format!("{}{block}{}", &text[..begin], &text[end..]);
        return std::fs::write(&path, new).expect("the page is written");
    }
    assert_eq!(&text[begin..end], block, "{}; UPDATE=1 writes it", path.display());
}

/// A page as a section of a larger one.
fn section(name: &str) -> String {
    let text = read(&repository(&format!("integrations/{name}/page.md")));
    format!("\n#{text}")
}

#[test]
fn docs_hold_the_pages() {
    let (ci, packages): (Vec<&str>, Vec<&str>) =
        SYSTEMS.iter().map(|system| system.name).partition(|name| CI.contains(name));
    for (file, names) in [("docs/packagers.md", packages), ("docs/ci.md", ci)] {
        let path = repository(file);
        let text = read(&path);
        let mark = "<!-- made from integrations/*/page.md -->\n";
        let head = text.find(mark).expect("the mark before the pages") + mark.len();
        let sections: String = names.iter().map(|name| section(name)).collect();
        let whole = format!("{}{sections}", &text[..head]);
        if update() {
            std::fs::write(&path, &whole).expect("the page is written");
        }
        assert_eq!(read(&path), whole, "{file} differs; UPDATE=1 writes it");
        for name in names {
            assert!(text[..head].contains(&format!("`{name}`")), "{file} does not list {name}");
        }
    }
}

#[test]
fn pages_answer_the_same_questions() {
    for system in SYSTEMS {
        let page = system.page;
        assert!(page.starts_with("# ") && page.ends_with('\n'), "{}", system.name);
        assert_eq!(page.matches("```").count() % 2, 0, "{}: an open block", system.name);
        assert!(page.contains("```text\n$ "), "{}: real output comes first", system.name);
        let install = format!("`linkaudit hook {} --install ", system.name);
        for part in [
            &*install,
            "- **Blocks**: ",
            "**Allow one finding**: ",
            "**Turn off**: ",
            "**Checked**: ",
        ] {
            assert!(page.contains(part), "{}: no {part}", system.name);
        }
    }
}
