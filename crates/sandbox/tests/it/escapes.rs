//! Files, sockets and processes outside.

use std::{
    cell::RefCell,
    fs,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram, UnixListener},
    },
    path::PathBuf,
};

use toolbay_sandbox::{Level, Network};

use crate::world::{From, World, kernel_is, open_to_all, report, sandboxes, text};

#[test]
fn files_outside_are_not_read_and_not_changed() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let secret = world.path("home/.ssh/id");
        let secret = secret.to_str().unwrap();
        world.is_stopped(from, &["read", secret], not_checked(&from));
        let appended = || {
            let is_longer = fs::read_to_string(secret).unwrap().len() > "secret".len();
            fs::write(secret, "secret").unwrap();
            is_longer
        };
        world.is_stopped(from, &["write", secret], appended);
        let created = world.path("home/new");
        // At the full level there is another, empty home.
        world
            .has_no_effect(from, &["write", created.to_str().unwrap()], || fs::remove_file(&created).is_ok());
        // What others may not read, but the super-user may.
        if from.user == 0 {
            world.is_stopped(from, &["read", "/etc/shadow"], not_checked(&from));
            world.is_stopped(from, &["open", "/proc/sys/kernel/printk_ratelimit"], not_checked(&from));
        }
        // Links lead nowhere.
        let link = world.path("project/link");
        std::os::unix::fs::symlink(secret, &link).unwrap();
        world.is_stopped(from, &["read", link.to_str().unwrap()], not_checked(&from));
        let inside = world.attack(from, &["write", world.path("project/new").to_str().unwrap()]);
        assert!(inside.status.success(), "the project can be changed: {}", text(&inside));
    }
}

/// For attacks that only the attacker notices: the control run has shown that it can succeed.
fn not_checked(_: &From) -> impl Fn() -> bool {
    let first = RefCell::new(true);
    move || first.replace(false)
}

#[test]
fn what_is_protected_is_read_only_and_what_is_hidden_is_not_there() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let config = world.path("project/.git/config");
        let program = world.program.to_str().unwrap().to_owned();
        let run = |policy, attack: &[&str]| {
            world.run(from, policy, [program.as_str()].into_iter().chain(attack.iter().copied()))
        };
        let mut policy = world.policy(from.level);
        policy.protect = vec![world.path("project/.git")];
        if from.level == Level::Full {
            for attack in [["write", config.to_str().unwrap()], ["delete", config.to_str().unwrap()]] {
                let output = run(policy.clone(), &attack);
                assert!(text(&output).contains("Read-only file system"), "{}", text(&output));
            }
            assert!(run(policy.clone(), &["read", config.to_str().unwrap()]).status.success());
            let moved = world.run(from, policy.clone(), ["mv", ".git", "moved"]);
            assert!(!moved.status.success() && config.exists(), "{}", text(&moved));
        }
        policy.hide = vec![world.path("project/file")];
        let output = run(policy.clone(), &["read", world.path("project/file").to_str().unwrap()]);
        let expected = if from.level == Level::Full { "Permission denied" } else { "can only be hidden" };
        assert!(text(&output).contains(expected), "{from:?}: {}", text(&output));
    }
}

#[test]
fn a_link_in_place_of_a_directory_gives_nothing() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let secret = world.path("project/sub/id");
        std::os::unix::fs::symlink("../home/.ssh", world.path("project/sub")).unwrap();
        let mut policy = world.policy(from.level);
        policy.read.push(world.path("project/sub"));
        policy.read.push(secret.clone());
        policy.protect.push(secret.clone());
        let program = world.program.to_str().unwrap();
        let output = world.run(from, policy, [program, "read", secret.to_str().unwrap()]);
        assert!(!output.status.success(), "{from:?}: {}", text(&output));
    }
}

#[test]
fn there_is_no_network_unless_it_is_allowed() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        tcp.set_nonblocking(true).unwrap();
        let address = tcp.local_addr().unwrap().to_string();
        world.is_stopped(from, &["tcp", &address], || tcp.accept().is_ok());
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        udp.set_nonblocking(true).unwrap();
        let received = || udp.recv(&mut [0; 10]).is_ok();
        world.has_no_effect(from, &["udp", &udp.local_addr().unwrap().to_string()], received);
        let mut policy = world.policy(from.level);
        policy.network = Network::Allow;
        let output = world.run(from, policy, [world.program.to_str().unwrap(), "tcp", &address]);
        assert!(output.status.success(), "{}", text(&output));
    }
}

