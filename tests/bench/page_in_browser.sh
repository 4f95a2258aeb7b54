#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# page_in_browser.sh RPMEM_BENCH DATA: a browser shows the page of --report, wide and narrow, such that no
# text leaves its chart or covers another one. With RPMEM_TEST_SCREENSHOTS=DIR, pictures go there.
# 77: there is no chromium.
set -eu
bench=$1
data=$2
output=$(mktemp -d)
trap 'rm -rf "$output"' EXIT

browser=$(command -v chromium) || {
    echo "skipped: there is no browser: apt-get install chromium"
    exit 77
}

# browse WIDTH OPTION... FILE
browse() {
    timeout 100 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --user-data-dir="$output/profile" --hide-scrollbars --virtual-time-budget=3000 \
        --window-size="$1,${height:-1000}" "${@:2}" 2>"$output/log"
}

# What looks at the page from inside; the page itself has no script.
cat >"$output/probe" <<'END'
<script>
const faults = [];
let texts = 0;
for (const chart of document.querySelectorAll("svg")) {
    const frame = chart.getBoundingClientRect();
    const name = chart.getAttribute("aria-label");
    const labels = [...chart.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    const marks = [...chart.querySelectorAll(".point")].map(m => ["a mark", m.getBoundingClientRect()]);
    texts += labels.length;
    for (const [text, box] of labels.concat(marks))
        if (box.left < frame.left - 1 || box.right > frame.right + 1 ||
            box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
            faults.push(`${name}: ${text} leaves the chart`);
    labels.forEach(([text, a], i) => labels.slice(i + 1).forEach(([other, b]) => {
        if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
            Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2)
            faults.push(`${name}: ${text} covers ${other}`);
    }));
}
if (document.documentElement.scrollWidth > window.innerWidth)
    faults.push(`the page is ${document.documentElement.scrollWidth} wide, of ${window.innerWidth}`);
const result = document.createElement("pre");
result.textContent = `probe: ${texts} texts, ${faults.length} faults\n${faults.join("\n")}`;
document.body.append(result);
document.title = document.documentElement.scrollHeight;
</script>
END

"$bench" --from "$data/ours.json" --against "$data/other.json" --report "$output/both.html"
"$bench" --from "$data/ours.json" --report "$output/one.html"
failed=0
for page in both one; do
    sed '/<\/body>/{
        r '"$output/probe"'
        d
    }' "$output/$page.html" >"$output/probed.html"
    for width in 1400 500; do
        browse "$width" --dump-dom "file://$output/probed.html" >"$output/dom" || true
        sed -n '/<pre>probe: /,/<\/pre>/p' "$output/dom" | sed 's/<[^>]*>//g' | grep . | tail -n 30
        grep -qE 'probe: [0-9]{2,} texts, 0 faults' "$output/dom" || {
            echo "FAILED: $page.html, $width wide"
            tail -n 5 "$output/log"
            failed=1
        }
        [ -n "${RPMEM_TEST_SCREENSHOTS:-}" ] || continue
        height=$(sed -nE 's/.*<title>([0-9]+)<\/title>.*/\1/p' "$output/dom" | head -n 1)
        browse "$width" --screenshot="$RPMEM_TEST_SCREENSHOTS/$page-$width.png" "file://$output/$page.html" || true
        height=
    done
done
exit $failed
