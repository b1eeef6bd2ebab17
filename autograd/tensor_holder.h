// The members that a class which holds a tensor shares with the tensor.
#pragma once

#include <tapegrad/autograd/tensor.h>

#include <vector>

namespace tapegrad {

/// The base of nn::Parameter and nn::Buffer, whose tensor() it uses: they have the members of a tensor that read it,
/// and all functions of tensors find them: p.size(0), p.reshape({-1}), exp(p). (Argument-dependent lookup looks where
/// the base class is.)
template <class Holder>
class TensorHolder {
 public:
  /// The members of Tensor with these names, of the tensor that is held.
  const Shape& shape() const { return held().shape(); }
  const Strides& strides() const { return held().strides(); }
  int dim() const { return held().dim(); }
  int64_t size(int64_t axis) const { return held().size(axis); }
  int64_t numel() const { return held().numel(); }
  DType dtype() const { return held().dtype(); }
  template <class T = double>
  T item() const {
    return held().template item<T>();
  }
  template <class T>
  std::vector<T> to_vector() const {
    return held().template to_vector<T>();
  }
  template <class T>
  const T* data() const {
    return held().template data<T>();
  }
  Tensor reshape(const Shape& shape) const { return held().reshape(shape); }
  Tensor flatten(int64_t start = 0, int64_t end = -1) const { return held().flatten(start, end); }
  Tensor transpose(int64_t a, int64_t b) const { return held().transpose(a, b); }
  Tensor t() const { return held().t(); }
  Tensor permute(const Dims& axes) const { return held().permute(axes); }
  Tensor slice(int64_t axis, int64_t start = kAll, int64_t stop = kAll, int64_t step = 1) const {
    return held().slice(axis, start, stop, step);
  }
  Tensor select(int64_t axis, int64_t index) const { return held().select(axis, index); }
  Tensor operator[](int64_t index) const { return held()[index]; }
  Tensor expand(const Shape& shape) const { return held().expand(shape); }
  Tensor squeeze(int64_t axis) const { return held().squeeze(axis); }
  Tensor unsqueeze(int64_t axis) const { return held().unsqueeze(axis); }
  Tensor sum(const Axes& axes = {}, Flag keepdim = false) const { return held().sum(axes, keepdim); }
  Tensor mean(const Axes& axes = {}, Flag keepdim = false) const { return held().mean(axes, keepdim); }
  Tensor grad() const = delete;  // write grads[x], with the Gradients of tape.backward(loss)
  Tensor to(DType dtype) const { return held().to(dtype); }
  Tensor detach() const { return held().detach(); }
  Tensor clone() const { return held().clone(); }

  /// x(all, range(1, 3)), as of a tensor (index.h).
  Tensor operator()(const Index& a, const Index& b = Index::absent(), const Index& c = Index::absent(),
                    const Index& d = Index::absent(), const Index& e = Index::absent(),
                    const Index& f = Index::absent(), const Index& g = Index::absent(),
                    const Index& h = Index::absent(), const Index& i = Index::absent(),
                    const Index& j = Index::absent()) const {
    return held()(a, b, c, d, e, f, g, h, i, j);
  }

 private:
  const Tensor& held() const { return static_cast<const Holder&>(*this).tensor(); }
};

}  // namespace tapegrad
