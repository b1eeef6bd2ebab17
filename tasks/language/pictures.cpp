// The verbs of the tutorials, and those that measure.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kPictures[] = {
    {"a tutorial (000 to 004), and a section or cell: 003 8.2.5, 004 31",
     "튜토리얼(000에서 004까지)과 절 또는 셀: 003 8.2.5, 004 31"},
    {"list the pages with this word, Korean or English", "이 단어가 있는 페이지를 한국어와 영어에서 찾습니다"},
    {"language of the pages", "페이지의 언어"},
    {"language of the text", "글의 언어"},
    {"by the locale", "로캘에 따름"},
    {"folder for the page; without a section, for the whole site",
     "페이지를 둘 폴더. 절이 없으면 사이트 전체를 둘 폴더"},
    {"out/tutorial for a page", "페이지는 out/tutorial"},
    {"an exercise, and a C++ file to check: 004-31 mine.cpp", "문제와 채점할 C++ 파일: 004-31 mine.cpp"},
    {"print the file to begin with", "시작할 파일을 출력합니다"},
    {"program that compiles the file", "파일을 컴파일할 프로그램"},
    {"number of tokens, from 1 to 64, of a random example", "무작위 예제의 토큰 수, 1에서 64까지"},
    {"random seed of a random example", "무작위 예제의 난수 시드"},
    {"number of tokens, from 1 to 64, of random sentences", "무작위 문장의 토큰 수, 1에서 64까지"},
    {"random seed of random sentences", "무작위 문장의 난수 시드"},
    {"number of tokens, from 2 to 10, a third of them padding", "토큰 수, 2에서 10까지. 3분의 1이 패딩입니다"},
    {"random seed of queries and keys", "쿼리와 키의 난수 시드"},
    {"number of positions to draw, from 2 to 1000", "그릴 위치의 수, 2에서 1000까지"},
    {"width of the model, a multiple of 4 from 16 to 4096", "모델의 폭, 16에서 4096까지 4의 배수"},
    {"tokens per sequence, from 1 to 32", "시퀀스의 토큰 수, 1에서 32까지"},
    {"features per token, from 2 to 16", "토큰의 특징 수, 2에서 16까지"},
    {"NumPy's random seed of data, scale and shift", "데이터, 배율, 이동을 뽑는 NumPy의 난수 시드"},
    {"time-flies: five words without weights (8.2.1, 8.2.2); journey: six words with random weights, causal mask and "
     "dropout (tutorial 004)",
     "time-flies: 가중치 없는 다섯 단어 (8.2.1, 8.2.2); journey: 무작위 가중치, 인과 마스크, 드롭아웃이 있는 여섯 단어 "
     "(튜토리얼 004)"},
    {"longest input, at least 1024", "가장 긴 입력, 1024 이상"},
    {"width of the layer, a multiple of 64 up to 4096", "층의 폭, 4096 이하인 64의 배수"},
    {"number of tokens, a multiple of 32 from 32 to 16384", "토큰 수, 32에서 16384까지 32의 배수"},
    {"random seed of models and data", "모델과 데이터의 난수 시드"},
    {"seconds of processor time for each form and task, at most 86400",
     "방식과 태스크마다 쓸 프로세서 시간(초), 86400 이하"},
    {"size of a head, from 2 to 256", "헤드의 크기, 2에서 256까지"},
    {"random seed", "난수 시드"},
    {"tokens and gradients after 2 to 24 random layers: Pre-LN, Post-LN, attention alone (8.2.3, 8.4)",
     "무작위 층 2개에서 24개를 지난 토큰과 기울기: Pre-LN, Post-LN, 어텐션만 (8.2.3, 8.4)"},
    {"a small GPT learns to copy: the tokens that each head attends to during training (8.2.4)",
     "작은 GPT가 복사를 배우는 동안 각 헤드가 보는 토큰 (8.2.4)"},
    {"number of symbols, from 4 to 32", "기호의 수. 4부터 32까지"},
    {"random seed of the model and the data", "모델과 데이터의 난수 시드"},
    {"number of tokens, from 2 to 256", "토큰의 수. 2부터 256까지"},
    {"maximum number of tokens of a step, from 128 to 262144", "한 단계의 최대 토큰 수, 128에서 262144까지"},
    {"width of the model, a multiple of 64 up to 4096", "모델의 폭, 4096 이하인 64의 배수"},
    {"folder for the pictures", "그림을 둘 폴더"},
    {"write the pictures, and print no tables", "그림만 쓰고 표는 출력하지 않습니다"},
    {"processor time for training each model, in seconds", "모델마다 학습에 쓸 프로세서 시간(초)"},
    {"print one JSON list", "JSON 목록 하나를 출력합니다"},
    {"addition, parser, or both", "addition, parser, 또는 둘 다"},
    {"positional encodings to compare, separated by commas (default: all but index, which equals none)",
     "비교할 위치 인코딩, 쉼표로 구분 (기본값: none과 같은 index를 뺀 전부)"},
    {"folder for the results and the pictures", "결과와 그림을 둘 폴더"},
    {"check this operation only", "이 연산만 확인합니다"},
    {"check this module only", "이 모듈만 확인합니다"},
    {"digits, or levels of nesting, that the longer tests have in addition",
     "더 긴 시험에 추가되는 자릿수나 중첩 단계의 수"},
    {"folder for the picture", "그림을 둘 폴더"},
    {"runs per positional encoding", "위치 인코딩마다 실행하는 횟수"},
};

}  // namespace

std::span<const Message> pictures() { return kPictures; }

}  // namespace tapegrad::tasks::language
