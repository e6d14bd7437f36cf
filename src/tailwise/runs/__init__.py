"""Runs: training, prediction, selection and evaluation, with their data, record and folder."""
