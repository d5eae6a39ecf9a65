#include "engine/transfer/messages.h"

#include <gtest/gtest.h>

namespace stage_model::transfer {
namespace {

using namespace message;

template <class T>
T round_trip(const T& in) {
  const std::string bytes = encode(in);
  Message out;
  EXPECT_TRUE(decode(bytes, &out));
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    Message cut;
    const bool ok = decode(std::string_view(bytes).substr(0, n), &cut);
    // Only the text at a message's end has no length of its own.
    if (!std::is_same_v<T, RankFailed> && !std::is_same_v<T, EndOfList>) {
      EXPECT_FALSE(ok) << n;
    }
  }
  EXPECT_TRUE(std::holds_alternative<T>(out));
  return std::get<T>(out);
}

TEST(Messages, RoundTrip) {
  EXPECT_EQ(round_trip(RequestChunks{7}).count, 7u);
  const GrantChunks grant = round_trip(GrantChunks{{1, 2, 3}, 4});
  EXPECT_EQ(grant.chunks, (std::vector<std::uint32_t>{1, 2, 3}));
  EXPECT_EQ(grant.requested, 4u);
  EXPECT_EQ(round_trip(ChunkReady{{5, 6, {7, 8}}}).entry.check[1], 8u);
  EXPECT_EQ(round_trip(NextBroadcasts{{{1, 2, {3, 4}}, {5, 6, {7, 8}}}}).entries[1].root, 6u);
  const EndOfList end = round_trip(EndOfList{{{ExitCode::kIntegrity, "why"}, "n3"}});
  EXPECT_EQ(end.cause.error.code, ExitCode::kIntegrity);
  EXPECT_EQ(end.cause.error.message, "why");
  EXPECT_EQ(end.cause.node, "n3");
  EXPECT_EQ(round_trip(RankFailed{{{ExitCode::kTransfer, ""}, ""}}).cause.error.code,
            ExitCode::kTransfer);
}

TEST(Messages, GarbageIsNotAMessage) {
  Message out;
  EXPECT_FALSE(decode("", &out));
  EXPECT_FALSE(decode("\x09", &out));
  EXPECT_FALSE(decode(std::string("\x04\xff\xff\xff\xff", 5), &out));
  EXPECT_FALSE(decode(std::string("\x05\0\0\0\0\xff\xff\xff\xff", 9), &out));
}

}  // namespace
}  // namespace stage_model::transfer
