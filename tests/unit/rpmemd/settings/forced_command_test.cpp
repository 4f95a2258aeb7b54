// SPDX-License-Identifier: BSD-3-Clause
// Tests what a client may request through a key with a forced command. The commands are texts, as
// in SSH_ORIGINAL_COMMAND. The test fails if a command that librpmem or rpmemctl sends is refused
// or misunderstood, if any other text is accepted, or if a request is granted that the options of
// the key do not allow.
#include "rpmemd/settings/forced_command.hpp"
#include "tests/support/expect.hpp"

namespace rpmem::target {
namespace {

using Action = ClientCommand::Action;
using Verb = ActionRequest::Verb;

struct Good {
    std::string text;
    ClientCommand command;
};

ClientCommand acts(ActionRequest request) {
    return {.action = Action::act, .request = std::move(request)};
}

TEST(ClientCommand, WhatLibrpmemSendsIsUnderstood) {
    const std::vector<Good> cases = {
        {"rpmemd", {}},
        {"/usr/local/bin/rpmemd", {}},
        {"~/bin/rpmemd", {}},
        {"export RPMEMD_OFFER=1; rpmemd", {.knows_hello = true}},
        {"export RPMEMD_OFFER=1;rpmemd", {.knows_hello = true}},
        {"rpmemd --probe", {.action = Action::probe}},
        {"export RPMEMD_OFFER=1; rpmemd --probe", {.knows_hello = true, .action = Action::probe}},
        {"rpmemd --read-only", {.read_only = true}},
        {"rpmemd --offer", {.knows_hello = true}},
        {"rpmemd --read-only --offer", {.knows_hello = true, .read_only = true}},
        {"rpmemd --remove pool.set", {.action = Action::remove, .pool_set = "pool.set"}},
        {"rpmemd --remove a/b-1.set --force",
         {.action = Action::remove, .pool_set = "a/b-1.set", .force = true}},
        {"rpmemd --remove pool.set --pool-set",
         {.action = Action::remove, .pool_set = "pool.set", .remove_pool_set = true}},
        {"rpmemd --remove 'my pool' --force --pool-set",
         {.action = Action::remove, .pool_set = "my pool", .force = true, .remove_pool_set = true}},
        {"rpmemd --remove 'it'\\''s'", {.action = Action::remove, .pool_set = "it's"}},
        {"rpmemd --remove ''\\'''", {.action = Action::remove, .pool_set = "'"}},
        {"rpmemd --remove 'a;b$(c)`d`'", {.action = Action::remove, .pool_set = "a;b$(c)`d`"}},
        {"rpmemd --list", acts({.verb = Verb::list})},
        {"rpmemd --info a/b.set", acts({.verb = Verb::info, .name = "a/b.set"})},
        {"rpmemd --check-all", acts({.verb = Verb::check_all})},
        {"rpmemd --check 'a b'", acts({.verb = Verb::check, .name = "a b"})},
        {"rpmemd --sessions", acts({.verb = Verb::sessions})},
        {"rpmemd --evict 0a1b", acts({.verb = Verb::evict, .name = "0a1b"})},
        {"rpmemd --accept a.set", acts({.verb = Verb::accept, .name = "a.set"})},
        {"rpmemd --take a.set", acts({.verb = Verb::take, .name = "a.set"})},
        {"rpmemd --take a.set --accept-loss",
         acts({.verb = Verb::take, .name = "a.set", .accept_loss = true})},
        {"rpmemd --digest a", acts({.verb = Verb::digest, .name = "a"})},
        {"rpmemd --mark-equal a --claim 0a-1-0",
         acts({.verb = Verb::mark_equal, .name = "a", .claim = "0a-1-0"})},
        {"rpmemd --mark-equal a --claim 0a-1-0 --forget-accepted",
         acts({.verb = Verb::mark_equal, .name = "a", .claim = "0a-1-0", .forget_accepted = true})},
        {"rpmemd --digest a --chunk 4096 --length 9",
         acts({.verb = Verb::digest, .name = "a", .chunk = 4096, .length = 9})},
        {"rpmemd --create-set a --size 5", acts({.verb = Verb::create, .name = "a", .size = 5})},
        {"rpmemd --create-set a --size 5 --no-headers --set-only --part /b --part '/c d'",
         acts({.verb = Verb::create,
               .name = "a",
               .size = 5,
               .parts = {"/b", "/c d"},
               .no_headers = true,
               .set_only = true})},
        {"rpmemd  --remove   pool.set", {.action = Action::remove, .pool_set = "pool.set"}},
    };
    for (const auto& [text, command] : cases) {
        SCOPED_TRACE(text);
        const auto seen = test::value_of(parse_client_command(text));
        EXPECT_EQ(seen.knows_hello, command.knows_hello);
        EXPECT_EQ(seen.action, command.action);
        EXPECT_EQ(seen.read_only, command.read_only);
        EXPECT_EQ(seen.pool_set, command.pool_set);
        EXPECT_EQ(seen.force, command.force);
        EXPECT_EQ(seen.remove_pool_set, command.remove_pool_set);
        EXPECT_EQ(seen.request, command.request);
    }
}

std::vector<std::string> texts(const auto&... each) { return {each...}; }

std::string repeated(const std::string& text, std::size_t times) {
    std::string all;
    for (std::size_t i = 0; i < times; ++i)
        all += text;
    return all;
}

// Attempts to request more than a client may.
const std::vector<std::string> refused_commands = texts(
    "", " ", " rpmemd", "sh", "rpmemd2", "xrpmemd", "rpmemd/", "rpmemd/sh", "rpmemd ", "rpmemd;sh",
    "rpmemd; sh", "rpmemd|sh", "rpmemd&sh", "rpmemd && sh", "rpmemd >x", "rpmemd <x",
    "rpmemd $(sh)", "rpmemd `sh`", "$(sh)/rpmemd", "`sh`/rpmemd", "${IFS}rpmemd", "\"rpmemd\"",
    "'rpmemd'", "rpm\\emd", "sh rpmemd", "sh -c rpmemd", "FI_PROVIDER=sockets rpmemd",
    "RPMEM_ODP=on rpmemd", "env rpmemd", "rpmemd\n", "rpmemd\nsh", "sh\nrpmemd", "rpmemd\t--probe",
    "rpmemd --config x", "rpmemd --poolset-dir=/", "rpmemd --poolset-outside", "rpmemd --sockets",
    "rpmemd --allow-remove", "rpmemd --probe --remove x", "rpmemd --probe x", "rpmemd --probe;sh",
    "rpmemd --offer;sh", "rpmemd --offer=1", "rpmemd --probe --offer", "rpmemd --offer --offer",
    "rpmemd --probes", "rpmemd -r x", "rpmemd --remove", "rpmemd --remove ", "rpmemd --remove=x",
    "rpmemd --remove ''", "rpmemd --remove --force", "rpmemd --remove '--force'",
    "rpmemd --remove -x", "rpmemd --remove a b", "rpmemd --remove 'a", "rpmemd --remove 'a'b",
    "rpmemd --remove 'a''b'", "rpmemd --remove a'b'", "rpmemd --remove a;sh",
    "rpmemd --remove $(sh)", "rpmemd --remove *", "rpmemd --remove 'a\nb'",
    "rpmemd --remove a --force --force", "rpmemd --remove a --pool-set --force",
    "rpmemd --remove a --allow-remove", "rpmemd --remove a --force; sh",
    "rpmemd --remove a --probe", "export RPMEMD_OFFER=1;", "export RPMEMD_OFFER=2; rpmemd",
    "export RPMEMD_OFFER=1 LD_PRELOAD=x; rpmemd",
    "export RPMEMD_OFFER=1; export RPMEMD_OFFER=1; rpmemd", "export LD_PRELOAD=x; rpmemd",
    "rpmemd --list a", "rpmemd --check-all a", "rpmemd --check-alla", "rpmemd --lists",
    "rpmemd --list --probe", "rpmemd --list --list", "rpmemd --list;sh", "rpmemd --info",
    "rpmemd --info --chunk 4096", "rpmemd --info -a", "rpmemd --info a b",
    "rpmemd --info a --chunk 4096", "rpmemd --info $(sh)", "rpmemd --evict", "rpmemd --evict a; sh",
    "rpmemd --mark-equal a", "rpmemd --mark-equal a --claim", "rpmemd --mark-equal a --claim 1;",
    "rpmemd --digest a --chunk", "rpmemd --chunk 4096", "rpmemd --digest a --chunk -1",
    "rpmemd --digest a --chunk x", "rpmemd --digest a --chunk 1k",
    "rpmemd --digest a --chunk 18446744073709551616", "rpmemd --digest a --part b",
    "rpmemd --create-set a", "rpmemd --create-set a --size 0", "rpmemd --create-set --size 5",
    "rpmemd --create-set a --size 5 --part", "rpmemd --create-set a --size 5 --allow-admin",
    "rpmemd --create-set a --size 5 --part b;sh", "rpmemd --create-set a --part b --size 5",
    "rpmemd --create-set a --size 5" + repeated(" --part b", max_requested_parts + 1),
    "export RPMEMD_OFFER=1 rpmemd", "rpmemd\x7f", "rpmemd --remove " + std::string(4096, 'a'));

TEST(ClientCommand, AllElseIsRefused) {
    for (const std::string& text : refused_commands) {
        SCOPED_TRACE(text.substr(0, 60));
        const auto seen = parse_client_command(text);
        ASSERT_TRUE(test::failed(seen, EINVAL));
        EXPECT_NE(seen.error().text, "");
    }
}

// Every text of up to 4 pieces is refused, or requests only what its words state.
TEST(ClientCommand, NoMixtureOfPiecesMeansMoreThanItSays) {
    const std::vector<std::string> pieces = {"rpmemd",   " ",  " --remove", " --probe",
                                             " --force", " a", "'",         "\'",
                                             ";",        "/",  "-",         "export "};
    constexpr std::size_t most = 4;
    std::vector<std::string> texts = {""};
    for (std::size_t begin = 0, length = 0; length < most; ++length) {
        const std::size_t end = texts.size();
        for (; begin < end; ++begin)
            for (const std::string& piece : pieces)
                texts.push_back(texts[begin] + piece);
    }
    unsigned understood = 0;
    for (const std::string& text : texts) {
        const auto seen = parse_client_command(text);
        if (!seen)
            continue;
        ++understood;
        EXPECT_TRUE(test::contains(text, "rpmemd"));
        EXPECT_EQ(text.find(';'), std::string::npos) << text;
        EXPECT_EQ(seen->action == Action::remove, text.find(" --remove") != std::string::npos)
            << text;
        EXPECT_EQ(seen->action == Action::probe, text.find(" --probe") != std::string::npos)
            << text;
    }
    EXPECT_GT(understood, 0U);
}

struct Forced {
    std::string name;
    bool restricted;
    bool allow_remove;
    std::optional<std::string> original;
    int code;    // errno value of the refusal, or 0
    bool warned; // the client's command was ignored
    // The resulting configuration:
    bool may_delete;
    std::string remove;
    bool probe;
};

TEST(ForcedCommand, SettlesWhatTheClientGets) {
    const std::vector<Forced> cases = {
        {"by hand", false, false, {}, 0, false, true, "", false},
        {"nothing asked for", true, false, {}, EACCES, false, false, "", false},
        {"a session", true, false, "rpmemd", 0, false, false, "", false},
        {"a session of an open key", false, false, "rpmemd", 0, false, false, "", false},
        {"a probe", true, false, "rpmemd --probe", 0, false, false, "", true},
        {"a removal", true, false, "rpmemd --remove a", EACCES, false, false, "", false},
        {"one of an open key", false, false, "rpmemd --remove a", EACCES, false, false, "", false},
        {"one that is allowed", true, true, "rpmemd --remove a", 0, false, true, "a", false},
        {"a shell", true, true, "sh", EACCES, false, true, "", false},
        {"a shell of an open key", false, false, "sh", 0, true, false, "", false},
        {"options", false, false, "rpmemd --remove a --x", 0, true, false, "", false},
    };
    for (const Forced& each : cases) {
        SCOPED_TRACE(each.name);
        Configuration configuration{};
        configuration.restricted = each.restricted;
        configuration.allow_remove = each.allow_remove;
        const auto admitted =
            admit(each.original ? each.original->c_str() : nullptr, configuration);
        EXPECT_EQ(admitted ? 0 : admitted.error().code, each.code);
        EXPECT_EQ(admitted && !admitted->warning.empty(), each.warned);
        EXPECT_EQ(configuration.may_delete, each.may_delete);
        if (admitted) {
            EXPECT_EQ(configuration.remove.value_or(""), each.remove);
            EXPECT_EQ(configuration.probe, each.probe);
        }
    }
}

TEST(ForcedCommand, ActionsNeedWhatTheTableSays) {
    struct Key {
        bool forced, restricted, allow_admin, read_only;
        std::vector<Verb> refused;
    };
    const std::vector<Verb> of_admins = {Verb::sessions, Verb::evict, Verb::create, Verb::accept,
                                         Verb::take};
    const std::vector<Verb> changes = {Verb::evict, Verb::create, Verb::mark_equal, Verb::accept,
                                       Verb::take};
    const std::vector<Key> keys = {
        {false, false, false, false, {}},       {false, false, false, true, changes},
        {true, false, false, false, of_admins}, {true, true, false, false, of_admins},
        {true, true, true, false, {}},          {true, true, true, true, changes},
    };
    for (const Key& key : keys)
        for (const ActionWord& word : action_words()) {
            SCOPED_TRACE(fmt::format("{} {} {} {}", word.option, key.forced, key.allow_admin,
                                     key.read_only));
            Configuration configuration{};
            configuration.restricted = key.restricted;
            configuration.allow_admin = key.allow_admin;
            configuration.read_only = key.read_only;
            std::string text = fmt::format("rpmemd {}", word.option);
            text += word.argument.empty() ? "" : " a";
            text += word.verb == Verb::create ? " --size 5" : "";
            text += word.verb == Verb::mark_equal ? " --claim 0a-1-0" : "";
            if (!key.forced)
                configuration.action = ActionRequest{.verb = word.verb, .name = "a"};
            const auto admitted = admit(key.forced ? text.c_str() : nullptr, configuration);
            EXPECT_EQ(admitted ? 0 : admitted.error().code,
                      std::ranges::find(key.refused, word.verb) == key.refused.end() ? 0 : EACCES);
            ASSERT_TRUE(configuration.action);
            EXPECT_EQ(configuration.action->verb, word.verb);
        }
}

// A path in a pool set file could name a file that another program creates later. Names are
// resolved when the files are created, see pool_set_lookup_test.cpp.
TEST(ForcedCommand, CreatesNoPathsOfItsOwn) {
    for (const char* text : {"rpmemd --create-set a --size 5 --part /srv/a",
                             "rpmemd --create-set a --size 5 --set-only",
                             "rpmemd --create-set a --size 5 --set-only --part /srv/a"})
        for (const bool restricted : {true, false}) {
            SCOPED_TRACE(text);
            Configuration configuration{};
            configuration.restricted = restricted;
            configuration.allow_admin = true;
            EXPECT_TRUE(test::failed(admit(text, configuration), EACCES, "this login may not use"));
            EXPECT_TRUE(configuration.stays_beneath);
            Configuration open{}; // a login without a forced command
            open.action = configuration.action;
            EXPECT_TRUE(test::succeeded(admit(nullptr, open)));
            EXPECT_FALSE(open.stays_beneath);
        }
}

// Only administrators may see which session has a pool.
TEST(ForcedCommand, SessionsAreForAdministrators) {
    for (const bool allow_admin : {true, false}) {
        Configuration configuration{};
        configuration.allow_admin = allow_admin;
        EXPECT_TRUE(test::succeeded(admit("rpmemd --list", configuration)));
        EXPECT_EQ(configuration.sees_sessions, allow_admin);
    }
}

TEST(ForcedCommand, WhatItDoesItselfIsNotTheClientsToChange) {
    Configuration configuration{};
    configuration.probe = true;
    configuration.allow_remove = true;
    ASSERT_TRUE(admit("rpmemd --remove a", configuration));
    EXPECT_FALSE(configuration.remove);
    EXPECT_TRUE(configuration.probe);
}

TEST(ForcedCommand, ContradictionsAreRefused) {
    Configuration outside{};
    outside.restricted = outside.allow_outside = true;
    EXPECT_FALSE(admit("rpmemd", outside));
    Configuration administrator{};
    administrator.allow_admin = administrator.allow_outside = true;
    EXPECT_TRUE(test::failed(admit("rpmemd", administrator), EINVAL, "--allow-admin"));
    Configuration reads{};
    reads.allow_remove = reads.read_only = true;
    EXPECT_FALSE(admit("rpmemd --remove a", reads));
}

// A wrapper in ForceCommand may log the client's command and run it in a shell.
TEST(ForcedCommand, WhoRunsTheClientsCommandRefusesNothing) {
    Configuration removes{};
    removes.remove = "a";
    EXPECT_TRUE(test::succeeded(admit("/usr/bin/rpmemd --remove a --force", removes)));
    EXPECT_TRUE(removes.may_delete);
    Configuration evicts{};
    evicts.action = ActionRequest{.verb = Verb::evict, .name = "a"};
    EXPECT_TRUE(test::succeeded(admit("rpmemd --evict a", evicts)));
    EXPECT_TRUE(evicts.sees_sessions);
    // This action is not the one that the client has requested.
    Configuration other{};
    other.remove = "b";
    EXPECT_TRUE(test::failed(admit("rpmemd --remove a", other), EACCES, "or ForceCommand in sshd"));
    Configuration of_another_verb{};
    of_another_verb.action = evicts.action;
    EXPECT_TRUE(test::failed(admit("rpmemd --list", of_another_verb), EACCES, "--allow-admin in"));
    Configuration restricted{};
    restricted.restricted = true;
    restricted.remove = "a";
    EXPECT_TRUE(test::failed(admit("rpmemd --remove a", restricted), EACCES, "--allow-remove in"));
    Configuration reads{};
    reads.read_only = true;
    reads.remove = "a";
    EXPECT_FALSE(admit("rpmemd --remove a", reads));
}

TEST(ForcedCommand, TheOfferSurvivesOptionsThatAreIgnored) {
    for (const char* text :
         {"export RPMEMD_OFFER=1; rpmemd --log-level debug", "rpmemd --log-level debug --offer"}) {
        Configuration configuration{};
        const auto admitted = admit(text, configuration);
        ASSERT_TRUE(admitted);
        EXPECT_TRUE(admitted->knows_hello);
        EXPECT_TRUE(test::contains(admitted->warning, "--log-level debug"));
    }
}

} // namespace
} // namespace rpmem::target
