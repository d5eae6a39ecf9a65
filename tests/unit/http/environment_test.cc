#include "engine/http/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace stage_model::http {
namespace {

TEST(HttpEnvironment, VariablesComeBeforeTheProcess) {
  setenv("https_proxy", "http://process:1", 1);
  setenv("NO_PROXY", "process.example", 1);
  const Environment given = read_environment({{"HTTPS_PROXY", "http://given:1"},
                                              {"https_proxy", "http://lower:1"},
                                              {"SSL_CERT_FILE", "/given.pem"}});
  EXPECT_EQ(given.proxy_for("https"), "http://lower:1");
  EXPECT_EQ(given.no_proxy, "process.example");
  EXPECT_EQ(given.ca_file, "/given.pem");
  EXPECT_EQ(read_environment({}).proxy_for("https"), "http://process:1");
  unsetenv("https_proxy");
  unsetenv("NO_PROXY");
}

TEST(HttpEnvironment, AllProxyServesBoth) {
  const Environment given = read_environment({{"all_proxy", "socks5h://p:1"}});
  EXPECT_EQ(given.proxy_for("https"), "socks5h://p:1");
  EXPECT_EQ(given.proxy_for("http"), "socks5h://p:1");
}

TEST(HttpEnvironment, StarsInNoProxyAreWhatOtherToolsTakeThemFor) {
  const auto no_proxy = [](const char* text) {
    return read_environment({{"no_proxy", text}}).no_proxy;
  };
  EXPECT_EQ(no_proxy("*.blob.core.windows.net, *.x,10.0.0.0/8"),
            ".blob.core.windows.net, .x,10.0.0.0/8");
  EXPECT_EQ(no_proxy("*"), "*");
  EXPECT_EQ(no_proxy("a*.b,*c"), "a*.b,*c");
}

}  // namespace
}  // namespace stage_model::http