#[test]
fn sockets_of_other_programs_are_out_of_reach() {
    for from in sandboxes() {
        let world = World::new(from.user);
        // Even one that is in sight.
        for name in ["toolbay.sock", "toolbay.mcp", "bus", "docker.sock", "agent.1", "../project/socket"] {
            let path = world.path("run").join(name);
            let listener = UnixListener::bind(&path).unwrap();
            listener.set_nonblocking(true).unwrap();
            open_to_all(&path);
            world.is_stopped(from, &["unix", path.to_str().unwrap()], || listener.accept().is_ok());
        }
        let path = world.path("project/datagrams");
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        open_to_all(&path);
        let received = || socket.recv(&mut [0; 10]).is_ok();
        world.is_stopped(from, &["datagram-pair", path.to_str().unwrap()], received);

        let name = format!("toolbay-test-{}-{}-{}", std::process::id(), from.user, from.level);
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        listener.set_nonblocking(true).unwrap();
        world.is_stopped(from, &["abstract", &name], || listener.accept().is_ok());
        for network in [Network::None, Network::Allow] {
            let mut policy = world.policy(from.level);
            policy.network = network;
            let program = world.program.to_str().unwrap();
            let output = world.run(from, policy.clone(), [program, "abstract", &name]);
            assert!(!output.status.success(), "{network:?}: {}", text(&output));
            let output = world.run(from, policy, [program, "second-numbers"]);
            assert!(!output.status.success(), "{network:?}: {}", text(&output));
        }
    }
}

#[test]
fn processes_outside_are_out_of_reach() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let victim = RefCell::new(world.victim());
        let pid = victim.borrow().process.id().to_string();
        world.is_stopped(from, &["read", &format!("/proc/{pid}/environ")], not_checked(&from));
        world.is_stopped(from, &["memory-of", &pid], not_checked(&from));
        world.is_stopped(from, &["ptrace", &pid], not_checked(&from));
        if from.level == Level::Partial && !kernel_is(6, 12) {
            report("signals at level partial: not tested, they need Linux 6.12");
            continue;
        }
        world.is_stopped(from, &["signal", &pid], || victim.borrow_mut().was_signaled());
    }
}

#[test]
fn nothing_is_handed_down_but_what_is_given() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let output = world.attack(from, &["variable", "VISIBLE"]);
        assert!(output.status.success(), "{}", text(&output));
        // Variables of the helper itself.
        let program = world.program.to_str().unwrap();
        let arguments = [program, "variable", "HELPER_ONLY"].map(std::ffi::OsStr::new);
        let mut command = world.command(from, &world.policy(from.level), &arguments);
        assert!(!command.env("HELPER_ONLY", "1").status().unwrap().success());
        // A file that the caller left open: number 7 in a shell.
        let secret: PathBuf = world.path("home/.ssh/id");
        let arguments = [program, "descriptors"].map(std::ffi::OsStr::new);
        for (level, is_found) in [(Level::None, true), (from.level, false)] {
            if level == Level::Partial {
                continue; // cannot look at its own descriptors
            }
            let inner = world.command(From { level, ..from }, &world.policy(level), &arguments);
            // `Helper::arguments` names this process as the parent, so the shell must become the helper.
            let mut outer = std::process::Command::new("sh");
            outer.args(["-c", r#"exec 7<"$0"; exec "$@""#]).arg(&secret).arg(inner.get_program());
            outer.args(inner.get_args()).current_dir(world.path("project")).env_clear();
            outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
            let output = outer.output().unwrap();
            assert_eq!(output.status.success(), is_found, "{level:?}: {}", text(&output));
        }
    }
}

#[test]
fn variables_of_a_program_do_not_reach_the_helper() {
    for from in sandboxes() {
        let world = World::new(from.user);
        // The loader complains about a library that is not there, in each program that uses the variable.
        let complaint = |output: &std::process::Output| text(output).matches("cannot be preloaded").count();
        let mut command = world.command(from, &world.policy(from.level), &["env".as_ref()]);
        let direct = command.env("LD_PRELOAD", "/nothing.so").output().unwrap();
        assert!(complaint(&direct) >= 1, "control run: {}", text(&direct));
        let mut command = world.command(from, &world.policy(from.level), &["env".as_ref()]);
        let renamed = command.env("SANDBOXED_LD_PRELOAD", "/nothing.so").output().unwrap();
        assert_eq!(complaint(&renamed), 1, "only the program: {}", text(&renamed));
        assert!(
            text(&renamed).contains("\nLD_PRELOAD=/nothing.so") || text(&renamed).contains(" LD_PRELOAD=")
        );
    }
}
