#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/auth/anonymous.h"
#include "engine/source/azure_dialect.h"
#include "engine/source/azure_list.h"
#include "engine/source/azure_url.h"
#include "engine/source/source.h"
#include "engine/source/xml.h"

namespace stage_model::source {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string blob(const std::string& name, const std::string& properties,
                 const std::string& more = "") {
  return "<Blob>" + name + "<Properties>" + properties + "</Properties>" + more + "</Blob>";
}

Result<Page> parse(const std::string& blobs, const std::string& marker = "") {
  return parse_azure_page(
      "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?>"
      "<EnumerationResults><Blobs>" +
      blobs + "</Blobs><NextMarker>" + marker + "</NextMarker></EnumerationResults>");
}

TEST(SourceAzureList, ReadsAnEntry) {
  const auto page =
      parse(blob("<Name>a/b &amp; c%20d.bin</Name>",
                 "<Etag>0x8D</Etag><Content-Length>6597069766656</Content-Length>"
                 "<Content-MD5>XrY7u+Ae7tCTyyK7j1rNww==</Content-MD5><AccessTier>Hot</AccessTier>"),
            "x+/==&amp;");
  ASSERT_TRUE(page) << page.error().message;
  ASSERT_EQ(page->entries.size(), 1U);
  const Entry& entry = page->entries[0];
  EXPECT_EQ(entry.key, "a/b & c%20d.bin");
  EXPECT_EQ(entry.size, 6ULL << 40);
  EXPECT_EQ(entry.etag, "\"0x8D\"");
  EXPECT_EQ(entry.hash.kind, plan::StoreHash::Kind::kMd5);
  EXPECT_EQ(entry.hash.bytes.size(), 16U);
  EXPECT_FALSE(entry.directory);
  EXPECT_FALSE(entry.archived);
  EXPECT_EQ(page->next, "x+/==&");
}

TEST(SourceAzureList, NamesAreBytes) {
  const std::string size = "<Content-Length>0</Content-Length>";
  const auto page = parse(blob("<Name> </Name>", size) + blob("<Name> a </Name>", size) +
                          blob("<Name>x&#xD;&#xA;y</Name>", size) +
                          blob("<Name><![CDATA[<c>]]>&lt;d&gt;</Name>", size) +
                          blob("<Name Encoded=\"true\">e%EF%BF%BE%25</Name>", size));
  ASSERT_TRUE(page) << page.error().message;
  std::vector<std::string> names;
  for (const Entry& entry : page->entries) names.push_back(entry.key);
  EXPECT_THAT(names, testing::ElementsAre(" ", " a ", "x\r\ny", "<c><d>", "e\xef\xbf\xbe%"));
}

TEST(SourceAzureList, KnowsDirectoriesAndTiers) {
  const std::string size = "<Content-Length>0</Content-Length>";
  const auto page = parse(
      blob("<Name>a</Name>", size, "<Metadata><Hdi_isfolder>true</Hdi_isfolder></Metadata>") +
      blob("<Name>b</Name>", "<ResourceType>directory</ResourceType>") +
      blob("<Name>c</Name>", size + "<AccessTier>Archive</AccessTier>") +
      blob("<Name>d</Name>", size, "<Metadata><hdi_isfolder>false</hdi_isfolder></Metadata>"));
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(page->entries[0].directory);
  EXPECT_TRUE(page->entries[1].directory);
  EXPECT_TRUE(page->entries[2].archived);
  EXPECT_FALSE(page->entries[3].directory);
}

TEST(SourceAzureList, LeavesOutOldVersions) {
  const std::string size = "<Content-Length>1</Content-Length>";
  const auto page =
      parse(blob("<Name>a</Name>", size, "<Snapshot>2026-01-01T00:00:00Z</Snapshot>") +
            blob("<Name>b</Name>", size, "<Deleted>true</Deleted>") +
            blob("<Name>c</Name>", size,
                 "<VersionId>1</VersionId><IsCurrentVersion>false</IsCurrentVersion>") +
            blob("<Name>d</Name>", size,
                 "<VersionId>2</VersionId><IsCurrentVersion>true</IsCurrentVersion>"));
  ASSERT_TRUE(page);
  ASSERT_EQ(page->entries.size(), 1U);
  EXPECT_EQ(page->entries[0].key, "d");
}

TEST(SourceAzureList, RefusesNonsense) {
  for (const char* size : {"", "-1", "1.5", "18446744073709551616", "many"}) {
    const auto page =
        parse(blob("<Name>a</Name>", "<Content-Length>" + std::string(size) + "</Content-Length>"));
    ASSERT_TRUE(page);  // filters may leave it out
    EXPECT_THAT(page->entries.at(0).unusable, HasSubstr("no valid size"));
  }
  EXPECT_FALSE(parse(blob("", "<Content-Length>1</Content-Length>")));
  EXPECT_FALSE(
      parse(blob("<Name Encoded=\"true\">%zz</Name>", "<Content-Length>1</Content-Length>")));
  for (const char* bad : {"", "<html/>", "<EnumerationResults>", "plain text"}) {
    EXPECT_FALSE(parse_azure_page(bad)) << bad;
  }
}

TEST(SourceAzureList, ErrorCodes) {
  EXPECT_EQ(parse_xml_error("<?xml version='1.0'?><Error><Code>ServerBusy</Code></Error>").code,
            "ServerBusy");
  EXPECT_EQ(parse_xml_error("<html>").code, "");
}

AzureUrl good(std::string_view url, const Variables& variables = {}) {
  auto parsed = parse_azure_url(url, variables);
  EXPECT_TRUE(parsed) << url << ": " << parsed.error().message;
  return parsed ? *parsed : AzureUrl{};
}

TEST(SourceAzureUrl, ShortForm) {
  const AzureUrl url = good("az://acct/models/llama 3%20#1?/x+y/");
  EXPECT_EQ(url.origin, "https://acct.blob.core.windows.net");
  EXPECT_EQ(url.base, "");
  EXPECT_EQ(url.container, "models");
  EXPECT_EQ(url.path, "llama 3%20#1?/x+y/");  // as it stands
  EXPECT_EQ(good("az://acct/models").path, "");
  EXPECT_EQ(good("az://acct/$root/x").container, "$root");
  EXPECT_EQ(good("az://acct/models/p?sv=1&sig=SECRET").sas, "sv=1&sig=SECRET");
}

TEST(SourceAzureUrl, LongForm) {
  AzureUrl url = good("https://acct.blob.core.windows.net/models/llama%203%2520/?sv=1&sig=SECRET");
  EXPECT_EQ(url.account, "acct");
  EXPECT_EQ(url.path, "llama 3%20/");  // decoded once
  EXPECT_EQ(url.sas, "sv=1&sig=SECRET");
  EXPECT_EQ(good("https://acct-secondary.blob.core.windows.net/models/").account, "acct");
  url = good("https://acct.dfs.core.windows.net/models/x");
  EXPECT_EQ(url.origin, "https://acct.blob.core.windows.net");
  EXPECT_EQ(good("https://acct.z12.blob.storage.azure.net/models/").account, "acct");
  EXPECT_EQ(good("https://acct.privatelink.blob.core.windows.net/models/").account, "acct");
  EXPECT_EQ(good("https://acct.blob.core.chinacloudapi.cn/models/").account, "acct");
}

TEST(SourceAzureUrl, EachCloudLogsInAtItsOwnHost) {
  const auto authority = [](const char* url, const Variables& variables = {}) {
    return azure_authority(good(url, variables).origin);
  };
  EXPECT_EQ(authority("az://acct/models/"), "https://login.microsoftonline.com");
  EXPECT_EQ(authority("https://acct.blob.core.windows.net/models/"),
            "https://login.microsoftonline.com");
  EXPECT_EQ(authority("https://acct.blob.core.chinacloudapi.cn/models/"),
            "https://login.chinacloudapi.cn");
  EXPECT_EQ(authority("https://acct.blob.core.usgovcloudapi.net:443/models/"),
            "https://login.microsoftonline.us");
  EXPECT_EQ(authority("https://acct.privatelink.blob.core.usgovcloudapi.net/models/"),
            "https://login.microsoftonline.us");
  EXPECT_EQ(authority("az://acct/models/",
                      {{"AZURE_STORAGE_BLOB_ENDPOINT", "https://acct.dfs.core.usgovcloudapi.net"}}),
            "https://login.microsoftonline.us");
  EXPECT_EQ(authority("https://acct.blob.core.windows.net.evil.chinacloudapi.cn/models/"),
            "https://login.microsoftonline.com");
}

TEST(SourceAzureUrl, PrivateEndpointsUnderNamesOfTheSite) {
  const AzureUrl url = good("az://acct/models/x",
                            {{"AZURE_STORAGE_BLOB_ENDPOINT", "https://blob.models.corp.example/"}});
  EXPECT_EQ(url.origin, "https://blob.models.corp.example");
  EXPECT_EQ(url.base, "");
  EXPECT_EQ(url.account, "acct");
}

// The certificate is for the ordinary name, which the network's DNS leads to the private address.
TEST(SourceAzureDialect, APrivateNameWithTheWrongCertificateIsExplained) {
  const AzureDialect dialect("acct", "models", std::make_shared<auth::Anonymous>());
  http::Failure failure;
  failure.kind = http::Kind::kTls;
  failure.what = "list";
  failure.host = "acct.privatelink.blob.core.windows.net";
  const auto error = dialect.explain(failure);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("use the account's ordinary name, without privatelink"));
  failure.host = "acct.blob.core.windows.net";
  EXPECT_FALSE(dialect.explain(failure));
}

