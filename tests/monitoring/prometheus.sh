#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# prometheus.sh CONTRIB_DIR RPMEMCTL
#
# Tests monitoring with a real Prometheus and the rules of contrib/: rpmemctl exports the statistics
# of a program with a remote replica. It fails if a query of the dashboard finds nothing, or if
# there is no alert when the target stays away or when the program has given up. Run it below
# tests/support/with-sshd. Exits with 77 without Prometheus.
# shellcheck source=tests/survive/lib.sh
. "$(dirname "$0")/../survive/lib.sh"
contrib=$1 ctl=$2
for program in prometheus promtool python3 curl jq; do
    command -v $program >/dev/null || {
        echo "skipped: $program is not here (Debian packages prometheus, python3, curl, jq)"
        exit 77
    }
done
stats=$RPMEM_TEST_DIR/stats
mkdir "$stats"

# free_port: prints a port that was free a moment ago.
free_port() {
    python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# query EXPRESSION: prints the values that Prometheus has.
query() {
    curl -sS -G --data-urlencode "query=$1" "http://127.0.0.1:$port/api/v1/query" |
        jq -r '.data.result[].value[1]'
}

# eventually SECONDS COMMAND...: waits until COMMAND succeeds.
eventually() {
    local deadline=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $deadline ] || fail "not within the time: $*"
        sleep 0.5
    done
}

is_positive() {
    query "$1" | awk '$1 > 0 { found = 1 } END { exit !found }'
}

step "the rules, by promtool"
must promtool check rules "$contrib/prometheus/rpmem-rules.yml"
must promtool test rules "$contrib/prometheus/rpmem-rules-test.yml"

step "a program that is counted"
make_pool 1
begin_work
pid=$(program_pid) # as root, the exporter also sees other programs
file=$stats/rpmemctl-$(id -u).prom
"$ctl" export --textfile "$stats" --interval 1 &
exporter=$!
has_file() { [ -s "$file" ]; }
eventually 40 has_file
must promtool check metrics <"$file"

step "Prometheus reads it"
port=$(free_port) files=$(free_port)
# Like the textfile collector of a node exporter, this serves the current content of the files.
cat >"$RPMEM_TEST_DIR/serve.py" <<'END'
import glob, http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"".join(open(name, "rb").read() for name in glob.glob(sys.argv[1] + "/*.prom"))
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[2])), Handler).serve_forever()
END
python3 "$RPMEM_TEST_DIR/serve.py" "$stats" "$files" &
helpers=("$!")
cat >"$RPMEM_TEST_DIR/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ["$contrib/prometheus/rpmem-rules.yml"]
scrape_configs: [{job_name: rpmem, static_configs: [{targets: ["127.0.0.1:$files"]}]}]
END
prometheus --config.file="$RPMEM_TEST_DIR/prometheus.yml" --storage.tsdb.path="$RPMEM_TEST_DIR/tsdb" \
    --web.listen-address="127.0.0.1:$port" >"$RPMEM_TEST_DIR/prometheus.log" 2>&1 &
helpers+=("$!")
eventually 60 is_positive "rpmem_pool_call_duration_seconds_count{pid=\"$pid\",call=\"persist\"}"
eventually 60 is_positive "rpmem_pool_state{pid=\"$pid\",state=\"connected\"}"
eventually 60 is_positive 'rpmem:pool_call_seconds:p99{call="persist"}'

step "each query of the dashboard is one"
queries=0
while read -r expression; do
    answer=$(curl -sS -G --data-urlencode "query=$expression" "http://127.0.0.1:$port/api/v1/query")
    [ "$(jq -r .status <<<"$answer")" = success ] || fail "$expression: $answer"
    [ "$(jq '.data.result | length' <<<"$answer")" -gt 0 ] || fail "$expression finds nothing"
    queries=$((queries + 1))
done < <(jq -r '.panels[].targets[].expr' "$contrib/grafana/rpmem-dashboard.json" |
    sed 's/\$__rate_interval/1m/g; s/\$instance/.*/g; s/\$pool_set/.*/g')
[ "$queries" -ge 8 ] || fail "the dashboard has $queries queries"

step "an alert when the target stays away"
must mv "$RPMEM_TEST_DIR/target1/rpmemd" "$RPMEM_TEST_DIR/target1/away"
must kill_daemon
eventually 40 is_positive "ALERTS{alertname=\"RpmemPoolReconnecting\",pid=\"$pid\"}"
must mv "$RPMEM_TEST_DIR/target1/away" "$RPMEM_TEST_DIR/target1/rpmemd"
eventually 40 is_positive "rpmem_pool_reconnects_total{pid=\"$pid\"}"

step "an alert when the program has given up"
must mv "$RPMEM_TEST_DIR/target1/rpmemd" "$RPMEM_TEST_DIR/target1/away"
must kill_daemon
wait "$program" && fail "the program has not given up"
[ ! -e "/proc/$pid" ] || fail "the program has not ended"
kill -0 "$exporter" || fail "the exporter has ended"
eventually 40 is_positive "ALERTS{alertname=\"RpmemPoolFailed\",pid=\"$pid\"}"

must kill "${helpers[@]}"

step "what does not count any more is gone"
must kill "$exporter"
wait "$exporter" || fail "status $? of the exporter"
[ -z "$(ls -A "$stats")" ] || fail "left behind: $(ls -A "$stats")"
