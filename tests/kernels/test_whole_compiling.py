"""Ctrl-C while a kernel is compiled leaves no lock of the compiler locked, and nothing half-compiled."""

import signal
import threading

import pytest
from numba.core import event

from tailwise.kernels.compiling import kernel
from tailwise.kernels.whole_compiling import signals_deferred


class Interrupting(event.Listener):
    """Presses Ctrl-C once, while LLVM's lock is being released."""

    def __init__(self):
        self.number = signal.SIGINT

    def on_start(self, event):
        pass

    def on_end(self, event):
        number, self.number = self.number, None
        if number is not None:
            signal.raise_signal(number)


def make_kernel(number):
    # What a closure holds is part of the code, so nothing comes from the disk.
    return kernel(lambda other: other + number)


def test_other_threads_can_compile_after_an_interrupt():
    add_one, sums = make_kernel(1), []
    with event.install_listener("numba:compiler_lock", Interrupting()), pytest.raises(KeyboardInterrupt):
        add_one(1)
    assert len(add_one.signatures) == 1
    other = threading.Thread(target=lambda: sums.append(make_kernel(2)(1)), daemon=True)
    other.start()
    other.join(timeout=60)
    assert (sums, add_one(1)) == ([3], 2)


def test_signals_are_handled_once_and_by_the_handlers_of_before():
    came = []
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame.f_code.co_name)))
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with signals_deferred(), signals_deferred():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            assert came == []
        assert came == [(signal.SIGINT, "signals_deferred")]
        signal.raise_signal(signal.SIGINT)
        assert len(came) == 2
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def test_an_interrupt_is_not_lost_where_compiling_fails():
    @signals_deferred()
    def fail():
        signal.raise_signal(signal.SIGINT)
        raise ValueError

    with pytest.raises(KeyboardInterrupt) as caught:
        fail()
    assert isinstance(caught.value.__context__, ValueError)