TEST(SourceAzureUrl, Emulators) {
  const AzureUrl url = good("http://127.0.0.1:10000/devstoreaccount1/models/x/");
  EXPECT_EQ(url.account, "devstoreaccount1");
  EXPECT_EQ(url.origin, "http://127.0.0.1:10000");
  EXPECT_EQ(url.base, "/devstoreaccount1");
  EXPECT_EQ(url.container, "models");
  for (const char* endpoint :
       {"http://azurite:10000/acct", "http://azurite:10000/acct/", "http://azurite:10000"}) {
    const AzureUrl with = good("az://acct/models/x", {{"AZURE_STORAGE_BLOB_ENDPOINT", endpoint}});
    EXPECT_EQ(with.origin, "http://azurite:10000");
    EXPECT_EQ(with.base, "/acct");
  }
}

TEST(SourceAzureUrl, EndpointsOfVariables) {
  EXPECT_EQ(good("az://acct/models/x",
                 {{"AZURE_STORAGE_CONNECTION_STRING",
                   "AccountName=acct;AccountKey=a2V5;EndpointSuffix=core.usgovcloudapi.net"}})
                .origin,
            "https://acct.blob.core.usgovcloudapi.net");
  EXPECT_EQ(good("az://acct/models/x",
                 {{"AZURE_STORAGE_CONNECTION_STRING",
                   "AccountName=other;AccountKey=a2V5;EndpointSuffix=core.usgovcloudapi.net"}})
                .origin,
            "https://acct.blob.core.windows.net");
  // A SAS is sent to where its string says, not to an account of that name in another cloud.
  for (const char* endpoint :
       {"https://acct.blob.core.chinacloudapi.cn", "https://models.example"}) {
    EXPECT_EQ(good("az://acct/models/x",
                   {{"AZURE_STORAGE_CONNECTION_STRING",
                     std::string("SharedAccessSignature=sig=x;BlobEndpoint=") + endpoint}})
                  .origin,
              endpoint);
  }
  EXPECT_EQ(
      good("az://acct/models/x", {{"AZURE_STORAGE_BLOB_ENDPOINT", "https://models.example.com"}})
          .base,
      "");
  const auto other =
      parse_azure_url("az://acct/models/x",
                      {{"AZURE_STORAGE_BLOB_ENDPOINT", "https://other.blob.core.windows.net"}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, ExitCode::kSource);
}

TEST(SourceAzureUrl, MistakesAreNamedWithoutSecrets) {
  for (const char* bad :
       {"az://", "az:///models/x", "az://acct", "az://acct/", "az://Acct/models/x",
        "az://acct/Models/x", "az://acct/m/x", "az://acct.blob.core.windows.net/models/x",
        "http://acct.blob.core.windows.net/models/x", "https://acct.blob.core.windows.net/",
        "https://acct.blob.core.windows.net/models/50%.bin",
        "https://acct.blob.core.windows.net/models/x?snapshot=1&sig=SECRET",
        "https://u:SECRET@acct.blob.core.windows.net/models/x"}) {
    const auto url = parse_azure_url(bad, {});
    ASSERT_FALSE(url) << bad;
    EXPECT_EQ(url.error().code, ExitCode::kUsage) << bad;
    EXPECT_THAT(url.error().message, Not(HasSubstr("SECRET"))) << bad;
  }
}

TEST(SourceOpen, ChoosesByUrl) {
  EXPECT_TRUE(open_source("az://acct/models/x/", {}, {}));
  EXPECT_TRUE(open_source("https://acct.blob.core.windows.net/models/x/", {}, {}));
  EXPECT_TRUE(open_source("file:///somewhere", {}, {}));
  for (const char* bad : {"", "models/x", "ftp://h/?sig=SECRET"}) {
    const auto source = open_source(bad, {}, {});
    ASSERT_FALSE(source) << bad;
    EXPECT_EQ(source.error().code, ExitCode::kUsage);
    EXPECT_THAT(source.error().message, HasSubstr("az://ACCOUNT/CONTAINER/PREFIX/, file:///PATH"));
    EXPECT_THAT(source.error().message,
                HasSubstr(std::string_view(bad).starts_with("ftp") ? "'ftp://…' is not a source"
                                                                   : "SOURCE is not a URL"));
    EXPECT_THAT(source.error().message, Not(HasSubstr("SECRET")));
  }
}

TEST(SourceOpen, OtherWebServersServeFiles) {
  EXPECT_TRUE(open_source("https://h.example/x?sig=SECRET", {}, {}));
  const auto directory = open_source("https://h.example/?sig=SECRET", {}, {});
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("directories cannot be listed"));
  EXPECT_THAT(directory.error().message, Not(HasSubstr("SECRET")));
}

