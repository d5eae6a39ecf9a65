// The URLs that users write: az, s3, hf, and the endpoints in variables.
#include "engine/source/azure_url.h"
#include "engine/source/hf_url.h"
#include "engine/source/s3_url.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stage_model;
  const std::string_view text = fuzz::text_of(data, size);
  // The first line is a URL, the second one an endpoint.
  const std::size_t end = text.find('\n');
  const std::string_view url = text.substr(0, end);
  const std::string endpoint(end == std::string_view::npos ? "" : text.substr(end + 1));
  const std::map<std::string, std::string> none;
  const std::map<std::string, std::string> variables = {{"AZURE_STORAGE_BLOB_ENDPOINT", endpoint},
                                                        {"HF_ENDPOINT", endpoint},
                                                        {"AWS_ENDPOINT_URL", endpoint}};
  for (const auto& known : {none, variables}) {
    if (source::is_azure_url(url, known)) {
      const auto azure = source::parse_azure_url(url, known);
      if (fuzz::ok_or_one_line(azure)) {
        fuzz::expect(!azure->container.empty(), "a place in Azure has a container");
        fuzz::expect(azure->origin.find("://") != std::string::npos, "an origin is one");
      }
    }
    if (!url.starts_with("hf://")) continue;
    const auto hub = source::parse_hf_url(url, known);
    if (fuzz::ok_or_one_line(hub)) {
      fuzz::expect(!hub->repository.empty() && !hub->revision.empty(),
                   "a place on the hub is whole");
    }
  }
  if (!url.starts_with("s3://")) return 0;
  const auto bucket = source::parse_s3_url(url);
  const auto service = source::find_s3_service(variables, {});
  fuzz::ok_or_one_line(service);
  if (fuzz::ok_or_one_line(bucket)) {
    fuzz::expect(!bucket->bucket.empty(), "a place in S3 has a bucket");
    const auto place =
        source::s3_place(service.value_or(source::S3Service{}), bucket->bucket, "eu-west-1");
    fuzz::expect(!place.base.ends_with('/'), "a base ends without a slash");
  }
  return 0;
}
