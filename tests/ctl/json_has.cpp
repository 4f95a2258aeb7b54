// SPDX-License-Identifier: BSD-3-Clause
// json_has FILE POINTER=VALUE...: whether the file is JSON and has at each POINTER (RFC 6901) the
// VALUE, itself JSON; with POINTER~TEXT, a text that contains TEXT.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fstream>
#include <string>

namespace {

using Json = nlohmann::json;

bool has(const Json& json, const std::string& question) {
    const auto sign = question.find_first_of("=~");
    if (sign == std::string::npos)
        return false;
    const Json::json_pointer pointer(question.substr(0, sign));
    if (!json.contains(pointer))
        return false;
    const std::string wanted = question.substr(sign + 1);
    const Json& found = json[pointer];
    if (question[sign] == '=')
        return found == Json::parse(wanted, nullptr, false);
    return found.is_string() && found.get<std::string>().find(wanted) != std::string::npos;
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 3)
        return 2;
    std::ifstream file(argv[1]);
    const Json json = Json::parse(file, nullptr, false);
    if (json.is_discarded()) {
        fmt::print("{} is no JSON\n", argv[1]);
        return 1;
    }
    int faults = 0;
    for (int i = 2; i < argc; ++i)
        if (!has(json, argv[i])) {
            fmt::print("not so: {}\n", argv[i]);
            ++faults;
        }
    if (faults != 0)
        fmt::print("{}\n", json.dump(2));
    return faults == 0 ? 0 : 1;
}
