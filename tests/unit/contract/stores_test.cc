#include "stage_model/stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Stores, PlainHttpMustBeAllowedByTheSite) {
  EXPECT_THAT(default_schemes(), ElementsAre("az", "https", "s3", "gs", "hf", "file"));
}

// What a user has set for azcopy, aws or gcloud works in a job as it does on the login node.
TEST(Stores, VariablesOfTheToolsThatUsersKnow) {
  for (const auto& [scheme, name] : std::initializer_list<std::pair<const char*, const char*>>{
           {"az", "AZURE_STORAGE_KEY"},
           {"az", "AZCOPY_SPA_CLIENT_SECRET"},
           {"az", "AZURE_STORAGE_ANON"},
           {"s3", "AWS_DEFAULT_PROFILE"},
           {"s3", "AWS_ENDPOINT_URL_STS"},
           {"gs", "CLOUDSDK_CONFIG"},
           {"hf", "XDG_CACHE_HOME"},
           {"http", "STAGE_ALLOW_HTTP"}}) {
    EXPECT_THAT(variables_of_scheme(scheme), Contains(name)) << scheme;
  }
  EXPECT_THAT(variables_of_scheme("file"), IsEmpty());
  EXPECT_THAT(variables_of_scheme("ftp"), IsEmpty());
}

// It may be Azure's, never another store's: those secrets stay where they are.
TEST(Stores, AWebUrlMayBeAzures) {
  for (const char* scheme : {"https", "http"}) {
    EXPECT_THAT(variables_of_scheme(scheme), Contains("AZURE_STORAGE_KEY"));
    for (const char* other :
         {"AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"}) {
      EXPECT_THAT(variables_of_scheme(scheme), Not(Contains(other)));
    }
  }
  EXPECT_THAT(variables_of_scheme("manifest+https"), IsEmpty());
}

TEST(Stores, WhatTheMachineSaysOfItselfStaysThere) {
  for (const char* name : {"AWS_CONTAINER_CREDENTIALS_FULL_URI", "GCE_METADATA_HOST"}) {
    EXPECT_THAT(variables_of_scheme("s3"), Not(Contains(name)));
    EXPECT_THAT(variables_of_scheme("gs"), Not(Contains(name)));
  }
}

TEST(Stores, NamesThatSayTheyAreSecretAreMarkedSo) {
  for (const Store& store : stores()) {
    for (const StoreVariable& variable : store.variables) {
      const bool looks = variable.name.ends_with("_KEY") || variable.name.ends_with("SECRET") ||
                         variable.name.ends_with("_TOKEN") ||
                         variable.name.ends_with("CONNECTION_STRING");
      if (looks && variable.use != VariableUse::kNodesOwn) {
        EXPECT_EQ(variable.use, VariableUse::kSecret) << variable.name;
      }
      if (variable.use == VariableUse::kEndpoint) {
        EXPECT_TRUE(variable.name.find("ENDPOINT") != std::string_view::npos ||
                    variable.name.find("HOST") != std::string_view::npos)
            << variable.name;
      }
    }
  }
}

TEST(Stores, SecretParameters) {
  for (const char* name :
       {"sig", "SIG", "key", "X-Amz-Signature", "x-amz-credential", "private_token", "AccountKey",
        "SharedAccessSignature", "api_key", "code"}) {
    EXPECT_TRUE(is_secret_parameter(name)) << name;
  }
  for (const char* name : {"", "sv", "versionId", "design", "monkey", "author", "encode"}) {
    EXPECT_FALSE(is_secret_parameter(name)) << name;
  }
}

}  // namespace
}  // namespace stage_model
