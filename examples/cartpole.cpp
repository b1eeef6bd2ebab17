// Learns to balance a pole on a cart by policy gradients: an actor, and a critic that estimates the returns.
//
//   cartpole OUT [SEED] [--resume]   writes the run, with the curve of returns in report.html, into the folder OUT;
//                                    fails below a mean return of 400 (the maximum is 500)
//
// Williams 1992; the simulator is that of Barto, Sutton, Anderson 1983, as in OpenAI Gym's CartPole-v1.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cstdio>
#include <numbers>
#include <string>
#include <vector>

namespace tg = tapegrad;
using tg::Tensor;

// One step of B carts, each pushed to the left (action 0) or to the right (1). Returns their next states.
Tensor cart_pole(const Tensor& state, const Tensor& action) {  // [B, 4]: x, speed, angle, angular speed
  constexpr double kGravity = 9.8, kPole = 0.1, kMass = 1.1, kHalfLength = 0.5, kForce = 10, kSeconds = 0.02;
  const Tensor x = state.select(1, 0), v = state.select(1, 1), a = state.select(1, 2), w = state.select(1, 3);
  const Tensor push = (2 * action - 1).to(tg::kFloat32) * kForce, sine = tg::sin(a), cosine = tg::cos(a);
  const Tensor both = (push + kPole * kHalfLength * tg::square(w) * sine) / kMass;
  const Tensor turn =
      (kGravity * sine - cosine * both) / (kHalfLength * (4.0 / 3.0 - kPole / kMass * tg::square(cosine)));
  const Tensor pull = both - kPole * kHalfLength / kMass * turn * cosine;
  return tg::stack({x + kSeconds * v, v + kSeconds * pull, a + kSeconds * w, w + kSeconds * turn}, 1);
}

struct Agent {
  tg::nn::Linear in{4, 64}, policy{64, 2}, value_in{4, 64}, value{64, 1};
  Tensor logits(const Tensor& state) const { return policy(tg::tanh(in(state))); }
  Tensor baseline(const Tensor& state) const { return value(tg::tanh(value_in(state))).squeeze(-1); }
};

struct Episodes {                   // T steps of B games; those that have ended are masked
  Tensor states, actions, playing;  // [T, B, 4], [T, B] int64, [T, B] 0 or 1: the rewards, too
};

Episodes play(const Agent& agent, int64_t games) {
  std::vector<Tensor> states, actions, playing;
  Tensor state = tg::uniform({games, 4}, -0.05, 0.05), standing = tg::ones({games}, tg::kBool);
  while (tg::any(standing) && states.size() < 500) {
    states.push_back(state);
    playing.push_back(standing.to(tg::kFloat32));
    actions.push_back(tg::multinomial(tg::softmax(agent.logits(state)), 1).squeeze(-1));
    state = cart_pole(state, actions.back());
    const Tensor distance = tg::abs(state.select(1, 0)), angle = tg::abs(state.select(1, 2));
    standing = standing && distance <= 2.4 && angle <= 12 * std::numbers::pi / 180;
  }
  return {tg::stack(states), tg::stack(actions), tg::stack(playing)};
}

int main(int argc, char** argv) {
  const bool resume = argc > 2 && argv[argc - 1] == std::string("--resume");
  if (argc < 2) return std::fprintf(stderr, "usage: cartpole OUT [SEED] [--resume]\n"), 2;
  tg::manual_seed(argc - resume > 2 ? std::stoull(argv[2]) : 0);
  Agent agent;
  tg::optim::Adam adam(tg::nn::parameters(agent), {.lr = 5e-3});
  tg::train::Parts parts = tg::train::Parts().add("agent", agent).add("adam", adam);

  const auto update = [&](int64_t) -> tg::train::StepResult {
    constexpr double kGamma = 0.99;
    constexpr int64_t kGames = 10;
    const Episodes played = play(agent, kGames);
    const double steps = tg::sum(played.playing).item();
    const auto mean = [&](const Tensor& x) { return tg::sum(x * played.playing) / steps; };
    // The discounted return of each step: G[t] = r[t] + gamma G[t + 1].
    const Tensor returns = tg::linear_scan(tg::scalar(kGamma), played.playing, 0, {}, true);
    tg::Tape tape;
    const Tensor surprise =
        tg::cross_entropy(agent.logits(played.states), played.actions, {.reduction = tg::Reduction::none});
    const Tensor error = returns - agent.baseline(played.states) / (1 - kGamma), advantage = error.detach();
    const Tensor actor_loss = mean(surprise * advantage / (tg::sqrt(mean(tg::square(advantage))) + 1e-6));
    const Tensor critic_loss = mean(tg::square(error * (1 - kGamma)));
    const Tensor loss = actor_loss + critic_loss;
    adam.step(tape.backward(loss));
    return {.loss = loss.item(),
            .figures = {{"mean return", steps / kGames}, {"loss of the critic", critic_loss.item()}},
            .tokens = int64_t(steps)};
  };
  tg::train::StepCount updates(120);
  tg::train::Loop loop(parts, updates, update);
  loop.run({.folder = argv[1], .resume = resume, .report = {.title = "CartPole", .unit = "steps"}});

  const double test = tg::sum(play(agent, 100).playing).item() / 100;  // new episodes
  std::printf("mean return: %.1f in 100 new episodes (target: 400 of 500)\n", test);
  return test >= 400 ? 0 : 1;
}
