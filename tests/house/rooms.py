"""The plan (cmake/rooms.txt): which rooms there are, what each may include, which are pure."""

from checker import ROOT

_LINE = "---"


def _read(text):
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    line = lines.index(_LINE)
    rooms = dict(entry.split(":") for entry in lines if entry != _LINE)
    pure = [entry.split(":")[0] for entry in lines[:line]]
    return {room: allowed.split() for room, allowed in rooms.items()}, pure


# Room -> the rooms whose headers it may include, besides its own. PURE rooms use no clock, socket,
# thread, file, random device or print.
MAY_INCLUDE, PURE = _read((ROOT / "cmake" / "rooms.txt").read_text())
