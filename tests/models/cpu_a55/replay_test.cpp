// SPDX-License-Identifier: Apache-2.0
// Cortex-A55: a pipeline that is restored from its image does as the one that the image was taken of.
#include "models/cpu_a55/pipeline.h"
#include "models/cpu_a55/timing.h"
#include "tests/models/cpu/pipe_images.h"

namespace {

using namespace rkperf;

constexpr cpu_a55::PipelineParams params{.mispredict_penalty = 8,
                                         .run_ahead = 6,
                                         .store_buffer = 5,
                                         .split_penalty = 2,
                                         .chase_bonus = 1,
                                         .replay = 18,
                                         .prefetch = 20,
                                         .prefetch_beyond = 30};

using Images = test::PipeImages<cpu_a55::Pipeline, cpu_a55::PipelineParams>;

TEST_CASE("the image of the A55's pipeline is all that what follows depends on") {
    Images images(cpu_a55::timing_of, params);
    for (unsigned seed = 1; seed <= 4; ++seed) images.check(seed);
}

TEST_CASE("no block without a miss takes the A55's pipeline beyond its ceilings and the block's cycles") {
    Images images(cpu_a55::timing_of, params);
    for (unsigned seed = 1; seed <= 4; ++seed) images.check_ceilings(seed);
}

} // namespace
