"""The catalogue of benchmarks, downloads, and folders of data."""
