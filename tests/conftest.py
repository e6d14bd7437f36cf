"""The tests that `make quick` skips: those listed here as slow or repeated. All others, also new ones, count as quick.

`make quick` takes at most a minute on two cores if kernels are compiled already (`--durations=60` shows slow tests).
The run with bounds checks skips repeated tests: they run the same kernels on other numbers.
"""

import gc
import os
import signal
from pathlib import Path

import pytest
from _pytest.doctest import DoctestModule

HERE = Path(__file__).parent
# Tests compare what commands print, whether or not they have to compile.
os.environ["TAILWISE_QUIET"] = "1"

# Tests that start processes or a browser, build the whole site, import torch, or take seconds each.
SLOW = (
    "certificates/test_certificate_input.py::test_formulas_that_are_not_affine_are_refused",
    "certificates/test_certificate_linear_program.py",
    "certificates/test_certificate_result.py::test_interrupt_carries_the_bound_so_far",
    "certificates/test_certificate_result.py::test_more_rounds_are_no_worse",
    "certificates/test_certificate_result.py::test_workers_do_not_matter_where_work_is_shared",
    "certificates/test_certificate_soundness.py::test_nothing_is_above_the_bound_where_instances_are_alike",
    "cli/test_cli_compiling.py",
    "cli/test_cli_data.py::test_ctrl_c_and_again",
    "cli/test_cli_demo.py",
    "cli/test_cli_edge.py",
    "cli/test_cli_errors.py::test_bad_files_in_a_process_of_its_own",
    "cli/test_cli_evaluate.py",
    "cli/test_cli_experiment.py",
    "cli/test_cli_formats.py",
    "cli/test_cli_interrupt.py",
    "cli/test_cli_report.py",
    "cli/test_cli_select.py",
    "cli/test_cli_data.py::test_bad_input",
    "cli/test_cli_night.py::test_compiled_code_does_not_delay_the_end",
    "cli/test_cli_program.py",
    "cli/test_cli_run.py::test_calibration_and_certificate",
    "cli/test_cli_train.py::test_a_calibrator_by_cross_validation",
    "datasets/test_store.py::test_killed_converter_leaves_nothing_that_looks_finished",
    "engines/test_threads.py::test_ctrl_c_waits_for_what_others_write",
    "fuzz/test_fuzz_reference.py",
    "cli/test_cli_train.py::test_errors",
    "cli/test_cli_train.py::test_from_training_to_evaluation_in_processes_of_their_own",
    "datasets/test_broken_files.py::test_damage_to_the_list_of_contents_never_loses_a_ranking",
    "datasets/test_text_parsing.py::test_every_number_is_the_nearest_double",
    "engines/test_dask.py",
    "engines/test_dask_tasks.py",
    "models/test_adapters_networks.py",
    "models/test_embeddings.py",
    "models/test_text_model.py",
    "cli/test_cli_models.py",
    "inputs/test_candidates.py::test_real_torch",
    "datasets/test_store_as_input.py::test_commands",
    "datasets/test_files.py::test_any_module_may_be_imported_first",
    "datasets/test_table_files.py::test_text_after_many_integers",
    "selection/test_label_moves.py::test_worth_by_the_nodes_of_a_state_finds_no_less",
    "selection/test_checkpoint.py::test_killed_command_goes_on",
    "selection/test_checkpoint.py::test_goes_on_after_a_kill",
    "datasets/test_text_parsing.py::test_lines_are_read_as_by_splitting_them",
    "docs/",
    "models/test_calibrator.py::test_context_finds_what_it_was_drawn_with",
    "models/test_calibrator.py::test_held_out_error_falls",
    "models/test_calibrator.py::test_the_order_never_reverses_and_values_are_probabilities",
    "models/test_calibrator_cross_validation.py::test_an_overconfident_model_becomes_calibrated",
    "expectations/test_exact_selection.py::test_history_never_falls_where_all_instances_want_the_same",
    "expectations/test_exact_selection.py::test_threads_do_not_matter",
    "expectations/test_exact_selection.py::test_zeros_and_ones",
    "experiments/test_experiments.py",
    "reports/test_report_browser.py",
    "reports/test_report_experiment.py",
    "reports/test_report_page.py",
    "selection/test_global.py::test_against_the_optimum_of_tiny_problems",
    "selection/test_global.py::test_few_passes",
    "selection/test_global.py::test_never_worse_than_row_passes",
    "selection/test_selection_properties.py::test_same_seed_same_bytes_for_any_number_of_workers",
    "selection/test_selection_properties.py::test_the_form_of_the_input_does_not_matter",
    "selection/test_selection_properties.py::test_workers_do_not_matter_where_work_is_shared",
    "kernels/",
    "fuzz/test_fuzz_files.py",
    "datasets/test_downloading.py",
    "reports/test_records_page.py::test_in_a_browser",
    "selection/test_by_label.py::test_equal_weights_change_nothing",
    "selection/test_precision.py::test_candidates_in_single_precision_give_the_same_labels",
    "engines/test_threads.py::test_ctrl_c_at_any_moment_leaves_no_lock_and_no_thread",
    "test_portability.py",
    "test_warming.py",
    "engines/test_threads.py::test_same_bytes_for_every_number_of_workers",
    "engines/test_threads.py::test_selecting_works_in_a_forked_child",
)

