"""Names that strangers give to images, maps and studies."""

from __future__ import annotations

from itertools import chain
from urllib.parse import quote

__all__ = ["NAMES", "is_file_name"]

_TARGETS = ("secret.jpg", "etc/passwd", "outside/secret.jpg")


def _traversals() -> list[str]:
    found = []
    for target in _TARGETS:
        for up in ("../", "../../", "../../../../../../", "a/../../", "./../", "..//", ".././../"):
            plain = up + target
            twice = quote(quote(plain, safe=""), safe="")
            found += [plain, plain.replace("/", "\\"), quote(plain, safe=""), twice]
            found += [plain.replace(".", "%2e"), plain.replace("/", "%2f")]
        found += [f"....//{target}", f"..;/{target}", f"..%c0%af{target}", f"..%00/{target}"]
        found += [f"..\u2215{target}", f"\uff0e\uff0e/{target}", f"/{target}", f"//{target}"]
        found += [
            f"file:///{target}",
            f"C:\\{target}",
            f"C:/{target}",
            f"\\\\host\\share\\{target}",
        ]
        found += [f"out/{target}", f"~/{target}", f"$HOME/{target}", f"%USERPROFILE%\\{target}"]
    return found


_DOTS = [
    ".",
    "..",
    "...",
    "./",
    "../",
    ". ",
    ".. ",
    " ..",
    "..\t",
    "~",
    "~root",
    "$HOME",
    "${HOME}",
]
_CONTROL = [
    *("a\0b.jpg", "\0", "a.jpg\0.png", "../secret.jpg\0.jpg", "%00", "a%00.jpg", "a\nb.jpg"),
    *("a\rb.jpg", "a\r\nb.jpg", "a\tb.jpg", "a\x1b[31mb.jpg", "\x7f.jpg", "a\x85b.jpg", "\x01"),
]
_UNICODE = [
    *("\u202egpj.exe", "a\u200fb.jpg", "a\u200bb.jpg", "\ufeffa.jpg", "Köln.jpg", "Ko\u0308ln.jpg"),
    *("ﬁ.jpg", "ℌ.jpg", "西安.jpg", "🏰.jpg", "\U0010ffff.jpg", "a\u2028b.jpg", "ı.jpg", "İ.jpg"),
    *("\ud800.jpg", "a\udfff", "\udcff\udcfe.jpg", "ß.jpg", "ẞ.jpg", "a\u0301" * 40 + ".jpg"),
]
_LONG = ["a" * 200, "a" * 201, "a" * 255, "a" * 256, "é" * 150, "a/" * 200 + "b", "a" * 100_000]
_WINDOWS = [
    "CON",
    "nul",
    "COM1.jpg",
    "LPT1",
    "a.jpg.",
    "a.jpg ",
    "a:b.jpg",
    "a.jpg::$DATA",
    "aux.png",
]
_DASHES = [
    "-",
    "--",
    "-rf",
    "--help",
    "-o/tmp/x",
    "--config=/etc/passwd",
    "@file",
    "!ls",
    "#",
    ";ls",
]
_GLOBS = [
    "*",
    "?.jpg",
    "[a-z].jpg",
    "**/*.jpg",
    "{a,b}.jpg",
    "a*b.jpg",
    "[!a].jpg",
    "%",
    "%s%n",
    "{0}",
]
_CODE = [
    *("<script>alert(1)</script>.jpg", '"><img src=x onerror=alert(1)>', "javascript:alert(1)"),
    *("'; DROP TABLE rows; --", "' OR '1'='1", '" OR ""="', "a'b.jpg", 'a"b.jpg', "a`b.jpg"),
    *("=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", "=HYPERLINK(1)", "\t=1", "${7*7}"),
    *("{{7*7}}", "$(touch /tmp/x)", "`id`", "a;b&c|d.jpg", "a&amp;b.jpg", "&lt;b&gt;", "<!--"),
    *("]]>", "${jndi:ldap://x/a}", "a,b.jpg", "a b.jpg", "a  b.jpg", " a.jpg", "a\\b.jpg"),
]
_EMPTY = [
    "",
    " ",
    "/",
    "//",
    "\\",
    "http://host/a.jpg",
    "https://host/a.jpg",
    "ftp://h/a",
    "data:,a",
]

_ODD = (_DOTS, _CONTROL, _UNICODE, _LONG, _WINDOWS, _DASHES, _GLOBS, _CODE, _EMPTY)

NAMES: tuple[str, ...] = tuple(dict.fromkeys([*_traversals(), *chain.from_iterable(_ODD)]))
"""More than two hundred, each once."""


def is_file_name(name: str) -> bool:
    """Return whether a file in a folder can have this name here."""
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        return False
    return 0 < size <= 255 and "/" not in name and "\0" not in name and name not in (".", "..")
