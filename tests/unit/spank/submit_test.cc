#include "spank/submit.h"

#include <gmock/gmock.h>

#include "fake_slurm.h"
#include "spank/seal.h"

namespace stage_model::spank {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class SubmitTest : public NodeTest {
 protected:
  std::string flag(Submit& submit, Flag flag, const char* value) {
    const Status status = submit.flag(slurm, flag, value);
    return status ? "" : status.error().message;
  }
  std::string finish(Submit& submit) {
    const Status status = submit.finish(slurm);
    return status ? "" : status.error().message;
  }
};

TEST_F(SubmitTest, HandsOverRequestAndCredentials) {
  setenv("AZURE_STORAGE_KEY", "k=", 1);
  Submit submit(arguments);
  EXPECT_EQ(flag(submit, Flag::kModel, "az://acct/cont/m/"), "");
  EXPECT_EQ(flag(submit, Flag::kModel, "L=az://acct/cont/l"), "");
  EXPECT_EQ(flag(submit, Flag::kDest, (root + "/a").c_str()), "");
  EXPECT_EQ(flag(submit, Flag::kInclude, "*.json"), "");
  EXPECT_EQ(flag(submit, Flag::kExclude, "x"), "");
  EXPECT_EQ(finish(submit), "");
  EXPECT_EQ(slurm.control["STAGE_MODEL_REQUEST"],
            "2;m=,az://acct/cont/m/;m=L,az://acct/cont/l;d=" + root + "/a;i=*.json;x=x");
  const auto opened = unseal(slurm.control["STAGE_MODEL_CREDENTIALS"], ::geteuid(), "");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*opened, "AZURE_STORAGE_KEY=k=");
  EXPECT_EQ(slurm.control.size(), 2u);
}

// Case A4: it would be dead before the job starts.
TEST_F(SubmitTest, AnExpiredSignatureIsRefused) {
  setenv("AZURE_STORAGE_SAS_TOKEN", "sv=2021-08-06&se=2020-01-01T00%3A00%3A00Z&sig=SECRET", 1);
  Submit submit(arguments);
  EXPECT_EQ(flag(submit, Flag::kModel, "az://acct/cont/m/"), "");
  const std::string said = finish(submit);
  EXPECT_THAT(said, HasSubstr("AZURE_STORAGE_SAS_TOKEN expired at 2020-01-01T00:00:00Z"));
  EXPECT_THAT(said, ::testing::Not(HasSubstr("SECRET")));
  EXPECT_TRUE(slurm.control.empty());
  // The engine takes a connection string before a token.
  setenv("AZURE_STORAGE_CONNECTION_STRING",
         "AccountName=acct;SharedAccessSignature=se=2020-01-02&sig=SECRET", 1);
  Submit by_string(arguments);
  EXPECT_EQ(flag(by_string, Flag::kModel, "az://acct/cont/m/"), "");
  EXPECT_THAT(finish(by_string),
              HasSubstr("AZURE_STORAGE_CONNECTION_STRING expired at 2020-01-02T00:00:00Z"));
  // Another account's is not looked at by the engine, however alike the names are.
  for (const char* url : {"az://acct2/cont/m/", "az://other/acct/m/"}) {
    Submit another(arguments);
    EXPECT_EQ(flag(another, Flag::kModel, url), "");
    unsetenv("AZURE_STORAGE_SAS_TOKEN");
    EXPECT_EQ(finish(another), "") << url;
  }
  slurm.control.clear();
  Submit by_https(arguments);
  EXPECT_EQ(flag(by_https, Flag::kModel, "https://acct.blob.core.windows.net/cont/m/"), "");
  EXPECT_THAT(finish(by_https), HasSubstr("expired"));
  setenv("AZURE_STORAGE_SAS_TOKEN", "se=2020-01-01&sig=SECRET", 1);
  unsetenv("AZURE_STORAGE_CONNECTION_STRING");
  // Of no concern to a job that does not use it.
  Submit other(arguments);
  EXPECT_EQ(flag(other, Flag::kModel, "s3://bucket/m/"), "");
  EXPECT_EQ(finish(other), "");
  unsetenv("AZURE_STORAGE_SAS_TOKEN");
}

TEST_F(SubmitTest, JobWithoutAModelCostsNothing) {
  configure("broken");
  Submit submit(arguments);
  EXPECT_EQ(finish(submit), "");
  EXPECT_TRUE(slurm.control.empty());
  EXPECT_EQ(slurm.settings_questions, 0);
}

