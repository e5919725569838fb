"""Makes src/api/client.ts: the types of the API's answers and one function for each route.

`python web/make_client.py` writes it; with `--check` it compares, and ends with 1 if the file is
not current.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).resolve().parent / "src" / "api" / "client.ts"
HEAD = """/**
 * Made by web/make_client.py from the API's schema: do not edit.
 */
import { ask, type Asked, bytesOf, urlOf } from "./ask";

"""
PLAIN = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}

Schema = dict[str, Any]


def schema() -> Schema:
    """The API's schema; no store is needed for it."""
    from sightline.api.app import openapi_schema

    return openapi_schema()


def type_of(node: Schema, wrap: bool = False) -> str:
    """TypeScript for a JSON schema."""
    text = _type_of(node)
    return f"({text})" if wrap and " | " in text else text


def _type_of(node: Schema) -> str:
    if "$ref" in node:
        return str(node["$ref"]).rsplit("/", 1)[1]
    if "enum" in node or "const" in node:
        return " | ".join(_literal(v) for v in node.get("enum", [node.get("const")]))
    for several in ("anyOf", "oneOf"):
        if several in node:
            return " | ".join(dict.fromkeys(type_of(part) for part in node[several]))
    if node.get("type") == "array":
        return _array(node)
    if node.get("type") == "object" or "properties" in node:
        return _record(node)
    return PLAIN.get(str(node.get("type")), "unknown")


def _literal(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


def _array(node: Schema) -> str:
    if "prefixItems" in node:
        return f"[{', '.join(type_of(part) for part in node['prefixItems'])}]"
    return f"{type_of(node.get('items', {}), wrap=True)}[]"


def _record(node: Schema) -> str:
    values = node.get("additionalProperties")
    return f"Record<string, {type_of(values) if isinstance(values, dict) else 'unknown'}>"


def _comment(text: str | None, indent: str = "") -> str:
    if not text:
        return ""
    return f"{indent}/** {' '.join(text.split()).replace('*/', '* /')} */\n"


def interface(name: str, node: Schema) -> str:
    """An answer's type. Answers hold every field; what is asked may leave fields out."""
    if "properties" not in node:
        return f"{_comment(node.get('description'))}export type {name} = {type_of(node)};\n"
    optional = set(node["properties"]) - set(node.get("required", ()))
    if not name.endswith("Asked"):
        optional = set()
    lines = [_comment(node.get("description")), f"export interface {name} {{\n"]
    for field, part in node["properties"].items():
        lines.append(_comment(part.get("description"), "  "))
        lines.append(f"  {field}{'?' if field in optional else ''}: {type_of(part)};\n")
    return "".join([*lines, "}\n"])


def camel(name: str) -> str:
    """`image_layers` as `imageLayers`."""
    first, *rest = re.split(r"[^A-Za-z0-9]+", name)
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def operation_name(operation: Schema, path: str, verb: str) -> str:
    """The handler's name, without what FastAPI puts after it."""
    given = str(operation["operationId"])
    after = re.sub(r"\W", "_", path) + "_" + verb
    return camel(given.removesuffix(after).rstrip("_"))


def function(path: str, verb: str, operation: Schema) -> str:
    """One typed function; routes that answer with pictures or files get their address."""
    name = operation_name(operation, path, verb)
    query = _query_argument(name, operation)
    pieces = [_path_arguments(operation), _body_argument(operation), query]
    arguments = ", ".join(piece for piece in pieces if piece)
    address = f"urlOf({_template(path)}{', query' if query else ''})"
    kind, answer = _answer(operation)
    doc = _query_type(name, operation) + _comment(operation.get("summary"))
    if kind == "file":
        return f"{doc}export function {name}Url({arguments}): string {{\n  return {address};\n}}\n"
    reader, result = ("ask", f"<{answer}>") if kind == "json" else ("bytesOf", "")
    promised = answer if kind == "json" else "ArrayBuffer"
    send = ', { ...asked, method: "POST", body }' if verb == "post" else ", asked"
    return (
        f"{doc}export function {name}({arguments}{', ' if arguments else ''}asked?: Asked): "
        f"Promise<{promised}> {{\n  return {reader}{result}({address}{send});\n}}\n"
    )


def _template(path: str) -> str:
    if "{" not in path:
        return f'"{path}"'
    filled = re.sub(r"\{(\w+)\}", lambda m: f"${{encodeURIComponent({camel(m[1])})}}", path)
    return f"`{filled}`"


def _parameters(operation: Schema, where: str) -> list[Schema]:
    return [p for p in operation.get("parameters", ()) if p["in"] == where]


def _path_arguments(operation: Schema) -> str:
    return ", ".join(
        f"{camel(p['name'])}: {type_of(p['schema'])}" for p in _parameters(operation, "path")
    )


def _body_argument(operation: Schema) -> str:
    if "requestBody" not in operation:
        return ""
    return f"body: {type_of(operation['requestBody']['content']['application/json']['schema'])}"


def _query_name(name: str) -> str:
    return name[:1].upper() + name[1:] + "Query"


def _query_type(name: str, operation: Schema) -> str:
    """The words that a route takes: their types, and their names for what runs."""
    words = _parameters(operation, "query")
    if not words:
        return ""
    fields = "".join(
        f"{_comment(p.get('description') or p['schema'].get('description'), '  ')}"
        f"  {p['name']}{'' if p.get('required') else '?'}: {_word_type(p['schema'])};\n"
        for p in words
    )
    names = ", ".join(f'"{p["name"]}"' for p in words)
    return (
        f"export type {_query_name(name)} = {{\n{fields}}};\n\n"
        f"export const {name}Words: readonly string[] = [{names}];\n\n"
    )


def _query_argument(name: str, operation: Schema) -> str:
    words = _parameters(operation, "query")
    if not words:
        return ""
    must = any(p.get("required") for p in words)
    return f"query: {_query_name(name)}{'' if must else ' = {}'}"


def _word_type(node: Schema) -> str:
    """Words of a query; null is "not given", and numbers may come as text from the address."""
    kinds = type_of(node)
    more = " | string" if "number" in kinds and "string" not in kinds else ""
    return kinds + more + ("" if "null" in kinds else " | null")


def _answer(operation: Schema) -> tuple[str, str]:
    content = operation["responses"]["200"].get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        return "json", type_of(schema)
    return ("bytes", "") if "application/octet-stream" in content else ("file", "")


def client(document: Schema) -> str:
    """The text of the client."""
    models = document["components"]["schemas"]
    parts = [interface(name, models[name]) for name in sorted(models)]
    names: set[str] = set()
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            name = operation_name(operation, path, verb)
            if name in names:
                raise SystemExit(f"two handlers are called {name}: rename one of them")
            names.add(name)
            parts.append(function(path, verb, operation))
    return HEAD + "\n".join(parts)


def main(arguments: list[str]) -> int:
    """Write, or compare."""
    text = client(schema())
    if "--check" in arguments:
        return 0 if OUT.exists() and OUT.read_text("utf-8") == text else 1
    OUT.write_text(text, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
