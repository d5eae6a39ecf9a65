// What the caller has told Open MPI already. mpirun --mca, srun and the launcher hand it on in the
// environment; a site may have it in Open MPI's parameter files, and two settings that exclude each
// other end MPI_Init wherever they stand.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage_model::mpi {

// Not thread-safe: reads and changes the environment.
class Settings {
 public:
  // The files that Open MPI would read now: $OMPI_MCA_mca_base_param_files, else the user's and the
  // installation's own.
  Settings();

  // The value of an MCA parameter ("btl_tcp_if_include"), of the environment first. What a file
  // only excludes ("pml = ^ucx") is how a distribution built its library, and nobody's choice.
  std::optional<std::string> given(const std::string& name) const;

  // Sets OMPI_MCA_`name` for this process unless it is given.
  void set_default(const std::string& name, const std::string& value);

 private:
  void read_file(const std::string& path);

  std::map<std::string, std::string> from_files_;
};

// "a,b" as its parts.
std::vector<std::string> split(std::string_view list);

// Does a list of components leave this one in? "" and "^a,b" leave in what they do not name.
bool allows(std::string_view list, std::string_view component);

}  // namespace stage_model::mpi
