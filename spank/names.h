// Names that submit, prolog, step and the site's own prolog script agree on.
#pragma once

namespace stage_model::spank {

// Job control variables. Set by this name at submit; Slurm shows them as SPANK_<name> to prolog and
// epilog and as SLURM_SPANK_<name> to steps.
inline constexpr char kRequestVariable[] = "STAGE_MODEL_REQUEST";
inline constexpr char kCredentialPrefix[] = "STAGE_MODEL_CRED_";
inline constexpr char kPrologPrefix[] = "SPANK_";
inline constexpr char kStepPrefix[] = "SLURM_SPANK_";

// What a step finds in its environment: the first model, and each by its NAME.
inline constexpr char kDirectoryVariable[] = "STAGE_MODEL_DIR";

// Environment defaults, read at submit only.
inline constexpr char kModelDefault[] = "STAGE_MODEL";
inline constexpr char kDestDefault[] = "STAGE_DEST";

}  // namespace stage_model::spank
