// Rows for people, as they come, or for programs, at the end.
#pragma once

#include "options.hpp"
#include "row.hpp"

#include <string>
#include <vector>

namespace rpmem::bench {

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
