#include "stage_model/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace stage_model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Site site() {
  Site site;
  site.config.roots = {"/nvme", "/nvme/deep", "/scratch"};
  site.config.max_models = 3;
  return site;
}

std::string error_of(const Status& status) { return status ? "" : status.error().message; }

TEST(JobRequest, ModelsWithAndWithoutNames) {
  JobRequest request;
  EXPECT_TRUE(add_model(request, "az://acct/cont/a", site()));
  EXPECT_TRUE(add_model(request, "LORA_1=az://acct/cont/b?x=y", site()));
  EXPECT_THAT(request.models, ElementsAre(ModelRequest{"", "az://acct/cont/a"},
                                          ModelRequest{"LORA_1", "az://acct/cont/b?x=y"}));
  EXPECT_TRUE(add_model(request, "az://acct/cont/a", site()));  // again: nothing new
  EXPECT_EQ(request.models.size(), 2u);
  EXPECT_THAT(error_of(add_model(request, "az://acct/cont/c", site())), HasSubstr("NAME=URL"));
  EXPECT_THAT(error_of(add_model(request, "LORA_1=az://acct/cont/c", site())),
              HasSubstr("two models"));
  EXPECT_TRUE(add_model(request, "LORA_1=az://acct/cont/b?x=y", site()));  // the same twice is one
  EXPECT_EQ(request.models.size(), 2u);
  EXPECT_TRUE(add_model(request, "C=az://acct/cont/c", site()));
  EXPECT_THAT(error_of(add_model(request, "D=az://acct/cont/d", site())), HasSubstr("more than 3"));
}

TEST(JobRequest, NamesAreStrict) {
  for (const char* text : {"a=az://acct/cont", "=az://acct/cont", "1A=az://acct/cont",
                           "A-B=az://acct/cont", "A B=az://acct/cont", "_A=az://acct/cont"}) {
    JobRequest request;
    EXPECT_THAT(error_of(add_model(request, text, site())), HasSubstr("[A-Z][A-Z0-9_]*")) << text;
    EXPECT_TRUE(request.models.empty());
  }
}

TEST(JobRequest, DestMustBeBelowARoot) {
  JobRequest request;
  EXPECT_TRUE(set_dest(request, "/nvme/alice/m//", site()));
  EXPECT_EQ(request.dest, "/nvme/alice/m");
  for (const char* text : {"", "m", "./m", "/nvme", "/nvme/", "/nvmex/m", "/nvme/../etc", "/etc/m",
                           "/nvme//m", "/nvme/./m", "/nvme/m\n"}) {
    EXPECT_NE(error_of(set_dest(request, text, site())), "") << text;
  }
  EXPECT_EQ(request.dest, "/nvme/alice/m");
  // A submit host without the file leaves the roots to the nodes, but not the form.
  Site unknown;
  unknown.known = false;
  EXPECT_TRUE(set_dest(request, "/anywhere/m", unknown));
  EXPECT_FALSE(set_dest(request, "/anywhere/../m", unknown));
}

TEST(JobRequest, DeepestRootCounts) {
  EXPECT_EQ(root_of("/nvme/deep/x", site().config.roots), "/nvme/deep");
  EXPECT_EQ(root_of("/nvme/deeper", site().config.roots), "/nvme");
  EXPECT_EQ(root_of("/nvme/deep", site().config.roots), "/nvme");
}

TEST(JobRequest, SurvivesTheWay) {
  JobRequest request;
  ASSERT_TRUE(add_model(request, "az://acct/cont/a;b,c=d%20e\"'\\$(x)", site()));
  ASSERT_TRUE(add_model(request, "B=az://acct/cont/caf\xc3\xa9", site()));
  ASSERT_TRUE(set_dest(request, "/nvme/a b;c", site()));
  ASSERT_TRUE(add_filter(request.include, "*.json;x=1"));
  ASSERT_TRUE(add_filter(request.exclude, "-old/*"));
  const std::string text = encode_request(request);
  for (const char c : text) EXPECT_TRUE(c > ' ' && c < 0x7f) << text;
  const auto back = decode_request(text, site());
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->models, request.models);
  EXPECT_EQ(back->dest, request.dest);
  EXPECT_EQ(back->include, request.include);
  EXPECT_EQ(back->exclude, request.exclude);
}

TEST(JobRequest, ForgedTextIsRefused) {
  for (const std::string& text :
       {std::string(),
        std::string("2"),
        std::string("1;m=,az://acct/cont"),
        std::string("2;"),
        std::string("2;m"),
        std::string("2;m="),
        std::string("2;m=,"),
        std::string("2;m=,az://a"),
        std::string("2;m=,az://acct/cont%0A"),
        std::string("2;m=,az://acct/cont%00"),
        std::string("2;m=,az://acct/cont%2"),
        std::string("2;m=,az://acct/cont%zz"),
        std::string("2;m=a b,az://acct/cont"),
        std::string("2;m=,az://acct/cont;d=/etc/x"),
        std::string("2;m=,az://acct/cont;d=/nvme/%2E%2E/etc"),
        std::string("2;m=,az://acct/cont;d=/nvme/a;d=/nvme/b"),
        std::string("2;m=,az://acct/cont;q=1"),
        std::string("2;m=,ftp://acct/cont"),
        std::string("2;d=/nvme/x"),
        std::string("2;m=,az://acct/cont;i="),
        "2;m=,az://acct/cont/" + std::string(1 << 17, 'x'),
        std::string(
            "2;m=A,az://acct/cont;m=B,az://acct/cont;m=C,az://acct/cont;m=D,az://acct/c")}) {
    EXPECT_FALSE(decode_request(text, site())) << text.substr(0, 80);
  }
}

}  // namespace
}  // namespace stage_model
