//! Completion scripts of shells.

use std::process::Command;

use crate::program::Home;

/// What bash offers after some words.
fn bash(home: &Home, words: &str) -> String {
    let script = format!(
        "set -e; source script.bash; complete -p toolbay > /dev/null; COMP_WORDS=({words}); \
         COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _toolbay toolbay \"${{COMP_WORDS[COMP_CWORD]}}\" \
         \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\""
    );
    #[expect(clippy::disallowed_methods, reason = "the shell that the script is for")]
    let output = Command::new("bash").args(["-c", &script]).current_dir(home.path("")).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_shell_completes_commands_and_options() {
    let home = Home::new();
    let script = home.run(&["completions", "bash"]).expect(0);
    assert_eq!(script.stderr, "");
    home.write("script.bash", &script.stdout);
    assert_eq!(bash(&home, "toolbay sto"), "stop\n");
    assert!(bash(&home, "toolbay status --w").contains("--watch"));
    assert_eq!(bash(&home, "toolbay completions z"), "zsh\n");
    assert!(!bash(&home, "toolbay serve --").contains("--workers"), "hidden options are not offered");
    assert_eq!(bash(&home, "toolbay export --client ze"), "zed\n");
    assert_eq!(bash(&home, "toolbay import --from goo"), "goose\n");
}

#[test]
fn the_other_shells_have_scripts_too() {
    let home = Home::new();
    assert!(home.run(&["completions", "zsh"]).expect(0).stdout.starts_with("#compdef toolbay"));
    assert!(home.run(&["completions", "fish"]).expect(0).stdout.contains("complete -c toolbay"));
    let json = home.run(&["completions", "fish", "--json"]).expect(0).json();
    assert!(json["script"].as_str().unwrap().contains("complete -c toolbay"));
    assert!(home.run(&["completions", "tcsh"]).expect(2).stderr.contains("zsh"));
}
