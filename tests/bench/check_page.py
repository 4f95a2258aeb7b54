#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""check_page.py PAGE OURS [OTHER]: the page of rpmem-bench --report shows each figure of the reports.

It is well-formed, complete in itself, has no script, and its charts have titles, axes with units, and
as many marks as there are figures; marks stand where their values belong. The table, the texts at the
marks and the lines above them say what the reports say.
"""
import json
import math
import re
import sys
import xml.etree.ElementTree as tree

HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"
MOST_LINES = 6


def rows_of(path):
    """(operation, size, lanes): row, of those that can be drawn."""
    result = {}
    for row in json.load(open(path))["benchmarks"]:
        name = isinstance(row, dict) and re.fullmatch(
            r"([a-z_/]{1,40})/([0-9]{1,10})/lanes:([0-9]{1,4})", str(row.get("run_name"))
        )
        if name and all(1e-9 <= row[n] <= 1e15 for n in ("real_time", "gigabytes_per_second")):
            result[name[1], int(name[2]), int(name[3])] = row
    return result


def some(sizes):
    """The sizes that have a line of their own."""
    if len(sizes) <= MOST_LINES:
        return sizes
    return [sizes[i * (len(sizes) - 1) // (MOST_LINES - 1)] for i in range(MOST_LINES)]


def wanted_marks(reports):
    """By heading: how many marks there must be."""
    ours = reports[0]
    if not ours:
        return {}
    sizes = sorted({size for _, size, _ in ours})
    lanes = sorted({lane for _, _, lane in ours})
    few = lanes[:1]
    middle = 4096 if 4096 in sizes else sizes[len(sizes) // 2]
    operations = {operation for operation, _, _ in ours}

    def known(report):
        return [key for key in report if key[0] in operations and key[1] in sizes and key[2] in lanes]

    def quotients(keys):
        return sum(lane in few for _, _, lane in keys) + sum(size == middle for _, size, _ in keys)

    def with_limit(report):
        return [key for key in known(report) if report[key].get("times_tcp", 0) > 0]

    marks = {
        "Latency by size": sum(lane in few for report in reports for _, _, lane in known(report))
        + sum(lane in few for _, _, lane in with_limit(ours)),
        "Throughput by lanes": sum(
            size in some(sizes) for report in reports for _, size, _ in known(report)
        ),
        "Against the limit": sum(quotients(with_limit(report)) for report in reports),
    }
    if len(reports) > 1:
        marks["Against the other report"] = quotients([key for key in ours if key in reports[1]])
    return {heading: count for heading, count in marks.items() if count > 0}


def check_chart(chart):
    label = chart.get("aria-label")
    assert label and chart.get("role") == "img" and chart.find(SVG + "desc").text, label
    titles = [text.text for text in chart.iter(SVG + "text") if text.get("class") == "title"]
    assert len(titles) == 2, f"{label}: {titles}"
    assert any(re.search("bytes|µs|lanes|time", title) for title in titles), titles
    ticks = [text for text in chart.iter(SVG + "text") if text.get("class") == "tick"]
    assert len([text for text in ticks if text.get("text-anchor") == "end"]) >= 2, f"{label}: no numbers"
    # Where each number of the axis stands, and so where each value has to be.
    axis = sorted((float(t.text), float(t.get("y")) - 4) for t in ticks if t.get("text-anchor") == "end")
    (low, bottom), (high, top) = axis[0], axis[-1]
    for circle in chart.iter(SVG + "circle"):
        if circle.get("class") != "point":
            continue
        value = float(re.search(r": (?:median )?([0-9.e+-]+)", circle.find(SVG + "title").text)[1])
        part = math.log(value / low) / math.log(high / low)
        expected = bottom + part * (top - bottom)
        assert abs(float(circle.get("cy")) - expected) < 1, f"{label}: {value} is at the wrong place"


def size_in(text):
    """Bytes, of what a reader sees: 4 KiB."""
    number, unit = text.split(" ")
    return int(number) * {"B": 1, "KiB": 1024, "MiB": 1024**2}[unit]


def is_shown(text, value):
    """TEXT is VALUE as it is in the report, to the digits that are shown; a dash stands for none."""
    if not value > 0:
        return text == "–"
    # Four digits, and no fraction from 1000 on.
    return abs(float(text) - value) <= max(value * 0.0006, 0.5 if value >= 1000 else 0)


def number_in(row, name):
    value = row.get(name, 0)
    return value if isinstance(value, (int, float)) else 0


def check_table(lines, reports):
    """Each line of the table has the figures of its row, in the columns that their headings name."""
    ours = reports[0]
    seen = set()
    for line in lines:
        cells = ["".join(cell.itertext()) for cell in line]
        key = cells[0], size_in(cells[1]), int(cells[2])
        row = ours[key]
        wanted = [
            row["real_time"],
            number_in(row, "p99_us"),
            row["gigabytes_per_second"] * 1000,
            number_in(row, "tcp_us"),
            number_in(row, "times_tcp"),
        ]
        if len(reports) > 1:
            there = reports[1].get(key, {}).get("real_time", 0)
            wanted += [there, there / row["real_time"]]
        assert len(cells) == 3 + len(wanted), cells
        for text, value in zip(cells[3:], wanted):
            assert is_shown(text, value), f"{key}: {text} is shown for {value} in {cells}"
        seen.add(key)
    assert seen == set(ours), f"not in the table: {set(ours) - seen}"


def check_tip(tip, reports):
    """The text at a mark tells a figure of the row that it names."""
    found = re.fullmatch(r"([a-z_/]+), ([0-9]+ \w+), ([0-9]+) lanes?: (median )?([0-9.e+-]+) (.*)", tip)
    assert found, tip
    key = found[1], size_in(found[2]), int(found[3])
    value, rest = float(found[5]), found[6]
    rows = [report[key] for report in reports if key in report]
    if rest.startswith("µs by raw TCP"):
        figures = [number_in(row, "tcp_us") for row in rows[:1]]
    elif found[4]:
        figures = [number_in(row, "p50_us") or row["real_time"] for row in rows]
    elif rest == "MB/s":
        figures = [row["gigabytes_per_second"] * 1000 for row in rows]
    else:
        assert rest == "times", tip
        figures = [number_in(row, "times_tcp") for row in rows]
        if len(rows) > 1:
            figures.append(rows[1]["real_time"] / rows[0]["real_time"])
    assert any(abs(value - figure) <= figure * 0.0006 for figure in figures), f"{tip}: {figures}"


def check_context(text, paths):
    """Above the charts stands where each report comes from."""
    for path in paths:
        context = json.load(open(path))["context"]
        date, host, processors, target = (
            str(context.get(name, "?")) for name in ("date", "host_name", "num_cpus", "target")
        )
        if host.isprintable():
            wanted = f"{date} on {host}, {processors} processors, target {target}."
            assert wanted in text, f"{wanted} is not in: {text}"


def main():
    page, *paths = sys.argv[1:]
    text = open(page, encoding="utf-8").read()
    root = tree.fromstring(re.sub("^<!DOCTYPE html>", "", text))
    reports = [rows_of(path) for path in paths]
    outside = re.sub(r'xmlns="http://www.w3.org/[^"]*"', "", text)
    assert not re.search(r"<script\b|<link\b|@import|url\(|https?://|\b(src|href)=", outside), "not complete"
    assert root.get("lang") == "en"

    body = root.find(HTML + "body")
    seen = {}
    heading = None
    for element in body:
        if element.tag == HTML + "h2":
            heading = element.text
        for chart in element.iter(SVG + "svg"):
            check_chart(chart)
            marks = [mark for mark in chart.iter() if mark.get("class") == "point"]
            for mark in marks:
                check_tip(mark.find(SVG + "title").text, reports)
            seen[heading] = seen.get(heading, 0) + len(marks)
    wanted = wanted_marks(reports)
    assert seen == wanted, f"marks: {seen}, wanted: {wanted}"
    figures = [r for r in root.iter(HTML + "tr") if len(r.findall(HTML + "td")) in (7, 9)]
    check_table(figures, reports)
    check_context("\n".join("".join(p.itertext()) for p in body.findall(HTML + "p")), paths)
    print(f"{page}: {sum(seen.values())} marks")


main()
