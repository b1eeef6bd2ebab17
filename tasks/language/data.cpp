// Texts, tokenizers, and the verbs that make them.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kData[] = {
    {"tokens per sequence", "시퀀스의 토큰 수"},
    {"digits of each operand, and of the answer", "피연산자와 답의 자릿수"},
    {"seed of NumPy's random numbers, which make the expressions", "수식을 뽑는 NumPy 난수열의 시드"},
    {"the value of --seed", "--seed의 값"},
    {"pad expressions and trees to N tokens; expressions of depth 1 have 5, as in the tutorial",
     "수식과 트리를 N개의 토큰까지 패딩합니다. 튜토리얼처럼 깊이가 1이면 5개입니다"},
    {"the longest of a batch", "배치에서 가장 긴 것"},
    {"folder with tokenizer.json, or vocab.json and merges.txt, or encoder.json and vocab.bpe",
     "tokenizer.json, 또는 vocab.json과 merges.txt, 또는 encoder.json과 vocab.bpe가 있는 폴더"},
    {"read token ids, print their text", "토큰 번호를 읽어 글로 출력합니다"},
    {"read this file", "이 파일을 읽습니다"},
    {"standard input", "표준 입력"},
    {"write the token ids of --text into this token file", "--text의 토큰 번호를 이 토큰 파일에 씁니다"},
    {"check that the ids of a token file match the checksum in its header",
     "토큰 파일의 번호가 머리에 적힌 체크섬과 맞는지 확인합니다"},
    {"train a new tokenizer on the text: bpe has byte pairs, char one token per character",
     "글로 새 토크나이저를 학습합니다. bpe는 바이트 쌍, char는 글자마다 토큰 하나입니다"},
    {"number of tokens of a bpe tokenizer", "bpe 토크나이저의 토큰 수"},
    {"train bpe on a random sample of --text", "--text의 무작위 표본으로 bpe를 학습합니다"},
    {"all of it", "전부"},
    {"seed of that sample", "그 표본의 시드"},
    {"folder for the new tokenizer.json", "새 tokenizer.json을 둘 폴더"},
    {"folder written by 'tapegrad data' (default: 200 synthetic records)",
     "'tapegrad data'가 만든 폴더 (기본값: 합성 레코드 200개)"},
    {"folder written by 'tapegrad data'", "'tapegrad data'가 만든 폴더"},
    {"200 synthetic records", "합성 레코드 200개"},
    {"folder for the datasets", "데이터셋을 둘 폴더"},
    {"size of the model's vocabulary, at least the tokenizer's",
     "모델의 어휘 크기. 토크나이저의 어휘보다 작을 수 없습니다"},
    {"the tokenizer's", "토크나이저의 크기"},
    {"text or token file to train on (default: sums in words, generated here), or several token files, each with the "
     "number of times that its windows occur in an epoch: a.tokens:2,b.tokens:0.5",
     "학습할 글 또는 토큰 파일 (기본값: 여기서 만드는, 말로 쓴 덧셈). 여러 토큰 파일에는 한 에포크에 그 구간이 나오는 "
     "횟수를 붙입니다: a.tokens:2,b.tokens:0.5"},
    {"folder of a byte-pair vocabulary, or char: one token per character of the text",
     "바이트 쌍 어휘의 폴더, 또는 char: 글자마다 토큰 하나"},
    {"tokens per window of the text", "글을 나누는 구간의 토큰 수"},
    {"the value of --context-length", "--context-length의 값"},
    {"tokens from the start of one window to the next", "한 구간의 시작에서 다음 구간의 시작까지의 토큰 수"},
    {"the value of --seq-length", "--seq-length의 값"},
    {"random order of the windows in an epoch: pytorch, the order of PyTorch's DataLoader, a list in memory; or "
     "permutation, which is computed and takes no memory; auto: pytorch for one text, permutation for several",
     "한 에포크에서 구간의 무작위 순서: pytorch는 PyTorch의 DataLoader와 같고 목록을 메모리에 둡니다. permutation은 "
     "계산하므로 메모리를 쓰지 않습니다. auto는 글이 하나면 pytorch, 여럿이면 permutation입니다"},
    {"start from this model: a Hugging Face folder with GPT-2 or Llama, or a run's folder or model",
     "이 모델에서 시작합니다: Hugging Face의 GPT-2나 Llama 폴더, 또는 실행의 폴더나 모델"},
    {"folder of an adapter in PEFT's format, merged into the weights of --from before training",
     "PEFT 형식 어댑터의 폴더. 학습 전에 --from의 가중치에 합칩니다"},
    {"freeze the parameters whose names match this pattern; may be repeated",
     "이름이 이 패턴에 맞는 파라미터를 고정합니다. 여러 번 쓸 수 있습니다"},
    {"train updates of this rank, and freeze the rest (LoRA)", "이 랭크의 갱신만 학습하고 나머지는 고정합니다 (LoRA)"},
    {"train the parameters themselves", "파라미터 자체를 학습"},
    {"linear layers that get updates: names or patterns, PEFT's for GPT-2 (Llama: q_proj and v_proj by default) "
     "or tapegrad's",
     "갱신을 붙일 선형 층: 이름이나 패턴. GPT-2에는 PEFT의 이름(Llama에서 생략하면 q_proj와 v_proj) 또는 tapegrad의 "
     "이름을 씁니다"},
    {"tokens of that sample", "그 표본의 토큰 수"},
    {"no sample", "표본 없음"},
    {"also write the trained model into this folder as Hugging Face's GPT-2 or Llama",
     "학습한 모델을 Hugging Face의 GPT-2나 Llama 형식으로도 이 폴더에 씁니다"},
    {"flat: attention to the whole text; window: to nearby tokens; hierarchy: an encoder for each segment, and one "
     "over the segments",
     "flat: 글 전체를 보는 어텐션; window: 가까운 토큰만 봄; hierarchy: 구간마다 인코더 하나, 그 위에 구간을 보는 "
     "인코더 하나"},
    {"flat: attention to the whole text; window: to nearby tokens",
     "flat: 글 전체를 보는 어텐션; window: 가까운 토큰만 봄"},
    {"maximum number of digits in training", "학습에 쓰는 최대 자릿수"},
    {"nesting depth of operators; above 1: nested expressions, and trees with brackets",
     "연산자를 중첩하는 깊이. 1보다 크면 중첩된 수식과 괄호가 있는 트리를 씁니다"},
    {"nesting depth of the expressions in training", "학습에 쓰는 수식의 중첩 깊이"},
    {"maximum number of tokens of a summary", "요약의 최대 토큰 수"},
    {"maximum number of tokens of a text; the rest is cut off", "글의 최대 토큰 수. 나머지는 잘라 냅니다"},
    {"share of the text, from its start, to train on; the rest is for validation",
     "글의 처음부터 학습에 쓸 비율. 나머지는 검증에 씁니다"},
    {"size of the byte-pair vocabulary that is trained on the texts", "글로 학습하는 바이트 쌍 어휘의 크기"},
    {"start of the sample after each epoch (default: the text's first tokens; book: \"Every effort moves you\")",
     "에포크마다 생성하는 표본의 첫머리 (기본값: 글의 첫 토큰; book: \"Every effort moves you\")"},
    {"text to read", "읽을 글"},
    {"token ids to read: 15496,11", "읽을 토큰 번호: 15496,11"},
};

}  // namespace

std::span<const Message> data() { return kData; }

}  // namespace tapegrad::tasks::language
