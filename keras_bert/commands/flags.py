"""A command's parameters and dataclass fields -> its flags and its --help."""

import copy
import dataclasses
import inspect
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from absl import flags

import keras_bert
from keras_bert.config import BertConfig
from keras_bert.errors import InputError
from keras_bert.settings import type_name

_OWN = "Data and model"
_TITLE_OF_GOOGLE = "As in google-research/bert"
# Names in google-research/bert -> our flags. model_dir is an old name of ours.
_ALIASES = {
    "init_checkpoint": "checkpoint",
    "iterations_per_loop": "steps_per_execution",
    "model_dir": "checkpoint",
    "predict_batch_size": "eval_batch_size",
    "task_name": "task",
    "tpu_name": "tpu",
}
_NO_COUNTERPART = (
    "gcp_project master max_eval_steps num_tpu_cores tpu_zone "
    "use_one_hot_embeddings verbose_logging"
).split()
# The names of our flags in `fit` and in other libraries.
_NAMES_ELSEWHERE = {
    "batch_size": "train_batch_size",
    "epochs": "num_train_epochs",
    "lr": "learning_rate",
    "seed": "random_seed",
}
_DEFINE = {
    "int": flags.DEFINE_integer,
    "float": flags.DEFINE_float,
    "bool": flags.DEFINE_bool,
    "str": flags.DEFINE_string,
    "list": flags.DEFINE_list,
}


def read_bert_config(
    name: str | None, vocab_file: str | None
) -> BertConfig | None:
    """Returns the `BertConfig` of a .json file or a name such as bert_tiny.

    For a name, if `vocab_file` is given, `vocab_size` becomes the size of this
    vocabulary.
    """
    if not name:
        return None
    if "/" in name or name.endswith(".json"):
        return BertConfig.from_json(name)
    config = BertConfig.from_name(name)
    if vocab_file:
        size = keras_bert.BertTokenizer(vocab_file).vocab_size
        config = dataclasses.replace(config, vocab_size=size)
    return config


