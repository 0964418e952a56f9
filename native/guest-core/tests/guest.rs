//! What a guest is and does.

mod process;

use std::process::{Command, Stdio};

use mayfly_wire::{Head, Kind};
use process::{ECHO, Guest, Scripts, describe};

/// Runs a program without input; what it wrote to fd 2, and its status.
fn run(program: &str) -> (String, Option<i32>) {
    let scripts = Scripts::new(program);
    let output = scripts
        .command()
        .arg(scripts.path("program.js"))
        .stdin(Stdio::null())
        .output()
        .expect("a guest that starts");
    describe(&output)
}

/// What a program says that must end well.
fn said(program: &str) -> String {
    let (text, status) = run(program);
    assert_eq!(status, Some(0), "{text}");
    text
}

#[test]
fn a_module_that_comes_after_the_start_can_be_imported() {
    let scripts = Scripts::new(
        "
        const { name } = await import('./other.js')
        host.receive()
        const later = await import('./later.js')
        say(name, later.name, later.where.slice(-8), await import('./other.js') === await import('./other.js'))
        ",
    );
    std::fs::write(scripts.path("other.js"), "export const name = 'other'").expect("a module");
    let mut command = scripts.command();
    command.arg(scripts.path("program.js"));
    let mut guest = Guest::start(command);
    std::fs::write(
        scripts.path("later.js"),
        "export { name } from './other.js'; export const where = import.meta.url",
    )
    .expect("a module");
    guest.send("{}", b"");
    assert_eq!(guest.end(), ("other other later.js true\n".to_owned(), Some(0)));
}

#[test]
fn a_program_that_cannot_be_loaded_is_told() {
    for (program, wanted) in [
        ("const (", "SyntaxError"),
        ("throw new TypeError('no')", "TypeError: no\n    at file:///"),
        ("await Promise.reject(new RangeError('late'))", "RangeError: late"),
        ("import 'node:fs'", "Cannot import node:fs: the runtime 'core'"),
        ("await import('./other.js')", "runtime: 'deno'"),
    ] {
        let (said, status) = run(program);
        assert_eq!(status, Some(1), "{program}: {said}");
        assert!(said.contains(wanted), "{program}: {said}");
    }
    let scripts = Scripts::new("");
    let output = scripts
        .command()
        .arg("/nonexistent/program.js")
        .output()
        .expect("a guest that starts");
    let (said, status) = describe(&output);
    assert!(
        said.contains("Cannot import file:///nonexistent/program.js"),
        "{said}"
    );
    assert_eq!(status, Some(1));
    assert_eq!(
        describe(&scripts.command().output().expect("a guest that starts")).1,
        Some(2)
    );
}

#[test]
fn a_module_that_imports_nothing_runs_without_the_loader() {
    let program = r#"
      const { runModule } = host
      const code = 'export const list = [Array.from("ab"), this]; await 0; export default 2'
      const [namespace, over] = runModule('file:///app:1/main.js', code)
      say(await over, namespace.list, namespace.default, Object.keys(namespace))
      const [, failed] = runModule('file:///app:2/main.js', '\n  throw new RangeError("no")')
      await failed.catch((error) => say(error.name, error.message, error.stack.includes('file:///app:2/main.js:2:')))
      for (const code of [
        'import "./other.js"', 'export * from "./other.js"', 'export {} /*.*/from "./other.js"',
        'export * //.\nfrom "./other.js"', 'import("./other.js")', 'import.meta', 'from', 'const (', '\0',
      ]) say(runModule('file:///app:3/main.js', code))
      const bad = { toString() { throw 1 } }
      for (const given of [[], ['file:///app:4/main.js', bad], [bad, '']]) say(runModule(...given))
      const [late] = runModule('file:///app:5/main.js', 'export default eval("imp" + "ort(\'./other.js\')")')
      await late.default.catch(({ message }) => say(message))
    "#;
    let wanted = " a,b, 2 default,list\nRangeError no true\n".to_owned()
        + &"\n".repeat(12)
        + "Cannot import file:///app:5/other.js: the runtime 'core' has no modules but those of the bundle, want runtime: 'deno'\n";
    assert_eq!(said(program), wanted);
}

#[test]
fn the_engine_shows_none_of_its_own_ways_in() {
    assert_eq!(
        said(
            "say(Object.getOwnPropertyNames(globalThis).filter((name) => name.startsWith('_') || /^(Deno|gc|Intl|WebAssembly)$/.test(name)))"
        ),
        "__mayfly\n"
    );
}

