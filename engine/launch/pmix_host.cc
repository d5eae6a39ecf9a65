#include "engine/launch/pmix_host.h"

#include <fmt/format.h>
#include <pmix.h>
#include <pmix_server.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>

#include "engine/base/clock.h"
#include "engine/base/mutex.h"

namespace stage_model::launch {
namespace {

constexpr double kCallTimeout = 20;  // seconds, for a call that is local to this process

// Waits for the callback of a PMIx call. Shared, so that an answer after the time-out finds it.
class Answer {
 public:
  static void arrive(pmix_status_t status, void* data) {
    const std::unique_ptr<std::shared_ptr<Answer>> self(
        static_cast<std::shared_ptr<Answer>*>(data));
    const MutexLock lock((*self)->mutex_);
    (*self)->status_ = status;
    (*self)->arrived_ = true;
    (*self)->changed_.notify_all();
  }

  // Runs call(callback data) and waits for its answer.
  template <class Call>
  static pmix_status_t of(Call call) {
    const auto answer = std::make_shared<Answer>();
    auto* data = new std::shared_ptr<Answer>(answer);
    const pmix_status_t status = call(data);
    if (status != PMIX_SUCCESS) {
      delete data;
      return status == PMIX_OPERATION_SUCCEEDED ? PMIX_SUCCESS : status;
    }
    const double deadline = now() + kCallTimeout;
    MutexLock lock(answer->mutex_);
    while (!answer->arrived_ && now() < deadline) {
      answer->changed_.wait_for(lock, deadline - now());
    }
    return answer->arrived_ ? answer->status_ : PMIX_ERR_TIMEOUT;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool arrived_ STAGE_GUARDED_BY(mutex_) = false;
  pmix_status_t status_ STAGE_GUARDED_BY(mutex_) = PMIX_SUCCESS;
};

// An array of pmix_info_t that is built by key and owned.
class Infos {
 public:
  Infos() = default;
  ~Infos() {
    for (pmix_info_t& info : infos_) PMIX_INFO_DESTRUCT(&info);
  }
  Infos(const Infos&) = delete;
  Infos& operator=(const Infos&) = delete;

  void text(const char* key, const std::string& value, pmix_data_type_t type = PMIX_STRING) {
    load(key, value.c_str(), type);
  }
  void number(const char* key, std::uint32_t value) { load(key, &value, PMIX_UINT32); }
  void small(const char* key, std::uint16_t value) { load(key, &value, PMIX_UINT16); }
  void rank(const char* key, pmix_rank_t value) { load(key, &value, PMIX_PROC_RANK); }
  void flag(const char* key, bool value) { load(key, &value, PMIX_BOOL); }

  // Takes over what `inner` holds.
  void array(const char* key, Infos& inner) {
    pmix_data_array_t* array = nullptr;
    PMIX_DATA_ARRAY_CREATE(array, inner.infos_.size(), PMIX_INFO);
    std::copy(inner.infos_.begin(), inner.infos_.end(), static_cast<pmix_info_t*>(array->array));
    inner.infos_.clear();
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, key);
    info.value.type = PMIX_DATA_ARRAY;
    info.value.data.darray = array;
    infos_.push_back(info);
  }

  pmix_info_t* data() { return infos_.data(); }
  std::size_t size() const { return infos_.size(); }

 private:
  void load(const char* key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, key, value, type);
    infos_.push_back(info);
  }

  std::vector<pmix_info_t> infos_;
};

tl::unexpected<Error> pmix_failure(const char* what, pmix_status_t status) {
  return fail(ExitCode::kFabric,
              fmt::format("PMIx server: {}: {}", what, PMIx_Error_string(status)));
}

struct Pending {
  pmix_modex_cbfunc_t callback;
  void* data;
};

void free_text(void* text) { delete static_cast<std::string*>(text); }

// Hands `data` to PMIx, which frees it when it is done with it.
void answer(const Pending& pending, pmix_status_t status, const std::string& data) {
  auto* copy = new std::string(data);
  pending.callback(status, copy->data(), copy->size(), pending.data, free_text, copy);
}

class Host : public PmixHost {
 public:
  explicit Host(std::shared_ptr<Mailbox> mailbox) : mailbox_(std::move(mailbox)) {}

