//! Databases of MIOpen and rocFFT: their headers compared with SQLite itself, whole and truncated,
//! and the list that `gpu` prints.

use crate::support::{Lab, clean, has, linkaudit, skip};
use linkaudit::format::gpu::database::{DatabaseHeader, parse};
use serde_json::Value;

/// Makes databases of all page sizes, truncates them, and prints SQLite's answer: name, then page
/// size and pages, or the error. Version-valid-for is set to another number in one file, as old
/// writers leave it.
const SCRIPT: &str = r"
import os, sqlite3, sys
os.chdir(sys.argv[1])
def say(name):
    db = sqlite3.connect('file:%s?mode=ro' % name, uri=True)
    try:
        db.execute('select count(*) from sqlite_master').fetchone()
        print(name, db.execute('pragma page_size').fetchone()[0], db.execute('pragma page_count').fetchone()[0])
    except sqlite3.DatabaseError as error:
        print(name, 'error', str(error).replace(' ', '_'))
    db.close()
for size in [512, 1024, 4096, 8192, 65536]:
    for rows in [0, 1, 40]:
        name = 'd%d_%d.kdb' % (size, rows)
        db = sqlite3.connect(name)
        db.execute('pragma page_size = %d' % size)
        db.execute('create table kern_db(kernel_name text, kernel_blob blob)')
        for row in range(rows):
            db.execute('insert into kern_db values (?, ?)', (str(row), os.urandom(900)))
        db.commit()
        db.close()
        whole = open(name, 'rb').read()
        say(name)
        cuts = {0, 1, 15, 16, 99, len(whole) // 2 // size * size, len(whole) - size}
        for cut in sorted(cut for cut in cuts if cut < len(whole)):
            part = 'cut%d_%s' % (cut, name)
            open(part, 'wb').write(whole[:cut])
            say(part)
        for at, byte in [(0, 0x20), (16, 3), (20, 255), (21, 1), (23, 1), (31, 0), (95, 77), (18, 9), (19, 9)]:
            part = 'byte%d_%s' % (at, name)
            open(part, 'wb').write(whole[:at] + bytes([byte]) + whole[at + 1:])
            say(part)
        open('more_' + name, 'wb').write(whole + b'x' * size)
        say('more_' + name)
";

#[test]
fn headers_against_sqlite() {
    if !has("python3") {
        return skip("headers_against_sqlite", "no python3");
    }
    let lab = Lab::new();
    let output = clean("python3").args(["-I", "-c", SCRIPT]).arg(lab.root()).output();
    let output = output.expect("python3");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let (mut cases, mut refused, mut differences) = (0, 0, Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, first, second] = words[..] else { panic!("{line}") };
        let bytes = std::fs::read(lab.path(name)).expect(name);
        let ours = parse(&bytes[..bytes.len().min(100)], bytes.len() as u64);
        // Before the first page is written, SQLite names its default size.
        let agrees = match (&ours, first) {
            (Err(_), "error") => true,
            (Ok(DatabaseHeader { pages: 0, .. }), _) => second == "0",
            (Ok(own), _) => own.page_size.to_string() == first && own.pages.to_string() == second,
            _ => false,
        };
        if !agrees {
            differences.push(format!("{line}: {ours:?}"));
        }
        cases += 1;
        refused += usize::from(ours.is_err());
        // SQLite does not notice that the end of the last page is missing.
        let is_whole = name.matches('_').count() == 1;
        let cut = parse(&bytes[..bytes.len().min(100)], (bytes.len() as u64).saturating_sub(1));
        assert!(!is_whole || cut.is_err(), "{name}");
    }
    println!(
        "databases against SQLite: {cases} cases, {refused} refused, {} differences",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(cases > 150 && refused > 50);
}

fn database(pages: usize) -> Vec<u8> {
    let mut bytes = b"SQLite format 3\0\x02\0\x01\x01\0\x40\x20\x20".to_vec();
    bytes.resize(512 * pages, 0);
    bytes[31] = u8::try_from(pages).expect("few pages");
    bytes
}

fn json(lab: &Lab, args: &[&str]) -> Value {
    let run = linkaudit().current_dir(lab.root()).args(args).args(["--format", "json"]).output();
    serde_json::from_slice(&run.expect("linkaudit runs").stdout).expect("JSON")
}

#[test]
fn databases_are_listed() {
    let lab = Lab::new();
    let soname = |name: &str| format!("-Wl,-soname,{name}");
    lab.so("p/lib/x/libMIOpen.so.1", "int a;", &[&soname("libMIOpen.so.1")]);
    lab.so("p/lib/x/librocfft.so.0", "int a;", &[&soname("librocfft.so.0")]);
    let db = "p/share/miopen/db";
    lab.write(&format!("{db}/gfx90878.HIP.fdb.txt"), "results");
    lab.write(&format!("{db}/gfx1030_36.db.txt"), "results");
    lab.write(&format!("{db}/gfx90a.kdb"), database(3));
    lab.write(&format!("{db}/gfx942.kdb"), &database(3)[..1024]);
    lab.write(&format!("{db}/README.md"), "");
    lab.write("p/lib/x/rocfft/rocfft_kernel_cache.db", database(2));
    lab.write("p/share/gfx900.kdb", "of others");
    let listed = json(&lab, &["gpu", "p"]);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut lines: Vec<String> = Vec::new();
    for one in listed["databases"].as_array().expect("databases") {
        let path = text(&one["path"]);
        let name = path.rsplit('/').next().expect("a name").to_owned();
        let keys = ["kind", "target", "compute_units", "size", "page_size", "pages", "fault"];
        lines.push(format!("{name} {}", keys.map(|key| text(&one[key])).join(" ")));
    }
    let cut = "has fewer bytes than the pages in its header";
    let expected = [
        "rocfft_kernel_cache.db rocfft-kernels null null 1024 512 2 null".to_owned(),
        "gfx1030_36.db.txt miopen-performance gfx1030 36 7 null null null".to_owned(),
        "gfx90878.HIP.fdb.txt miopen-find gfx908 120 7 null null null".to_owned(),
        "gfx90a.kdb miopen-kernels gfx90a null 1536 512 3 null".to_owned(),
        format!("gfx942.kdb miopen-kernels gfx942 null 1024 null null {cut}"),
    ];
    assert_eq!(lines, expected);
    let run =
        linkaudit().current_dir(lab.root()).args(["gpu", "p"]).output().expect("linkaudit runs");
    let human = String::from_utf8_lossy(&run.stdout).into_owned();
    assert!(human.contains("2 databases of kernels, 2560 B: gfx90a gfx942"), "{human}");
    // `check` reports the one that is cut, in a directory that is given too.
    for path in ["p", "p/share/miopen/db"] {
        let report = json(&lab, &[path, "--isolated"]);
        let found: Vec<String> = report["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .map(|finding| format!("{} {}", text(&finding["rule"]), text(&finding["message"])))
            .collect();
        assert_eq!(found, [format!("gpu-object-mismatch {cut}")], "{path}");
    }
}
