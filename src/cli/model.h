// `tulle model`: memory, traffic and least time of training a model, in closed form.
#pragma once

namespace tulle::cli {

class Command;

void add_model(Command& program);

}  // namespace tulle::cli
