// SPDX-License-Identifier: Apache-2.0
// Cortex-A76: a pipeline that is restored from its image does as the one that the image was taken of.
#include "models/cpu_a76/pipeline.h"
#include "models/cpu_a76/timing.h"
#include "tests/models/cpu/pipe_images.h"

namespace {

using namespace rkperf;

constexpr cpu_a76::PipelineParams params{.mispredict_penalty = 11,
                                         .run_ahead = 8,
                                         .prediction_lead = 24,
                                         .load_queue = 56,
                                         .store_queue = 44,
                                         .split_penalty = 7,
                                         .partial_forward = 4};

using Images = test::PipeImages<cpu_a76::Pipeline, cpu_a76::PipelineParams>;

TEST_CASE("the image of the A76's pipeline is all that what follows depends on") {
    Images images(cpu_a76::timing_of, params);
    for (unsigned seed = 1; seed <= 4; ++seed) images.check(seed);
}

TEST_CASE("no block without a miss takes the A76's pipeline beyond its ceilings and the block's cycles") {
    Images images(cpu_a76::timing_of, params);
    for (unsigned seed = 1; seed <= 4; ++seed) images.check_ceilings(seed);
}

} // namespace
