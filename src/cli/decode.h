// `tulle decode`: prints and checks captured RoCE and InfiniBand packets.
#pragma once

namespace tulle::cli {

class Command;

void add_decode(Command& program);

}  // namespace tulle::cli