# A module whose example imports torch.
SLOW_EXAMPLES = ("tailwise.models.text_model",)

# Files that take longest. They come first, because a worker that starts one at the end keeps the others waiting.
LONGEST = (
    "fuzz/test_fuzz_files.py",
    "kernels/test_code_folders.py",
    "test_warming.py",
    "cli/test_cli_interrupt.py",
    "kernels/test_caching.py",
    "docs/test_site.py",
    "kernels/test_quick_compiler.py",
    "golden/test_golden_selections.py",
    "engines/test_dask.py",
    "engines/test_dask_tasks.py",
    "cli/test_cli_compiling.py",
    "cli/test_cli_explain.py",
    "selection/test_checkpoint.py",
    "selection/test_label_moves.py",
    "docs/test_blocks_run.py",
    "cli/test_cli_edge.py",
    "cli/test_cli_demo.py",
    "models/test_embeddings.py",
    "test_portability.py",
)

# Tests with many parameters: the first of them and every n-th after it count, the others are marked as repeated.
ONE_IN = {
    "certificates/test_certificate_sizes.py": 3,
    "certificates/test_certificate_soundness.py": 50,
    "models/test_tree_search.py": 6,
    "expectations/test_exact_selection.py": 12,
    "expectations/test_exact_value.py": 6,
    "expectations/test_poisson_binomial.py": 2,
    "expectations/test_theory.py": 3,
    "fuzz/test_fuzz_selection.py": 3,
    "golden/test_golden_selections.py": 8,
    "inputs/test_candidates.py": 2,
    "metrics/test_metric_values.py": 3,
    "models/test_calibrator.py": 3,
    "online/test_online_labels.py": 3,
    "selection/test_context.py": 8,
    "test_odd_arguments.py": 3,
    "selection/test_ascent.py": 2,
    "selection/test_global.py": 10,
}


def pytest_collection_modifyitems(items):
    n_before = {}
    for item in items:
        if HERE not in item.path.parents:  # an example in a docstring
            if item.name.startswith(SLOW_EXAMPLES):
                item.add_marker(pytest.mark.slow)
            continue
        file = item.path.relative_to(HERE).as_posix()
        test = f"{file}::{getattr(item, 'originalname', item.name)}"
        n_before[test] = n_before.get(test, -1) + 1
        if test.startswith(SLOW):
            item.add_marker(pytest.mark.slow)
        if n_before[test] % ONE_IN.get(file, 1):
            item.add_marker(pytest.mark.repeated)
    items.sort(key=_place)


def _place(item):
    """Sort key: files that take longest come first, in the order of LONGEST; the others keep their order."""
    file = item.path.relative_to(HERE).as_posix() if HERE in item.path.parents else ""
    return LONGEST.index(file) if file in LONGEST else len(LONGEST)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Skip docstring examples in test files: there are none, and looking took a third of the collection time."""
    collectors = yield
    return [collector for collector in collectors if not isinstance(collector, DoctestModule)]


def pytest_collection_finish():
    """Exclude modules and tests from garbage collection: they live until the end anyway."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def handle_ctrl_c():
    """Undo the setting of a shell that runs the tests in the background and makes them ignore Ctrl-C; some send it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
