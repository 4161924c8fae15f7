"""Every command that the parser knows has a function."""

from __future__ import annotations

import argparse

from granite_xai import cli
from granite_xai.cli.commands import COMMANDS


def parsers(parser):
    """The parsers of all commands, and of commands inside them."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield command
                yield from parsers(command)


def test_every_command_of_the_parser_has_a_function_and_no_function_is_without():
    keys = [command.get_default("command") for command in parsers(cli.parser())]
    assert sorted(keys) == sorted(COMMANDS)


def test_a_command_inside_another_has_the_longer_name():
    assert cli.parser().parse_args(["frameworks"]).command == "frameworks"
    arguments = ["frameworks", "compare", "table.csv", "--model", "m.onnx"]
    assert cli.parser().parse_args(arguments).command == "frameworks compare"
