"""The catalogue of benchmarks: what there is, fetching it, and folders of data."""
