// The lines that prove a fault on the tutorials' pages.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kProofs[] = {
    {"largest difference of a weight, -1e9 against -inf: {:.0e}\n"
     "                                  -10 against -inf: {:.0e}\n"
     "a row that is masked everywhere, -1e9: {}\n"
     "                                 -inf: {}\n",
     "가중치의 가장 큰 차이, -1e9와 -inf: {:.0e}\n"
     "                        -10과 -inf: {:.0e}\n"
     "모든 키가 가려진 행, -1e9: {}\n"
     "                     -inf: {}\n"},
    {"parameters with the smallest GPT-2's sizes: {}\nwith the output tied to the embedding:     {}\n",
     "가장 작은 GPT-2의 크기일 때 파라미터:       {}\n출력층이 임베딩과 가중치를 함께 쓸 때:      {}\n"},
    {"one layer of attention, no positions:     {:.1e}\n                        with positions:   {:.1e}\n"
     "an encoder of two layers, no positions:   {:.1e}\n                          sinusoidal:     {:.1e}\n"
     "                          learned:        {:.1e}\n",
     "어텐션 한 층, 위치 없음:        {:.1e}\n              위치 있음:        {:.1e}\n"
     "두 층짜리 인코더, 위치 없음:    {:.1e}\n                  사인과 코사인: {:.1e}\n"
     "                  학습한 위치:  {:.1e}\n"},
    {"position  largest error\n", "    위치  가장 큰 오차\n"},
    {"scores of heads of 16 numbers: deviation {:.2f}\n  over sqrt(d_model) = 8:  {:.2f}\n"
     "  over sqrt(head_dim) = 4: {:.2f}\n",
     "차원이 16인 헤드의 점수: 표준편차 {:.2f}\n  sqrt(d_model) = 8로 나누면:  {:.2f}\n"
     "  sqrt(head_dim) = 4로 나누면: {:.2f}\n"},
    {"weight that words give to padding\n  mask [B, 1, S, 1], the tutorial's:  {:.0f} %\n"
     "  mask [B, 1, 1, S]:                  {:.0f} %\n",
     "단어가 패딩에 주는 가중치\n  튜토리얼의 마스크 [B, 1, S, 1]:  {:.0f} %\n"
     "  마스크 [B, 1, 1, S]:             {:.0f} %\n"},
    {"pad_length  masked by mask[i, -pad_length:]\n", "pad_length  mask[i, -pad_length:]이 가리는 토큰\n"},
    {"{:>10}  {} of 10 tokens\n", "{:>10}  토큰 10개 가운데 {}개\n"},
    {"CopyLoss of the numbers as logits:    {:.4f}\nCopyLoss of their logarithms:         {:.4f}\n",
     "수를 로짓으로 볼 때의 CopyLoss:       {:.4f}\n로그를 취한 뒤의 CopyLoss:            {:.4f}\n"},
    {"largest difference of a weight to the figure\n", "그림과 다른 가중치의 가장 큰 차이\n"},
    {"  {}, head {}: {:.2f}\n", "  {}, 헤드 {}: {:.2f}\n"},
    {"words  sum\n", " 단어  합\n"},
    {"p = 0.8: \"not above\" keeps {} words, \"the fewest that reach it\" are {}\n",
     "p = 0.8: \"넘지 않게\" 고르면 단어 {}개, \"이상이 되는 가장 적은\" 단어는 {}개\n"},
    {"queries x  rank of 64  values that hold 90 % of the squares\n",
     " 쿼리의 배  64 중 랭크  제곱합의 90 %를 차지하는 특잇값의 수\n"},
    {"largest difference of a score after moving by 1000 positions: {:.0e}\n",
     "위치를 1000만큼 옮겼을 때 점수의 가장 큰 차이: {:.0e}\n"},
    {"softmax, T = {:<3} entropy {:.3f}\n", "소프트맥스, T = {:<3} 엔트로피 {:.3f}\n"},
    {"uniform          entropy {:.3f}\n", "균등 분포           엔트로피 {:.3f}\n"},
    {"each token attends to itself:  {:.2f}\nall tokens attend to all:      {:.2f}\n",
     "토큰마다 자신만 볼 때:          {:.2f}\n모든 토큰이 모두를 볼 때:       {:.2f}\n"},
    {"largest difference of a weight: {:.1e}\n", "가중치의 가장 큰 차이: {:.1e}\n"},
    {"sin(t / {:>3}): wavelength {:.1f}\n", "sin(t / {:>3}): 파장 {:.1f}\n"},
    {"i = 255 of d_model 512: wavelength {:.0f}\n", "d_model 512의 i = 255: 파장 {:.0f}\n"},
    {"AdditionLoss of the numbers as logits: {:.4f}\nAdditionLoss of their logarithms:      {:.4f}\n",
     "수를 로짓으로 볼 때의 AdditionLoss:    {:.4f}\n로그를 취한 뒤의 AdditionLoss:         {:.4f}\n"},
    {"printed by the tutorial    what its tokens mean\n", "튜토리얼의 출력            그 토큰들의 실제 뜻\n"},
    {"digits that are 0, and so hidden:      {:.1f} %\nproblems with at least one such digit: {:.1f} %\n",
     "0이어서 가려지는 숫자:              {:.1f} %\n그런 숫자가 하나라도 있는 문제:     {:.1f} %\n"},
    {"loss of the numbers as logits: {:.4f}\nloss of their logarithms:      {:.4f}\n",
     "수를 로짓으로 볼 때의 손실:    {:.4f}\n로그를 취한 뒤의 손실:         {:.4f}\n"},
    {"largest |q k^T - (k q^T)^T|: {:.1e}\nlargest |softmax(q k^T) - softmax(k q^T)|: {:.2f}\n",
     "|q k^T - (k q^T)^T|의 최댓값: {:.1e}\n|softmax(q k^T) - softmax(k q^T)|의 최댓값: {:.2f}\n"},
    {"rate   1 / rate   1 / (1 - rate)   kept ones become\n", "비율   1 / 비율   1 / (1 - 비율)   지워지지 않은 값\n"},
    {"scores            smallest row sum  largest difference\n"
     "of the tutorial   {:<16.4f}  {:.0e}\n[0, 200] twice    {:<16.4f}  {:.0f}\n",
     "점수              행의 합의 최솟값  가장 큰 차이\n"
     "튜토리얼의 점수   {:<16.4f}  {:.0e}\n[0, 200] 두 행    {:<16.4f}  {:.0f}\n"},
    {"largest change of the first 4 contexts: {:.0e}\n", "처음 4개 문맥 벡터의 가장 큰 변화: {:.0e}\n"},
    {"largest weight of Linear(300, 200): {:.4f}\n1 / sqrt(300):                    {:.4f}\n"
     "Xavier, sqrt(6 / (300 + 200)):    {:.4f}\n",
     "Linear(300, 200)의 가장 큰 가중치: {:.4f}\n1 / sqrt(300):                     {:.4f}\n"
     "Xavier, sqrt(6 / (300 + 200)):     {:.4f}\n"},
    {"word    comment  weight\nYour     0.1386  {:.4f}\nstarts   0.2331  {:.4f}\nwith     0.1237  {:.4f}\n",
     "단어       주석  가중치\nYour     0.1386  {:.4f}\nstarts   0.2331  {:.4f}\nwith     0.1237  {:.4f}\n"},
};

}  // namespace

std::span<const Message> proofs() { return kProofs; }

}  // namespace tapegrad::tasks::language
