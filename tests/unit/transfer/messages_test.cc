#include "engine/mpi/control.h"

#include <gtest/gtest.h>

namespace stage_model::mpi {
namespace {

template <class T>
T round_trip(const T& in) {
  const std::string bytes = encode(in);
  Message out;
  EXPECT_TRUE(decode(bytes, &out));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Message cut;
    const bool ok = decode(std::string_view(bytes).substr(0, n), &cut);
    // Only the text at a message's end has no length of its own.
    if (!std::is_same_v<T, Failed> && !std::is_same_v<T, Stop>) {
      EXPECT_FALSE(ok) << n;
    }
  }
  EXPECT_TRUE(std::holds_alternative<T>(out));
  return std::get<T>(out);
}

TEST(Control, MessagesRoundTrip) {
  EXPECT_EQ(round_trip(Ask{7}).want, 7u);
  const Grant grant = round_trip(Grant{{1, 2, 3}, 4});
  EXPECT_EQ(grant.chunks, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(grant.asked, 4u);
  EXPECT_EQ(round_trip(Ready{{5, 6, {7, 8}}}).entry.check[1], 8u);
  EXPECT_EQ(round_trip(Entries{{{1, 2, {3, 4}}, {5, 6, {7, 8}}}}).entries[1].root, 6u);
  const Stop stop = round_trip(Stop{{{ExitCode::kIntegrity, "why"}, "n3"}});
  EXPECT_EQ(stop.cause.error.code, ExitCode::kIntegrity);
  EXPECT_EQ(stop.cause.error.message, "why");
  EXPECT_EQ(stop.cause.node, "n3");
  EXPECT_EQ(round_trip(Failed{{{ExitCode::kTransfer, ""}, ""}}).cause.error.code,
            ExitCode::kTransfer);
}

TEST(Control, GarbageIsNotAMessage) {
  Message out;
  EXPECT_FALSE(decode("", &out));
  EXPECT_FALSE(decode("\x09", &out));
  EXPECT_FALSE(decode(std::string("\x04\xff\xff\xff\xff", 5), &out));
  EXPECT_FALSE(decode(std::string("\x05\0\0\0\0\xff\xff\xff\xff", 9), &out));
}

}  // namespace
}  // namespace stage_model::mpi