class Flags:
    """The flags of a command line: `flags.NAME` is the value of the flag NAME.

    Each parameter of `run` is a flag. The flag's help is the parameter's entry
    under "Args:" in `doc`. If the parameter has no default, the flag is
    required. If the type of a parameter is a dataclass, each field of the
    dataclass is a flag instead. The parameter `flags` gets this object.
    `*texts` gets the arguments that are not flags.
    """

    def __init__(
        self,
        command: str,
        arguments: Sequence[str],
        run: Callable[..., None],
        doc: str,
    ):
        self._command = command
        self._argv = [command, *_flagfiles_first(arguments)]
        self._doc, _, entries = doc.strip().partition("\nArgs:\n")
        # The names of the flags under each title of --help, in order of use.
        self._groups: dict[str, list[str]] = {"Required": [], _OWN: []}
        self._settings: list[str] = []
        self._flags = flags.FlagValues()
        self._flags["verbosity"] = flags.FLAGS["verbosity"]  # of the log
        self._variables: Mapping[str, str] = {}
        self._prefix = ""
        self._parameters = inspect.signature(run).parameters
        texts = _entries(entries)
        for name, parameter in self._parameters.items():
            title, default = _OWN, parameter.default
            if default is parameter.empty:
                title, default = "Required", None
            type_ = parameter.annotation
            if dataclasses.is_dataclass(type_):
                self.add_fields(type_)
            elif name in texts:
                self._add(title, name, type_, default, texts[name])

    def __getattr__(self, name: str) -> Any:
        return self._flags[name].value

    def __getitem__(self, name: str) -> flags.Flag:
        return self._flags[name]

    def _add(
        self,
        title: str,
        name: str,
        type_: Any,
        default: Any,
        text: str,
        choices: Sequence[str] | None = None,
    ) -> None:
        if choices:
            flags.DEFINE_enum(name, default, choices, text, self._flags)
        else:
            define = _DEFINE[type_name(type_).partition(" | ")[0]]
            define(name, default, text, flag_values=self._flags)
        self._groups.setdefault(title, []).append(name)

    def add_fields(self, config: Any) -> None:
        """Defines a flag for each field of a dataclass.

        The flag's help is the field's entry under "Attributes:".
        """
        for field, title, text in _documented(config):
            choices = field.metadata.get("choices")
            self._add(
                title, field.name, field.type, field.default, text, choices
            )

    def add_settings(
        self, classes: Iterable[type], names: Sequence[str] = ()
    ) -> None:
        """Defines a flag without a default for each field of the dataclasses.

        If several dataclasses have the same field, the help joins their texts.
        With `names`, only these fields become flags, and their help says that
        their defaults are the model's values.
        """
        merged: dict[str, tuple] = {}
        # Settings that several dataclasses inherit come first.
        for config in sorted(classes, key=lambda x: len(x.__mro__)):
            for field, title, text in _documented(config, by_class=False):
                if field.name in names or not names:
                    new: tuple = title, field, {}
                    *_, texts = merged.setdefault(field.name, new)
                    texts.setdefault(text, {})[repr(field.default)] = None
        for name, (title, field, texts) in merged.items():
            text = " Or: ".join(
                f"{x} (default: {'in the model' if names else ' or '.join(y)})"
                for x, y in texts.items()
            )
            choices = field.metadata.get("choices")
            self._add(title, name, field.type, None, text, choices)
        self._settings += merged

    def add_aliases(self) -> None:
        """Defines the names that google-research/bert has for our flags."""
        for alias, name in _ALIASES.items():
            if name in self._flags and alias not in self._flags:
                flags.DEFINE_alias(alias, name, self._flags)
                self._groups.setdefault(_TITLE_OF_GOOGLE, []).append(alias)

    def add_variables(self, prefix: str, variables: Mapping[str, str]) -> None:
        """Lets environment variables set the flags that are not given.

        With the prefix "KERAS_BERT_", KERAS_BERT_PORT sets --port.
        """
        self._prefix, self._variables = prefix, variables

    def arguments(self) -> dict[str, Any]:
        """Returns the arguments of `run` except `*texts`."""
        arguments: dict[str, Any] = {}
        for name, parameter in self._parameters.items():
            if name == "flags":
                arguments[name] = self
            elif dataclasses.is_dataclass(parameter.annotation):
                arguments[name] = self.config(parameter.annotation)
            elif name != "texts":
                arguments[name] = getattr(self, name)
        return arguments

    def config(self, config: Any) -> Any:
        """Returns an instance of a dataclass, with the flags as its fields."""
        names = (field.name for field in dataclasses.fields(config))
        return config(**{name: getattr(self, name) for name in names})

    def whole_numbers(self, name: str) -> list[int]:
        """Returns the whole numbers in the value of a comma-separated flag."""
        try:
            return [int(text) for text in getattr(self, name) or []]
        except ValueError as error:
            raise InputError(
                f"--{name} is {','.join(getattr(self, name))!r}, but must be "
                "whole numbers separated by commas."
            ) from error

    def settings(self) -> dict[str, Any]:
        """Returns the settings that are given on the command line."""
        values = {name: getattr(self, name) for name in self._settings}
        return {k: value for k, value in values.items() if value is not None}

    def peek(self, name: str) -> Any:
        """Returns the value of a flag while other flags are not yet defined."""
        defined = self._flags
        # A copy is parsed, because undoing a parse would set the log level.
        self._flags = copy.deepcopy(defined)
        # Without this, the value of an unknown flag would hide later flags.
        self._flags.set_gnu_getopt()
        try:
            self._parse(known_only=True)
            return getattr(self, name)
        finally:
            self._flags = defined

    def parse(self) -> list[str]:
        """Reads the command line; returns the arguments that are not flags.

        Raises InputError if a flag or an environment variable has a wrong
        value, or if a flag is unknown.
        """
        takes_texts = "texts" in self._parameters
        self._flags.set_gnu_getopt(takes_texts)  # flags may come after texts
        _, *texts = self._parse()
        self._read_variables()
        if texts and not takes_texts:
            raise InputError(
                f"{texts[0]!r} is not a flag; write --name=value, and see "
                f"{self._command} --help."
            )
        return texts

    def check_required(self) -> None:
        """Raises InputError if a required flag is missing or empty."""
        required = self._groups["Required"]
        missing = [x for x in required if getattr(self, x) in (None, "", [])]
        if missing:
            names = " and ".join(f"--{name}" for name in missing)
            raise InputError(f"Give {names}; see {self._command} --help.")

    def check_needs(self, needs: Mapping[str, str]) -> None:
        """Raises InputError if a flag is given without the flag it needs.

        A flag that an environment variable sets is not checked, because the
        variable may be meant for other calls.
        """
        for name, other in needs.items():
            if self[name].present and not getattr(self, other):
                raise InputError(
                    f"--{name} has no effect without --{other}; give both, "
                    f"or leave out --{name}."
                )

    def help_text(self) -> str:
        """Returns the text of --help, with the required flags first."""
        groups = [
            "\n".join([f"{title}:", *map(self._help_entry, names)])
            for title, names in self._groups.items()
            if names
        ]
        more = "--flagfile=FILE reads flags from a file, one per line."
        return "\n\n".join([self._doc.strip(), *groups, more])

    def _help_entry(self, name: str) -> str:
        flag = self._flags[name]
        text = f"--{'[no]' if flag.boolean else ''}{name}: {flag.help}"
        if flag.default not in (None, "", []):
            text += f" (default: {flag.default_as_str.strip(chr(39))})"
        if self._prefix:
            text += f" [{self._prefix}{name.upper()}]"
        return flags.text_wrap(text, 80, " " * 6, firstline_indent="  ")

    def _read_variables(self) -> None:
        for name in itertools.chain(*self._groups.values()):
            flag, variable = self._flags[name], f"{self._prefix}{name.upper()}"
            value = self._variables.get(variable)
            if not value or flag.present:
                continue
            try:
                flag.parse(value)
            except (flags.Error, ValueError) as error:
                expected = flag.parser.syntactic_help or "true or false"
                raise InputError(
                    f"The environment variable {variable} is {value!r}, but "
                    f"must be {expected}; change it, or give --{name}."
                ) from error

    def _parse(self, known_only: bool = False) -> list[str]:
        self._check_arguments()
        try:
            return self._flags(self._argv, known_only=known_only)
        except (flags.Error, ValueError) as error:
            name = getattr(error, "flagname", "")
            reason = str(error).rstrip(" ?.").replace(". Did", "; did")
            wrong = re.match(r"flag --(\w+)=", reason)
            if wrong and "one of" not in reason:
                expected = self._flags[wrong[1]].parser.syntactic_help
                reason = reason.removesuffix(f": {error.__context__}")
                reason += f" must be {expected or 'true or false'}"
            if (flag := _NAMES_ELSEWHERE.get(name)) in self._flags:
                reason = f"There is no --{name}; write --{flag}"
            if name in _NO_COUNTERPART:
                reason = (
                    f"--{name} of google-research/bert has no counterpart here;"
                    f" leave out --{name}"
                )
            if " " in name:
                reason += "; write -- before a text that begins with -"
            reason += f"; see {self._command} --help."
            raise InputError(reason) from error

    def _check_arguments(self) -> None:
        """Raises InputError if a flag has no value or is repeated.

        absl would accept both mistakes.
        """
        given: dict[str, str] = {}
        arguments = iter(self._argv[1:])
        for argument in itertools.takewhile("--".__ne__, arguments):
            name, equals, _ = argument.lstrip("-").partition("=")
            if name not in self._flags:
                name = name.removeprefix("no")
            if name not in self._flags or not argument.startswith("-"):
                continue  # absl reports unknown flags
            if not equals and not self._flags[name].boolean:
                if next(arguments, "--").startswith("--"):
                    raise InputError(
                        f"{argument} has no value; write {argument}=VALUE."
                    )
            flag = _ALIASES.get(name, name)
            if given.get(flag) == name:
                raise InputError(f"--{name} is given twice; give it once.")
            if flag in given:
                raise InputError(
                    f"--{given[flag]} and --{name} are the same flag; give "
                    "only one of them."
                )
            given[flag] = name


