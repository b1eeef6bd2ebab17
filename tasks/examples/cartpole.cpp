// Learns to balance a pole on a cart by policy gradients: an actor, and a critic that estimates the returns.
//
//   cartpole OUT [SEED] [--resume]   writes the run, with the curve of returns in report.html, into the folder OUT;
//   fails
//                                    below a mean return of 400 (the maximum is 500)
//
// Williams 1992; the simulator is that of Barto, Sutton, Anderson 1983, as in OpenAI Gym's CartPole-v1.
#include <tapegrad/tapegrad.h>
#include <tapegrad/train.h>

#include <cmath>
#include <cstdio>
#include <numbers>
#include <string>

namespace tg = tapegrad;
using tg::Tensor;

constexpr int64_t kGames = 10;  // episodes that run in parallel
constexpr int64_t kMostSteps = 500;

// kGames carts: x, speed, angle, angular speed, each [kGames].
struct CartPole {
  Tensor state = tg::uniform({kGames, 4}, -0.05, 0.05);

  // Pushes every cart to the left (action 0) or to the right (1). Returns which poles are still upright.
  Tensor step(const Tensor& action) {
    constexpr double kGravity = 9.8, kPole = 0.1, kMass = 1.1, kHalfLength = 0.5, kForce = 10, kSeconds = 0.02;
    const Tensor x = state.select(1, 0), v = state.select(1, 1), a = state.select(1, 2), w = state.select(1, 3);
    const Tensor push = (2 * action - 1).to(tg::kFloat32) * kForce, sine = tg::sin(a), cosine = tg::cos(a);
    const Tensor both = (push + kPole * kHalfLength * tg::square(w) * sine) / kMass;
    const Tensor turn =
        (kGravity * sine - cosine * both) / (kHalfLength * (4.0 / 3.0 - kPole / kMass * tg::square(cosine)));
    const Tensor pull = both - kPole * kHalfLength / kMass * turn * cosine;
    state = tg::stack({x + kSeconds * v, v + kSeconds * pull, a + kSeconds * w, w + kSeconds * turn}, 1);
    const double most_angle = 12 * std::numbers::pi / 180;
    return tg::logical_and(tg::abs(state.select(1, 0)) <= 2.4, tg::abs(state.select(1, 2)) <= most_angle);
  }
};

struct Agent {
  tg::nn::Linear in{4, 64}, policy{64, 2}, value_in{4, 64}, value{64, 1};
  Tensor logits(const Tensor& state) const { return policy(tg::tanh(in(state))); }
  Tensor baseline(const Tensor& state) const { return value(tg::tanh(value_in(state))).squeeze(-1); }
};

struct Episodes {                   // T steps of kGames games; those that have ended are masked
  Tensor states, actions, playing;  // [T, kGames, 4], [T, kGames] int64, [T, kGames] 0 or 1: the rewards, too
};

Episodes play(const Agent& agent) {
  CartPole game;
  std::vector<Tensor> states, actions, playing;
  Tensor standing = tg::ones({kGames}, tg::kBool);
  while (tg::any(standing) && int64_t(states.size()) < kMostSteps) {
    states.push_back(game.state);
    playing.push_back(standing.to(tg::kFloat32));
    actions.push_back(tg::multinomial(tg::softmax(agent.logits(game.state)), 1).squeeze(-1));
    standing = tg::logical_and(standing, game.step(actions.back()));
  }
  return {tg::stack(states), tg::stack(actions), tg::stack(playing)};
}

// The discounted return of each step: G_t = r_t + gamma G_t+1.
Tensor discounted(const Tensor& rewards, double gamma) {
  std::vector<Tensor> returns(std::size_t(rewards.size(0)));
  Tensor sum = tg::zeros({kGames});
  for (int64_t t = rewards.size(0) - 1; t >= 0; --t) returns[std::size_t(t)] = sum = rewards[t] + gamma * sum;
  return tg::stack(returns);
}

int main(int argc, char** argv) {
  const bool resume = argc > 2 && argv[argc - 1] == std::string("--resume");
  if (argc < 2) return std::fprintf(stderr, "usage: cartpole OUT [SEED] [--resume]\n"), 2;
  tg::manual_seed(argc - resume > 2 ? std::stoull(argv[2]) : 0);
  Agent agent;
  tg::optim::Adam adam(tg::nn::parameters(agent), {.lr = 5e-3});
  tg::train::Parts parts;
  parts.add("agent", agent).add("adam", adam);

  constexpr double kGamma = 0.99;
  const auto update = [&](int64_t) -> tg::train::StepResult {
    const Episodes played = play(agent);
    const Tensor target = discounted(played.playing, kGamma);
    const double steps = tg::sum(played.playing).item();
    tg::Tape tape;
    const Tensor log_p = tg::log_softmax(agent.logits(played.states));
    const Tensor taken = tg::gather(log_p, -1, played.actions.unsqueeze(-1)).squeeze(-1);
    const Tensor baseline = agent.baseline(played.states) / (1 - kGamma);
    const Tensor advantage = (target - baseline).detach() * played.playing;
    const Tensor scale = tg::sqrt(tg::sum(tg::square(advantage)) / steps) + 1e-6;
    const Tensor actor_loss = -tg::sum(taken * advantage / scale) / steps;
    const Tensor critic_loss = tg::sum(tg::square((target - baseline) * (1 - kGamma)) * played.playing) / steps;
    const Tensor loss = actor_loss + critic_loss;
    adam.step(tape.backward(loss));
    return {.loss = loss.item(),
            .figures = {{"mean return", steps / kGames}, {"loss of the critic", critic_loss.item()}},
            .tokens = int64_t(steps)};
  };
  tg::train::StepCount updates(120);
  tg::train::Loop loop(parts, updates, update);
  loop.run({.folder = argv[1], .resume = resume, .report = {.title = "CartPole", .unit = "steps"}});

  double test = 0;  // new episodes
  for (int i = 0; i < 10; ++i) test += tg::sum(play(agent).playing).item() / (10 * kGames);
  std::printf("mean return: %.1f in %d new episodes (target: 400 of 500)\n", test, int(10 * kGames));
  return test >= 400 ? 0 : 1;
}
