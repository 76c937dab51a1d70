// The sums of the fields of JSON lines with simdjson's on-demand reader, one thread.
// usage: simdjson_sum FILE FIELD...
#include <cstdio>
#include <string>
#include <vector>
#include <simdjson.h>

int main(int count, char **words) {
  std::vector<std::string> names(words + 2, words + count);
  std::vector<double> sums(names.size(), 0.0);
  auto text = simdjson::padded_string::load(words[1]);
  if (text.error()) return 1;
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document_stream lines;
  if (parser.iterate_many(text.value(), 1 << 20).get(lines)) return 1;
  for (auto line : lines) {
    simdjson::ondemand::object fields;
    if (line.get_object().get(fields)) return 1;
    for (size_t i = 0; i < names.size(); i++) {
      double value;
      if (!fields.find_field(names[i]).get_double().get(value)) sums[i] += value;
    }
  }
  for (double sum : sums) std::printf("%.17g\n", sum);
}
