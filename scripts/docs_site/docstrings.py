"""Read the provider's classes and docstrings from their sources. Nothing is imported, so Airflow is not needed."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_PARAM = re.compile(r"^:param (\w+):\s*(.*)$")
# Methods that only Airflow calls.
_AIRFLOW_METHODS = ("_", "get_ui_")
_MODEL = re.compile(r"see `(\w+)` for the parameters")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument of a constructor.

    Attributes:
        default: source text of the default; empty if the argument is required.
        words: description from a docstring, as Markdown; empty if there is no description.
    """

    name: str
    default: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedClass:
    """A class with its prose, and with its parameters except those of base classes outside of the package."""

    name: str
    module: str
    prose: str
    parameters: tuple[Parameter, ...]
    undescribed: tuple[str, ...]
    unknown: tuple[str, ...]


class Sources:
    """All classes in the modules of a package, by name."""

    def __init__(self, package: Path) -> None:
        self.nodes: dict[str, ast.ClassDef] = {}
        self.modules: dict[str, str] = {}
        for path in sorted(package.rglob("*.py")):
            module = ".".join(path.relative_to(package.parent).with_suffix("").parts)
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef):
                    self.nodes[node.name] = node
                    self.modules[node.name] = module

    def leaves(self, prefix: str) -> list[str]:
        """Return the public classes of these modules that have no subclass."""
        bases = {base for node in self.nodes.values() for base in self._bases(node)}
        names = [name for name, module in self.modules.items() if module.startswith(prefix)]
        return [name for name in names if not name.startswith("_") and name not in bases]

    def describe(self, name: str) -> DescribedClass:
        """Describe a class: first its own parameters in the order of its docstring, then those of its base classes."""
        lines = list(self._lineage(name))
        arguments = {
            arg: default for each in reversed(lines) for arg, default in _arguments(self.nodes[each])
        }
        words = {arg: text for each in reversed(lines) for arg, text in self._descriptions(each).items()}
        own = parameters_in(_docstring(self.nodes[name]))
        order = [*(arg for arg in own if arg in words), *(arg for arg in arguments if arg not in own)]
        return DescribedClass(
            name=name,
            module=self.modules[name],
            prose=as_markdown(prose_of(_docstring(self.nodes[name]))),
            parameters=tuple(
                Parameter(name=arg, default=arguments.get(arg, ""), words=as_markdown(words.get(arg, "")))
                for arg in order
            ),
            undescribed=tuple(arg for arg in arguments if arg not in words),
            unknown=tuple(
                arg for arg in own if arg not in {**arguments, **dict.fromkeys(self._kwargs_names(lines))}
            ),
        )

    def methods(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the signature and the docstring, as Markdown, of each public method with a docstring."""
        for node in self.nodes[name].body:
            if (
                isinstance(node, Function)
                and not node.name.startswith(_AIRFLOW_METHODS)
                and ast.get_docstring(node)
            ):
                is_value = any(isinstance(d, ast.Name) and "property" in d.id for d in node.decorator_list)
                yield node.name if is_value else _call(node), as_markdown(ast.get_docstring(node) or "")

    def _descriptions(self, name: str) -> dict[str, str]:
        docstring = _docstring(self.nodes[name])
        model = _MODEL.search(docstring)
        borrowed = parameters_in(_docstring(self.nodes[model[1]])) if model else {}
        own = {arg for arg, _ in _arguments(self.nodes[name])}
        kept = {arg: text for arg, text in borrowed.items() if arg in own}
        return {**kept, **parameters_in(docstring)}

    def _kwargs_names(self, lineage: list[str]) -> Iterator[str]:
        """Yield the names of the constructors' ``**`` arguments."""
        for name in lineage:
            constructor = _constructor(self.nodes[name])
            if constructor is not None and constructor.args.kwarg is not None:
                yield constructor.args.kwarg.arg

    def _lineage(self, name: str) -> Iterator[str]:
        yield name
        for base in self._bases(self.nodes[name]):
            if base in self.nodes:
                yield from self._lineage(base)

    @staticmethod
    def _bases(node: ast.ClassDef) -> list[str]:
        return [base.id for base in node.bases if isinstance(base, ast.Name)]


def parameters_in(docstring: str) -> dict[str, str]:
    """Return each ``:param name: description``, with its continuation lines."""
    found: dict[str, str] = {}
    current = ""
    for line in docstring.splitlines():
        if match := _PARAM.match(line):
            current = match[1]
            found[current] = match[2]
        elif current and line.startswith("    "):
            found[current] += f" {line.strip()}"
        else:
            current = ""
    return found


def prose_of(docstring: str) -> str:
    """Return the text before the parameters, without ``seealso`` lines."""
    prose = docstring.split(":param ")[0]
    return re.sub(r"^\.\. seealso::.*$", "", prose, flags=re.MULTILINE).strip()


def as_markdown(text: str) -> str:
    """Convert a docstring to Markdown: code in single backticks, fenced blocks, sections of arguments as lists."""
    text = re.sub(r"``([^`]+)``", r"`\1`", text)
    text = re.sub(r"\bdocs/([\w-]+\.md)", r"[\1](\1)", text)
    text = re.sub(r"^::\n\n((?: {4}.*\n?|\n)+)", _fenced, text, flags=re.MULTILINE)
    return re.sub(
        r"^(Args|Raises|Attributes):\n((?: {4}.*(?:\n|$)|\n(?= {4}))+)", _listed, text, flags=re.MULTILINE
    )


def _fenced(match: re.Match[str]) -> str:
    lines = [line.removeprefix("    ") for line in match[1].rstrip().splitlines()]
    return "\n".join(["```python", *lines, "```", "", ""])


def _listed(match: re.Match[str]) -> str:
    items: list[str] = []
    for line in match[2].splitlines():
        if line.startswith("     ") and items:
            items[-1] += f" {line.strip()}"
        elif line.strip():
            items.append(line.strip())
    entries = [re.sub(r"^(\w+): ", r"- `\1`: ", item) for item in items]
    return f"{match[1]}:\n\n" + "\n".join(entries) + "\n"


def _docstring(node: ast.ClassDef) -> str:
    return ast.get_docstring(node) or ""


def _constructor(node: ast.ClassDef) -> Function | None:
    return next((n for n in node.body if isinstance(n, Function) and n.name == "__init__"), None)


def _arguments(node: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """Return names and defaults of the constructor's own arguments. Dataclasses list their arguments as attributes."""
    constructor = _constructor(node)
    return _defaults(constructor) if constructor is not None else iter(())


def _defaults(function: Function) -> Iterator[tuple[str, str]]:
    arguments = function.args
    positional = arguments.args[1:]
    missing = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*missing, *arguments.defaults], strict=True):
        yield argument.arg, ast.unparse(default) if default else ""
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield argument.arg, ast.unparse(default) if default else ""


def _call(function: Function) -> str:
    names = [f"{name}={default}" if default else name for name, default in _defaults(function)]
    if function.args.vararg:
        names.append(f"*{function.args.vararg.arg}")
    return f"{function.name}({', '.join(names)})"
