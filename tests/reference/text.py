"""Text of numbers, read the slow and obvious way: split every line into words."""


def read_lines(text, has_labels, skips_blank=False):
    """For each instance its labels, columns and values."""
    rows = []
    for line in text.removesuffix("\n").split("\n") if text else []:
        words = line.split("#")[0].split()
        if not words and skips_blank:
            continue
        labels = []
        if has_labels and words and ":" not in words[0]:
            labels = [int(word) for word in words.pop(0).split(",")]
        pairs = [word.split(":") for word in words]
        rows.append((labels, [int(column) for column, _ in pairs], [float(value) for _, value in pairs]))
    return rows
