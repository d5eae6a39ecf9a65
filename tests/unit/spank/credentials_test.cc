#include "spank/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace stage_model::spank {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pair;

JobRequest ask_for(const char* url) { return JobRequest{{{"", url}}, "", {}, {}}; }

TEST(Credentials, OnlyThoseOfTheStore) {
  const auto azure = credential_names(ask_for("az://acct/cont"), {"MINE"});
  EXPECT_THAT(azure, Contains("AZURE_STORAGE_KEY"));
  EXPECT_THAT(azure, Contains("MINE"));
  EXPECT_THAT(azure, Not(Contains("AWS_SECRET_ACCESS_KEY")));
  EXPECT_THAT(credential_names(ask_for("file:///x"), {}), ElementsAre());
}

TEST(Credentials, GathersWhatIsSet) {
  const std::map<std::string, std::string> environment = {{"A", "x=y"}, {"B", ""}, {"D", "no"}};
  const auto lookup = [&](const std::string& name) -> const char* {
    const auto at = environment.find(name);
    return at == environment.end() ? nullptr : at->second.c_str();
  };
  EXPECT_THAT(*gather_credentials({"A", "B", "C"}, lookup), ElementsAre(Pair("A", "x=y")));
}

TEST(Credentials, SurviveTheWay) {
  const Credentials all = {{"A", "x=y;\"'\\"}, {"B", "caf\xc3\xa9"}};
  const auto packed = pack_credentials(all);
  ASSERT_TRUE(packed);
  EXPECT_EQ(*unpack_credentials(*packed, {"A", "B", "C"}), all);
  EXPECT_THAT(*unpack_credentials(*packed, {"B"}), ElementsAre(all[1]));
  EXPECT_THAT(*unpack_credentials("", {"A"}), ElementsAre());
  EXPECT_THAT(*unpack_credentials("A\n=\nB=", {"A", "B", ""}), ElementsAre());
  EXPECT_FALSE(unpack_credentials("A=\x01", {"A"}));
  EXPECT_FALSE(pack_credentials({{"A", std::string(30000, 'x')}, {"B", std::string(32000, 'x')}}));
}

TEST(Credentials, ImpossibleValuesAreNamedNotShown) {
  for (const std::string& value :
       {std::string("SECRET\nx"), std::string("SECRET\xff"), "SECRET" + std::string(40000, 'x')}) {
    const auto got = gather_credentials({"A"}, [&](const std::string&) { return value.c_str(); });
    ASSERT_FALSE(got);
    EXPECT_THAT(got.error().message, HasSubstr("variable A "));
    EXPECT_THAT(got.error().message, Not(HasSubstr("SECRET")));
  }
}

}  // namespace
}  // namespace stage_model::spank
