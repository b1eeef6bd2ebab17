// The U-Net of lucidrains' denoising-diffusion-pytorch (MIT licence, github.com/lucidrains/denoising-diffusion-pytorch,
// version 2.3.4), with the names of its parameters, so that its weights load.
//
// It predicts the noise in an image: ResNet blocks that know the time step, linear attention on the way down and up,
// full attention in the middle. Ho, Jain, Abbeel 2020; linear attention: Shen et al. 2021.
#pragma once

#include <tapegrad/tapegrad.h>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace ported {

namespace nn = tapegrad::nn;
using tapegrad::Tensor;

/// The arguments of Unet in Python, with the same names and defaults.
struct UnetOptions {
  int64_t dim, init_dim = dim, out_dim = 0;  // out_dim 0: channels, or twice that with learned_variance
  std::vector<int64_t> dim_mults = {1, 2, 4, 8};
  int64_t channels = 3;
  bool self_condition = false, learned_variance = false, learned_sinusoidal_cond = false,
       random_fourier_features = false;
  int64_t learned_sinusoidal_dim = 16;
  double sinusoidal_pos_emb_theta = 10000, dropout = 0;
  std::vector<int64_t> attn_dim_head = {32}, attn_heads = {4};  // one number, or one per stage
  std::vector<bool> full_attn = {};                             // one per stage; empty: in the innermost stage only
};

struct RMSNorm {
  int64_t dim;
  nn::Parameter g{tapegrad::ones({1, dim, 1, 1})};
  Tensor operator()(const Tensor& x) const { return normalize(x) * g * std::sqrt(double(dim)); }
};

struct SinusoidalPosEmb {  // [B] -> [B, dim]
  int64_t dim;
  double theta;
  Tensor operator()(const Tensor& time) const {
    const Tensor rate = exp(tapegrad::arange(dim / 2).to(time.dtype()) * (-std::log(theta) / double(dim / 2 - 1)));
    const Tensor phase = time.unsqueeze(1) * rate;
    return tapegrad::cat({sin(phase), cos(phase)}, -1);
  }
};

struct RandomOrLearnedSinusoidalPosEmb {  // [B] -> [B, dim + 1]
  int64_t dim;
  nn::Parameter weights{tapegrad::randn({dim / 2})};
  Tensor operator()(const Tensor& time) const {
    const Tensor x = time.unsqueeze(1), phase = x * weights * (2 * std::numbers::pi);
    return tapegrad::cat({x, sin(phase), cos(phase)}, -1);
  }
};

struct Block {
  int64_t dim, dim_out;
  double p = 0;
  nn::Conv2d proj{dim, dim_out, 3, {.padding = 1}};
  RMSNorm norm{dim_out};
  nn::Dropout dropout{p};
  Tensor operator()(const Tensor& x, const Tensor& scale = {}, const Tensor& shift = {}) const {
    Tensor y = norm(proj(x));
    if (scale.defined()) y = y * (scale + 1) + shift;
    return dropout(silu(y));
  }
};

struct ResnetBlock {
  int64_t dim, dim_out, time_dim;
  double p = 0;
  nn::Sequential<nn::SiLU, nn::Linear> mlp{nn::SiLU(), nn::Linear(time_dim, 2 * dim_out)};
  Block block1{dim, dim_out, p}, block2{dim_out, dim_out};
  nn::AnyModule res_conv = dim == dim_out ? nn::AnyModule(nn::Identity()) : nn::Conv2d(dim, dim_out, 1);
  Tensor operator()(const Tensor& x, const Tensor& time) const {
    const auto scale_shift = chunk(mlp(time)(tapegrad::ellipsis, tapegrad::newaxis, tapegrad::newaxis), 2, 1);
    return block2(block1(x, scale_shift[0], scale_shift[1])) + res_conv(x);
  }
};

