// What the steps of one staging share. Filled in this order: presence, prepare, seal, publish.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/store/destination.h"
#include "engine/store/leftovers.h"
#include "engine/store/manifest.h"
#include "engine/store/seams.h"
#include "engine/store/store.h"
#include "engine/store/temp_directory.h"

namespace stage_model::store {

// Where an object's bytes come from.
enum class Origin : std::uint8_t {
  kTransfer,     // all of them are still to come
  kPartial,      // some are in the adopted directory
  kDestination,  // held in DEST: to be linked
  kAdopted,      // held in an adopted directory that was sealed: to be moved
  kCopied,       // was kDestination, on a file system without hard links
};

struct Item {
  Origin origin = Origin::kTransfer;
  const Manifest::File* record = nullptr;  // held: what the manifest says of it
  std::vector<ProvenExtent> proven;        // kPartial

  bool held() const { return record != nullptr; }
};

struct State {
  Destination destination;
  StagingOptions options;
  Seams seams;

  const plan::Listing* listing = nullptr;
  std::vector<Item> items;  // one per object
  bool published = false;   // DEST is exactly this model: nothing to do
  bool forgot = false;      // a file of the right size is not enough for this run
  Fd dest_dir;              // DEST at presence; invalid: not there
  std::optional<Manifest> dest_manifest;
  std::list<Manifest::File> newer_records;  // of a DEST that appeared after presence
  std::unique_ptr<Adopted> adopted;         // records point into it; dir is closed once it is empty
  std::optional<TempDirectory> temp;

  std::atomic<bool> direct{true};
  double disk_speed = 0;          // bytes/s of one thread's O_DIRECT write; 0: not known
  std::atomic<bool> full{false};  // ran out of space: partial data goes
  bool sealed = false;

  unsigned threads() const { return options.writers != 0 ? options.writers : 4; }

  // For messages.
  std::string shown(std::uint32_t object) const;
  std::string temp_path() const;
};

}  // namespace stage_model::store
