// What `attention` prints, and the headings of its page.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kPlayer[] = {
    {"=== Attention: {} ===\nModel: {}\n{}", "=== 어텐션: {} ===\n모델: {}\n{}"},
    {"Input: {}\nOutput: {}\n", "입력: {}\n출력: {}\n"},
    {"Text: {}\n", "글: {}\n"},
    {"  {:<24} largest weight {:.2f} (mean), on the diagonal {:3.0f} %\n",
     "  {:<24} 가장 큰 가중치 {:.2f} (평균), 대각선 위 {:3.0f} %\n"},
    {"Cross-attention: a row is a token that the decoder has read, a column a token of\nthe source ",
     "크로스 어텐션: 행은 디코더가 읽은 토큰, 열은 소스의 토큰입니다.\n"},
    {"The last layer: a row is a token, a column a position\n", "마지막 층: 행은 토큰, 열은 위치입니다\n"},
    {"Heatmaps of {} heads: {}, {}\n", "헤드 {}개의 히트맵: {}, {}\n"},
    {"Charts of the analysis: {}\n", "분석 차트: {}\n"},
    // the page
    {"{} task: attention", "{} 태스크: 어텐션"},
    {"GPT: attention", "GPT: 어텐션"},
    {"Attention player", "어텐션 재생기"},
    {"The player needs scripts; the maps below do not.",
     "재생기에는 스크립트가 필요하지만, 아래의 지도에는 필요하지 않습니다."},
    {"Input {}, output {}.", "입력 {}, 출력 {}."},
    {"Each row has the attention weights of one token, which add up to 1. Darker (in dark mode: brighter) means more "
     "weight.",
     "각 행은 한 토큰의 어텐션 가중치이고, 더하면 1입니다. 진할수록(어두운 모드에서는 밝을수록) 가중치가 큽니다."},
    {"masked", "마스크됨"},
    {"largest weight {:.2f}, diagonal {:.0f} %", "가장 큰 가중치 {:.2f}, 대각선 {:.0f} %"},
    {"Each row has the attention weights of one token, which add up to 1.",
     "각 행은 한 토큰의 어텐션 가중치이고, 더하면 1입니다."},
    {" The first {} of {} tokens are shown.", " 토큰 {1}개 가운데 처음 {0}개를 그렸습니다."},
    {"read by the decoder", "디코더가 읽은 토큰"},
    {"read by the decoder (key)", "디코더가 읽은 토큰 (키)"},
    {"source (query)", "소스 (쿼리)"},
    {"source (key)", "소스 (키)"},
    {"token (query)", "토큰 (쿼리)"},
    {"position of the key", "키의 위치"},
    // the addition task's columns
    {"carries", "받아올림"},
    {"answer", "답"},
    {"10^{}: {} = {}, write {}, carry 1", "10^{}의 자리: {} = {}. {} 쓰고, 1 받아올림"},
    {"10^{}: {} = {}, no carry", "10^{}의 자리: {} = {}. 받아올림 없음"},
};

}  // namespace

std::span<const Message> player() { return kPlayer; }

}  // namespace tapegrad::tasks::language
