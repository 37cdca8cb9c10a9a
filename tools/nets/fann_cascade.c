/* FANN's cascade training on the examples of a file: the peer of `ludex-learn`'s cascade.
 *
 *   fann_cascade FILE NEURONS
 *
 * FILE: little-endian u32 inputs, train, test; then for each example `inputs` floats and one target, train first.
 * Prints a line per neuron: neurons, CPU seconds, training MSE, test MSE. Eight candidates: four activation functions
 * (symmetric sigmoid, gaussian, sine, elliot) in two groups; a symmetric sigmoid at the output, as targets lie in [-1, 1];
 * everything else as the library sets it. The library seeds itself from the clock: no two runs are alike.
 */
#include <fann.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct fann_train_data *test;

static struct fann_train_data *read_examples(FILE *file, unsigned n, unsigned inputs) {
    struct fann_train_data *data = fann_create_train(n, inputs, 1);
    for (unsigned i = 0; i < n; i++) {
        if (fread(data->input[i], sizeof(float), inputs, file) != inputs) exit(2);
        if (fread(data->output[i], sizeof(float), 1, file) != 1) exit(2);
    }
    return data;
}

static double mse(struct fann *net, struct fann_train_data *data) {
    double sum = 0;
    for (unsigned i = 0; i < data->num_data; i++) {
        double d = fann_run(net, data->input[i])[0] - data->output[i][0];
        sum += d * d;
    }
    return sum / data->num_data;
}

static int FANN_API report(struct fann *net, struct fann_train_data *train, unsigned a, unsigned b, float c, unsigned d) {
    double cpu = (double)clock() / CLOCKS_PER_SEC;
    unsigned neurons = fann_get_total_neurons(net) - fann_get_num_input(net) - fann_get_num_output(net) - 1;
    clock_t start = clock();
    double on_train = mse(net, train), on_test = mse(net, test);
    static double asked = 0; /* measuring is not learning */
    printf("%u %.3f %.6f %.6f\n", neurons, cpu - asked, on_train, on_test);
    fflush(stdout);
    asked += (double)(clock() - start) / CLOCKS_PER_SEC;
    (void)a; (void)b; (void)c; (void)d;
    return 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    FILE *file = fopen(argv[1], "rb");
    uint32_t sizes[3];
    if (!file || fread(sizes, 4, 3, file) != 3) return 2;
    struct fann_train_data *train = read_examples(file, sizes[1], sizes[0]);
    test = read_examples(file, sizes[2], sizes[0]);
    fclose(file);

    struct fann *net = fann_create_shortcut(2, sizes[0], 1);
    fann_set_training_algorithm(net, FANN_TRAIN_RPROP);
    fann_set_activation_function_output(net, FANN_SIGMOID_SYMMETRIC);
    fann_set_train_error_function(net, FANN_ERRORFUNC_LINEAR);
    enum fann_activationfunc_enum acts[] = {FANN_SIGMOID_SYMMETRIC, FANN_GAUSSIAN_SYMMETRIC, FANN_SIN_SYMMETRIC,
                                            FANN_ELLIOT_SYMMETRIC};
    fann_type steepness[] = {0.5};
    fann_set_cascade_activation_functions(net, acts, 4);
    fann_set_cascade_activation_steepnesses(net, steepness, 1);
    fann_set_cascade_num_candidate_groups(net, 2);
    fann_set_callback(net, report);
    fann_cascadetrain_on_data(net, train, atoi(argv[2]), 1, 0.0f);
    report(net, train, 0, 0, 0, 0); /* the library does not report the last neuron */
    return 0;
}
