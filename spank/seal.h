// A secret on its way through Slurm's job record, and through the environment of every prolog
// script of the site: one variable that tells nothing to who logs it.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "stage_model/result.h"

namespace stage_model::spank {

// By munge, as Slurm's own credentials are: root of any node of this cluster opens it, at any time
// and as often as it takes (a job may wait for weeks, and be requeued). Where there is no munge it
// is merely written in hexadecimal digits, which hides it from nobody who wants to know. libmunge
// is loaded when it is needed: the plugin is linked with libc alone. `socket`: "" for munge's
// default.
std::string seal(std::string_view secret, const std::string& socket);

// Errors: kUsage for a text that nobody sealed, or neither `owner` nor root did; kStopped if
// munge cannot be asked. Messages hold nothing of the secret.
Result<std::string> unseal(std::string_view sealed, uid_t owner, const std::string& socket);

}  // namespace stage_model::spank
