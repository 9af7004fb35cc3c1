// tulle model: what training a model on so many GPUs needs and says, in closed form.
#pragma once

namespace tulle::cli {

class Command;

void add_model(Command& program);

}  // namespace tulle::cli