// The learned keys or values, once for each image of the batch, followed by those of x.
inline Tensor after_memory(const Tensor& memory, const Tensor& x, int64_t axis) {
  return tapegrad::cat({memory.expand({x.size(0), -1, -1, -1}), x}, axis);
}

struct LinearAttention {
  int64_t dim, heads = 4, dim_head = 32, num_mem_kv = 4;
  RMSNorm norm{dim};
  nn::Parameter mem_kv{tapegrad::randn({2, heads, dim_head, num_mem_kv})};
  nn::Conv2d to_qkv{dim, 3 * heads* dim_head, 1, {}, false};
  nn::Sequential<nn::Conv2d, RMSNorm> to_out{nn::Conv2d(heads * dim_head, dim, 1), RMSNorm{dim}};
  Tensor operator()(const Tensor& x) const {
    const Tensor qkv = to_qkv(norm(x)).reshape({x.size(0), 3, heads, dim_head, -1});  // [B, 3, H, C, pixels]
    const Tensor q = softmax(qkv.select(1, 0), -2) / std::sqrt(double(dim_head));
    const Tensor k = softmax(after_memory(mem_kv[0], qkv.select(1, 1), -1), -1);
    const Tensor context = matmul(k, after_memory(mem_kv[1], qkv.select(1, 2), -1).t());
    return to_out(matmul(context.t(), q).reshape({x.size(0), -1, x.size(2), x.size(3)}));
  }
};

struct Attention {
  int64_t dim, heads = 4, dim_head = 32, num_mem_kv = 4;
  RMSNorm norm{dim};
  nn::Parameter mem_kv{tapegrad::randn({2, heads, num_mem_kv, dim_head})};
  nn::Conv2d to_qkv{dim, 3 * heads*dim_head, 1, {}, false}, to_out{heads * dim_head, dim, 1};
  Tensor operator()(const Tensor& x) const {
    const Tensor qkv = to_qkv(norm(x)).reshape({x.size(0), 3, heads, dim_head, -1}).t();  // [B, 3, H, pixels, C]
    const Tensor k = after_memory(mem_kv[0], qkv.select(1, 1), -2), v = after_memory(mem_kv[1], qkv.select(1, 2), -2);
    const Tensor y = scaled_dot_product_attention(qkv.select(1, 0), k, v);
    return to_out(y.t().reshape({x.size(0), -1, x.size(2), x.size(3)}));
  }
};

inline nn::AnyModule upsample(int64_t dim, int64_t dim_out) {
  return nn::Sequential{nn::Upsample({.scale_factor = 2}), nn::Conv2d(dim, dim_out, 3, {.padding = 1})};
}

inline nn::AnyModule downsample(int64_t dim, int64_t dim_out) {  // squares of 2 x 2 pixels become channels
  const auto squares = [](const Tensor& x) {
    const int64_t b = x.size(0), c = x.size(1), h = x.size(2) / 2, w = x.size(3) / 2;
    return x.reshape({b, c, h, 2, w, 2}).permute({0, 1, 3, 5, 2, 4}).reshape({b, 4 * c, h, w});
  };
  return nn::Sequential{squares, nn::Conv2d(4 * dim, dim_out, 1)};
}

struct Stage {
  ResnetBlock block1, block2;
  nn::AnyModule attn, resize;
  void visit(auto&& field) {
    field("0", block1);
    field("1", block2);
    field("2", attn);
    field("3", resize);
  }
};

