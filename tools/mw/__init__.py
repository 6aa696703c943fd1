"""The parts of ./mw; standard library only, Python 3.9 or newer."""
