// What the topics of `show` say that measure or train.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kMeasured[] = {
    {"seconds", "초"},
    {"slope", "기울기"},
    {"layer", "층"},
    {"length", "길이"},
    {"similarity", "유사도"},
    {"mean cosine", "코사인의 평균"},
    {"milliseconds", "밀리초"},
    {"megabytes", "메가바이트"},
    {"log2 of the number of tokens", "토큰 수의 log2"},
    // attention-accuracy
    {"Copy: accuracy by seconds of processor time", "복사: 프로세서 시간(초)에 따른 정확도"},
    {"Needle: accuracy by seconds of processor time", "바늘: 프로세서 시간(초)에 따른 정확도"},
    {"copy", "복사"},
    {"needle", "바늘"},
    {"ms/step", "ms/단계"},
    {"Accuracy of the forms of attention", "어텐션 방식의 정확도"},
    {"Inputs of {} tokens. Each training run took {} seconds of processor time.\n"
     "Copy: read {} tokens, each half of the length away. Needle: read {} tokens,\n"
     "each somewhere in noise. A token has the address (positional encoding) of the\n"
     "position that asks for it.\n"
     "Models: one layer, width {}, {} heads, not causal, batches of {}.\n\n",
     "입력은 토큰 {}개이고, 학습마다 프로세서 시간 {}초를 썼습니다.\n"
     "복사: 길이의 절반만큼 떨어진 토큰 {}개를 읽습니다. 바늘: 잡음 속 어딘가에 있는\n"
     "토큰 {}개를 읽습니다. 토큰에는 그것을 찾는 위치의 주소(위치 인코딩)가\n있습니다.\n"
     "모델: 층 하나, 폭 {}, 헤드 {}개, 인과 마스크 없음, 배치 크기 {}.\n\n"},
    {"\nAccuracy on new inputs; guessing gives {:.3f}. Options of the forms:\n",
     "\n새 입력의 정확도. 아무렇게나 고르면 {:.3f}입니다. 방식의 옵션:\n"},
    // attention-cost
    {"Cost of the forms of attention", "어텐션 방식의 비용"},
    {"{} heads of size {}, one sequence, forward and backward. Processor time of all\n"
     "threads ({}), with the default options of each form. Memory: without input and\n"
     "parameters. Passes of more than {:.0f} seconds are left out.\n\n",
     "크기가 {1}인 헤드 {0}개, 시퀀스 하나, 순전파와 역전파. 시간은 모든\n"
     "스레드({2}개)의 프로세서 시간이고, 방식의 옵션은 기본값입니다. 메모리에는 입력과\n"
     "파라미터가 들어 있지 않습니다. {3:.0f}초가 넘는 계산은 뺐습니다.\n\n"},
    {"Time in milliseconds", "시간 (밀리초)"},
    {"Memory in megabytes", "메모리 (메가바이트)"},
    {"The slope belongs to a line fitted to the logarithms, from {} tokens on: 1 for\n"
     "a cost proportional to the length, 2 for a cost proportional to its square.\n"
     "Full attention does not store the scores of all pairs, so its memory is also\n"
     "proportional to the length.\n",
     "기울기는 토큰 {}개부터 로그에 맞춘 직선의 기울기입니다. 비용이 길이에\n"
     "비례하면 1, 길이의 제곱에 비례하면 2입니다. 전체 어텐션(full)은 모든 쌍의 점수를\n"
     "저장하지 않으므로 메모리도 길이에 비례합니다.\n"},
    {"Time of a layer, forward and backward", "한 층의 시간, 순전파와 역전파"},
    {"Memory of a layer, forward and backward", "한 층의 메모리, 순전파와 역전파"},
    // performer-error
    {"The error of Performer's attention", "Performer 어텐션의 오차"},
    {"Attention of {} tokens, heads of size {}. Error: root mean square of the\n"
     "difference from softmax attention, over {} samples of orthogonal features.\n"
     "Queries, keys and values are normal; the columns give the standard deviation of\n"
     "queries and keys.\n\n",
     "토큰 {}개, 크기가 {}인 헤드의 어텐션. 오차는 소프트맥스 어텐션과의 차이의\n"
     "제곱 평균 제곱근이고, 직교하는 무작위 특징을 {}번 뽑아 구했습니다. 쿼리, 키,\n"
     "값은 정규분포를 따르고, 열의 수는 쿼리와 키의 표준편차입니다.\n\n"},
    {"features", "특징"},
    {"1/4, causal", "1/4, 인과"},
    {"\n\nThe slope belongs to a line fitted to the logarithms. In theory it is -1/2,\n"
     "because the estimate is a mean over the features. Larger queries and keys have\n"
     "larger errors, and need more features to reach this slope.\n",
     "\n\n기울기는 로그에 맞춘 직선의 기울기입니다. 추정값이 특징에 걸친 평균이므로\n"
     "이론으로는 -1/2입니다. 쿼리와 키가 크면 오차도 크고, 이 기울기에 이르는 데 더\n"
     "많은 특징이 필요합니다.\n"},
    {"Error of Performer's attention", "Performer 어텐션의 오차"},
    {"log2 of the number of features", "특징 수의 log2"},
    {"root mean square error", "제곱 평균 제곱근 오차"},
    {"slope -1/2", "기울기 -1/2"},
    // gpt-cost
    {"batch", "배치"},
    {"{} thr.", "{}스레드"},
    {"speed-up", "배속"},
    {"tokens/s", "토큰/초"},
    {"attention MB", "어텐션 MB"},
    {"What a training step of a GPT costs", "GPT의 학습 한 단계에 드는 비용"},
    {"{} layers of width {}, heads of size {}, vocabulary {}, no dropout. A step is\n"
     "forward, loss, backward and AdamW: wall time, the best of some steps. MB: the\n"
     "most memory in use during a step beyond parameters and optimiser, in blocks of\n"
     "more than 64 KiB; attention MB: during forward and backward of one layer's\n"
     "causal attention, beyond its inputs.\n\n",
     "층 {}개, 폭 {}, 헤드의 크기 {}, 어휘 {}, 드롭아웃 없음. 한 단계는\n"
     "순전파, 손실, 역전파, AdamW이고, ms는 몇 단계 가운데 가장 짧았던 실제\n"
     "시간입니다. MB는 한 단계 동안 파라미터와 옵티마이저 말고 가장 많이 쓴\n"
     "메모리입니다 (64 KiB가 넘는 블록만). 어텐션 MB는 한 층의 인과 어텐션이 순전파와\n"
     "역전파 동안 입력 말고 쓴 메모리입니다.\n\n"},
    {"One sequence", "시퀀스 하나"},
    {"Sequences of {} tokens", "토큰이 {}개인 시퀀스"},
    {"The slope belongs to the line through the logarithms, from {} tokens on:\n"
     "1 where the cost grows with the tokens, 2 where it grows with their square.\n",
     "기울기는 토큰 {}개부터 로그에 맞춘 직선의 기울기입니다. 비용이 토큰 수에\n"
     "비례하면 1, 그 제곱에 비례하면 2입니다.\n"},
    {"Time of a training step", "학습 한 단계의 시간"},
    {"Speed of training", "학습 속도"},
    {"tokens per second", "초당 토큰"},
    {"Memory of a training step", "학습 한 단계의 메모리"},
    {"{}, {} thread", "{}, 스레드 {}개"},
    {"{}, {} threads", "{}, 스레드 {}개"},
    {"one sequence", "시퀀스 하나"},
    {"batches", "배치"},
    {"attention alone, one sequence", "어텐션만, 시퀀스 하나"},
    // mask-leak
    {"Without the mask the loss is {:.3f} below the entropy of the language, which no\n"
     "model can do that reads earlier tokens only: this one reads the next token.\n",
     "마스크가 없으면 손실이 언어의 엔트로피보다 {:.3f} 낮습니다. 앞의 토큰만 읽는\n"
     "모델에는 불가능한 일입니다: 이 모델은 다음 토큰을 읽습니다.\n"},
    {"Without the mask the loss is not below the entropy of the language: the model\n"
     "has not (yet) learned to read the next token.\n",
     "마스크가 없어도 손실이 언어의 엔트로피보다 낮지 않습니다: 모델이 다음 토큰을\n"
     "읽는 법을 (아직) 배우지 못했습니다.\n"},
    {"When later tokens are hidden, as in generation, its loss is {:.3f}, {} than\n"
     "guessing's ({:.3f}). {:.0f} % of the successions that it writes are allowed,\n"
     "with the mask {:.0f} %; by chance it would be {:.0f} %.\n",
     "생성할 때처럼 뒤의 토큰을 숨기면 손실이 {0:.3f}이고, 아무렇게나 고를 때의\n"
     "{2:.3f}보다 {1}. 이 모델이 이어 쓴 토큰의 {3:.0f} %가 허용된 것입니다.\n"
     "마스크가 있으면 {4:.0f} %, 우연이라면 {5:.0f} %입니다.\n"},
    {"more", "큽니다"},
    {"not more", "크지 않습니다"},
    {"causal mask", "인과 마스크"},
    {"no mask", "마스크 없음"},
    {"Training without the causal mask (8.2.5)", "인과 마스크 없는 학습 (8.2.5)"},
    {"A language of {} tokens; each has {} equally likely successors. Its entropy is\n"
     "log {} = {:.3f} per token. Two equal models (2 layers, width 64, 4 heads) predict\n"
     "the next token of texts of {} tokens, {} steps with batches of {}. Losses are\n"
     "measured on {} new texts; a text to be continued begins with one token.\n\n",
     "토큰이 {0}개인 언어입니다. 한 토큰 뒤에는 {1}개의 토큰이 같은 확률로 올 수 있고,\n"
     "엔트로피는 토큰마다 log {2} = {3:.3f}입니다. 같은 두 모델(층 2개, 폭 64, 헤드\n"
     "4개)이 토큰 {4}개인 글의 다음 토큰을 {5}단계 동안 배웁니다 (배치 크기 {6}).\n"
     "손실은 새 글 {7}개로 잽니다. 이어 쓸 글은 토큰 하나로 시작합니다.\n\n"},
    {"loss before the first step", "첫 단계 전의 손실"},
    {"loss after the last step", "마지막 단계 뒤의 손실"},
    {"the same when later tokens are hidden", "뒤의 토큰을 숨겼을 때의 손실"},
    {"allowed successions in generated texts", "생성한 글에서 이어 쓴 토큰이 허용된 비율"},
    {"change of other logits by another last token", "마지막 토큰을 바꿨을 때 다른 로짓의 변화"},
    {"\nGenerated (! precedes a token that cannot follow its predecessor):\n"
     "  causal mask: {}\n  no mask:     {}\n\n{}",
     "\n생성한 글 (!는 바로 앞의 토큰 뒤에 올 수 없는 토큰의 표시입니다):\n"
     "  인과 마스크: {}\n  마스크 없음: {}\n\n{}"},
    {"Loss on new texts", "새 글의 손실"},
    {"entropy of the language", "언어의 엔트로피"},
    {"Generated texts: share of allowed successions", "생성한 글: 이어 쓴 토큰이 허용된 비율"},
    {"share", "비율"},
    {"by chance", "우연"},
    // order-blindness
    {"none, causal", "none, 인과"},
    {"{}: first sentence, features 0-7 of {}", "{0}: 첫째 문장, 특성 {1}개 가운데 0-7"},
    {"{}: second - first, by word", "{}: 둘째 - 첫째, 단어별"},
    {"{}: second sentence", "{}: 둘째 문장"},
    {" and ", ", "},
    {"Attention without positions cannot see the order of words (001)",
     "위치가 없는 어텐션은 단어의 순서를 볼 수 없습니다 (001)"},
    {"Two sentences of the same words:\n  {}\n  {}\n"
     "An encoder of random weights (2 layers, width {}, 4 heads, float64) reads both.\n"
     "The largest difference of a word's vector between the sentences, wherever the\n"
     "word is, and of the mean of all vectors:\n\n",
     "같은 단어로 된 두 문장:\n  {}\n  {}\n"
     "무작위 가중치의 인코더(층 2개, 폭 {}, 헤드 4개, float64)가 두 문장을 읽습니다.\n"
     "두 문장에서 같은 단어의 벡터(단어가 어디에 있든)와 모든 벡터의 평균이 가장 크게\n"
     "다른 정도:\n\n"},
    {"positions", "위치"},
    {"word", "단어"},
    {"tells them apart", "두 문장을 구별하는가"},
    {"yes", "예"},
    {"no", "아니요"},
    {"\nNot distinguished with: {}. There the vectors of the second sentence are the first sentence's in another "
     "order, up to rounding, whatever is learned later: \"who is the cat\" has one answer for both. (\"index\" adds "
     "the position to every feature, and the layer normalisation after the embeddings removes what all features have "
     "in common. With a causal mask, the number of words that a word can see depends on its position.)\n",
     "\n구별하지 못하는 것: {}. 이때 둘째 문장의 벡터는 반올림을 빼면 첫째 문장의 벡터를 다른 순서로 놓은 것이고, "
     "나중에 무엇을 배우든 마찬가지입니다: \"누가 고양이인가\"의 답이 두 문장에서 같습니다. (\"index\"는 위치를 모든 "
     "특성에 더하지만, 임베딩 뒤의 레이어 정규화가 모든 특성에 공통된 것을 없앱니다. 인과 마스크가 있으면 한 단어가 "
     "볼 수 있는 단어의 수가 위치에 따라 다릅니다.)\n"},
    // recurrent-lengths
    {"GRU, attention", "GRU, 어텐션"},
    {"{}: accuracy by length", "{}: 길이에 따른 정확도"},
    {"{}: below {} at every length.\n", "{}: 모든 길이에서 {} 미만입니다.\n"},
    {"{}: at least {} up to length {}.\n", "{0}: 길이 {2}까지 {1} 이상입니다.\n"},
    {"{}: at least {} up to length {}, the longest.\n", "{0}: 가장 긴 길이인 {2}까지 {1} 이상입니다.\n"},
    {"Recurrent networks, attention and length (8.1, 8.2.1)", "순환 신경망, 어텐션, 길이 (8.1, 8.2.1)"},
    {"Write it backwards", "거꾸로 쓰기"},
    {"Write it down again", "그대로 다시 쓰기"},
    {"  {:<16}{:>8} parameters\n", "  {:<16}파라미터 {:>8}개\n"},
    {"Sequences of {} symbols. Each model took {} steps with batches of {}, whose\n"
     "lengths follow the table. Share of right symbols in what the model\n"
     "writes, its own symbols being its input, for {} new sequences of each length;\n"
     "guessing gives {:.3f}. Seconds: processor time of the training run.\n{}",
     "기호 {0}가지로 된 시퀀스입니다. 모델마다 {1}단계 학습했고(배치 크기 {2}), 배치의\n"
     "길이는 표의 길이를 차례로 씁니다. 값은 모델이 쓴 기호 가운데 맞은 것의 비율로,\n"
     "길이마다 새 시퀀스 {3}개로 쟀습니다 (모델은 자신이 쓴 기호를 입력으로\n"
     "받습니다). 아무렇게나 고르면 {4:.3f}입니다. 초는 학습에 쓴 프로세서 시간입니다.\n{5}"},
    // hopfield
    {"patterns fixed, W = I", "패턴 고정, W = I"},
    {"tutorial's, W = I", "튜토리얼, W = I"},
    {"tutorial's, W symmetric", "튜토리얼, 대칭인 W"},
    {"tutorial's, any W", "튜토리얼, 임의의 W"},
    {"Attention as a Hopfield network: the differential equation (8.2.3)",
     "홉필드 네트워크로 본 어텐션: 미분방정식 (8.2.3)"},
    {"tau dX/dt = -X + softmax(X W X^T) X W for {} random states of width {},\n"
     "solved from 0 to {:.0f} tau (dopri5, tolerance 1e-8). Energy: the sum over the\n"
     "states of |x|^2 / 2 - log sum_j exp(x W x_j). Similarity: the mean cosine\n"
     "between two states. In the first row the patterns are fixed and only the queries\n"
     "move, as in Ramsauer et al. 2021. Random W have eigenvalues of about 1 and less.\n\n",
     "폭이 {1}인 무작위 상태 {0}개에 대하여 tau dX/dt = -X + softmax(X W X^T) X W를\n"
     "0부터 {2:.0f} tau까지 풉니다 (dopri5, 허용 오차 1e-8). 에너지는\n"
     "|x|^2 / 2 - log sum_j exp(x W x_j)를 상태에 걸쳐 더한 것이고, 유사도는 두 상태의\n"
     "코사인의 평균입니다. 첫 행에서는 Ramsauer 등(2021)처럼 패턴이 고정되고 쿼리만\n"
     "움직입니다. 무작위 W의 고윳값은 약 1 이하입니다.\n\n"},
    {"energy", "에너지"},
    {"rises", "증가"},
    {"at first", "처음"},
    {"at last", "마지막"},
    {"of {}", "{}번 중"},
    {"Energy, minus the energy of the start", "에너지, 시작할 때와의 차이"},
    {"Similarity of the states", "상태의 유사도"},
    {"{}: the energy never rises.\n", "{}: 에너지가 한 번도 늘지 않습니다.\n"},
    {"{}: the energy rises in {} of {} intervals.\n", "{0}: {2}구간 가운데 {1}구간에서 에너지가 늡니다.\n"},
    {"\nWith fixed patterns and a symmetric W the slope is minus the gradient of the\n"
     "energy. In the tutorial's equation the patterns move, too, and the gradient has\n"
     "a second term that the equation lacks: nothing guarantees that the energy falls.\n",
     "\n패턴이 고정되고 W가 대칭이면 변화율은 에너지의 기울기의 부호를 바꾼 것입니다.\n"
     "튜토리얼의 방정식에서는 패턴도 움직이고, 기울기에는 방정식에 없는 둘째 항이\n"
     "있습니다: 에너지가 준다는 보장이 없습니다.\n"},
    // depth
    {"layers", "층"},
    {"rank", "랭크"},
    {"signal to noise", "신호 대 잡음"},
    {"weights' rank", "가중치의 랭크"},
    {"gradient ratio", "기울기의 비"},
    {"the token matrix has rank 1 after layer {} (similarity {:.4f})",
     "{}층 뒤에 토큰 행렬의 랭크가 1이 됩니다 (유사도 {:.4f})"},
    {"the rank never falls to 1; it is {:.0f} after {} layers", "랭크가 1까지 떨어지지 않고, {1}층 뒤에 {0:.0f}입니다"},
    {". The attention weights of layer {} have a rank of {:.2f} n: the tutorial's {} n is not exceeded. ",
     ". {}층의 어텐션 가중치의 랭크는 {:.2f} n으로, 튜토리얼의 {} n을 넘지 않습니다. "},
    {". The attention weights of layer {} have a rank of {:.2f} n: the tutorial's {} n is exceeded. ",
     ". {}층의 어텐션 가중치의 랭크는 {:.2f} n으로, 튜토리얼의 {} n을 넘습니다. "},
    {"From layer to layer the ratio of signal to noise is multiplied by e^{:.2f} (the tutorial: e^{}){}. ",
     "층마다 신호 대 잡음의 비가 e^{:.2f}배가 됩니다 (튜토리얼: e^{}배){}. "},
    {"; after layer {} only rounding is left", "; {}층 뒤에는 반올림 오차만 남습니다"},
    {"The gradient of the first of {} layers is {:.2g} times the gradient of the last one.\n",
     "{}층 가운데 첫 층의 기울기는 마지막 층의 {:.2g}배입니다.\n"},
    {"Tokens and gradients in deep stacks of random layers (8.2.3, 8.4)",
     "깊이 쌓은 무작위 층의 토큰과 기울기 (8.2.3, 8.4)"},
    {"{} random tokens of width {} pass through random encoder layers ({} heads,\n"
     "feed-forward blocks of width {}, xavier-uniform, float64). After each layer:\n"
     "  rank             singular values of the tokens above {:g} of the largest\n"
     "  similarity       mean cosine between two tokens\n"
     "  signal to noise  variance between the tokens, over the mean square of their\n"
     "                   change by noise in the input (deviation {:g}, the tokens' 1)\n"
     "  weights' rank    the same rank of a head's attention weights, a mean\n"
     "  gradient ratio   norm of the gradient of the first layer's parameters, over\n"
     "                   the last layer's, in a stack of this depth with a\n"
     "                   final normalisation and a random linear loss\n",
     "폭이 {1}인 무작위 토큰 {0}개가 무작위 인코더 층을 지납니다 (헤드 {2}개,\n"
     "폭이 {3}인 피드포워드 블록, xavier-uniform, float64). 각 층 뒤에 잽니다:\n"
     "  랭크           토큰의 특잇값 가운데 가장 큰 것의 {4:g}배가 넘는 것의 수\n"
     "  유사도         두 토큰의 코사인의 평균\n"
     "  신호 대 잡음   토큰 사이의 분산을, 입력의 잡음(표준편차 {5:g}, 토큰은 1)이\n"
     "                 일으킨 변화의 제곱 평균으로 나눈 것\n"
     "  가중치의 랭크  헤드의 어텐션 가중치의 같은 랭크, 헤드의 평균\n"
     "  기울기의 비    마지막 정규화와 무작위 선형 손실이 있는 이 깊이의 층에서, 첫 층\n"
     "                 파라미터의 기울기의 노름을 마지막 층의 것으로 나눈 것\n"},
    {"Rank of the tokens", "토큰의 랭크"},
    {"Similarity of the tokens", "토큰의 유사도"},
    {"Signal to noise", "신호 대 잡음"},
    {"ratio of variances", "분산의 비"},
    {"Gradient of the first layer over the last layer's", "마지막 층의 기울기에 대한 첫 층의 기울기의 비"},
    {"layers of the stack", "쌓은 층의 수"},
    {"ratio of norms", "노름의 비"},
    {"Attention alone, without residuals", "어텐션만, 잔차 연결 없이"},
    // head-roles
    {"previous", "직전"},
    {"same", "같음"},
    {"next", "다음"},
    {"separator", "구분자"},
    {"mixed", "섞임"},
    {"share of the weights", "가중치의 비율"},
    {"While reading, {} of {} heads have a role at first, {} after training.\n",
     "읽을 때는 헤드 {1}개 가운데 처음에 {0}개, 학습 뒤에 {2}개가 역할을 가집니다.\n"},
    {"While writing, {} of {} heads have a role at first, {} after training.\n",
     "쓸 때는 헤드 {1}개 가운데 처음에 {0}개, 학습 뒤에 {2}개가 역할을 가집니다.\n"},
    {"No head looks mostly at the symbol that is to be written next.\n",
     "다음에 쓸 기호를 주로 보는 헤드가 없습니다.\n"},
    {"Head {} is the first that looks mostly at the symbol to be written next, at step {}: there the accuracy is "
     "{:.2f}, at the measurement before it {:.2f}, and at last {:.2f}.\n",
     "다음에 쓸 기호를 주로 보는 첫 헤드는 {1}단계의 {0}입니다. 그때의 정확도는 {2:.2f}, 바로 앞에서 쟀을 "
     "때는 "
     "{3:.2f}, 마지막에는 {4:.2f}입니다.\n"},
    {"What the heads of a small GPT do during training (8.2.4)", "학습하는 동안 작은 GPT의 헤드가 하는 일 (8.2.4)"},
    {"A GPT of {} layers with {} heads (width {}) reads a first token, {} different\n"
     "symbols of {} and a separator, and writes the symbols down again: {} steps with\n"
     "batches of {}. The role of a head is what gets most of its attention weights, in\n"
     "percent, a mean over {} new texts and over the queries; mixed: {:.0f} or less.\n"
     "  previous   the token before the query\n"
     "  same       the query's own token, and the same symbol where it was read\n"
     "  next       the symbol that is to be written next, where it was read\n"
     "  first, separator\n"
     "All texts have one length, and positions are learned: a head can find the symbol\n"
     "to write next by its position alone.\n\n",
     "층 {0}개, 층마다 헤드 {1}개(폭 {2})인 GPT가 첫 토큰, 기호 {4}가지 가운데\n"
     "서로 다른 {3}개, 구분자를 읽고 그 기호들을 다시 씁니다 ({5}단계, 배치 크기 {6}).\n"
     "헤드의 역할은 어텐션 가중치를 가장 많이 받는 것입니다. 값은 새 글 {7}개와 모든\n"
     "쿼리의 평균(퍼센트)이고, {8:.0f} 이하면 섞임입니다.\n"
     "  직전   쿼리 바로 앞의 토큰\n"
     "  같음   쿼리 자신의 토큰, 그리고 읽은 글에 있는 같은 기호\n"
     "  다음   읽은 글에 있는, 다음에 쓸 기호\n"
     "  첫째(첫 토큰), 구분자\n"
     "글의 길이가 모두 같고 위치를 학습하므로, 헤드는 위치만으로도 다음에 쓸 기호를\n"
     "찾을 수 있습니다.\n\n"},
    {"Queries that read (head 2.1: the first one of layer 2):\n", "읽는 쿼리 (헤드 2.1: 2층의 첫째 헤드):\n"},
    {"\nQueries that write:\n", "\n쓰는 쿼리:\n"},
    {"Writing: share of the symbol to write next, by head", "쓰기: 다음에 쓸 기호의 비율, 헤드별"},
    {"Reading: share of the token before, by head", "읽기: 직전 토큰의 비율, 헤드별"},
    // relative-positions
    {"tutorial", "튜토리얼"},
    {"-|i - j| / 16, as of ALiBi", "-|i - j| / 16, ALiBi와 같음"},
    {"1 if i - j = 12, else 0", "i - j = 12이면 1, 아니면 0"},
    {"1 if i - j = 24, else 0", "i - j = 24이면 1, 아니면 0"},
    {"Number of the table for a key before the query, by distance i - j\n",
     "쿼리보다 앞에 있는 키가 쓰는 표의 번호, 거리 i - j별\n"},
    {"{}: {} of {} numbers are used; distances of {} and more share one.\n",
     "{0}: 수 {2}개 가운데 {1}개를 씁니다. 거리 {3}부터는 하나를 함께 씁니다.\n"},
    {"\nScores of {} queries and keys by distance, approximated by the best table:\nroot mean square of the error\n",
     "\n쿼리와 키 {}개의 거리별 점수를 가장 좋은 표로 근사할 때 오차의\n제곱평균제곱근\n"},
    {"Best tables for {}", "가장 좋은 표: {}"},
    {"distance of a key before the query", "쿼리보다 앞에 있는 키까지의 거리"},
    {"score", "점수"},
    {"wanted", "원하는 점수"},
    {"\nDividing the bias by sqrt(d), too, as the tutorial does, changes its scale\nalone: for d = {} and a table that "
     "is sqrt(d) times the other, the weights\ndiffer by {:.0e} at most. The tutorial's gradient is {:.4f} times the "
     "other;\n1 / sqrt(d) = {:.4f}.\n",
     "\n튜토리얼처럼 편향까지 sqrt(d)로 나누면 배율만 바뀝니다. d = {}이고 한 표가 다른\n표의 sqrt(d)배이면 가중치의 "
     "차이는 많아야 {:.0e}입니다. 튜토리얼의 기울기는\n다른 기울기의 {:.4f}배이며, 1 / sqrt(d) = {:.4f}입니다.\n"},
    {"\nB[i, j] = b[i - j]: n^2 elements, 2 n - 1 different ones. B times [n, {}],\nin full, by FFT: multiplications, "
     "ms of processor time, largest difference\n",
     "\nB[i, j] = b[i - j]: 원소 n^2개 가운데 서로 다른 것은 2 n - 1개입니다. B 곱하기\n[n, {}], 전체 곱(full)과 FFT: "
     "곱셈 수, 프로세서 시간(ms), 가장 큰 차이\n"},
    {"difference", "차이"},
    {"Slope of log(multiplications) by log(n): {:.2f} and {:.2f}.\n",
     "log(n)에 대한 log(곱셈 수)의 기울기: {:.2f}, {:.2f}.\n"},
    {"Product of a Toeplitz matrix with values", "토플리츠 행렬과 값의 곱"},
    {"multiplications", "곱셈 수"},
    {"Attention of {} tokens, d = {}", "토큰 {}개의 어텐션, d = {}"},
    {"spread of scores", "대각선 방향"},
    {"along a diagonal", "점수의 폭"},
    {"by FFT, against", "FFT와 전체 곱의"},
    {"the full product", "차이"},
    {"bias alone", "편향만"},
    {"bias + q k / sqrt(d)", "편향 + q k / sqrt(d)"},
    {"not possible", "불가능"},
    {"(elu(q) + 1) (elu(k) + 1) exp(bias)", "(elu(q) + 1) (elu(k) + 1) exp(편향)"},
    {"T5's bias in two forms, and Toeplitz products (8.3.2)", "두 가지 T5 편향과 토플리츠 곱 (8.3.2)"},
    {"Scores of query i and key j with a learned bias b per distance:\n  tutorial:  (q k + b[clip(i - j, -{0}, {0})]) "
     "/ sqrt(d), {1} numbers\n  t5:        q k / sqrt(d) + b[bucket(j - i)], {2} buckets up to {3}, as\n             "
     "in Raffel et al. 2020 and in `--positions t5`\n\n",
     "거리마다 학습하는 편향 b가 있을 때 쿼리 i와 키 j의 점수:\n  튜토리얼:  (q k + b[clip(i - j, -{0}, {0})]) / "
     "sqrt(d), 수 {1}개\n  t5:        q k / sqrt(d) + b[bucket(j - i)], 거리 {3}까지 버킷 {2}개.\n             Raffel "
     "등(2020)과 `--positions t5`의 방식\n\n"},
    {"\nThe tutorial's appendix says that the bias can be computed in O(n log n). That holds for products of B, and "
     "for attention whose scores depend on distances alone, or with a product of features instead of exp(q k). The "
     "scores of attention are the sum of B and of q k, which is not constant along a diagonal, and B alone saves "
     "nothing there.\n",
     "\n튜토리얼의 부록은 편향을 O(n log n)에 계산할 수 있다고 합니다. B를 곱할 때, 점수가 거리에만 달린 어텐션, exp(q "
     "k) 대신 특성의 곱을 쓰는 어텐션에서는 그렇습니다. 그러나 어텐션의 점수는 B와 q k의 합이고, q k는 대각선을 따라 "
     "일정하지 않으므로 B만으로는 아무것도 줄지 않습니다.\n"},
    {"Bias alone: equal along diagonals", "편향만: 대각선을 따라 같음"},
    {"Bias + q k / sqrt(d)", "편향 + q k / sqrt(d)"},
};

}  // namespace

std::span<const Message> measured() { return kMeasured; }

}  // namespace tapegrad::tasks::language
