#include "workload/flow_files.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/time.h"

namespace tulle::workload {
namespace {

using namespace base::literals;

std::string peer_file(const std::string& name) {
    std::ifstream file(TULLE_SOURCE_DIR "/tests/peers/" + name);
    EXPECT_TRUE(file.good()) << name;
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string matrix_error(std::string_view text) {
    const auto matrix = read_connection_matrix(text, "a.cm");
    return matrix ? "read" : matrix.error().message;
}

std::string flows_error(std::string_view text) {
    const auto flows = read_hpcc_flows(text, "flow.txt");
    return flows ? "read" : flows.error().message;
}

std::string paths_error(std::string_view text) {
    const auto paths = read_paths(text, "paths.txt");
    return paths ? "read" : paths.error().message;
}

TEST(connection_matrix, those_of_htsim_are_read_whole) {
    for (const auto& [name, nodes, messages] :
         {std::tuple("perm_128.cm", 128u, 128u), std::tuple("incast_128_127.cm", 128u, 127u),
          std::tuple("perm_1024.cm", 1024u, 1024u), std::tuple("perm_8192.cm", 8192u, 8192u)}) {
        const auto matrix = read_connection_matrix(peer_file(name), name);
        ASSERT_TRUE(matrix.ok()) << matrix.error().message;
        EXPECT_EQ(matrix->nodes, nodes);
        EXPECT_EQ(matrix->messages.size(), messages);
        EXPECT_EQ(matrix->messages[0].id, 1u);
        EXPECT_EQ(matrix->messages[0].bytes, 2'000'000u);
    }
}

TEST(connection_matrix, a_start_is_in_picoseconds_and_an_id_may_be_left_out) {
    const auto matrix =
        read_connection_matrix("Nodes 4\nConnections 1\n# one\n0->3 start 1500000 size 9\n", "");
    ASSERT_TRUE(matrix.ok()) << matrix.error().message;
    const Message& message = matrix->messages[0];
    EXPECT_EQ(message.destination, 3u);
    EXPECT_EQ(message.start, base::Instant{} + 1500_ns);
    EXPECT_EQ(message.bytes, 9u);
    EXPECT_EQ(message.id, 1u);
}

TEST(connection_matrix, what_is_wrong_is_said_with_file_and_line) {
    EXPECT_EQ(matrix_error(""), "a.cm:1: there is no line `Nodes N`");
    EXPECT_EQ(matrix_error("Nodes 2\n0->2 start 0 size 1\n"),
              "a.cm:2: the destination 2 is not below Nodes, which is 2");
    EXPECT_EQ(matrix_error("Nodes 2\n1->1 start 0 size 1\n"), "a.cm:2: host 1 sends to itself");
    EXPECT_EQ(matrix_error("Nodes 2\n0->1 size 1\n"),
              "a.cm:2: the connection has no start; write `start 0`");
    EXPECT_EQ(matrix_error("Nodes 2\n0->1 start 0\n"),
              "a.cm:2: the connection has no size; write `size 2000000`");
    EXPECT_EQ(matrix_error("Nodes 2\n0->1 start 0 size\n"),
              "a.cm:2: 'size' has no number after it");
    EXPECT_EQ(matrix_error("Nodes 2\n0->1 start 0 size -1\n"),
              "a.cm:2: the size '-1' is no whole number from 0 to 18446744073709551615");
    EXPECT_EQ(matrix_error("Nodes 2\nConnections 2\n0->1 start 0 size 1\n"),
              "a.cm:2: Connections says 2, but the file has 1");
    EXPECT_EQ(matrix_error("0->1 start 0 size 1\n"),
              "a.cm:1: a connection comes before the line `Nodes N`");
}

TEST(connection_matrix, words_of_htsim_that_mean_nothing_here_are_refused_with_a_reason) {
    EXPECT_EQ(matrix_error("Nodes 2\n0->1 id 1 trigger 1 size 5\n"),
              "a.cm:2: 'trigger': flows that wait for others are not read; give each connection a "
              "start");
    EXPECT_EQ(
        matrix_error("Nodes 2\n0->1 start 0 size 5 prio 3\n"),
        "a.cm:2: 'prio': it ranks what a receiver pulls, which no queue pair does; remove it");
    EXPECT_EQ(matrix_error("Nodes 2\nfailure switch_type TOR\n"),
              "a.cm:2: 'failure': failures belong to the faults of a scenario; remove the line");
}

TEST(hpcc_flows, those_of_the_simulator_are_read_whole) {
    const auto flows = read_hpcc_flows(peer_file("flow_perm128_2MB.txt"), "flow");
    ASSERT_TRUE(flows.ok()) << flows.error().message;
    ASSERT_EQ(flows->size(), 128u);
    const Message& first = flows->front();
    EXPECT_EQ(first.destination, 127u);
    EXPECT_EQ(first.priority_group, 3u);
    EXPECT_EQ(first.destination_port, 100u);
    EXPECT_EQ(first.bytes, 2'000'000u);
    EXPECT_EQ(first.start, base::Instant{} + 2_s);
}

TEST(hpcc_flows, what_is_wrong_is_said_with_file_and_line) {
    EXPECT_EQ(flows_error(""),
              "flow.txt:1: a flow file begins with a line that says how many flows follow");
    EXPECT_EQ(flows_error("2\n0 1 3 100 5 2\n"), "flow.txt:1: announces 2 flows, but there are 1");
    EXPECT_EQ(flows_error("0\n0 1 3 100 5 2\n"),
              "flow.txt:2: the first line announced 0 flows, but there are more");
    EXPECT_EQ(flows_error("1\n0 1 8 100 5 2\n"),
              "flow.txt:2: the priority group '8' is no whole number from 0 to 7");
    EXPECT_EQ(flows_error("1\n0 1 3 100 5\n"),
              "flow.txt:2: a flow has six words: source, destination, priority group, destination "
              "port, bytes and start in seconds");
    EXPECT_EQ(flows_error("1\n0 0 3 100 5 2\n"), "flow.txt:2: node 0 sends to itself");
    EXPECT_EQ(flows_error("1\n0 1 3 100 0 2\n"),
              "flow.txt:2: the flow has no bytes; give it at least 1");
    EXPECT_EQ(flows_error("1\n0 1 3 100 5 soon\n"),
              "flow.txt:2: the start is wrong: 'soons' is no number of at most 18 digits with a "
              "unit; write a duration such as 1.5us");
}

TEST(paths, those_that_were_recorded_are_read_whole) {
    const auto paths = read_paths(peer_file("paths_ft8perm.txt"), "paths");
    ASSERT_TRUE(paths.ok()) << paths.error().message;
    ASSERT_EQ(paths->size(), 128u);
    EXPECT_EQ(paths->front().data, (std::vector<uint32_t>{0, 128, 162, 202, 190, 159, 127}));
    EXPECT_EQ(paths->front().acknowledgements.front(), 127u);
    EXPECT_EQ(paths->front().line, 2u);
}

TEST(paths, what_is_wrong_is_said_with_file_and_line) {
    EXPECT_EQ(paths_error("0 1 | 0 8 2 | 1 8 0\n"),
              "paths.txt:1: a path begins at node 0 and ends at node 1");
    EXPECT_EQ(paths_error("0 1 | 0 8 1\n"),
              "paths.txt:1: a line has the form `0 1 | 0 8 1 | 1 8 0`: source and destination, the "
              "path of the data, the path of the acknowledgements");
    EXPECT_EQ(paths_error("\n0 x | 0 8 1 | 1 8 0\n"),
              "paths.txt:2: the destination 'x' is no whole number from 0 to 4294967295");
}

}  // namespace
}  // namespace tulle::workload
