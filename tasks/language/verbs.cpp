// The words of help itself, verbs, tasks and topics.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kVerbs[] = {
    {"Deep learning on CPUs in C++20, reproducible to the last bit",
     "CPU에서 하는 C++20 딥러닝, 마지막 비트까지 재현되는 결과"},
    {"Train and use", "학습과 사용"},
    {"Look inside", "들여다보기"},
    {"Learn", "배우기"},
    {"Tools", "도구"},
    {"Examples", "예"},
    {"\nNext:\n", "\n다음 명령:\n"},
    {"test it on new examples", "새 예제로 시험"},
    {"draw its attention weights", "어텐션 가중치 그리기"},
    {"draw its curves", "곡선 그리기"},
    {"read its report", "보고서 읽기"},
    {"continue a text", "글 이어 쓰기"},
    {"Usage", "사용법"},
    {"Arguments", "인수"},
    {"Options", "옵션"},
    {"options", "옵션"},
    {"default", "기본값"},
    {"verb", "명령"},
    {"task", "태스크"},
    {"topic", "주제"},
    {"source", "출처"},
    {"Tasks", "태스크"},
    {"Topics", "주제"},
    {"Sources", "출처"},
    {"Model", "모델"},
    {"Positions", "위치 인코딩"},
    {"Data", "데이터"},
    {"Fine-tuning", "미세 조정"},
    {"Training", "학습"},
    {"Learning rate", "학습률"},
    {"Run", "실행"},
    {", which means ", ", 즉 "},
    {"print the version and exit", "버전을 출력하고 끝냅니다"},
    {"print this help and exit", "이 도움말을 출력하고 끝냅니다"},
    {"train a model; writes checkpoints and a report", "모델을 학습합니다. 체크포인트와 보고서를 남깁니다"},
    {"test a trained model on new examples", "학습한 모델을 새 예제로 시험합니다"},
    {"make text datasets", "텍스트 데이터셋을 만듭니다"},
    {"continue a text with a trained model", "학습한 모델로 글을 이어 씁니다"},
    {"chat with a trained model at the terminal", "학습한 모델과 터미널에서 대화합니다"},
    {"explain a task's data, masks and loss, or every number of a training step",
     "태스크의 데이터, 마스크, 손실이나 학습 한 단계의 모든 수를 설명합니다"},
    {"every number of one training step of your own model, on a page",
     "내 모델이 학습하는 한 단계의 모든 수를 한 페이지에 보여 줍니다"},
    {"draw the curves of several runs over one another", "여러 실행의 곡선을 겹쳐 그립니다"},
    {"print a script that completes verbs, options and values in a shell",
     "셸에서 명령, 옵션, 값을 자동 완성하는 스크립트를 출력합니다"},
    {"print this help as a man page: all verbs, tasks and options",
     "이 도움말을 man 페이지로 출력합니다. 모든 명령, 태스크, 옵션이 들어 있습니다"},
    {"Shells", "셸"},
    {"the script for bash", "bash용 스크립트"},
    {"the script for fish", "fish용 스크립트"},
    {"the script for zsh", "zsh용 스크립트"},
    {"draw a trained model's attention weights", "학습한 모델의 어텐션 가중치를 그립니다"},
    {"write the operations of a training step as a graph, for Graphviz",
     "학습 한 단계의 연산을 Graphviz용 그래프로 씁니다"},
    {"print the tutorials' tables, draw their figures", "튜토리얼의 표를 출력하고 그림을 그립니다"},
    {"read the tutorials section by section, in Korean or English, with numbers computed now",
     "튜토리얼을 절마다 한국어나 영어로 읽습니다. 수는 그 자리에서 계산합니다"},
    {"programming exercises about the tutorials, checked number by number",
     "튜토리얼에 관한 프로그래밍 문제를 보여 주고, 답을 수 하나하나까지 채점합니다"},
    {"train variants of a model, and tabulate accuracy, time and memory",
     "모델의 여러 변형을 학습하여 정확도, 시간, 메모리를 표로 비교합니다"},
    {"tokenize text, or train a new tokenizer", "글을 토큰으로 나누거나 새 토크나이저를 학습합니다"},
    {"check every gradient against finite differences", "모든 기울기를 유한 차분과 비교합니다"},
    {"show processor, kernels and measured speed", "프로세서, 커널, 측정한 속도를 보여 줍니다"},
    {"show the help of a verb or task", "명령이나 태스크의 도움말을 보여 줍니다"},
    {"Begin with:\n  tapegrad train copy\nIt trains a Transformer to copy tokens, which takes about a minute, and "
     "writes\na report with the loss curve and attention maps.\n\n'tapegrad help train copy' shows the options of a "
     "verb and a task.\n--lang ko and a Korean locale choose Korean help.\nExit status: 0 success; 1 the run failed or "
     "missed its target; 2 invalid\narguments.",
     "먼저 해 볼 명령:\n  tapegrad train copy\n트랜스포머가 토큰을 그대로 복사하도록 학습합니다. 1분쯤 걸리며, 손실 "
     "곡선과\n어텐션 맵이 있는 보고서를 씁니다.\n\n'tapegrad help train copy'는 명령과 태스크의 옵션을 보여 "
     "줍니다.\n--lang ko 또는 한국어 로캘에서 도움말이 "
     "한국어로 나옵니다.\n종료 상태: 0 성공, 1 실행이 실패했거나 목표에 못 미침, 2 잘못된 인수"},
    {"The environment variable TAPEGRAD_KERNELS chooses the kernels: avx512, avx2\nor portable (default: the widest "
     "vectors that the processor has); neon is the\nonly one on arm64.\n\nTAPEGRAD_PRODUCTS chooses what computes "
     "matrix "
     "multiplications: blis (all of\nthem), own (never BLIS) or auto (default: the faster one for each shape).",
     "환경 변수 TAPEGRAD_KERNELS는 커널을 고릅니다: avx512, avx2, portable\n(기본값: 프로세서가 지원하는 가장 넓은 "
     "벡터). arm64에는 neon만 있습니다.\n\nTAPEGRAD_PRODUCTS는 행렬 곱을 계산할 방법을 고릅니다: blis(모두 "
     "BLIS로),\nown(BLIS 없이), auto(기본값: 모양마다 더 빠른 쪽)."},
    {"copy a sequence of tokens (tutorial 003, 8.5.1)", "토큰 시퀀스를 그대로 복사합니다 (튜토리얼 003, 8.5.1)"},
    {"add two numbers: 153+391 (tutorial 003, 8.5.2)", "두 수를 더합니다: 153+391 (튜토리얼 003, 8.5.2)"},
    {"parse an expression: x=1+2 (tutorial 003, 8.5.3)", "수식을 구문 분석합니다: x=1+2 (튜토리얼 003, 8.5.3)"},
    {"predict the next token of a text, with a GPT", "GPT로 글의 다음 토큰을 예측합니다"},
    {"classify a text, with a flat or a hierarchical encoder", "단일 인코더 또는 계층 인코더로 글을 분류합니다"},
    {"summarise a text, with words copied from it", "원문의 단어를 복사해 가며 글을 요약합니다"},
    {"find the part of a text that answers a question", "질문의 답이 되는 부분을 글에서 찾습니다"},
    {"200 synthetic records, to try the tasks", "태스크를 시험해 볼 합성 레코드 200개"},
    {"compare positional encodings (tutorial 003, 8.3.2, deep dive 7)",
     "위치 인코딩을 비교합니다 (튜토리얼 003, 8.3.2, 딥다이브 7)"},
    {"compare text encoders, summarisers with and without copying, and baselines",
     "텍스트 인코더, 복사가 있거나 없는 요약 모델, 기준 방법을 비교합니다"},
    {"a token never attends to later tokens (tutorial 003, 8.2.5)",
     "토큰은 뒤에 오는 토큰을 보지 않습니다 (튜토리얼 003, 8.2.5)"},
    {"padding tokens are masked out (8.2.5)", "패딩 토큰을 마스크로 가립니다 (8.2.5)"},
    {"a mask that hides queries by mistake, next to one that hides keys (tutorial 002)",
     "실수로 쿼리를 가리는 마스크와 키를 가리는 마스크 (튜토리얼 002)"},
    {"position indices, and sines and cosines of many wavelengths (8.3.1, 8.3.2)",
     "위치 번호, 그리고 여러 파장의 사인과 코사인 (8.3.1, 8.3.2)"},
    {"normalise each token, then scale and shift it (8.4.1)", "토큰마다 정규화한 뒤 배율과 이동을 적용합니다 (8.4.1)"},
    {"from word vectors to contextual vectors, step by step (8.2.1, 8.2.2; tutorial 004)",
     "단어 벡터에서 문맥 벡터까지 한 단계씩 (8.2.1, 8.2.2, 튜토리얼 004)"},
    {"measured time and memory of a layer for 512 to 65,536 tokens, with every form of attention (8.2.3)",
     "토큰 512개에서 65,536개까지, 어텐션의 모든 방식으로 측정한 한 층의 시간과 메모리 (8.2.3)"},
    {"measured accuracy of every form of attention on a copy and a search task, after equal training time (8.2.3)",
     "같은 시간 학습한 뒤 복사와 검색 태스크에서 측정한 어텐션 방식별 정확도 (8.2.3)"},
    {"measured error of Performer's attention against its number of random features (8.2.3)",
     "무작위 특징의 수에 따라 측정한 Performer 어텐션의 오차 (8.2.3)"},
    {"time and memory of a GPT's training step for 64 to 16,384 tokens and 1 to 64 sequences, measured",
     "토큰 64개에서 16,384개, 시퀀스 1개에서 64개까지 측정한 GPT 학습 단계의 시간과 메모리"},
    {"Subcommands", "하위 명령"},
    {"New tokenizer", "새 토크나이저"},
    {"; 0: ", "; 0이면 "},
};

}  // namespace

std::span<const Message> verbs() { return kVerbs; }

}  // namespace tapegrad::tasks::language
