// Several processes under mpirun, on one machine.
#pragma once

#include <gtest/gtest.h>
#include <tapegrad/tests/support/command_runner.h>

#include <cstdlib>
#include <string>

namespace tapegrad::tests {

// Open MPI's settings: more processes than processors, root is accepted, messages go through shared memory.
inline void prepare_mpirun() {
  for (const char* name :
       {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "OMPI_MCA_rmaps_base_oversubscribe"})
    ::setenv(name, "1", 0);
  ::setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 0);
  ::setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 0);  // these two: from Open MPI 5 on
  ::setenv("PRTE_MCA_hwloc_default_binding_policy", "none", 0);
  ::setenv("OMPI_MCA_pml", "ob1", 0);
  ::setenv("OMPI_MCA_btl", "self,vader", 0);
  ::setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);  // containers may forbid the other one
}

inline bool has_mpirun() {
  prepare_mpirun();
  return run_program({"mpirun", "--version"}).code == 0;
}

inline Ran run_ranks(int processes, const Arguments& program, const RunSetting& setting = {}) {
  prepare_mpirun();
  return run_program(joined({"mpirun", "-n", std::to_string(processes)}, program), setting);
}

}  // namespace tapegrad::tests

// Skips a test that needs mpirun.
#define SKIP_WITHOUT_MPIRUN() \
  if (!tapegrad::tests::has_mpirun()) GTEST_SKIP() << "mpirun is not installed (Debian package openmpi-bin)"
