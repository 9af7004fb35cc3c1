#include "cli/app.h"

int main(int argc, char** argv) {
    return tulle::cli::run(argc, argv);
}
