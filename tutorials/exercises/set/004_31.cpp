// Tutorial 004, cells 30 and 31: a mask after the softmax.
#include <tapegrad/autograd/ops.h>
#include <tapegrad/tutorials/exercises/exercises.h>

namespace tapegrad::tasks::exercises {

const Exercise k004_31{
    .id = "004-31",
    .title = {"소프트맥스 뒤의 마스크와 재정규화", "A mask after the softmax, and renormalisation"},
    .task = {"마스크 없이 계산한 어텐션 가중치에서 미래(대각선 위)의 가중치를 0으로 만들고, 각 행의 합이 다시 "
             "1이 되도록 나누십시오. 결과는 소프트맥스 앞에서 음의 무한대로 가린 33번 셀의 가중치와 같아야 "
             "합니다. 채점에는 28번 셀의 가중치를 씁니다.",
             "Take attention weights that were computed without a mask, set those of the future (above the "
             "diagonal) to 0, and divide each row so that it sums to 1 again. The result must equal the weights "
             "of cell 33, whose scores are set to minus infinity before the softmax. The check uses the weights "
             "of cell 28."},
    .skeleton = R"~(#include <tapegrad/tapegrad.h>

// weights [T, T], each row sums to 1 -> [T, T], causal, each row sums to 1
inline tapegrad::Tensor masked_and_renormalised(const tapegrad::Tensor& weights) {
  return weights;  // your code
}
)~",
    .given =
        [] {
          return NamedTensors{{"weights", tensor({{0.1921, 0.1646, 0.1652, 0.1550, 0.1721, 0.1510},
                                                  {0.2041, 0.1659, 0.1662, 0.1496, 0.1665, 0.1477},
                                                  {0.2036, 0.1659, 0.1662, 0.1498, 0.1664, 0.1480},
                                                  {0.1869, 0.1667, 0.1668, 0.1571, 0.1661, 0.1564},
                                                  {0.1830, 0.1669, 0.1670, 0.1588, 0.1658, 0.1585},
                                                  {0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529}})}};
        },
    .check = R"~(  answer("weights", masked_and_renormalised(given("weights")));)~",
    .expected =
        [] {
          return NamedTensors{{"weights", tensor({{1.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000},
                                                  {0.5517, 0.4483, 0.0000, 0.0000, 0.0000, 0.0000},
                                                  {0.3800, 0.3097, 0.3103, 0.0000, 0.0000, 0.0000},
                                                  {0.2758, 0.2460, 0.2462, 0.2319, 0.0000, 0.0000},
                                                  {0.2175, 0.1983, 0.1984, 0.1888, 0.1971, 0.0000},
                                                  {0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529}})}};
        },
    .tolerance = 1.5e-4,
};

}  // namespace tapegrad::tasks::exercises
