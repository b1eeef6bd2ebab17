// The names of heads, and what `attention --analyze` says about them.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kAnalysis[] = {
    {"encoder", "인코더"},
    {"decoder", "디코더"},
    {"cross", "크로스"},
    {"layer {}", "층 {}"},
    {"layer {}, head {}", "층 {}, 헤드 {}"},
    {"{} layer {}, head {}", "{} 층 {}, 헤드 {}"},
    // the table
    {"Analysis of the heads", "헤드 분석"},
    {"                              n  rank   0.9  tenth entropy  info   low  |i-j|\n",
     "                              n  랭크   0.9  앞10 엔트로피 정보 저주파   거리\n"},
    {"\nn: number of queries or of keys, whichever is smaller. rank: effective rank.\n"
     "0.9: number of singular values that hold 0.9 of the sum of squares.\n"
     "tenth: share of this sum in the first n / 10 of them. entropy: mean entropy of\n"
     "a row; info: mutual information of query and key position; both in nats.\n"
     "low: share of the spectrum up to a quarter of the highest frequency.\n"
     "|i-j|: mean distance between query and key in tokens.\n\n"
     "Claims of tutorial 003, section 8.2.3, and results for this model:\n",
     "\nn: 쿼리의 수와 키의 수 가운데 작은 쪽입니다. 랭크: 유효 랭크입니다.\n"
     "0.9: 제곱합의 0.9를 차지하는 데 필요한 특잇값의 수입니다.\n"
     "앞10: 이 제곱합에서 처음 n / 10개의 특잇값이 차지하는 비율입니다.\n"
     "엔트로피: 한 행의 평균 엔트로피입니다. 정보: 쿼리의 위치와 키의 위치 사이의\n"
     "상호 정보량입니다. 단위는 둘 다 냇(nat)입니다.\n"
     "저주파: 스펙트럼에서 가장 높은 주파수의 4분의 1까지가 차지하는 비율입니다.\n"
     "거리: 쿼리와 키 사이의 평균 거리 |i-j|이고, 단위는 토큰입니다.\n\n"
     "튜토리얼 003, 8.2.3절의 주장과 이 모델의 결과:\n"},
    // the claims
    {"{} to {}", "{}~{}"},
    {"holds for every head", "모든 헤드에서 성립합니다"},
    {"holds for no head", "어느 헤드에서도 성립하지 않습니다"},
    {"holds for {} of {} heads", "헤드 {1}개 가운데 {0}개에서 성립합니다"},
    {"effective rank / n: {}; rank up to rounding / n: {}", "유효 랭크 / n: {}. 반올림 오차를 고려한 랭크 / n: {}"},
    {"a few singular values explain 0.9", "특잇값 몇 개로 0.9를 설명할 수 있다"},
    {"the first tenth holds {} of the sum of squares; 0.9 of it takes {} of {} values",
     "처음 10분의 1이 제곱합에서 차지하는 비율 {}. 0.9를 차지하는 데 필요한 특잇값 {}개, 모두 {}개"},
    {"low frequencies hold over 80 %", "저주파가 80 %를 넘게 차지한다"},
    {"{} of the spectrum; a flat one would have {}", "스펙트럼의 {}. 스펙트럼이 평평하다면 {}"},
    {"attention lowers an energy (Hopfield)", "어텐션은 에너지를 낮춘다 (홉필드)"},
    {"the energy falls for a share of {} of the queries at each of {} updates",
     "갱신할 때마다 에너지가 줄어드는 쿼리의 비율 {}, 갱신 {}번"},
    {"the distance to the fixed point falls (Lyapunov)", "고정점까지의 거리가 줄어든다 (랴푸노프)"},
    {"for a share of {} of the queries; the last update moves them by {}",
     "줄어드는 쿼리의 비율 {}. 마지막 갱신에서 움직인 거리 {}"},
    {"attention finds the keys near the query", "어텐션은 쿼리에 가까운 키를 찾는다"},
    {"mean |q - k| of attended pairs / of all pairs: {}", "어텐션이 향하는 쌍의 평균 |q - k| / 모든 쌍의 평균: {}"},
    // the page
    {"Claims of tutorial 003 about attention matrices (section 8.2.3, deep dive), and results for the heads of this "
     "model on this example.",
     "튜토리얼 003의 심층 분석(8.2.3절)이 어텐션 행렬에 대해 주장하는 것과, 이 예제에서 이 모델의 헤드를 잰 "
     "결과입니다."},
    {"the tutorial", "튜토리얼"},
    {"this model", "이 모델"},
    {"head", "헤드"},
    {"effective rank", "유효 랭크"},
    {"values for 0.9", "0.9까지의 특잇값"},
    {"first tenth", "처음 10분의 1"},
    {"entropy (nats)", "엔트로피 (nat)"},
    {"information (nats)", "정보량 (nat)"},
    {"low frequencies", "저주파"},
    {"|q - k| attended, all", "|q - k|: 향하는 쌍, 모든 쌍"},
    {"energy, first and last", "에너지: 처음, 마지막"},
    // the charts
    {"heads", "헤드"},
    {"claim", "주장"},
    {"mean of the heads; pale: one head", "헤드의 평균. 옅은 선: 헤드 하나"},
    {"Share of the squared singular values", "특잇값 제곱의 누적 비율"},
    {"number of singular values", "특잇값의 수"},
    {"Energy of the Hopfield update, minus the energy of the query", "홉필드 갱신의 에너지에서 쿼리의 에너지를 뺀 값"},
    {"updates", "갱신"},
    {"Effective rank / n", "유효 랭크 / n"},
    {"Low frequencies", "저주파"},
    {"Entropy of a row / entropy of uniform weights", "한 행의 엔트로피 / 균등한 가중치의 엔트로피"},
    {"Mutual information of query and key position", "쿼리의 위치와 키의 위치의 상호 정보량"},
    {"nats", "nat"},
};

}  // namespace

std::span<const Message> analysis() { return kAnalysis; }

}  // namespace tapegrad::tasks::language