#[test]
fn timers_and_idleness() {
    let program = "
      let rounds = 2
      host.onIdle(() => {
        say('idle')
        if (rounds-- === 0) return false
        host.startTimer(() => say('once'), 1, false)
        return true
      })
      const repeated = host.startTimer(() => { say('again'); if (--left === 0) host.stopTimer(repeated) }, 1, true)
      let left = 3
      host.stopTimer(host.startTimer(() => say('never'), 1, false))
    ";
    assert_eq!(
        said(program),
        "again\nagain\nagain\nidle\nonce\nidle\nonce\nidle\n"
    );
}

#[test]
fn rejections_and_errors_of_timers_are_told_to_the_program() {
    let program = "
      host.onUnhandledRejection((reason) => {
        say('rejected', reason.message)
        host.startTimer(() => { throw new Error('two') }, 1, false)
        return true
      })
      host.onUncaught((error) => { say('uncaught', error.message); return true })
      Promise.reject(new Error('one'))
      host.microtask(() => { throw new Error('zero') })
    ";
    assert_eq!(said(program), "uncaught zero\nrejected one\nuncaught two\n");
    for program in [
        "Promise.reject(new Error('lost'))",
        "host.startTimer(() => { throw new Error('lost') }, 1, false)",
        "host.microtask(() => { throw new Error('lost') })",
    ] {
        let (text, status) = run(program);
        assert_eq!(status, Some(1), "{text}");
        assert!(text.contains("Error: lost"), "{text}");
    }
}

#[test]
fn text_and_bytes() {
    let program = r#"
      const counts = new Uint32Array(2), into = new Uint8Array(5)
      host.encodeInto('a\u00e9\u20acx', into, counts)
      say(counts, into, '|', host.encode('\ud800'), '|', host.decodeUtf8(new Uint8Array([0xef, 0xbb, 0xbf, 0x61, 0xff]), false).length)
      const decoder = host.decoderNew('utf-16le', false)
      say(host.decoderPush(decoder, new Uint8Array([0x61, 0, 0x62]), false) + host.decoderPush(decoder, new Uint8Array([0]), true))
      host.decoderFree(decoder)
      for (const refused of [
        () => host.decoderPush(decoder, into, true),
        () => host.decodeUtf8(new Uint8Array([0xff]), true),
        () => host.decoderPush(host.decoderNew('gbk', true), new Uint8Array([0xff]), true),
        () => host.btoa('\u0100'),
        () => host.atob('YQ='),
      ]) {
        try { say('taken', refused()) } catch (error) { say(error.name) }
      }
      say(host.encodingName(' LATIN1 '), host.encodingName('none') === '', host.atob(' Y W I = '), host.btoa('a\xff'))
    "#;
    assert_eq!(
        said(program),
        "2,3 97,195,169,0,0 | 239,191,189,239,191,189,239,191,189 | 3\nab\nRangeError\nTypeError\nTypeError\nError\nError\nwindows-1252 true ab Yf8=\n"
    );
}

#[test]
fn digests_and_entropy() {
    let program = "
      const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
      say(hex(host.digest('SHA-1', host.encode('abc'))))
      say(hex(host.digest('SHA-256', host.encode('abc'))))
      say(host.digest('SHA-384', host.encode('abc')).length, host.digest('SHA-512', host.encode('abc')).length)
      const first = new Uint8Array(70_000), second = new Uint8Array(70_000)
      host.entropy(first)
      host.entropy(second)
      say(first.some((byte, at) => byte !== second[at]), first.subarray(69_000).some((byte) => byte !== 0))
    ";
    assert_eq!(
        said(program),
        "a9993e364706816aba3e25717850c26c9cd0d89d\nba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\n48 64\ntrue true\n"
    );
}

#[test]
fn urls() {
    let program = "
      const parts = new Uint32Array(8)
      say(host.parseUrl('../c?q#h', 'https://u:p@ex\\u00e4mple.com:8080/a/b', parts), parts)
      say(host.parseUrl('/x', '', parts) === '', host.setUrl('https://a.b/', 4, '/\\u00fc', parts), host.setUrl('https://a.b/', 1, '', parts) === '')
      say(JSON.stringify(host.parseQuery('a=1&b=%20+x')), host.formatQuery([['a', 'b c']]))
    ";
    assert_eq!(
        said(program),
        "https://u:p@xn--exmple-cua.com:8080/c?q#h 5,9,12,30,8080,35,37,39\ntrue https://a.b/%C3%BC true\n[[\"a\",\"1\"],[\"b\",\"  x\"]] a=b+c\n"
    );
}