// Anybody can have such a host: the token or the SAS of the environment is not for it.
TEST(SourceOpen, OnlyTrustedHostsSeeTheSecretsOfTheEnvironment) {
  const Variables variables = {{"AZURE_STORAGE_SAS_TOKEN", "sp=rl&sig=SECRET"}};
  const auto is_azure = [&](std::string_view url) { return is_azure_url(url, variables); };
  EXPECT_TRUE(is_azure("https://acct.blob.core.windows.net/models/"));
  EXPECT_TRUE(is_azure("https://acct.z12.blob.storage.azure.net/models/"));
  EXPECT_TRUE(is_azure("https://onelake.dfs.fabric.microsoft.com/space/models/"));
  EXPECT_FALSE(is_azure("https://acct.blob.core.windows.net.evil.example/models/"));
  EXPECT_FALSE(is_azure("https://acct.blob.evil.example/models/"));
  EXPECT_FALSE(is_azure("https://files.dfs.corp.example/models/x.bin"));
  // With what the URL itself carries, or what a variable names.
  EXPECT_TRUE(is_azure("https://acct.blob.stack.example/models/?sp=rl&sig=y"));
  EXPECT_TRUE(is_azure_url("https://acct.blob.stack.example/models/",
                           {{"AZURE_STORAGE_BLOB_ENDPOINT", "https://acct.blob.stack.example/"}}));
  EXPECT_FALSE(is_trusted_azure("https://192.0.2.1:10000", variables));
  const auto directory = open_source("https://acct.blob.evil.example/models/", variables, {});
  ASSERT_FALSE(directory);
  EXPECT_THAT(directory.error().message, HasSubstr("with AZURE_STORAGE_BLOB_ENDPOINT"));
}

TEST(SourceOpen, AnExpiredSasIsSaidAtOnce) {
  const auto source = open_source(
      "https://acct.blob.core.windows.net/models/x/?sp=rl&se=2020-01-01&sig=SECRET", {}, {});
  ASSERT_FALSE(source);
  EXPECT_EQ(source.error().code, ExitCode::kSource);
  EXPECT_THAT(source.error().message, HasSubstr("the SAS expired at 2020-01-01T00:00:00Z"));
  EXPECT_THAT(source.error().message, Not(HasSubstr("SECRET")));
}

}  // namespace
}  // namespace stage_model::source
