// Files of counters, which have to say something else each time they are read: what the shim opens
// for them is a file of its own, in memory, with the sum of what all processes of the host counted.
#pragma once

// Whether this path of the tree is one of a counter: then a descriptor that reads its value, or -1
// if there is none to be had. `flags` are those of the program's open().
bool open_counter(const char* tree, const char* path, int flags, int& descriptor);
