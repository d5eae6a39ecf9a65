// A cancelled staging ends in order: the signal is noted here, and the main loop asks.
#pragma once

#include "stage_model/result.h"

namespace stage_model {

void catch_signals();               // SIGTERM, SIGINT, SIGHUP; call before threads exist
Status stop_requested();            // kStopped once one came
void set_deadline(double seconds);  // from now; 0: none; stop_requested() then says so, too

}  // namespace stage_model
