// The verbs that use a trained model.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kTrained[] = {
    {"model.safetensors of a run, or its folder", "실행의 model.safetensors 또는 그 폴더"},
    {"the last run's", "마지막 실행의 것"},
    {"the run's", "그 실행의 값"},
    {"the run's data", "그 실행의 데이터"},
    {"number of new examples to test", "시험할 새 예제의 수"},
    {"random seed of these examples", "예제를 뽑는 난수 시드"},
    {"the run's seed + 1", "그 실행의 시드 + 1"},
    {"minimum exact-match rate; below it the exit status is 1",
     "완전 일치율의 최솟값. 이보다 낮으면 종료 상태가 1입니다"},
    {"the task's", "태스크의 값"},
    {"use this example", "이 예제를 씁니다"},
    {"draw the answer to --expression into this .svg or .html file",
     "--expression의 답을 이 .svg 또는 .html 파일에 그립니다"},
    {"draw an example with this random seed", "이 난수 시드로 예제를 뽑습니다"},
    {"the tutorial's example", "튜토리얼의 예제"},
    {"number of random examples", "무작위 예제의 수"},
    {"the tutorial's three", "튜토리얼의 예제 3개"},
    {"random seed of the example", "예제의 난수 시드"},
    {"beam-search width; 1: no beam search", "빔 서치의 폭. 1: 빔 서치를 하지 않음"},
    {"beam-search width; 1: greedy decoding", "빔 서치의 폭. 1: 탐욕적 디코딩"},
    {"beam search divides log-probabilities by ((5 + length) / 6)^A; larger values favour longer texts",
     "빔 서치가 로그 확률을 ((5 + length) / 6)^A로 나눕니다. 클수록 긴 글을 더 고릅니다"},
    {"folder for attention.svg and attention.html", "attention.svg와 attention.html을 둘 폴더"},
    {"the model's", "모델의 폴더"},
    {"write the files, and draw nothing in the terminal", "파일만 쓰고 터미널에는 그리지 않습니다"},
    {"also compute singular values, entropy, frequencies and energy of every head, and check the tutorial's claims",
     "모든 헤드의 특잇값, 엔트로피, 주파수, 에너지도 계산하여 튜토리얼의 주장을 확인합니다"},
    {"print the figures of --analyze as one JSON object", "--analyze의 수치를 JSON 객체 하나로 출력합니다"},
    {"print one JSON object", "JSON 객체 하나를 출력합니다"},
    {"part of the data to test on", "시험할 데이터의 부분"},
    {"test on the first N examples; 0: all", "처음 N개의 예제로 시험합니다. 0: 전부"},
    {"draw the confusion matrix into this .svg file", "혼동 행렬을 이 .svg 파일에 그립니다"},
    {"number of tokens to generate", "생성할 토큰 수"},
    {"0 takes the most likely token; larger values sample",
     "0이면 가장 확률이 높은 토큰을 고르고, 더 크면 확률에 따라 뽑습니다"},
    {"sample from the K most likely tokens only; 0: from all", "확률이 높은 토큰 K개에서만 뽑습니다. 0: 모두에서"},
    {"sample from the smallest set of tokens whose probability reaches P",
     "확률의 합이 P에 이르는 가장 작은 토큰 집합에서 뽑습니다"},
    {"folder of an adapter (PEFT's LoRA) for the model", "모델에 쓰는 어댑터(PEFT의 LoRA)의 폴더"},
    {"model.safetensors of a run, its folder, or a folder of Hugging Face's GPT-2 or Llama",
     "실행의 model.safetensors, 그 폴더, 또는 Hugging Face의 GPT-2나 Llama 폴더"},
    {"text file with one prompt per line; all of them are continued together",
     "한 줄에 프롬프트 하나가 있는 파일. 모두 함께 이어 씁니다"},
    {"print token ids instead of text", "글 대신 토큰 번호를 출력합니다"},
    {"number of continuations to draw for each prompt; more than one needs a --temperature above 0",
     "프롬프트마다 이어 쓸 글의 수. 둘 이상이면 --temperature가 0보다 커야 합니다"},
    {"stop after the token that completes this text", "이 글이 완성되는 토큰 뒤에 멈춥니다"},
    {"random seed of the samples", "표본의 난수 시드"},
    {"number of tokens to generate greedily and to include", "탐욕적으로 생성하여 포함할 토큰의 수"},
    {"text or token file to test on", "시험할 글 또는 토큰 파일"},
    {"test on the first N tokens only", "처음 N개의 토큰으로만 시험합니다"},
    {"all", "전부"},
    {"a run's folder or model, or a folder of Hugging Face's", "실행의 폴더나 모델, 또는 Hugging Face의 폴더"},
    {"system message, which precedes the conversation", "대화에 앞서는 시스템 메시지"},
    {"form of the conversation: plain, chatml, llama2, llama3, zephyr, or a text with {message} and {answer}",
     "대화의 형식: plain, chatml, llama2, llama3, zephyr, 또는 {message}와 {answer}가 있는 글"},
    {"that of the model's folder, or plain", "모델 폴더의 형식, 없으면 plain"},
    {"longest answer", "답의 최대 길이"},
    {"random seed of the answers", "답의 난수 시드"},
};

}  // namespace

std::span<const Message> trained() { return kTrained; }

}  // namespace tapegrad::tasks::language
