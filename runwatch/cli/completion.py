"""Print the completion script of a shell.

It knows the commands, their options and their choices.
"""

import argparse

EXAMPLES = """\
  source <(runwatch completion bash)
  runwatch completion zsh > ~/.zfunc/_runwatch
  runwatch completion fish > ~/.config/fish/completions/runwatch.fish
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(options: argparse.Namespace) -> int:
    """Always 0."""
    import shtab

    from runwatch.cli.words.grammar import whole

    parser = whole()
    _complete_files(parser, shtab.FILE)
    print(shtab.complete(parser, shell=options.shell))
    return 0


def _complete_files(parser: argparse.ArgumentParser, file: object) -> None:
    """PATH and FILE complete to files, in the commands below as well."""
    for action in parser._actions:
        if action.metavar in ("PATH", "FILE"):
            action.complete = file  # type: ignore[attr-defined]
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                _complete_files(below, file)