TEST_F(SubmitTest, EnvironmentDefaultsCountAtSubmit) {
  setenv("STAGE_MODEL", "az://acct/cont/m  L=az://acct/cont/l ", 1);
  setenv("STAGE_DEST", (root + "/d").c_str(), 1);
  Submit submit(arguments);
  EXPECT_EQ(finish(submit), "");
  EXPECT_EQ(slurm.control["STAGE_MODEL_REQUEST"],
            "2;m=,az://acct/cont/m;m=L,az://acct/cont/l;d=" + root + "/d");
}

TEST_F(SubmitTest, FlagsReplaceTheDefaults) {
  setenv("STAGE_MODEL", "nonsense", 1);
  setenv("STAGE_DEST", "/etc", 1);
  Submit submit(arguments);
  EXPECT_EQ(flag(submit, Flag::kModel, "az://acct/cont/m"), "");
  EXPECT_EQ(flag(submit, Flag::kDest, (root + "/a").c_str()), "");
  EXPECT_EQ(finish(submit), "");
}

TEST_F(SubmitTest, BadDefaultNamesTheVariable) {
  setenv("STAGE_MODEL", "az://acct/cont/m B=nonsense", 1);
  Submit submit(arguments);
  EXPECT_THAT(finish(submit), StartsWith("$STAGE_MODEL: \"nonsense\""));
  EXPECT_TRUE(slurm.control.empty());
}

TEST_F(SubmitTest, DefaultsMeanNothingToAStep) {
  setenv("STAGE_MODEL", "nonsense", 1);
  setenv("SLURM_JOB_ID", "7", 1);
  slurm.where = Context::kLocal;
  Submit step(arguments);
  EXPECT_EQ(finish(step), "");
  EXPECT_TRUE(slurm.control.empty());
  slurm.where = Context::kAllocator;  // sbatch inside a job submits a job
  Submit nested(arguments);
  EXPECT_NE(finish(nested), "");
}

TEST_F(SubmitTest, FlagOnAStepIsAnErrorThatSaysWhere) {
  setenv("SLURM_JOB_ID", "7", 1);
  slurm.where = Context::kLocal;
  Submit submit(arguments);
  EXPECT_THAT(flag(submit, Flag::kModel, "az://acct/cont/m"), HasSubstr("sbatch or salloc"));
}

TEST_F(SubmitTest, ParentsFlagsAreForgotten) {
  const char* option = "SLURM_SPANK__SLURM_SPANK_OPTION_stage_model_stage_model";
  const char* request = "SLURM_SPANK_STAGE_MODEL_REQUEST";
  setenv(option, "az://acct/cont/m", 1);
  setenv(request, "2;m=,az://acct/cont/m", 1);
  forget_parent_job(slurm);  // not inside a job: somebody set it on purpose
  EXPECT_NE(getenv(option), nullptr);
  setenv("SLURM_JOB_ID", "7", 1);
  slurm.where = Context::kLocal;
  setenv("STAGE_MODEL_DIR", "/nvme/alice/m", 1);
  forget_parent_job(slurm);
  EXPECT_STREQ(getenv("STAGE_MODEL_DIR"), "/nvme/alice/m");
  setenv("STAGE_MODEL_DIR", kNoDirectory, 1);  // salloc's shell
  forget_parent_job(slurm);
  EXPECT_EQ(getenv("STAGE_MODEL_DIR"), nullptr);
  EXPECT_EQ(getenv(option), nullptr);
  EXPECT_NE(getenv(request), nullptr);  // the step is still one of a job that asked
  slurm.where = Context::kAllocator;
  forget_parent_job(slurm);
  EXPECT_EQ(getenv(request), nullptr);
}

TEST_F(SubmitTest, ErrorsNameTheFlag) {
  Submit submit(arguments);
  EXPECT_THAT(flag(submit, Flag::kModel, ""), StartsWith("--stage-model: "));
  EXPECT_THAT(flag(submit, Flag::kModel, nullptr), StartsWith("--stage-model: "));
  EXPECT_THAT(flag(submit, Flag::kModel, "x"), StartsWith("--stage-model: "));
  EXPECT_THAT(flag(submit, Flag::kDest, "/etc/x"), StartsWith("--stage-dest: "));
  EXPECT_THAT(flag(submit, Flag::kInclude, ""), StartsWith("--stage-include: "));
  Submit lone(arguments);
  EXPECT_EQ(flag(lone, Flag::kDest, (root + "/a").c_str()), "");
  EXPECT_EQ(finish(lone), "--stage-dest: says nothing without --stage-model");
}

