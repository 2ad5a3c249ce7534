#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
"""Writes tests/unit/locations_made.h: tables of locations that Python made, and the line of each of their instructions.

	python3 tests/unit/locations_made.py > tests/unit/locations_made.h

The lines are those that Python itself reads from a table. Tables without columns have other kinds of entries; Python leaves them
out when PYTHONNODEBUGRANGES is set, and so it is called again with that."""
import os
import subprocess
import sys

SOURCE = '''def straight(a, b):
    c = a + b
    return c


def calls(f, x):
    return f(
        f(x,
          1),
        f(
            x
        ),
    )


def loop(rows):
    total = 0
    for row in rows:
        while row:
            total += row
            row -= 1
        else:
            total += 1
    return total


def comprehension(rows):
    return [
        (a,
         b)
        for a in rows
        if a
        for b in
        a
    ]


def errors(f):
    try:
        with f() as g:
            g()
    except ValueError as e:
        print(e)
    except (KeyError,
            TypeError):
        raise
    finally:
        f()


def generator(n):
    while n:
        n -= yield n


async def coroutine(f):
    async with f() as g:
        async for x in g:
            await x


class Thing(
        object):
    value = 1

    def method(self):
        return lambda: (
            self)


def match(x):
    match x:
        case [1, *_]:
            return 1
        case {"a": y} if y:
            return y
''' + '''

def far(f):
    f(''' + '\n' * 3000 + ''' 1)
    f()
''' + '''

def wide(f):
    f(''' + ' ' * 90 + '''f(), f)
    return f(''' + ' ' * 200 + '''f(), f,
         ''' + '"' + 'x' * 300 + '"' + ''')
'''


def codes_of(code):
    for const in code.co_consts:
        if hasattr(const, "co_code"):
            yield const
            yield from codes_of(const)


def print_array(kind, name, values):
    print(f"static const {kind} {name}[] = {{")
    for i in range(0, len(values), 16):
        print("\t" + " ".join(f"{v}," for v in values[i:i + 16]))
    print("};")


def print_codes(suffix):
    """The arrays; the rows of the table that names them."""
    module = compile(SOURCE, "made.py", "exec")
    rows = []
    for n, code in enumerate([module, *codes_of(module)]):
        lines = [p[0] or 0 for p in code.co_positions()]
        assert len(lines) == len(code.co_code) // 2
        print_array("unsigned char", f"table_{n}{suffix}", code.co_linetable)
        print_array("uint16_t", f"lines_{n}{suffix}", lines)
        print()
        rows.append(f'\t{{ "{code.co_qualname}{suffix}", {code.co_firstlineno}, table_{n}{suffix}, sizeof(table_{n}{suffix}), '
                    f'lines_{n}{suffix}, ARRAY_SIZE(lines_{n}{suffix}) }},')
    return rows


if "PYTHONNODEBUGRANGES" in os.environ:
    print("\n".join(["", *print_codes("_bare")]))
    sys.exit()
print("/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */")
print(f"/* Made by tests/unit/locations_made.py with Python {sys.version_info.major}.{sys.version_info.minor}. */")
print("#ifndef LOCATIONS_MADE_H\n#define LOCATIONS_MADE_H\n\n#include <stddef.h>\n#include <stdint.h>\n")
print('#include "util/util.h"\n')
rows = print_codes("")
bare = subprocess.run([sys.executable, __file__], env={**os.environ, "PYTHONNODEBUGRANGES": "1"}, check=True, capture_output=True, text=True)
bare = bare.stdout.rstrip("\n").split("\n")
first_row = next(i for i, line in enumerate(bare) if line.startswith("\t{"))
print("\n".join(bare[:first_row]).strip("\n") + "\n")
print("static const struct made_locations {\n\tconst char *name;\n\tuint32_t first_line;\n\tconst unsigned char *table;\n\tsize_t n_table;\n"
      "\tconst uint16_t *lines;\t\t/* of each instruction; 0: none */\n\tsize_t n_lines;\n} made_locations[] = {")
print("\n".join([*rows, *bare[first_row:]]))
print("};\n\n#endif")