  Status init(const PmixJob& job, const std::string& directory);
  Result<std::vector<std::string>> begin(const PmixJob& job, PmixEvents events) override;
  void finish_fence(std::uint64_t ticket, const std::string& data) override;
  void finish_modex(std::uint64_t ticket, int status, const std::string& data) override;
  void publish_local(std::function<void(int status, std::string data)> answer) override;

 private:
  static Host* instance;

  // Callbacks of PMIx, on its thread.
  static pmix_status_t on_connected(const pmix_proc_t*, void*, pmix_info_t[], size_t,
                                    pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
  }
  static pmix_status_t on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*);
  static pmix_status_t on_abort(const pmix_proc_t* proc, void*, int status, const char message[],
                                pmix_proc_t[], size_t, pmix_op_cbfunc_t, void*);
  static pmix_status_t on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t[],
                                size_t, char* data, size_t size, pmix_modex_cbfunc_t callback,
                                void* callback_data);
  static pmix_status_t on_modex(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                                pmix_modex_cbfunc_t callback, void* callback_data);

  // Runs `work` on the loop if the engine that it comes from is still the current one.
  void post(const std::string& name, std::function<void()> work) {
    mailbox_->post([this, name, work = std::move(work)] {
      if (name == job_.name) work();
    });
  }
  std::uint64_t keep(Pending pending) {
    tickets_[++last_ticket_] = pending;
    return last_ticket_;
  }
  void finish(std::uint64_t ticket, pmix_status_t status, const std::string& data);
  Status register_namespace(const PmixJob& job);

  std::shared_ptr<Mailbox> mailbox_;
  pmix_server_module_t module_{};
  PmixJob job_;
  PmixEvents events_;
  std::map<std::uint64_t, Pending> tickets_;
  std::uint64_t last_ticket_ = 0;
};

Host* Host::instance = nullptr;

Status Host::init(const PmixJob& job, const std::string& directory) {
  instance = this;
  // What is not set here is not supported, which is all right for an MPI that neither spawns nor
  // publishes. `log` must stay unset: PMIx 4 deadlocks when it is answered from within.
  module_.client_connected2 = on_connected;
  module_.client_finalized = on_finalized;
  module_.abort = on_abort;
  module_.fence_nb = on_fence;
  module_.direct_modex = on_modex;
  Infos infos;
  infos.text(PMIX_SERVER_TMPDIR, directory);
  infos.text(PMIX_SYSTEM_TMPDIR, directory);
  infos.text(PMIX_SERVER_NSPACE, "stage-launch." + job.name);
  infos.rank(PMIX_SERVER_RANK, job.me);
  infos.text(PMIX_HOSTNAME, job.nodes[job.me]);
  infos.flag(PMIX_SERVER_TOOL_SUPPORT, false);
  infos.number(PMIX_USERID, job.uid);
  infos.number(PMIX_GRPID, job.gid);
  const pmix_status_t status = PMIx_server_init(&module_, infos.data(), infos.size());
  if (status != PMIX_SUCCESS) return pmix_failure("cannot start", status);
  return {};
}

