#include "engine/launch/wire.h"

#include <gtest/gtest.h>

#include <random>

namespace stage_model::launch {
namespace {

using State = FrameReader::State;

TEST(Wire, FramesComeOutAsTheyWentIn) {
  const std::string bytes =
      encode_frame(MessageType::kFence, "abc") + encode_frame(MessageType::kBeat, "");
  for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
    FrameReader reader;
    std::vector<Frame> frames;
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      reader.append(std::string_view(bytes).substr(at, piece));
      Frame frame;
      while (reader.next(&frame) == State::kFrame) frames.push_back(frame);
    }
    ASSERT_EQ(frames.size(), 2U) << piece;
    EXPECT_EQ(frames[0].type, MessageType::kFence);
    EXPECT_EQ(frames[0].body, "abc");
    EXPECT_EQ(frames[1].type, MessageType::kBeat);
  }
}

TEST(Wire, StrangersAreSentAwayAtTheFirstWrongByte) {
  Frame frame;
  FrameReader web;
  web.append("G");
  EXPECT_EQ(web.next(&frame), State::kBroken);
  FrameReader late;
  late.append("SMx");
  EXPECT_EQ(late.next(&frame), State::kBroken);
  late.append("SML1");
  EXPECT_EQ(late.next(&frame), State::kBroken) << "a broken stream stays broken";
}

TEST(Wire, LengthTypeAndPaddingAreChecked) {
  Frame frame;
  const std::string longest =
      encode_frame(MessageType::kCredential, std::string(kMaxGreeting, 'x'));
  FrameReader fits;
  fits.append(longest);
  EXPECT_EQ(fits.next(&frame), State::kFrame);
  // The header alone gives it away: nothing of the body is waited for or kept.
  FrameReader over;
  over.append(
      encode_frame(MessageType::kCredential, std::string(kMaxGreeting + 1, 'x')).substr(0, 12));
  EXPECT_EQ(over.next(&frame), State::kBroken);
  for (const std::size_t at : {4U, 5U, 6U, 7U}) {
    std::string bytes = encode_frame(MessageType::kHello, "");
    bytes[at] = static_cast<char>(at == 4 ? kLastMessageType + 1 : 1);
    FrameReader reader;
    reader.append(bytes);
    EXPECT_EQ(reader.next(&frame), State::kBroken) << at;
  }
}

TEST(Wire, BodiesSurviveTheRoundTrip) {
  const Hello hello{"1234", 3, 1, std::string(kNonceSize, '\x01')};
  const auto hello_back = decode_hello(encode(hello));
  ASSERT_TRUE(hello_back);
  EXPECT_EQ(hello_back->job, "1234");
  EXPECT_EQ(hello_back->child, 3U);
  EXPECT_EQ(hello_back->parent, 1U);
  EXPECT_EQ(hello_back->nonce, hello.nonce);

  const FenceData fence{{2, 7, {0, 5, 9}}, std::string("a\0b", 3)};
  const auto fence_back = decode_fence(encode(fence));
  ASSERT_TRUE(fence_back);
  EXPECT_EQ(fence_back->key, fence.key);
  EXPECT_EQ(fence_back->data, fence.data);

  const Modex modex{1, 2, 3, 0x123456789abcdefULL, -46, "data"};
  const auto modex_back = decode_modex(encode(modex));
  ASSERT_TRUE(modex_back);
  EXPECT_EQ(modex_back->id, modex.id);
  EXPECT_EQ(modex_back->status, -46);
  EXPECT_EQ(modex_back->data, "data");

  const FailureText failure{70, 4, "n3", "disk full"};
  const auto failure_back = decode_failure(encode(failure));
  ASSERT_TRUE(failure_back);
  EXPECT_EQ(failure_back->weight, 70U);
  EXPECT_EQ(failure_back->code, 4U);
  EXPECT_EQ(failure_back->node, "n3");
  EXPECT_EQ(failure_back->reason, "disk full");

  EXPECT_EQ(decode_number(encode_number(4096)), 4096U);
}

TEST(Wire, CutOrLengthenedBodiesAreRefused) {
  const std::vector<std::string> bodies = {encode(Hello{"1", 1, 0, std::string(kNonceSize, 'n')}),
                                           encode(FenceData{{1, 2, {3, 4}}, "x"}),
                                           encode(Modex{1, 2, 3, 4, 5, "x"}),
                                           encode(FailureText{1, 2, "n", "r"}), encode_number(1)};
  const auto accepts = [](std::size_t kind, std::string_view body) {
    switch (kind) {
      case 0:
        return decode_hello(body).has_value();
      case 1:
        return decode_fence(body).has_value();
      case 2:
        return decode_modex(body).has_value();
      case 3:
        return decode_failure(body).has_value();
      default:
        return decode_number(body).has_value();
    }
  };
  for (std::size_t kind = 0; kind < bodies.size(); ++kind) {
    EXPECT_TRUE(accepts(kind, bodies[kind]));
    EXPECT_FALSE(accepts(kind, bodies[kind] + "x")) << kind;
    for (std::size_t length = 0; length < bodies[kind].size(); ++length) {
      EXPECT_FALSE(accepts(kind, std::string_view(bodies[kind]).substr(0, length))) << kind;
    }
  }
}

TEST(Wire, FenceMembersMustAscend) {
  EXPECT_FALSE(decode_fence(encode(FenceData{{0, 0, {5, 5}}, ""})));
  EXPECT_FALSE(decode_fence(encode(FenceData{{0, 0, {5, 4}}, ""})));
}

TEST(Wire, ALongReasonIsCut) {
  const auto back = decode_failure(encode(FailureText{1, 2, "n", std::string(10000, 'r')}));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->reason.size(), kMaxReason);
}

TEST(Wire, RandomBytesDoNoHarm) {
  std::mt19937 random(7);  // NOLINT: the same bytes every time
  for (int round = 0; round < 20000; ++round) {
    std::string bytes(random() % 80, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    if (round % 2 == 0) bytes = "SML1" + bytes;
    FrameReader reader;
    reader.append(bytes);
    Frame frame;
    while (reader.next(&frame) == State::kFrame) {
    }
    decode_hello(bytes);
    decode_fence(bytes);
    decode_modex(bytes);
    decode_failure(bytes);
    decode_number(bytes);
  }
}

}  // namespace
}  // namespace stage_model::launch
