// A token around a ring and an all-reduce of 1 MiB, results checked.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1 << 18 };

int main(int argc, char** argv) {
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int token = rank;
    for (int i = 0; i < size; i++) {
        int next = 0;
        MPI_Sendrecv(&token, 1, MPI_INT, (rank + 1) % size, 0, &next, 1, MPI_INT,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        token = next;
    }
    int wrong = token != rank;
    float* mine = malloc(COUNT * sizeof *mine);
    float* sum = malloc(COUNT * sizeof *sum);
    for (int i = 0; i < COUNT; i++) mine[i] = (float)(rank + i % 7);
    MPI_Allreduce(mine, sum, COUNT, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++)
        if (sum[i] != (float)(size * (i % 7) + size * (size - 1) / 2)) wrong = 1;
    free(mine);
    free(sum);
    int any_wrong = 0;
    MPI_Allreduce(&wrong, &any_wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) puts(any_wrong ? "wrong" : "right");
    MPI_Finalize();
    return any_wrong;
}