Status Host::register_namespace(const PmixJob& job) {
  const auto count = static_cast<std::uint32_t>(job.nodes.size());
  std::string names;
  std::string ranks;
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    names += (rank > 0 ? "," : "") + job.nodes[rank];
    ranks += fmt::format("{}{}", rank > 0 ? ";" : "", rank);
  }
  char* node_map = nullptr;
  char* proc_map = nullptr;
  pmix_status_t status = PMIx_generate_regex(names.c_str(), &node_map);
  if (status == PMIX_SUCCESS) status = PMIx_generate_ppn(ranks.c_str(), &proc_map);
  if (status != PMIX_SUCCESS) return pmix_failure("cannot encode the node list", status);

  Infos infos;
  infos.text(PMIX_NODE_MAP, node_map, PMIX_REGEX);
  infos.text(PMIX_PROC_MAP, proc_map, PMIX_REGEX);
  std::free(node_map);  // NOLINT: PMIx uses malloc
  std::free(proc_map);  // NOLINT
  infos.number(PMIX_UNIV_SIZE, count);
  infos.number(PMIX_JOB_SIZE, count);
  infos.number(PMIX_MAX_PROCS, count);
  infos.number(PMIX_JOB_NUM_APPS, 1);
  infos.number(PMIX_APP_SIZE, count);
  infos.number(PMIX_NUM_NODES, count);
  infos.number(PMIX_LOCAL_SIZE, 1);
  infos.number(PMIX_NODE_SIZE, 1);
  infos.text(PMIX_LOCAL_PEERS, std::to_string(job.me));
  infos.rank(PMIX_LOCALLDR, job.me);
  infos.number(PMIX_NODEID, job.me);
  infos.text(PMIX_HOSTNAME, job.nodes[job.me]);
  infos.text(PMIX_JOBID, job.name);
  infos.text(PMIX_TMPDIR, job.directory);
  infos.text(PMIX_NSDIR, job.directory + "/" + job.name);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    Infos process;
    process.rank(PMIX_RANK, rank);
    process.number(PMIX_APPNUM, 0);
    process.rank(PMIX_GLOBAL_RANK, rank);
    process.rank(PMIX_APP_RANK, rank);
    process.small(PMIX_LOCAL_RANK, 0);
    process.small(PMIX_NODE_RANK, 0);
    process.number(PMIX_NODEID, rank);
    process.text(PMIX_HOSTNAME, job.nodes[rank]);
    if (rank == job.me) {
      process.text(PMIX_PROCDIR, fmt::format("{}/{}/{}", job.directory, job.name, rank));
    }
    infos.array(PMIX_PROC_DATA, process);
  }
  status = Answer::of([&](void* data) {
    return PMIx_server_register_nspace(job.name.c_str(), 1, infos.data(), infos.size(),
                                       Answer::arrive, data);
  });
  if (status != PMIX_SUCCESS) return pmix_failure("cannot register the job", status);
  return {};
}

Result<std::vector<std::string>> Host::begin(const PmixJob& job, PmixEvents events) {
  tickets_.clear();  // their engine is gone
  job_ = job;
  events_ = std::move(events);
  if (Status registered = register_namespace(job); !registered) {
    return tl::unexpected(registered.error());
  }
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, job.name.c_str(), job.me);
  pmix_status_t status = Answer::of([&](void* data) {
    return PMIx_server_register_client(&proc, job.uid, job.gid, nullptr, Answer::arrive, data);
  });
  if (status != PMIX_SUCCESS) return pmix_failure("cannot register the engine", status);

  // PMIx grows the array with realloc, so it must come from malloc.
  auto** environment = static_cast<char**>(std::calloc(1, sizeof(char*)));  // NOLINT
  status = PMIx_server_setup_fork(&proc, &environment);
  std::vector<std::string> variables;
  for (char** entry = environment; entry != nullptr && *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
    std::free(*entry);  // NOLINT
  }
  std::free(environment);  // NOLINT
  if (status != PMIX_SUCCESS) return pmix_failure("cannot make the engine's environment", status);
  return variables;
}

void Host::finish(std::uint64_t ticket, pmix_status_t status, const std::string& data) {
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) return;
  const Pending pending = found->second;
  tickets_.erase(found);
  answer(pending, status, data);
}

