"""Write docs/options.md from the keys of the engine. With --check, only report whether the page is current."""

import sys
from collections.abc import Iterable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "options.md"
sys.path.insert(0, str(REPOSITORY / "spark_jobs"))

from hudi_table_services.options.option import AnyOption, Effect  # noqa: E402
from hudi_table_services.options.registry import OPTION_GROUPS  # noqa: E402

HEAD = """\
<!-- Made by scripts/make_options_doc.py from the declarations in options/keys. -->

# Options

**Quick answer.** Pass Hudi's own keys in `hudi_options` (`--option KEY=VALUE`). Find the key on this page with the
search of your browser. An unknown key is an error that names the most similar known key.

Options are Hudi's own `hoodie.*` keys, with Hudi's meaning and defaults. Differences from Hudi are in
[brackets]. Keys that only this project has begin with `hoodie.airflow.`.

A job of this release treats a key in one of these ways:

- **honoured**: the key does what the table says;
- **default only**: jobs reject any other value, because this release supports only the default;
- **refused**: the job ends with an error, because ignoring the key would change the result of the job;
- **no effect**: the key exists in Hudi, and this release ignores it with a warning in the result document. The
  same applies to a key that only a different service honours, and to a key that has no effect because of a different
  option, e.g. the split size if auto split is on;
- any other key is an error that names the most similar known key.

A key with `*` stands for all keys with this prefix that are not listed individually. Some settings have several names:
a field of the request and a key, or two keys. A request may use more than one of these names if all of them have the
same value. The key `hoodie.datasource.write.commitmeta.key.prefix` (default `_`) sets a prefix. Options whose names
begin with this prefix are stored in the metadata of the commit and have no further effect.
"""

CONTRADICTIONS = """\

## Contradictions

Jobs reject the following combinations. The error names both settings.

| setting | contradicts |
|---|---|
| `hoodie.parquet.small.file.limit` | a smaller `hoodie.parquet.max.file.size` |
| `hoodie.record.merge.mode` | a payload class that corresponds to the other merge mode |
| `hoodie.datasource.insert.dup.policy` other than `none` | an operation other than `insert`, or `hoodie.combine.before.insert=false` |
| `hoodie.datasource.write.partitions.to.delete` | an operation other than `delete_partition`; `delete_partition` without this key is also an error |
| `hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL` | no `hoodie.write.lock.provider`, or a lock that works only within one process |
| `hoodie.keep.min.commits` | a `hoodie.keep.max.commits` that is not larger, or a `hoodie.clean.commits.retained` that is not smaller |
| `hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL` | `hoodie.cleaner.policy.failed.writes=EAGER` (with this mode, the default of the key is `LAZY`) |
| `hoodie.airflow.parquet.compression.level` | a codec without levels |
| `every_n_commits` of a compaction | `hoodie.compact.inline.trigger.strategy=TIME_ELAPSED` |
| a field of the request | the key of this field, with a different value |
| a key | a different name of this key, with a different value |
"""  # noqa: E501 - a row of a table is one line


def page() -> str:
    """Return the text of the page."""
    return HEAD + "".join(map(_section, OPTION_GROUPS.items())) + CONTRADICTIONS


def _section(group: tuple[str, tuple[AnyOption, ...]]) -> str:
    heading, options = group
    rows = (
        _with_reasons(options)
        if options[0].effect in (Effect.REFUSED, Effect.NO_EFFECT)
        else _with_defaults(options)
    )
    return f"\n## {heading}\n\n" + "".join(f"{row}\n" for row in rows)


def _with_defaults(options: Iterable[AnyOption]) -> Iterable[str]:
    yield "| key | default | meaning |"
    yield "|---|---|---|"
    for option in options:
        only = "; no other value" if option.effect is Effect.FIXED else ""
        aliases = "".join(f"<br>or `{alias}`" for alias in option.aliases)
        default = f"`{option.default}`" if option.default else ""
        yield f"| `{option.key}`{aliases} | {default} | {option.meaning}{only} |"


def _with_reasons(options: Iterable[AnyOption]) -> Iterable[str]:
    keys: dict[str, list[str]] = {}
    for option in options:
        keys.setdefault(option.meaning, []).append(f"`{option.key}`")
    yield "| keys | why |"
    yield "|---|---|"
    for reason, names in keys.items():
        yield f"| {'<br>'.join(names)} | {reason} |"


def main() -> int:
    """Write or check the page. Exit code 1 means that the page is out of date."""
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    if PAGE.read_text(encoding="utf-8") == page():
        return 0
    print(
        f"{PAGE.relative_to(REPOSITORY)} is out of date: run python scripts/make_options_doc.py",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
