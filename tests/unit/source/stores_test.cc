// The contract's table of stores says what the sources do: what sbatch takes along is what the
// engine looks at. Compared with the sources as they are registered, and with their text.
#include "stage_model/stores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "engine/source/register.h"

namespace stage_model::source {
namespace {

using ::testing::Contains;

TEST(Stores, EverySourceHasARow) {
  for (const Kind* kind : kinds()) {
    const std::string_view text = kind->scheme;
    const Store* store = find_store(text.substr(0, text.find("://")));
    ASSERT_NE(store, nullptr) << text;
    EXPECT_EQ(store->form, text);
  }
}

TEST(Stores, EveryRowHasASource) {
  for (const Store& store : stores()) {
    std::string url(store.form.substr(0, store.form.find(',')));
    for (char& c : url) {
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    const auto all = kinds();
    EXPECT_TRUE(std::any_of(all.begin(), all.end(), [&](const Kind* kind) {
      return kind->matches(url, {});
    })) << url;
  }
}

// Whatever the engine asks for by one of these names is in the table, and nothing else is.
TEST(Stores, VariablesAreThoseThatTheEngineLooksAt) {
  const std::regex name(
      R"re("((?:AZURE|AZCOPY|AWS|GOOGLE|CLOUDSDK|GCE|NO_GCE|HF|HUGGING_FACE|STORAGE|XDG|STAGE_ALLOW)_[A-Z0-9_]*[A-Z0-9])")re");
  std::map<std::string, std::string> asked;  // and where
  for (const char* folder : {"/auth", "/source", "/http"}) {
    for (const auto& file :
         std::filesystem::directory_iterator(STAGE_ENGINE + std::string(folder))) {
      std::ifstream stream(file.path());
      std::stringstream text;
      text << stream.rdbuf();
      const std::string all = text.str();
      for (std::sregex_iterator at(all.begin(), all.end(), name), end; at != end; ++at) {
        asked.emplace((*at)[1], file.path().filename());
      }
    }
  }
  std::set<std::string> known;
  for (const Store& store : stores()) {
    for (const StoreVariable& variable : store.variables) known.emplace(variable.name);
  }
  for (const auto& [variable, file] : asked) {
    EXPECT_THAT(known, Contains(variable)) << "in " << file << ": add it to its store's row";
  }
  for (const std::string& variable : known) {
    EXPECT_TRUE(asked.contains(variable)) << variable << ": nobody looks at it";
  }
  EXPECT_GT(asked.size(), 40U);
}

}  // namespace
}  // namespace stage_model::source
