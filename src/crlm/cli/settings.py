"""Settings, resolved in one place: flags, then CRLM_* variables, then crlm.toml, then defaults.

Every option of every command can be set in all three ways, except those in `_PERSONAL`, which
belong to one call. The options that all commands have are added here, so that a new command has
them by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from crlm.cli.options import FilePath, comma_floats, comma_list, debug_option
from crlm.cli.talk import STYLE
from crlm.errors import ParameterError

FILES = ("crlm.toml", "pyproject.toml")
_PREFIX = "CRLM_"
_MOST_THREADS = 1024  # libraries cannot count to any number
# Of one call: what to read and where to write, and that old files may go.
_PERSONAL = {
    *("as_json", "config", "data", "debug", "force", "help", "out", "output", "to", "model"),
    "plot",
}
# Their options make data, pictures or pages, and only look like those of the others.
_APART = {"sample", "demo", "bench", "completion", "report", "reproduce"}
_SHARED = {"quiet", "verbose", "color", "progress", "threads"}

_ORIGINS = {
    ParameterSource.COMMANDLINE: "flag",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.DEFAULT_MAP: "file",
}


def equip(command: click.Command) -> click.Command:
    """Give a command the common options, and each option its variable."""
    names = {param.name for param in command.params}
    command.params += [option for option in _common() if option.name not in names]
    if "debug" not in names:
        debug_option(command)
    for param in command.params:
        if isinstance(param, click.Option) and is_setting(command, param):
            param.envvar = f"{_PREFIX}{(param.name or '').upper()}"
    return command


def is_setting(command: click.Command, param: click.Parameter) -> bool:
    """Whether an option can be set by variable and file."""
    if param.name in _PERSONAL or not isinstance(param, click.Option):
        return False
    return command.name not in _APART or param.name in _SHARED


def resolved(ctx: click.Context) -> dict[str, Any]:
    """Every setting of this call in plain words, and where those came from that are no default."""
    values, origins = {}, {}
    for param in ctx.command.params:
        name = param.name or ""
        if name in ctx.params and is_setting(ctx.command, param):
            values[name] = _plain(ctx.params[name])
            origin = _ORIGINS.get(ctx.get_parameter_source(name) or ParameterSource.DEFAULT)
            if origin:
                origins[name] = origin
    return {"command": ctx.info_name, "values": values, "origins": origins}


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


# Options of all commands


def _common() -> list[click.Option]:
    return [
        click.Option(
            ["--config"],
            type=FilePath(),
            is_eager=True,
            expose_value=False,
            callback=_read_config,
            envvar=f"{_PREFIX}CONFIG",
            help="Settings for what is not given here.  [default: crlm.toml, or [tool.crlm] of "
            "pyproject.toml, in this folder]",
        ),
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_style("quiet"),
            help="Only warnings and errors on stderr, and no table.",
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_style("verbose"),
            help="Say on stderr how it is done.",
        ),
        click.Option(
            ["--color/--no-color"],
            default=None,
            expose_value=False,
            callback=_style("color"),
            help="Colour on stderr.  [default: on a terminal, unless NO_COLOR is set]",
        ),
        click.Option(
            ["--progress/--no-progress"],
            default=True,
            expose_value=False,
            callback=_style("progress"),
            help="Draw a bar if stderr is a terminal.",
        ),
        click.Option(
            ["--threads"],
            type=click.IntRange(1),
            expose_value=False,
            callback=_limit_threads,
            help="Threads to use.  [default: every core]",
        ),
    ]


Callback = Callable[[click.Context, click.Parameter, Any], Any]


def _style(name: str) -> Callback:
    def remember(ctx: click.Context, param: click.Parameter, value: Any) -> None:
        if value is not None:
            setattr(STYLE, name, value)

    return remember


def _limit_threads(ctx: click.Context, param: click.Parameter, value: int | None) -> None:
    """Hold the matrix products to so many threads; the rest of crlm asks STYLE."""
    STYLE.threads = value
    if value is None or ctx.resilient_parsing:
        return
    import scipy.linalg  # noqa: F401 - what is not loaded yet cannot be limited
    from threadpoolctl import threadpool_limits

    ctx.with_resource(threadpool_limits(limits=min(value, _MOST_THREADS)))


# The file


def _read_config(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    if ctx.resilient_parsing:
        return
    path = value or next((Path(name) for name in FILES if Path(name).is_file()), None)
    if path is None:
        return
    given = _settings_of(path)
    verbs = ctx.parent.command.commands if ctx.parent else {}  # type: ignore[attr-defined]
    _check_names(given, verbs, path)
    known = {param.name: param for param in ctx.command.params if is_setting(ctx.command, param)}
    mine = given.get(ctx.info_name or "")
    chosen = given | (mine if isinstance(mine, dict) else {})
    ctx.default_map = {
        name: _as_typed(known[name], setting, path)
        for name, setting in chosen.items()
        if name in known and not isinstance(setting, dict)  # which is of a command
    }
    ctx.meta["crlm.config"] = str(path)


def _as_typed(param: click.Parameter, setting: Any, path: Path) -> Any:
    """A setting as it would be typed, so that it is checked as on the command line."""
    if getattr(param, "is_flag", False):
        if isinstance(setting, bool):
            return setting
        msg = f"{path}: {param.name} is true or false, got {setting!r}."
        raise ParameterError(msg)
    if isinstance(setting, list):
        kind = getattr(param.type, "func", None)
        if kind is comma_list:
            return [str(item) for item in setting]  # of which one may have a comma
        if kind is comma_floats:
            return ",".join(map(str, setting))
        msg = f"{path}: {param.name} is one value, got {setting!r}."
        raise ParameterError(msg)
    return str(setting).lower() if isinstance(setting, bool) else str(setting)


def _settings_of(path: Path) -> dict[str, Any]:
    import tomllib

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is no TOML file: {str(error).splitlines()[0]}."
        raise ParameterError(msg) from error
    except OSError as error:
        msg = f"cannot read {path}: {error.strerror or error}."
        raise ParameterError(msg) from error
    if path.name == "pyproject.toml":
        content = content.get("tool", {}).get("crlm", {})
    return {_as_option(name): setting for name, setting in content.items()}


def _as_option(name: str) -> str:
    """Name as Python has it; in a file ``sigma-max`` is as good as ``sigma_max``."""
    return name.replace("-", "_")


def _check_names(given: dict[str, Any], verbs: dict[str, click.Command], path: Path) -> None:
    """Refuse a setting that no command has, which is more often a slip than a wish."""
    known = {
        verb: {param.name or "" for param in command.params if is_setting(command, param)}
        for verb, command in verbs.items()
    }
    every = set().union(*known.values())
    for name, setting in list(given.items()):
        if isinstance(setting, dict):
            _check_name(name, set(known), f"{path}: there is no command")
            given[name] = {_as_option(inner): value for inner, value in setting.items()}
            for inner in given[name]:
                _check_name(inner, known[name], f"{path}: {name} has no setting")
        else:
            _check_name(name, every, f"{path}: no command has a setting")


def _check_name(name: str, known: set[str], problem: str) -> None:
    if name in known:
        return
    import difflib

    close = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f" Did you mean {close[0]!r}?" if close else " See crlm fit --help."
    msg = f"{problem} {name!r}.{hint}"
    raise ParameterError(msg)


def origin_of(error: click.BadParameter) -> str:
    """Where a wrong value came from, when it was not typed."""
    ctx, param = error.ctx, error.param
    if ctx is None or param is None or param.name is None:
        return ""
    source = ctx.get_parameter_source(param.name)
    if source is ParameterSource.DEFAULT_MAP:
        return f" It was set in {ctx.meta.get('crlm.config')}."
    if source is ParameterSource.ENVIRONMENT:
        return f" It was set by the variable {param.envvar}."
    return ""
