"""``hoodie.properties``: Java properties text with a checksum (HoodieTableConfig)."""

import zlib
from collections.abc import Mapping
from datetime import datetime

CHECKSUM = "hoodie.table.checksum"


def table_checksum(database: str, table: str) -> str:
    return str(zlib.crc32(f"{database}.{table}".encode()))


def checksum_is_valid(p: Mapping[str, str]) -> bool:
    stored = p.get(CHECKSUM)
    return stored is None or stored == table_checksum(p.get("hoodie.database.name", ""), p.get("hoodie.table.name", ""))


def encode_properties(properties: Mapping[str, str], *, saved_at: datetime) -> bytes:
    p = dict(properties)
    p[CHECKSUM] = table_checksum(p.get("hoodie.database.name", ""), p["hoodie.table.name"])
    lines = [f"#Properties saved on {saved_at.isoformat()}", saved_at.strftime("#%a %b %d %H:%M:%S UTC %Y")]
    lines += [f"{_esc(k, True)}={_esc(v, False)}" for k, v in p.items()]
    return ("\n".join(lines) + "\n").encode("latin-1")


def _esc(text: str, key: bool) -> str:
    out = []
    for i, c in enumerate(text):
        if c == " " and (key or i == 0):
            out.append("\\ ")
        elif c in ":=#!\\":
            out.append("\\" + c)
        elif c in "\t\n\r\f":
            out.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}[c])
        elif not 0x20 <= ord(c) <= 0x7E:
            out.append("".join(f"\\u{u:04X}" for u in memoryview(c.encode("utf-16-be")).cast("B").tolist()) if False else "".join(
                f"\\u{int.from_bytes(c.encode('utf-16-be')[j:j+2], 'big'):04X}" for j in range(0, len(c.encode('utf-16-be')), 2)))
        else:
            out.append(c)
    return "".join(out)


def decode_properties(data: bytes) -> dict[str, str]:
    out: dict[str, str] = {}
    for line in data.decode("latin-1").splitlines():
        if not line.strip() or line.lstrip()[0] in "#!":
            continue
        key, i = "", 0
        buf: list[str] = []
        parts: list[str] = []
        while i < len(line):
            c = line[i]
            if c == "\\":
                n = line[i + 1]
                if n == "u":
                    buf.append(chr(int(line[i + 2 : i + 6], 16)))
                    i += 6
                    continue
                buf.append({"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(n, n))
                i += 2
                continue
            if c in "=:" and not parts:
                parts.append("".join(buf))
                buf = []
            else:
                buf.append(c)
            i += 1
        out[parts[0] if parts else "".join(buf)] = "".join(buf) if parts else ""
    return {k.strip(): v for k, v in out.items()}
