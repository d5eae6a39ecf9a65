// The forms in which users name a place in Azure Blob storage. Pure; thread-safe.
#pragma once

#include <string>
#include <string_view>

#include "engine/base/variables.h"
#include "stage_model/result.h"

namespace stage_model::source {

struct AzureUrl {
  std::string account;
  std::string origin;  // "https://host[:port]"
  std::string base;    // "" or "/ACCOUNT" (emulators): encoded, goes before "/CONTAINER"
  std::string container;
  std::string path;  // bytes, decoded; "" for the whole container
  std::string sas;   // a signature found in the URL; secret
};

//   az://ACCOUNT/CONTAINER/PREFIX/      the path is taken literally, as it stands
//   https://ACCOUNT.blob.DOMAIN/CONTAINER/PREFIX/[?SAS]   percent-decoded once, as URLs are; DOMAIN
//                                                         is_trusted_azure(), or a signature
//   http[s]://HOST[:PORT]/ACCOUNT/CONTAINER/PREFIX/       emulators: HOST that of
//                                                         AZURE_STORAGE_BLOB_ENDPOINT or the
//                                                         connection string; or an address with
//                                                         port 10000, the account
//                                                         devstoreaccount1, or a signature
// A name after .dfs. is taken for its .blob. counterpart. AZURE_STORAGE_BLOB_ENDPOINT, else the
// endpoint of AZURE_STORAGE_CONNECTION_STRING if it is for the same account, replaces the host of
// az:// URLs.
bool is_azure_url(std::string_view url, const Variables& variables);

// May secrets of the environment be shown there? To Azure's own names and to the endpoint that a
// variable names; anybody can have a host with ".blob." in its name.
bool is_trusted_azure(const std::string& origin, const Variables& variables);

// Where the cloud of a blob endpoint logs in: "https://login.microsoftonline.com", or the one of a
// sovereign cloud.
std::string azure_authority(const std::string& origin);

// Errors: kUsage for the form, kSource where variables contradict it. Messages hold no query.
Result<AzureUrl> parse_azure_url(std::string_view url, const Variables& variables);

}  // namespace stage_model::source