TEST_F(SubmitTest, SiteThatCannotStageIsNamed) {
  slurm.settings = PrologSettings{true, false, false, 1830};
  Submit submit(arguments);
  EXPECT_EQ(flag(submit, Flag::kModel, "az://acct/cont/m"), "");
  EXPECT_THAT(finish(submit), HasSubstr("PrologFlags=Alloc,DeferBatch"));
  slurm.settings = PrologSettings{true, true, true, 1830};
  EXPECT_THAT(finish(submit), HasSubstr("Serial"));
  EXPECT_TRUE(slurm.control.empty());
  slurm.settings = PrologSettings{true, true, false, 1829};
  EXPECT_THAT(finish(submit), HasSubstr("BatchStartTimeout=1830 or more"));
  configure("limits.deadline_s = 60\n");
  slurm.settings->batch_start_timeout_s = 90;
  Submit quick(arguments);
  EXPECT_EQ(flag(quick, Flag::kModel, "az://acct/cont/m"), "");
  EXPECT_EQ(finish(quick), "");
  slurm.control.clear();
  slurm.settings.reset();  // slurmctld does not answer: not our error
  EXPECT_EQ(finish(submit), "");
}

TEST_F(SubmitTest, BrokenConfigurationIsSaidMissingOneIsNot) {
  configure("[nonsense]\n");
  Submit broken(arguments);
  EXPECT_THAT(flag(broken, Flag::kModel, "az://acct/cont/m"), HasSubstr("nonsense: unknown key"));
  unlink(arguments.config_path.c_str());
  Submit missing(arguments);
  EXPECT_EQ(flag(missing, Flag::kModel, "az://acct/cont/m"), "");
  EXPECT_EQ(flag(missing, Flag::kDest, "/anywhere/x"), "");
  EXPECT_EQ(finish(missing), "");
}

// The plugin is called once per component, in one process; Slurm hands control variables on.
TEST_F(SubmitTest, EachComponentOfAHeterogeneousJobAsksForItsOwn) {
  Submit submit(arguments);
  EXPECT_EQ(flag(submit, Flag::kModel, "az://acct/cont/a"), "");
  EXPECT_EQ(flag(submit, Flag::kInclude, "*.json"), "");
  EXPECT_EQ(finish(submit), "");
  EXPECT_EQ(slurm.control["STAGE_MODEL_REQUEST"], "2;m=,az://acct/cont/a;i=*.json");
  // Slurm puts the options themselves there, too, before it calls us.
  slurm.control["_SLURM_SPANK_OPTION_stage_model_stage_model"] = "az://acct/cont/a";
  EXPECT_EQ(flag(submit, Flag::kModel, "az://acct/cont/b"), "");  // no second model without a name
  EXPECT_EQ(finish(submit), "");
  EXPECT_EQ(slurm.control["STAGE_MODEL_REQUEST"], "2;m=,az://acct/cont/b");
  EXPECT_EQ(finish(submit), "");  // and one without a model
  EXPECT_TRUE(slurm.control.empty());
}

// What runs on a node that does not know the plugin must not see an empty variable.
TEST_F(SubmitTest, UntilANodeKnowsBetterTheDirectoryPointsAtNothing) {
  Submit submit(arguments);
  EXPECT_EQ(finish(submit), "");
  EXPECT_EQ(getenv("STAGE_MODEL_DIR"), nullptr);
  EXPECT_EQ(flag(submit, Flag::kModel, "L=az://acct/cont/a"), "");
  EXPECT_EQ(finish(submit), "");
  for (const char* name : {"STAGE_MODEL_DIR", "STAGE_MODEL_DIR_L"}) {
    ASSERT_NE(getenv(name), nullptr) << name;
    EXPECT_THAT(getenv(name), HasSubstr("not-in-the-plugstack.conf"));
    EXPECT_FALSE(std::filesystem::exists(getenv(name)));
    unsetenv(name);
  }
}

TEST_F(SubmitTest, SlurmsRefusalIsSaid) {
  slurm.takes_control = false;
  Submit submit(arguments);
  EXPECT_EQ(flag(submit, Flag::kModel, "az://acct/cont/m"), "");
  EXPECT_NE(finish(submit), "");
}

}  // namespace
}  // namespace stage_model::spank