void Host::finish_fence(std::uint64_t ticket, const std::string& data) {
  finish(ticket, PMIX_SUCCESS, data);
}

void Host::finish_modex(std::uint64_t ticket, int status, const std::string& data) {
  finish(ticket, status, data);
}

void Host::publish_local(std::function<void(int status, std::string data)> done) {
  struct Context {
    Host* host;
    std::string name;
    std::function<void(int, std::string)> done;
  };
  pmix_proc_t proc;
  PMIX_LOAD_PROCID(&proc, job_.name.c_str(), job_.me);
  auto* context = new Context{this, job_.name, done};
  const pmix_status_t status = PMIx_server_dmodex_request(
      &proc,
      [](pmix_status_t result, char* bytes, size_t size, void* data) {
        const std::unique_ptr<Context> owned(static_cast<Context*>(data));
        std::string copy(bytes != nullptr ? bytes : "", bytes != nullptr ? size : 0);
        owned->host->post(owned->name, [done = owned->done, result, copy] { done(result, copy); });
      },
      context);
  if (status != PMIX_SUCCESS) {
    delete context;
    done(status, "");
  }
}

pmix_status_t Host::on_finalized(const pmix_proc_t* proc, void*, pmix_op_cbfunc_t, void*) {
  instance->post(proc->nspace, [host = instance] { host->events_.finalized(); });
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t Host::on_abort(const pmix_proc_t* proc, void*, int status, const char message[],
                             pmix_proc_t[], size_t, pmix_op_cbfunc_t, void*) {
  instance->post(proc->nspace,
                 [host = instance, status, text = std::string(message != nullptr ? message : "")] {
                   host->events_.aborted(status, text);
                 });
  return PMIX_OPERATION_SUCCEEDED;
}

pmix_status_t Host::on_fence(const pmix_proc_t procs[], size_t count, const pmix_info_t[], size_t,
                             char* data, size_t size, pmix_modex_cbfunc_t callback,
                             void* callback_data) {
  if (count == 0) return PMIX_ERR_BAD_PARAM;
  std::vector<std::uint32_t> members;
  bool everybody = false;
  for (size_t i = 0; i < count; ++i) {
    everybody = everybody || procs[i].rank == PMIX_RANK_WILDCARD;
    members.push_back(procs[i].rank);
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  if (everybody) members.clear();
  instance->post(procs[0].nspace,
                 [host = instance, members, pending = Pending{callback, callback_data},
                  blob = std::string(data != nullptr ? data : "", data != nullptr ? size : 0)] {
                   host->events_.fence(host->keep(pending), members, blob);
                 });
  return PMIX_SUCCESS;
}

pmix_status_t Host::on_modex(const pmix_proc_t* proc, const pmix_info_t[], size_t,
                             pmix_modex_cbfunc_t callback, void* callback_data) {
  instance->post(proc->nspace,
                 [host = instance, rank = proc->rank, pending = Pending{callback, callback_data}] {
                   const std::uint64_t ticket = host->keep(pending);
                   if (rank < host->job_.nodes.size()) {
                     host->events_.modex(ticket, rank);
                   } else {
                     host->finish(ticket, PMIX_ERR_NOT_FOUND, "");
                   }
                 });
  return PMIX_SUCCESS;
}

}  // namespace

Result<std::unique_ptr<PmixHost>> PmixHost::start(std::shared_ptr<Mailbox> mailbox,
                                                  const PmixJob& job,
                                                  const std::string& directory) {
  auto host = std::make_unique<Host>(std::move(mailbox));
  if (Status started = host->init(job, directory); !started) {
    return tl::unexpected(started.error());
  }
  return std::unique_ptr<PmixHost>(std::move(host));
}

std::string pmix_build_version() {
  return fmt::format("{}.{}.{}", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR, PMIX_VERSION_RELEASE);
}

std::string pmix_library_version() { return PMIx_Get_version(); }

}  // namespace stage_model::launch
