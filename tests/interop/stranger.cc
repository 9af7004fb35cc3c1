// A program for a future libibverbs, with a name that ours lacks.
extern "C" int ibv_of_the_future();

int main() {
    return ibv_of_the_future();
}
