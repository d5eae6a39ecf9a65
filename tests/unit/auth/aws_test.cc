// Which keys are chosen, and what the files of aws-cli say.
#include "engine/auth/aws.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/auth/aws_grants.h"

namespace stage_model::auth {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

using Variables = std::map<std::string, std::string>;

class Files {
 public:
  Files() {
    std::string path = "/tmp/stage-aws-XXXXXX";
    if (mkdtemp(path.data()) != nullptr) folder_ = path;
  }
  ~Files() {
    for (const char* name : {"/config", "/credentials"}) unlink((folder_ + name).c_str());
    rmdir(folder_.c_str());
  }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;

  void write(const std::string& name, const std::string& text) const {
    FILE* file = fopen((folder_ + "/" + name).c_str(), "w");
    ASSERT_NE(file, nullptr);
    fwrite(text.data(), 1, text.size(), file);
    fclose(file);
  }
  Variables variables() const {
    return {{"AWS_CONFIG_FILE", folder_ + "/config"},
            {"AWS_SHARED_CREDENTIALS_FILE", folder_ + "/credentials"},
            {"AWS_EC2_METADATA_DISABLED", "true"}};
  }

 private:
  std::string folder_;
};

Result<http::ExchangeAnswer> nobody(const http::ExchangeRequest&) {
  return fail(ExitCode::kTransfer, "nobody is there");
}

Result<std::shared_ptr<const AwsLogin>> choose(const Variables& variables) {
  const AwsProfile profile = read_aws_profile(variables);
  return choose_aws(variables, profile, aws_region(variables, profile), nobody);
}

std::string chosen(const Variables& variables) {
  auto login = choose(variables);
  if (!login) return "error: " + login.error().message;
  if (Status status = (*login)->cache().prepare(); !status) {
    return "error: " + status.error().message;
  }
  return (*login)->describe();
}

// The access key that a request is signed with; "" if it is not signed.
std::string signed_by(const Variables& variables) {
  auto login = choose(variables);
  if (!login || !(*login)->cache().prepare()) return "error";
  http::Request request;
  request.origin = "https://b.s3.amazonaws.com";
  if (!aws_identity(*login, {"eu-west-1", "s3"})->sign(request)) return "error";
  for (const auto& [name, value] : request.headers) {
    if (name != "Authorization") continue;
    const std::size_t at = value.find("Credential=") + 11;
    return value.substr(at, value.find('/') - at);
  }
  return "";
}

constexpr char kCredentials[] =
    "# mine\n[default]\naws_access_key_id = AKIADEFAULT\naws_secret_access_key=s3cr3t=\n\n"
    "[team]\r\nAWS_ACCESS_KEY_ID=AKIATEAM\r\naws_secret_access_key = x/y+z\r\n"
    "aws_session_token = tok\r\n";
constexpr char kConfig[] =
    "[default]\nregion = eu-central-1\n[profile team]\nregion=us-west-2\ns3 =\n"
    "    addressing_style = path\nendpoint_url = https://s3.example\n"
    "[profile sso]\nsso_session = corp\n[profile chain]\nrole_arn = r\nsource_profile = team\n"
    "[profile tool]\ncredential_process = /bin/x\n";

TEST(AuthAwsFiles, SectionsAndSettings) {
  const auto sections = parse_aws_file("\xef\xbb\xbf" + std::string(kConfig) + "[broken\na=b\n");
  EXPECT_EQ(sections.at("profile team").at("region"), "us-west-2");
  EXPECT_EQ(sections.at("profile team").at("endpoint_url"), "https://s3.example");
  EXPECT_EQ(sections.at("profile team").count("addressing_style"), 0U);
  EXPECT_EQ(sections.at("profile team").at("s3.addressing_style"), "path");
  EXPECT_TRUE(parse_aws_file("[a]\n  x = y\n").at("a").empty());
  EXPECT_EQ(parse_aws_file("a = b\n").size(), 0U);
  EXPECT_EQ(parse_aws_file(kCredentials).at("default").at("aws_secret_access_key"), "s3cr3t=");
}

// As AWS documents endpoints of single services.
TEST(AuthAwsFiles, TheServicesOfAProfile) {
  const Files files;
  files.write("config",
              "[default]\nservices = ours\nregion = x\n"
              "[services ours]\ns3 =\n  endpoint_url = https://ceph.example\n"
              "sts =\n  endpoint_url = https://sts.example\n");
  files.write("credentials", kCredentials);
  const AwsProfile profile = read_aws_profile(files.variables());
  EXPECT_EQ(profile.setting("s3.endpoint_url"), "https://ceph.example");
  EXPECT_EQ(profile.setting("endpoint_url"), "");
  EXPECT_EQ(profile.setting("region"), "x");
  EXPECT_EQ(profile.setting("aws_access_key_id"), "AKIADEFAULT");
}

TEST(AuthAwsFiles, TheProfileOfTheVariables) {
  const Files files;
  files.write("config", kConfig);
  files.write("credentials", kCredentials);
  Variables variables = files.variables();
  EXPECT_EQ(aws_region(variables, read_aws_profile(variables)), "eu-central-1");
  EXPECT_EQ(signed_by(variables), "AKIADEFAULT");
  variables["AWS_PROFILE"] = "team";
  const AwsProfile team = read_aws_profile(variables);
  EXPECT_EQ(aws_region(variables, team), "us-west-2");
  EXPECT_EQ(team.setting("endpoint_url"), "https://s3.example");
  EXPECT_EQ(chosen(variables), "keys of profile 'team'");
  EXPECT_EQ(signed_by(variables), "AKIATEAM");
  variables["AWS_DEFAULT_REGION"] = "ap-south-1";
  EXPECT_EQ(aws_region(variables, team), "ap-south-1");
  variables["AWS_REGION"] = "sa-east-1";
  EXPECT_EQ(aws_region(variables, team), "sa-east-1");
  EXPECT_EQ(aws_region({}, {}), "us-east-1");
}

TEST(AuthAws, TheOrderOfAwsCli) {
  const Files files;
  files.write("credentials", kCredentials);
  Variables variables = files.variables();
  variables["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "/creds";
  EXPECT_EQ(chosen(variables), "keys of profile 'default'");
  variables["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/nonexistent";
  variables["AWS_ROLE_ARN"] = "arn:role";
  EXPECT_THAT(chosen(variables), HasSubstr("/nonexistent: there is no such file"));
  variables["AWS_ACCESS_KEY_ID"] = "AKIAENV";
  variables["AWS_SECRET_ACCESS_KEY"] = "s3cr3t\n";
  EXPECT_EQ(chosen(variables), "keys of AWS_ACCESS_KEY_ID");
  EXPECT_EQ(signed_by(variables), "AKIAENV");
}

TEST(AuthAws, NobodyAtLast) {
  const Files files;
  const Variables variables = files.variables();
  EXPECT_EQ(chosen(variables), "anonymous (AWS_EC2_METADATA_DISABLED is set)");
  EXPECT_EQ(signed_by(variables), "");
  const auto login = choose(variables);
  ASSERT_TRUE(login);
  std::string all;
  for (const std::string& why : (*login)->passed_over()) all += why + "\n";
  EXPECT_THAT(all, AllOf(HasSubstr("AWS_ACCESS_KEY_ID is not set"),
                         HasSubstr("AWS_WEB_IDENTITY_TOKEN_FILE is not set"),
                         HasSubstr("profile 'default': is not there"), HasSubstr("container: ")));
}

// What is there but cannot work never ends in another identity without a word.
TEST(AuthAws, HalfAnIdentityIsAnError) {
  const Files files;
  files.write("config", kConfig);
  const auto with = [&files](const Variables& more) {
    Variables variables = files.variables();
    for (const auto& [name, value] : more) variables[name] = value;
    const std::string message = chosen(variables);
    EXPECT_THAT(message, AllOf(testing::StartsWith("error: "), Not(HasSubstr("s3cr3t"))));
    return message;
  };
  EXPECT_THAT(with({{"AWS_ACCESS_KEY_ID", "AKIA"}}),
              HasSubstr("AWS_ACCESS_KEY_ID is set without AWS_SECRET_ACCESS_KEY"));
  EXPECT_THAT(with({{"AWS_SECRET_ACCESS_KEY", "s3cr3t"}}),
              HasSubstr("AWS_SECRET_ACCESS_KEY is set without AWS_ACCESS_KEY_ID"));
  EXPECT_THAT(with({{"AWS_ACCESS_KEY_ID", "AKIA"}, {"AWS_SECRET_ACCESS_KEY", "s3cr3t\nX-Evil: 1"}}),
              HasSubstr("have a line break in them"));
  EXPECT_THAT(with({{"AWS_WEB_IDENTITY_TOKEN_FILE", "/t"}}), HasSubstr("without AWS_ROLE_ARN"));
  EXPECT_THAT(with({{"AWS_PROFILE", "typo"}}), HasSubstr("there is no profile 'typo'"));
  EXPECT_THAT(with({{"AWS_PROFILE", "sso"}}),
              HasSubstr("uses sso_session, which is not supported"));
  EXPECT_THAT(with({{"AWS_PROFILE", "tool"}}), HasSubstr("uses credential_process"));
  EXPECT_THAT(with({{"AWS_PROFILE", "chain"}}), HasSubstr("assumes a role"));
  EXPECT_THAT(with({{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://10.0.0.1/"}}),
              HasSubstr("only https, loopback and the addresses of ECS"));
}

TEST(AuthAwsGrants, AnswersThatAreNone) {
  for (const char* bad : {"", "[]", "{}", R"({"AccessKeyId":"A"})", R"({"Code":"Failed"})",
                          R"({"AccessKeyId":"A","SecretAccessKey":"S","Expiration":"soon"})"}) {
    EXPECT_FALSE(parse_aws_grant_json(bad)) << bad;
  }
  for (const char* bad : {"", "<x/>", "<AssumeRoleWithWebIdentityResponse/>"}) {
    EXPECT_FALSE(parse_aws_grant_xml(bad)) << bad;
  }
  const auto good = parse_aws_grant_json(
      R"({"AccessKeyId":"A","SecretAccessKey":"S","Token":"T","Expiration":"2015-08-30T12:36:00Z"})");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->keys.session, "T");
  EXPECT_EQ(good->expires, 1440938160);
}

}  // namespace
}  // namespace stage_model::auth
