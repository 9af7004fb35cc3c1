// A program for a libibverbs of the future, which has a name that ours lacks.
extern "C" int ibv_of_the_future();

int main() {
    return ibv_of_the_future();
}
