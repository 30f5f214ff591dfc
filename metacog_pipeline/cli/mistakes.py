"""Mistakes on the command line as one line: where, what was given, what is allowed, what was perhaps meant."""

from __future__ import annotations

import re
from typing import Any

import click

from metacog_pipeline.errors import one_line, suggestion

_NO_VALUE = re.compile(r"^(.+?) is not (?:one of|in the range|a valid|'.*'\.$)", re.DOTALL)


def words(error: click.ClickException) -> str:
    """Return what a command's user did wrong, on one line."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    context = context or click.get_current_context(silent=True)
    if isinstance(error, click.BadOptionUsage):
        return one_line(_value_of(error))
    if context is None:
        return one_line(error.format_message())
    place = "" if context.parent is None else f"{context.command_path.split(' ', 1)[-1]}: "
    return one_line(place + _told(error, context))


def _told(error: click.ClickException, context: click.Context) -> str:
    usage = f"as in: {_usage(context)}"
    if isinstance(error, click.NoSuchOption):
        names = _options(context)
        if error.option_name == "--study" and any(
            _metavar(each) == "STUDY" for each in context.command.params
        ):
            return f"--study: no such option; the study file stands alone, {usage}"
        close = suggestion(error.option_name, names)
        return f"{error.option_name}: no such option{close}; there are: {', '.join(names)}"
    if isinstance(error, click.MissingParameter) and error.param is not None:
        return f"{_name(error.param)} is missing: give {allowed(error.param.type, _metavar(error.param))}, {usage}"
    if isinstance(error, click.BadParameter) and error.param is not None:
        return _refused(error, error.param)
    unknown = re.match(r"No such command '(.*?)'", error.message, re.DOTALL)
    if unknown is not None and isinstance(context.command, click.Group):
        known = context.command.list_commands(context)
        if unknown[1] == "help":
            return 'no command "help"; give metacog --help, or metacog COMMAND --help'
        return f'no command "{unknown[1]}"{suggestion(unknown[1], known)}; {context.command_path} has: {", ".join(known)}'
    extra = re.search(r"unexpected extra arguments? \((.*)\)", error.message, re.DOTALL)
    if extra is not None:
        return f'"{extra[1]}": one argument too many, {usage}'
    return error.format_message()


def _value_of(error: click.BadOptionUsage) -> str:
    """An option without its value, or with one it does not take; click does not always say whose option it is."""
    if "does not take" in error.message:
        return f"{error.option_name}: takes no value; give it alone"
    count = re.search(r"requires (\d+) arguments", error.message)
    return (
        f"{error.option_name}: its value is missing; give {f'{count[1]} values' if count else 'one'} after it"
    )


def _refused(error: click.BadParameter, param: click.Parameter) -> str:
    said = _NO_VALUE.match(error.message)
    if said is None:  # a check of our own
        return f"{_name(param)}: {error.message}"
    value = said[1].strip("'")
    choices = [str(each) for each in param.type.choices] if isinstance(param.type, click.Choice) else []
    return (
        f'{_name(param)} "{value}": give {allowed(param.type, _metavar(param))}{suggestion(value, choices)}'
    )


def allowed(kind: click.ParamType[Any], shown: str = "a value") -> str:
    """Return what a parameter of this type takes, as in ``a whole number from 1 to 99``."""
    if isinstance(kind, click.Choice):
        return ("one of " if len(kind.choices) > 1 else "") + ", ".join(map(str, kind.choices))
    if isinstance(kind, (click.IntRange, click.FloatRange)):
        noun = "a whole number" if isinstance(kind, click.IntRange) else "a number"
        if kind.min is not None and kind.max is not None:
            return f"{noun} from {kind.min} to {kind.max}"
        if kind.min is not None:
            return f"{noun} of {kind.min} or more"
        return noun if kind.max is None else f"{noun} up to {kind.max}"
    if kind is click.INT or kind is click.FLOAT:
        return "a whole number" if kind is click.INT else "a number"
    if isinstance(kind, click.Tuple):
        return " and ".join(allowed(each) for each in kind.types)
    return shown


def _usage(context: click.Context) -> str:
    """A command as it is typed: arguments and the options it cannot do without."""
    pieces = [each for each in context.command.collect_usage_pieces(context) if each != "[OPTIONS]"]
    for param in context.command.get_params(context):
        if isinstance(param, click.Option) and param.required:
            pieces.append(f"{_name(param)} {_metavar(param)}")
    return " ".join([context.command_path, *pieces])


def _metavar(param: click.Parameter) -> str:
    return param.metavar or (param.name or "value").upper()


def _name(param: click.Parameter) -> str:
    return max(param.opts, key=len) if isinstance(param, click.Option) else _metavar(param)


def _options(context: click.Context) -> list[str]:
    return [
        name
        for param in context.command.get_params(context)
        if isinstance(param, click.Option) and not param.hidden
        for name in (*param.opts, *param.secondary_opts)
        if name.startswith("--")
    ]