#[test]
fn a_heap_over_its_limit_ends_with_a_status_of_its_own() {
    let program = "
      host.limitMemory(24 << 20)
      const kept = []
      try { for (;;) kept.push({ text: 'x'.repeat(100) + kept.length }) } catch { say('caught') }
    ";
    let (text, status) = run(program);
    assert_eq!(status, Some(86), "{text}");
    assert!(text.contains("over its limit of 25165824 bytes"), "{text}");
}

#[test]
fn memory_up_to_the_limit_is_there() {
    let program = "
      host.limitMemory(256 << 20)
      const kept = []
      for (let i = 0; i < 120; i++) kept.push(new Uint8Array(1 << 20).fill(i))
      say(kept.length)
    ";
    assert_eq!(said(program), "120\n");
}

#[test]
fn recursion_without_end_is_a_range_error() {
    assert_eq!(
        said("const f = () => f() + 1; try { f() } catch (error) { say(error.name) }"),
        "RangeError\n"
    );
}

#[test]
fn variables_are_those_that_were_given() {
    let scripts = Scripts::new("say(JSON.stringify(host.variables()))");
    let output = scripts
        .command()
        .arg(scripts.path("program.js"))
        .env_clear()
        .env("GIVEN", "1")
        .output()
        .expect("a guest that starts");
    assert_eq!(describe(&output), ("[[\"GIVEN\",\"1\"]]\n".to_owned(), Some(0)));
}

#[test]
fn nothing_is_written_to_the_home_folder() {
    let scripts = Scripts::new("say('ran')");
    let output = scripts
        .command()
        .arg(scripts.path("program.js"))
        .env("HOME", &scripts.0)
        .output()
        .expect("a guest that starts");
    assert_eq!(describe(&output), ("ran\n".to_owned(), Some(0)));
    assert!(!scripts.path(".cache").exists());
}

const WAITS: &str = "
  const kept = Array.from({ length: 5000 }, (_, i) => ({ i }))
  for (let count = 0;; count++) {
    if (host.receive() === null) host.exit(0)
    kept[17 * 100].i = count
    host.sendText('{}', 'answer', 6, 100)
  }
";

#[test]
fn tracing_finds_the_same_few_blocks_each_time() {
    let scripts = Scripts::new(WAITS);
    let frame = |header: &str| {
        let head = Head {
            kind: Kind::Request,
            header_bytes: header.len() as u32,
            body_bytes: 0,
        };
        [&head.encode()[..], header.as_bytes()].concat()
    };
    let frames = [frame("{\"control\":\"describe\"}"), frame("[1]"), frame("[2]")].concat();
    std::fs::write(scripts.path("frames"), frames).expect("frames");
    let trace = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_guest-core"));
        command
            .env_clear()
            .arg("--trace")
            .arg(&scripts.0)
            .arg(scripts.path("frames"));
        command.args(["/surface.js", "/program.js"]).stdin(Stdio::null());
        command.output().expect("a guest that starts")
    };
    let first = trace();
    assert_eq!(describe(&first), (String::new(), Some(0)));
    let blocks = first.stdout.len() / 4;
    assert!(
        (1..1000).contains(&blocks) && first.stdout.len() % 4 == 0,
        "{blocks} of more than 5000 blocks"
    );
    assert_eq!(trace().stdout, first.stdout);

    // It changes where blocks lie, and nothing else.
    std::fs::write(scripts.path("layout"), first.stdout).expect("a layout");
    std::fs::write(scripts.path("program.js"), ECHO).expect("a program");
    let mut command = scripts.command();
    command
        .arg(scripts.path("program.js"))
        .arg(scripts.path("layout"));
    let mut guest = Guest::start(command);
    guest.send("{}", &[5; 9000]);
    assert_eq!(guest.receive(), ("{}".to_owned(), vec![5; 9000]));
    assert_eq!(guest.end(), (String::new(), Some(0)));
}

#[test]
fn a_layout_that_is_none_is_told() {
    let scripts = Scripts::new("");
    let run = |layout: &str| {
        let mut command = scripts.command();
        command.arg(scripts.path("program.js")).arg(scripts.path(layout));
        describe(&command.output().expect("a guest that starts"))
    };
    std::fs::write(scripts.path("odd"), [1; 7]).expect("a file");
    let (text, status) = run("odd");
    assert!(text.contains("7 bytes, wanted a multiple of 4"), "{text}");
    assert_eq!(status, Some(1));
    assert!(run("missing").0.contains("cannot read the layout"));
}
