//! What `--allow-connect` lets a program do: from a snapshot's file, and as Node does it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use super::{Folder, Served, run};

#[test]
fn a_snapshot_connects_to_what_is_allowed_when_it_is_served() {
    let Some(folder) = Folder::with("../serve/outgoing") else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut said = String::new();
            let _ = stream.read_to_string(&mut said);
            let _ = stream.write_all(format!("heard {said}").as_bytes());
        }
    });
    let (guest, file) = (folder.file("guest"), folder.file("app.snap"));
    let (allowed, number) = (format!("localhost:{port},[::1]:1-9"), port.to_string());
    let allow = ["--allow-connect", &allowed];
    let line = ["run", &guest, &number];
    let written = run(&[&["snapshot", "-o", &file], &allow[..], &line[..]].concat());
    let told = String::from_utf8_lossy(&written.stderr);
    assert!(written.status.success(), "{told}");
    let early = format!("refused a connection to 127.0.0.1:{port} before its snapshot");
    assert!(told.contains(&early), "{told}");
    let path = format!("/block/127.0.0.1/{port}");
    for program in [&line[..], &["snaprun", &file]] {
        let served = Served::start(&[&["--ephemeral", "--check-resets"], &allow[..], program].concat());
        assert_eq!(served.wait_for("requests may connect to localhost:"), 1);
        assert_eq!([served.get(&path), served.get(&path)], ["heard question"; 2]);
        // What is not allowed is told once, with what would allow it.
        for _ in 0..3 {
            assert_eq!(served.get("/block/192.0.2.1/80"), "connect 13");
        }
        assert_eq!(served.wait_for("--allow-connect 192.0.2.1:80"), 1);
    }
    let served = Served::start(&["--ephemeral", "snaprun", &file]);
    assert_eq!(served.get(&path), "connect 111", "a file grants nothing");
    served.wait_for(&format!("--allow-connect 127.0.0.1:{port}"));
    drop(served);
    for (allowed, said) in [
        (
            "no-such-name.invalid:80",
            "the host does not know no-such-name.invalid",
        ),
        ("localhost", "HOST:PORT is wanted"),
    ] {
        let refused = run(&["serve", "--allow-connect", allowed, "run", &guest]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(said), "{told}");
    }
}

#[test]
fn requests_of_a_warm_up_connect_with_an_option() {
    let Some(folder) = Folder::with("../serve/outgoing") else {
        return;
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut said = String::new();
            let _ = stream.read_to_string(&mut said);
            let _ = stream.write_all(b"heard");
            let _ = tell.send(());
        }
    });
    let (guest, file) = (folder.file("guest"), folder.file("app.snap"));
    let (allowed, path) = (format!("127.0.0.1:{port}"), format!("/block/127.0.0.1/{port}"));
    let warmup = ["--warmup", "2", "--warmup-path", &path, "--warmup-connect"];
    let allow = ["--allow-connect", &allowed];
    let written = run(&[&["snapshot", "-o", &file], &warmup[..], &allow, &["run", &guest]].concat());
    assert!(
        written.status.success(),
        "{}",
        String::from_utf8_lossy(&written.stderr)
    );
    assert_eq!(told.try_iter().count(), 2);
    let served = Served::start(&[&["--ephemeral"], &allow[..], &["snaprun", &file]].concat());
    assert_eq!(served.get(&path), "heard");
    for (line, said) in [
        (
            &["serve", "--warmup-connect", "run", &guest][..],
            "--allow-connect",
        ),
        (
            &[
                "serve",
                "--warmup-connect",
                "--allow-connect",
                &allowed,
                "snaprun",
                &file,
            ],
            "--warmup-connect with snaprun",
        ),
    ] {
        let refused = run(line);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(!refused.status.success() && told.contains(said), "{told}");
    }
}

/// An HTTP server that tells how it was asked, and how long the body was.
fn upstream() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let (mut said, mut more) = (Vec::new(), [0; 65_536]);
                let (line, length) = loop {
                    let count = stream.read(&mut more).unwrap_or(0);
                    said.extend_from_slice(&more[..count]);
                    let text = String::from_utf8_lossy(&said).to_lowercase();
                    let length = text.split("content-length: ").nth(1);
                    let length = length.and_then(|rest| rest.split('\r').next()?.parse().ok());
                    let length: usize = length.unwrap_or(0);
                    let head = text.find("\r\n\r\n").map_or(usize::MAX, |end| end + 4);
                    if count == 0 || said.len().checked_sub(head) == Some(length) {
                        break (text.lines().next().map(str::to_owned).unwrap_or_default(), length);
                    }
                };
                let body = format!("{line}, {length} bytes");
                let head = format!("HTTP/1.1 201 Made\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = stream.write_all((head + &body).as_bytes());
            });
        }
    });
    port
}

#[test]
fn a_server_of_node_asks_another_one_in_its_requests() {
    let Some(_folder) = Folder::with("guest") else {
        return;
    };
    if Command::new("node").arg("--version").output().is_err() {
        println!("SKIPPED: node is missing");
        return;
    }
    let port = upstream();
    let source = format!("{}/tests/command/proxy.mjs", env!("CARGO_MANIFEST_DIR"));
    let allowed = format!("localhost:{port}");
    for kept in [&["--ephemeral"][..], &[]] {
        let line = [
            "--max-boot-time",
            "60",
            "--max-request-time",
            "60",
            "--allow-connect",
            &allowed,
        ];
        let program = ["--allow-read", &source, "run", "node", &source];
        let served = Served::start(&[kept, &line, &program].concat());
        for _ in 0..3 {
            for to in [&allowed, &format!("127.0.0.1:{port}")] {
                let got = served.get(&format!("/get/{to}"));
                assert!(got.contains("get /asked http/1.1, 0 bytes"), "{got}");
                let got = served.get(&format!("/fetch/{to}"));
                assert!(
                    got.contains("fetch: 201 post /asked http/1.1, 300000 bytes"),
                    "{got}"
                );
            }
        }
        let refused = ["get", "fetch"].map(|how| served.get(&format!("/{how}/192.0.2.1:80")));
        for (how, said) in ["get", "fetch"].iter().zip(refused) {
            assert!(said.contains(&format!("{how}: EACCES")), "{said}");
        }
        let unknown = served.get("/get/db.example:80");
        assert!(unknown.contains("get: ENOTFOUND"), "{unknown}");
    }
}
