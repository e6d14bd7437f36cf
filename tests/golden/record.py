"""Record what select returns on every problem: `cd tests && python -m golden.record`.

Do so only when results are meant to change, and say in the changelog how.
"""

import json

from golden.problems import FILE, describe, list_problems

import tailwise as tw


def main():
    golden = {name: describe(tw.select(*call, **options)) for name, call, options in list_problems()}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in golden.items())
    FILE.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
