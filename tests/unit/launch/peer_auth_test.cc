#include "engine/launch/peer_auth.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace stage_model::launch {
namespace {

class KeyTest : public testing::Test {
 protected:
  KeyTest() {
    std::string path = std::filesystem::temp_directory_path() / "auth.XXXXXX";
    directory_ = mkdtemp(path.data());
  }
  ~KeyTest() override { std::filesystem::remove_all(directory_); }
  std::string key(const std::string& text, mode_t mode = S_IRUSR | S_IWUSR) {
    std::string path = directory_ + "/key" + std::to_string(++count_);
    std::ofstream(path) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  std::unique_ptr<Authenticator> authenticator(const std::string& text) {
    return std::move(*make_key_authenticator(key(text)));
  }
  std::string directory_;
  int count_ = 0;
};

const Claim kClaim{Claim::Role::kChild, "12", 3, 1, std::string(32, 'a'), std::string(32, 'b')};

TEST_F(KeyTest, BothSidesEndWithTheSameShare) {
  const auto one = authenticator("0123456789abcdef");
  const auto two = authenticator("0123456789abcdef\n");  // the same key
  const auto credential = one->prove(kClaim);
  ASSERT_TRUE(credential);
  const auto share = two->verify(kClaim, credential->text);
  ASSERT_TRUE(share);
  EXPECT_EQ(*share, credential->share);
  EXPECT_NE(credential->share, credential->text) << "what travels is not the secret";
}

TEST_F(KeyTest, ACredentialIsGoodForOneClaimOnly) {
  const auto one = authenticator("0123456789abcdef");
  const auto credential = one->prove(kClaim);
  std::vector<Claim> others(6, kClaim);
  others[0].role = Claim::Role::kParent;
  others[1].job = "13";
  others[2].child = 4;
  others[3].parent = 2;
  others[4].child_nonce[31] = 'x';
  others[5].parent_nonce[31] = 'x';
  for (const Claim& other : others) EXPECT_FALSE(one->verify(other, credential->text));
  EXPECT_FALSE(one->verify(kClaim, ""));
  EXPECT_FALSE(one->verify(kClaim, credential->text.substr(0, 31)));
}

TEST_F(KeyTest, AnotherKeyIsRefused) {
  const auto credential = authenticator("0123456789abcdef")->prove(kClaim);
  EXPECT_FALSE(authenticator("0123456789abcdeg")->verify(kClaim, credential->text));
}

TEST_F(KeyTest, FilesThatProtectNothingAreRefused) {
  EXPECT_TRUE(make_key_authenticator(key("0123456789abcdef", 0400)));
  for (const mode_t mode : {0644, 0640, 0440, 0620, 0602}) {
    EXPECT_FALSE(make_key_authenticator(key("0123456789abcdef", mode))) << std::oct << mode;
  }
  EXPECT_FALSE(make_key_authenticator(key("short")));
  EXPECT_FALSE(make_key_authenticator(key("")));
  EXPECT_FALSE(make_key_authenticator(key(std::string(5000, 'x'))));
  EXPECT_FALSE(make_key_authenticator(directory_));
  const auto missing = make_key_authenticator(directory_ + "/none");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ExitCode::kUsage);
  EXPECT_NE(missing.error().message.find("/none"), std::string::npos);
}

TEST(Munge, NoDaemonIsAnErrorThatSaysSo) {
  const auto authenticator = make_munge_authenticator("/no/such/munge/socket");
  const auto credential = authenticator->prove(kClaim);
  ASSERT_FALSE(credential);
  EXPECT_EQ(credential.error().code, ExitCode::kFabric);
  EXPECT_NE(credential.error().message.find("munged"), std::string::npos);
  EXPECT_FALSE(authenticator->verify(kClaim, "MUNGE:nonsense:"));
}

}  // namespace
}  // namespace stage_model::launch
