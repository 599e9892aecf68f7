"""How far a request is, shown in terminals and notebooks once it takes longer than a second."""
import sys
import time

from ._library import Error

PATIENCE = 1.0  # s before anything is shown


def _notebook():
    """IPython's display function in a notebook; None elsewhere."""
    if "ipykernel" not in sys.modules:
        return None
    try:
        from IPython.display import display
    except ImportError:
        return None
    return display


def _left(elapsed, done):
    left = elapsed * (1 - done) / done
    size, unit = (1, "s") if left < 100 else (60, "min") if left < 6000 else (3600, "h")
    return f"about {left / size:.0f} {unit} left"


class _Html:
    def __init__(self, html):
        self.html = html

    def _repr_html_(self):
        return self.html

    def __repr__(self):
        return ""


class Progress:
    """`wanted`: None (where somebody looks on), True, False, or a function of what is done and how far (0 to 1)."""

    def __init__(self, wanted):
        if not any(wanted is one for one in (None, True, False)) and not callable(wanted):
            raise Error(f"progress: {wanted!r} is neither True, False, None nor a function")
        self.call = wanted if callable(wanted) else None
        self.display = None if self.call or wanted is False else _notebook()
        self.terminal = not self.call and not self.display and (wanted is True or (wanted is None and sys.stderr.isatty()))
        self.begin, self.now, self.handle, self.shown, self.before = time.monotonic(), ("", 0.0), None, False, None

    def told(self, what, done):
        """From the library, in any thread: the thread that waits does the rest."""
        self.now = what, done

    def show(self):
        what, done = self.now
        if self.call and what and self.now != self.before:
            self.before = self.now
            self.call(what, done)
        elapsed = time.monotonic() - self.begin
        if elapsed < PATIENCE or not done or self.call:
            return
        if self.display:
            bar = _Html(f'<progress max="1" value="{done:.4f}"></progress> {what}, {_left(elapsed, done)}')
            if self.handle:
                self.handle.update(bar)
            else:
                self.handle = self.display(bar, display_id=True)
        elif self.terminal:
            filled = int(30 * done)
            sys.stderr.write(f"\r\033[K[{'#' * filled}{' ' * (30 - filled)}] {what}, {_left(elapsed, done)} ")
            sys.stderr.flush()
            self.shown = True

    def end(self):
        if self.shown:
            sys.stderr.write("\r\033[K")
        if self.handle:
            self.handle.update(_Html(""))
# SPDX-License-Identifier: Apache-2.0
