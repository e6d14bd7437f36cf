"""``tailwise convert``: the same entries in another format."""

from __future__ import annotations

import argparse
from typing import Any

from tailwise.cli.options import add_columns_option, add_command, add_names_options, check_not_input
from tailwise.cli.streams import STREAM, inputs_in_files, output_in_file

EXAMPLES = """\
examples:
  tailwise convert probabilities.npz probabilities.parquet
  tailwise convert scores.csv --columns user_id,item_id,score scores.jsonl.gz
      columns with other names
  tailwise convert suggestions/ suggestions.parquet --label-names subjects.csv --language en
      a folder of Annif's suggestions, with the titles of a vocabulary
  tailwise convert part-1.parquet part-2.parquet all.csv
      several files as one
  tailwise convert parts/ batch.store
      a store, which select maps instead of reading: for batches larger than memory
  tailwise convert parts/ batch.store --by-label
      the same, with the candidates by label as well, for label passes and certificates
  tailwise convert chosen.npz - | head
      CSV on standard output
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser."""
    what = "Write probabilities, labels or a selection in another format; suffixes determine the formats."
    parser = add_command(commands, "convert", EXAMPLES, help="write files in another format", description=what)
    parser.add_argument(
        "source", metavar="IN", nargs="+", help="what to read: files, a directory, a pattern, or - for standard input"
    )
    parser.add_argument("output", metavar="OUT", help="file or store to write, or - for CSV on standard output")
    add_columns_option(parser)
    add_names_options(parser)
    parser.add_argument("--format", help="format of OUT, if its suffix is ambiguous: records, predictions, ...")
    by_label = "store the candidates a second time, by label, for label passes and certificates (10 bytes each)"
    parser.add_argument("--by-label", action="store_true", help=by_label)
    parser.add_argument("--overwrite", action="store_true", help="replace OUT if it exists")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from tailwise.datasets.formats.converting import check_by_label_option, convert, convert_to_store
    from tailwise.datasets.formats.output_files import reserved_file
    from tailwise.datasets.formats.output_folders import claimed_folder
    from tailwise.datasets.formats.registry import find_format_to_write
    from tailwise.datasets.formats.store_files import store_folder
    from tailwise.inputs.vocabularies import read_vocabulary

    is_stream = options.output == STREAM
    names = read_vocabulary(options.label_names, options.language)
    with inputs_in_files(*options.source) as files, output_in_file(options.output) as output:
        check_not_input(output, *files)
        source = files if len(files) > 1 else files[0]
        if find_format_to_write(output, frozenset(), options.format).name == "store":
            with claimed_folder(output, store_folder(), overwrite=options.overwrite) as folder:
                n_rows = convert_to_store(
                    source,
                    folder,
                    columns=options.columns,
                    label_names=names,
                    by_label=options.by_label,
                    progress=options.progress,
                )
        else:
            check_by_label_option(by_label=options.by_label, target=options.output)
            with reserved_file(output, overwrite=options.overwrite) as draft:
                n_rows = convert(source, draft, columns=options.columns, label_names=names, format=options.format)
    if not (options.quiet or is_stream):
        print(f"{n_rows:,} instances written to {options.output}")
    return 0
