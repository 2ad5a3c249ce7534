#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
#
# Is this what Kubernetes takes? Each key must be one of its API's, with a value of that type; what the API requires must be there.
# The API's own description is in python3-kubernetes, whose models are made from it.
#
#	tests/fleet/manifest.py FILE
import re
import sys

import yaml
from kubernetes.client import models

PLAIN = {"str": str, "int": int, "bool": bool, "object": (dict, str, int)}


def check(kind, value, where):
    """All that is wrong with value, which the API calls kind."""
    inner = re.fullmatch(r"list\[(.*)\]", kind)
    if inner:
        if not isinstance(value, list):
            return [f"{where}: want a list"]
        return [w for i, v in enumerate(value) for w in check(inner[1], v, f"{where}[{i}]")]
    inner = re.fullmatch(r"dict\(str, (.*)\)", kind)
    if inner:
        if not isinstance(value, dict):
            return [f"{where}: want a map"]
        return [w for k, v in value.items() for w in check(inner[1], v, f"{where}.{k}")]
    if kind in PLAIN:
        good = isinstance(value, PLAIN[kind]) and (kind == "bool" or not isinstance(value, bool))
        return [] if good else [f"{where}: want {kind}, not {value!r}"]
    if not isinstance(value, dict):
        return [f"{where}: want a {kind}"]
    model = getattr(models, kind)
    names = {key: name for name, key in model.attribute_map.items()}
    wrong, given = [], {}
    for key, v in value.items():
        if key not in names:
            wrong.append(f"{where}.{key}: {kind} has no such key")
            continue
        wrong += check(model.openapi_types[names[key]], v, f"{where}.{key}")
        given[names[key]] = v
    try:
        model(**given)
    except ValueError as e:
        wrong.append(f"{where}: {e}")
    return wrong


def check_mounts(pod):
    volumes = {v["name"] for v in pod["volumes"]}
    return [f"no volume {m['name']}" for c in pod["containers"] for m in c["volumeMounts"] if m["name"] not in volumes]


with open(sys.argv[1], encoding="utf-8") as f:
    documents = list(yaml.safe_load_all(f))
problems = [] if documents else ["there is nothing in it"]
for d in documents:
    problems += check("V1" + d["kind"], d, d["kind"])
    if not problems and d["kind"] == "DaemonSet":
        labels = d["spec"]["template"]["metadata"]["labels"].items()
        problems += [] if d["spec"]["selector"]["matchLabels"].items() <= labels else ["the selector does not match the template"]
        problems += check_mounts(d["spec"]["template"]["spec"])
print("\n".join(problems))
sys.exit(bool(problems))
