"""The plan of the rooms: which there are, what each may include, and which of them are pure."""

_ABOVE_THE_LINE = {
    "base": "",
    "wire": "base",
    "topology": "base",
    "transport": "base wire",
    "fabric": "base wire topology",
    "control": "base wire topology",
    "cluster": "base wire topology transport fabric control",
    "workload": "base topology",
    "sim": "base wire topology transport fabric control cluster workload",
    "scenario": "base wire topology transport fabric control cluster workload sim",
    "report": "base wire topology transport fabric control cluster workload sim scenario",
}
_ALL_PURE = " ".join(_ABOVE_THE_LINE)
_BELOW_THE_LINE = {
    "drive": _ALL_PURE,
    "live": "base wire topology transport fabric control cluster",
    "verbs": "base wire transport live",
    "manage": _ALL_PURE + " drive live",
    "cli": _ALL_PURE + " drive live verbs manage",
}

# Room -> the rooms whose headers it may include, besides its own.
MAY_INCLUDE = {
    room: allowed.split() for room, allowed in (_ABOVE_THE_LINE | _BELOW_THE_LINE).items()
}
# No clock, socket, thread, file, random device or print in these.
PURE = list(_ABOVE_THE_LINE)
