// What `explain` says about the tasks, and about one training step.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kExplained[] = {
    // copy
    {"=== Copy task: the data ===\nSequence length: {}\n\n", "=== 복사 태스크: 데이터 ===\n시퀀스 길이: {}\n\n"},
    {"1. Input sequence\n   Tensor shape: [1, {}]\n   Input sequence: {}\n\n",
     "1. 입력 시퀀스\n   텐서의 모양: [1, {}]\n   입력 시퀀스: {}\n\n"},
    {"2. Target sequence\n   Tensor shape: [1, {}]\n   Target sequence: {}\n\n",
     "2. 목표 시퀀스\n   텐서의 모양: [1, {}]\n   목표 시퀀스: {}\n\n"},
    {"3. Task\n"
     "   - Repeat the input, token by token: the simplest use of encoder and decoder.\n"
     "   - Each token is an integer from 1 to {} (0 is padding and the start token).\n"
     "   - Input and output have the same length.\n"
     "   - This example: {} -> {}\n\n",
     "3. 태스크\n"
     "   - 입력을 토큰 하나씩 그대로 되풀이합니다. 인코더와 디코더의 가장 단순한\n"
     "     쓰임새입니다.\n"
     "   - 토큰은 1에서 {}까지의 정수입니다 (0은 패딩이자 시작 토큰입니다).\n"
     "   - 입력과 출력의 길이가 같습니다.\n"
     "   - 이 예: {} -> {}\n\n"},
    {"=== Masks ===\n"
     "Decoder input, a 0 and then the target without its last token: {}\n"
     "Padding mask of the source (token != 0; 1: visible): {}\n"
     "   All sequences have the same length, so nothing is masked.\n"
     "Causal mask of the decoder (row t attends to tokens 0 to t):\n",
     "=== 마스크 ===\n"
     "디코더의 입력, 0 다음에 마지막 토큰을 뺀 목표: {}\n"
     "소스의 패딩 마스크 (token != 0, 1: 보임): {}\n"
     "   모든 시퀀스의 길이가 같으므로 아무것도 가리지 않습니다.\n"
     "디코더의 인과 마스크 (행 t는 토큰 0에서 t까지 봅니다):\n"},
    {"=== Loss, by hand (batch 2, length 3, vocabulary 5) ===\n1. Predicted probabilities\n",
     "=== 손으로 구하는 손실 (배치 2, 길이 3, 어휘 5) ===\n1. 예측한 확률\n"},
    {"2. Target: [[0, 1, 2], [0, 1, 2]], one-hot:\n   [[1,0,0,0,0], [0,1,0,0,0], [0,0,1,0,0]], twice\n",
     "2. 목표: [[0, 1, 2], [0, 1, 2]], 원핫:\n   [[1,0,0,0,0], [0,1,0,0,0], [0,0,1,0,0]], 두 번\n"},
    {"3. Most likely tokens: {} and {}\n   Exact match: [True, True]; accuracy {:.1f}\n"
     "4. Loss: the sum of -log(p of the target token), divided by the batch size\n   1/2 * (",
     "3. 가장 가능성이 높은 토큰: {}, {}\n   완전 일치: [True, True]; 정확도 {:.1f}\n"
     "4. 손실: -log(목표 토큰의 p)의 합을 배치 크기로 나눈 것\n   1/2 * ("},
    {"   = -1/2 * (log(0.9) + log(0.8) + log(0.9) + log(0.8) + log(0.7) + log(0.8))\n"
     "   Accuracy is exact match: one wrong token makes a sequence wrong.\n",
     "   = -1/2 * (log(0.9) + log(0.8) + log(0.9) + log(0.8) + log(0.7) + log(0.8))\n"
     "   정확도는 완전 일치입니다: 토큰 하나만 틀려도 시퀀스가 틀린 것입니다.\n"},
    // addition
    {"=== Addition task: the data ===\nMaximum digits: {}\n\n", "=== 덧셈 태스크: 데이터 ===\n최대 자릿수: {}\n\n"},
    {"1. Input sequence\n   Tensor shape: [1, {}]\n   First number: {} (indices {})\n"
     "   Plus sign: '+' (index {})\n   Second number: {} (indices {})\n   Full input: {}\n\n",
     "1. 입력 시퀀스\n   텐서의 모양: [1, {}]\n   첫째 수: {} (인덱스 {})\n"
     "   더하기 기호: '+' (인덱스 {})\n   둘째 수: {} (인덱스 {})\n   전체 입력: {}\n\n"},
    {"2. Target sequence\n   Tensor shape: [1, {}]\n   Actual sum: {}\n   Target sequence: {}\n\n",
     "2. 목표 시퀀스\n   텐서의 모양: [1, {}]\n   실제 합: {}\n   목표 시퀀스: {}\n\n"},
    {"3. Numbers as tokens\n"
     "   Each digit is its own token and 10 is the plus sign: 11 tokens. Leading zeros\n"
     "   make all numbers equally long; with three digits:\n"
     "      7 -> \"007\" -> [0, 0, 7]\n     25 -> \"025\" -> [0, 2, 5]\n    348 -> \"348\" -> [3, 4, 8]\n"
     "   Both numbers are sampled from 0 to {}, so the sum has at most {} digits.\n"
     "   The answer starts with its highest digit. Each digit may depend on a carry\n"
     "   from lower digits, which the decoder has not written yet.\n\n",
     "3. 수를 토큰으로\n"
     "   숫자마다 토큰이 하나이고 10은 더하기 기호입니다: 토큰 11개. 앞에 0을 붙여\n"
     "   모든 수의 길이를 같게 합니다. 세 자리라면:\n"
     "      7 -> \"007\" -> [0, 0, 7]\n     25 -> \"025\" -> [0, 2, 5]\n    348 -> \"348\" -> [3, 4, 8]\n"
     "   두 수를 0에서 {}까지 뽑으므로 합은 {}자리를 넘지 않습니다.\n"
     "   답은 가장 높은 자리부터 씁니다. 각 자리는 아래 자리의 받아올림에 따라 달라질\n"
     "   수 있는데, 디코더는 아래 자리를 아직 쓰지 않았습니다.\n\n"},
    {"=== Masks ===\n"
     "Decoder input, a 0 and then the target without its last token: {}\n"
     "Mask of the source (1: visible): {}\n"
     "   All numbers are equally long: there is no padding, and nothing is masked.\n"
     "   The tutorial's mask (token != 0, --tutorial-masks): {}\n"
     "   It treats every digit 0 as padding: the model has to infer zeros from the\n"
     "   other positions. Example: 310 + 98 is [3, 1, 0, 10, 0, 9, 8] with the mask\n"
     "   [1, 1, 0, 1, 0, 1, 1].\n"
     "Causal mask of the decoder (row t attends to tokens 0 to t):\n",
     "=== 마스크 ===\n"
     "디코더의 입력, 0 다음에 마지막 토큰을 뺀 목표: {}\n"
     "소스의 마스크 (1: 보임): {}\n"
     "   모든 수의 길이가 같아 패딩이 없으므로 아무것도 가리지 않습니다.\n"
     "   튜토리얼의 마스크 (token != 0, --tutorial-masks): {}\n"
     "   숫자 0을 모두 패딩으로 다룹니다: 모델은 다른 위치에서 0을 짐작해야 합니다.\n"
     "   예: 310 + 98은 [3, 1, 0, 10, 0, 9, 8]이고 그 마스크는\n"
     "   [1, 1, 0, 1, 0, 1, 1]입니다.\n"
     "디코더의 인과 마스크 (행 t는 토큰 0에서 t까지 봅니다):\n"},
    {"=== Loss, by hand (one answer of three digits) ===\n1. Predicted probabilities of 0 ... 9\n",
     "=== 손으로 구하는 손실 (세 자리 답 하나) ===\n1. 예측한 확률, 0 ... 9\n"},
    {"2. Target: {}, the answer 120; one-hot:\n", "2. 목표: {}, 곧 답 120. 원핫:\n"},
    {"3. Most likely digits: {}; exact match: {}; accuracy {:.1f}\n"
     "4. Loss: the sum of -log(p of the target digit), divided by the batch size\n   ",
     "3. 가장 가능성이 높은 숫자: {}; 완전 일치: {}; 정확도 {:.1f}\n"
     "4. 손실: -log(목표 숫자의 p)의 합을 배치 크기로 나눈 것\n   "},
    {" = {:.3f}\n   Accuracy is exact match: one wrong digit makes an answer wrong.\n",
     " = {:.3f}\n   정확도는 완전 일치입니다: 숫자 하나만 틀려도 답이 틀린 것입니다.\n"},
    // parser
    {"=== Parser task: the data ===\nMax tokens: {}\n\n", "=== 파서 태스크: 데이터 ===\n최대 토큰 수: {}\n\n"},
    {"1. Input sequence\n   Tensor shape: [1, {}]\n   Expression: {}\n   Tokenised input: {}\n\n"
     "2. Target sequence\n   Tensor shape: [1, {}]\n   Parse tree: {}\n   Tokenised output: {}\n\n",
     "1. 입력 시퀀스\n   텐서의 모양: [1, {}]\n   수식: {}\n   토큰으로 나타낸 입력: {}\n\n"
     "2. 목표 시퀀스\n   텐서의 모양: [1, {}]\n   파스 트리: {}\n   토큰으로 나타낸 출력: {}\n\n"},
    {"   (The tutorial prints these tokens as x = 4 + 9: it decodes each digit one too\n"
     "   high. In tapegrad, token 14 + d is the digit d in both directions.)\n\n",
     "   (튜토리얼은 이 토큰들을 x = 4 + 9로 출력합니다. 숫자를 하나씩 크게 디코딩하기\n"
     "   때문입니다. tapegrad에서는 양쪽 방향 모두 토큰 14 + d가 숫자 d입니다.)\n\n"},
    {"3. Tokens\n"
     "   0 padding, start token   1 =   2 to 5 + - * /   6 ASSIGN\n"
     "   7 to 10 ADD SUB MUL DIV   11 to 13 x y z   14 to 23 the digits 0 to 9\n"
     "   24 unused   25, 26 ( )   27, 28 [ ]\n\n"
     "4. The tree\n",
     "3. 토큰\n"
     "   0 패딩, 시작 토큰   1 =   2-5 + - * /   6 ASSIGN\n"
     "   7-10 ADD SUB MUL DIV   11-13 x y z   14-23 숫자 0-9\n"
     "   24 쓰지 않음   25, 26 ( )   27, 28 [ ]\n\n"
     "4. 트리\n"},
    {"=== {} parsing example ===\n\n", "=== 파싱 예 {}개 ===\n\n"},
    {"=== {} parsing examples ===\n\n", "=== 파싱 예 {}개 ===\n\n"},
    {"Example {}:\n   Generated expression: {}\n   Parse tree: {}\n   Expression tokens: {}\n   Tree tokens: {}\n",
     "예 {}:\n   생성한 수식: {}\n   파스 트리: {}\n   수식의 토큰: {}\n   트리의 토큰: {}\n"},
    {"   Padded expression tokens: {}\n   Padded tree tokens: {}\n\n",
     "   패딩한 수식의 토큰: {}\n   패딩한 트리의 토큰: {}\n\n"},
    {"=== Masks ===\n"
     "Decoder input, a 0 and then the target without its last token: {}\n"
     "Padding mask of the source (token != 0; 1: visible): {}\n"
     "   The tutorial's expressions are equally long. Nested ones are padded to the\n"
     "   longest of their batch; padding is masked and does not count in the loss.\n"
     "Causal mask of the decoder (row t attends to tokens 0 to t):\n",
     "=== 마스크 ===\n"
     "디코더의 입력, 0 다음에 마지막 토큰을 뺀 목표: {}\n"
     "소스의 패딩 마스크 (token != 0, 1: 보임): {}\n"
     "   튜토리얼의 수식은 길이가 같습니다. 중첩된 수식은 배치에서 가장 긴 것에 맞추어\n"
     "   패딩하며, 패딩은 가려지고 손실에 들어가지 않습니다.\n"
     "디코더의 인과 마스크 (행 t는 토큰 0에서 t까지 봅니다):\n"},
    {"=== Loss, by hand (batch 2, length 4, vocabulary 5) ===\n"
     "The tokens here: 0 is =, 1 is x, 2 is +, 3 is 1, 4 is 2\n"
     "1. Predicted probabilities\n",
     "=== 손으로 구하는 손실 (배치 2, 길이 4, 어휘 5) ===\n"
     "여기의 토큰: 0은 =, 1은 x, 2는 +, 3은 1, 4는 2\n"
     "1. 예측한 확률\n"},
    {"2. Target: {} and {}, one-hot:\n", "2. 목표: {}, {}, 원핫:\n"},
    {"3. Loss: the sum of -log(probability of the target), divided by the batch size\n",
     "3. 손실: -log(목표의 확률)의 합을 배치 크기로 나눈 것\n"},
    {"   sequence {}: ", "   시퀀스 {}: "},
    {"   mean of both: {:.3f}\n", "   둘의 평균: {:.3f}\n"},
    {"4. Most likely tokens: {} and {}\n"
     "   exact match: [{}, {}]; accuracy {:.1f}\n"
     "   Accuracy is exact match: one wrong token makes a tree wrong.\n",
     "4. 가장 가능성이 높은 토큰: {}, {}\n"
     "   완전 일치: [{}, {}]; 정확도 {:.1f}\n"
     "   정확도는 완전 일치입니다: 토큰 하나만 틀려도 트리가 틀린 것입니다.\n"},
    // step
    {"=== One training step: {} ===\nExample: {}\n{} operations; loss {:.6f}, after one update {:.6f}\n"
     "Page: {} ({:.1f} MB)\n",
     "=== 학습 한 단계: {} ===\n예: {}\n연산 {}개. 손실 {:.6f}, 한 번 갱신한 뒤 {:.6f}\n"
     "페이지: {} ({:.1f} MB)\n"},
};

}  // namespace

std::span<const Message> explained() { return kExplained; }

}  // namespace tapegrad::tasks::language
