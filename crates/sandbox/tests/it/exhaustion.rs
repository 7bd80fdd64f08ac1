//! Memory, processes and disks.

use std::{fs, time::Instant};

use toolbay_sandbox::Level;

use crate::world::{From, World, report, sandboxes, text};

#[test]
fn memory_processes_and_disks_have_limits() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let project = world.path("project");
        let project = project.to_str().unwrap();
        for (attack, reason) in [
            (["fork", "400"], "processes"),
            (["memory", "400"], "200 MiB of memory"),
            (["memory-behind-descriptors", "400"], ""),
            (["fill", project], ""),
        ] {
            let without = From { level: Level::None, ..from };
            let output = world.attack(without, &attack);
            assert!(output.status.success(), "control run of {attack:?} as {from:?}: {}", text(&output));
            let begun = Instant::now();
            let output = world.attack(from, &attack);
            report(&format!("{attack:?} as {from:?}: {:?}, {}", begun.elapsed(), text(&output).trim()));
            assert!(!output.status.success(), "{attack:?} succeeds as {from:?}: {}", text(&output));
            let is_forked = attack[0] == "fork" && text(&output).contains("Resource temporarily unavailable");
            assert!(is_forked || text(&output).contains(reason), "{attack:?} as {from:?}: {}", text(&output));
        }
        let size = fs::metadata(world.path("project/fill-0")).unwrap().len();
        assert!(size <= 64 << 20, "{size} bytes");
    }
}

#[test]
fn a_disk_is_not_filled_with_many_files() {
    for from in sandboxes() {
        let world = World::new(from.user);
        let project = world.path("project");
        let program = world.program.to_str().unwrap();
        let found = rustix::fs::statvfs(&project).unwrap();
        let free = found.f_bavail * found.f_frsize;
        let mut policy = world.policy(from.level);
        // All files together take 160 MiB.
        policy.limits.free_disk = free - (80 << 20);
        let output = world.run(from, policy.clone(), [program, "fill-many", project.to_str().unwrap()]);
        assert!(text(&output).contains("of the disk are free"), "{from:?}: {}", text(&output));
        for entry in fs::read_dir(&project).unwrap().flatten().filter(|entry| entry.path().is_file()) {
            fs::remove_file(entry.path()).unwrap();
        }
        policy.limits.free_disk = 0;
        let output = world.run(from, policy, [program, "fill-many", project.to_str().unwrap()]);
        assert!(output.status.success(), "control run: {}", text(&output));
    }
}

#[test]
fn temporary_files_have_one_limit_for_all() {
    for from in sandboxes().into_iter().filter(|from| from.level == Level::Full) {
        let world = World::new(from.user);
        let script =
            "for d in /tmp /var/tmp /dev/shm /run ~; do head -c 30000000 /dev/zero > $d/x || echo full; done";
        let output = world.run(
            from,
            world.policy(from.level),
            ["sh", "-c", &format!("HOME={}; {script}", world.path("home").display())],
        );
        assert!(text(&output).matches("No space left on device").count() >= 2, "{}", text(&output));
        assert_eq!(fs::read_dir(world.path("home")).unwrap().count(), 1, "the home outside is as it was");
    }
}
