// Tutorial 001, section 2.1: sinusoidal positions.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/nn/sinusoidal_positions.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k001_2_1{
    .id = "001-2.1",
    .title = {"사인과 코사인으로 위치 인코딩 만들기", "Positions as sines and cosines"},
    .task = {"길이 length, 차원 dim인 위치 인코딩을 만드십시오. 위치 t, 차원 2i의 값은 sin(t / "
             "10000^(2i/dim))이고 차원 2i+1의 값은 같은 각의 코사인입니다. sinusoidal_table은 쓰지 마십시오. 두 "
             "차원이 같은 각을 쓰는 점에 주의하십시오.",
             "Make the positional encoding of `length` positions in `dim` dimensions. At position t, dimension "
             "2i is sin(t / 10000^(2i/dim)), and dimension 2i+1 is the cosine of the same angle. Do not call "
             "sinusoidal_table. Mind that both dimensions of a pair have the same angle."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// -> [length, dim]; dim is even
inline tapegrad::Tensor positions(int64_t length, int64_t dim) {
  return tapegrad::zeros({length, dim});  // your code
}
)~",
    .given = [] { return NamedTensors{}; },
    .check = R"~(  answer("positions", positions(6, 8));
  answer("one position", positions(1, 2));)~",
    .expected =
        [] {
          return NamedTensors{{"positions", nn::sinusoidal_table(6, 8)}, {"one position", nn::sinusoidal_table(1, 2)}};
        },
};

}  // namespace tapegrad::tasks::exercises
