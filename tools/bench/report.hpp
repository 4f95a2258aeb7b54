// Rows for people, as they come, or for programs, at the end.
#pragma once

#include "tools/bench/options.hpp"
#include "tools/bench/row.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rpmem::bench {

// "8 B", "4 KiB", ...; empty for 0.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

// Where and with what a run takes place.
void print_machine();
[[nodiscard]] nlohmann::ordered_json describe_run(const Options& options);

class Report {
public:
    explicit Report(const Options& options) : options_(options) {}

    void begin() const;
    void add(Row row);
    void note(const std::string& text); // once for each text
    void end() const;

private:
    const Options& options_;
    std::vector<Row> rows_;
    std::vector<std::string> notes_;
};

} // namespace rpmem::bench