/// x [B, channels, H, W], time [B], in x's type -> [B, out_dim, H, W]. Height and width are multiples of 2 to the power
/// of the number of stages less one.
struct Unet {
  UnetOptions options;
  std::size_t stages = options.dim_mults.size();
  int64_t time_dim = 4 * options.dim, mid_dim = width(stages),
          out_dim = options.out_dim ? options.out_dim : options.channels * (options.learned_variance ? 2 : 1);
  nn::Conv2d init_conv{options.channels * (options.self_condition ? 2 : 1), options.init_dim, 7, {.padding = 3}};
  nn::Sequential<nn::AnyModule, nn::Linear, nn::GELU, nn::Linear> time_mlp = make_time_mlp();
  nn::List<Stage> downs = make_stages(false), ups = make_stages(true);
  ResnetBlock mid_block1{mid_dim, mid_dim, time_dim, options.dropout};
  Attention mid_attn{mid_dim, of_stage(options.attn_heads, stages - 1), of_stage(options.attn_dim_head, stages - 1)};
  ResnetBlock mid_block2{mid_dim, mid_dim, time_dim, options.dropout},
      final_res_block{2 * options.init_dim, options.init_dim, time_dim, options.dropout};
  nn::Conv2d final_conv{options.init_dim, out_dim, 1};

  Tensor operator()(Tensor x, const Tensor& time, const Tensor& self_cond = {}) const {
    if (options.self_condition) x = tapegrad::cat({self_cond.defined() ? self_cond : zeros_like(x), x}, 1);
    const Tensor first = init_conv(x), t = time_mlp(time);
    x = first;
    std::vector<Tensor> skips;
    for (const Stage& s : downs) {
      skips.push_back(x = s.block1(x, t));
      x = s.block2(x, t);
      skips.push_back(x = s.attn(x) + x);
      x = s.resize(x);
    }
    x = mid_block1(x, t);
    x = mid_block2(mid_attn(x) + x, t);
    for (const Stage& s : ups) {
      for (const ResnetBlock* block : {&s.block1, &s.block2}) {
        x = (*block)(tapegrad::cat({x, skips.back()}, 1), t);
        skips.pop_back();
      }
      x = s.resize(s.attn(x) + x);
    }
    return final_conv(final_res_block(tapegrad::cat({x, first}, 1), t));
  }

 private:
  static int64_t of_stage(const std::vector<int64_t>& numbers, std::size_t i) {
    return numbers.size() == 1 ? numbers[0] : numbers.at(i);
  }
  int64_t width(std::size_t i) const { return i == 0 ? options.init_dim : options.dim * options.dim_mults[i - 1]; }
  nn::Sequential<nn::AnyModule, nn::Linear, nn::GELU, nn::Linear> make_time_mlp() const {
    nn::AnyModule encoding = SinusoidalPosEmb{options.dim, options.sinusoidal_pos_emb_theta};
    int64_t size = options.dim;
    if (options.learned_sinusoidal_cond || options.random_fourier_features) {
      RandomOrLearnedSinusoidalPosEmb fourier{options.learned_sinusoidal_dim};
      fourier.weights.freeze(options.random_fourier_features);
      encoding = std::move(fourier);
      size = options.learned_sinusoidal_dim + 1;
    }
    return nn::Sequential{std::move(encoding), nn::Linear(size, time_dim), nn::GELU(), nn::Linear(time_dim, time_dim)};
  }
  nn::AnyModule make_attention(int64_t dim, std::size_t i) const {
    const int64_t heads = of_stage(options.attn_heads, i), size = of_stage(options.attn_dim_head, i);
    if (options.full_attn.empty() ? i + 1 == stages : options.full_attn.at(i)) return Attention{dim, heads, size};
    return LinearAttention{dim, heads, size};
  }
  nn::List<Stage> make_stages(bool up) const {
    nn::List<Stage> made;
    for (std::size_t at = 0; at < stages; ++at) {
      const std::size_t i = up ? stages - 1 - at : at;
      const int64_t in = width(i), out = width(i + 1), dim = up ? out : in, from = up ? in + out : in;
      nn::AnyModule resize = nn::Conv2d(dim, up ? in : out, 3, {.padding = 1});
      if (at + 1 < stages) resize = up ? upsample(out, in) : downsample(in, out);
      made.push_back({{from, dim, time_dim, options.dropout},
                      {from, dim, time_dim, options.dropout},
                      make_attention(dim, i),
                      std::move(resize)});
    }
    return made;
  }
};

}  // namespace ported
