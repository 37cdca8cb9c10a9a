/* CPU time of one evaluation by FANN, for the two nets of the benchmark; medians of 41 rounds. */
#include <fann.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void measure(const char *name, struct fann *net, unsigned inputs) {
    fann_type *states = malloc(256 * inputs * sizeof *states);
    for (unsigned i = 0; i < 256 * inputs; i++) states[i] = rand() % 3 == 0;
    double times[41];
    volatile fann_type sink = 0;
    for (int round = 0; round < 41; round++) {
        clock_t start = clock();
        for (int i = 0; i < 2560; i++) sink += fann_run(net, states + (i % 256) * inputs)[0];
        times[round] = (double)(clock() - start) / CLOCKS_PER_SEC / 2560 * 1e9;
    }
    qsort(times, 41, sizeof *times, compare);
    printf("FANN, %-42s %10.0f ns\n", name, times[20]);
    free(states);
}

int main(void) {
    struct fann *mlp = fann_create_standard(3, 85, 100, 3);
    measure("MLP 85-100-3, alone", mlp, 85);
    unsigned layers[52];
    layers[0] = 192;
    for (int i = 1; i < 52; i++) layers[i] = 1;
    struct fann *cascade = fann_create_shortcut_array(52, layers);
    fann_set_activation_function_hidden(cascade, FANN_SIGMOID_SYMMETRIC);
    measure("cascade 192+50, alone", cascade, 192);
    return 0;
}