def _flagfiles_first(arguments: Sequence[str]) -> list[str]:
    """Moves flagfiles to the front, so that all other flags override them."""
    files: list[str] = []
    others: list[str] = []
    left = iter(arguments)
    for argument in left:
        if argument == "--":
            others += [argument, *left]  # texts
            break
        is_file = re.match("--?flagfile(=|$)", argument)
        (files if is_file else others).append(argument)
        if is_file and "=" not in argument:
            files += itertools.islice(left, 1)
    return files + others


def _entries(doc: str) -> dict[str, str]:
    """Returns the entries of an "Args:" or "Attributes:" list, by name."""
    entries = re.findall(r"^ {4}(\w+): (.*(?:\n {8}.*)*)", doc, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in entries}


def _documented(
    config: Any, by_class: bool = True
) -> list[tuple[dataclasses.Field, str, str]]:
    """Returns each field of a dataclass with its help title and help text.

    The title is the first line of the docstring of the class that describes the
    field. With `by_class`, a class's own fields precede its parents' fields.
    """
    fields = {field.name: field for field in dataclasses.fields(config)}
    documented: dict[str, tuple[dataclasses.Field, str, str]] = {}
    for parent in config.__mro__:
        doc = inspect.cleandoc(parent.__doc__ or "")
        title = doc.partition("\n")[0].rstrip(".")
        for name, text in _entries(doc.partition("Attributes:")[2]).items():
            documented.setdefault(name, (fields[name], title, text))
    return [documented[x] for x in (documented if by_class else fields)]
