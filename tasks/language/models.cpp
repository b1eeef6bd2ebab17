// The settings of models: sizes, forms of attention, positional encodings.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kModels[] = {
    {"default sizes: tutorial (those of the task), base and big (Vaswani et al.), BERT or T5",
     "기본 크기: tutorial(태스크의 크기), base와 big(Vaswani 외), BERT, T5 중 하나"},
    {"default sizes and rates", "기본 크기와 학습률"},
    {"number of tokens, including the padding token 0", "패딩 토큰 0을 포함한 토큰의 수"},
    {"width of the model; a multiple of the number of heads", "모델의 폭. 헤드 수의 배수"},
    {"layers of the encoder, and of the decoder", "인코더의 층수이자 디코더의 층수"},
    {"heads per attention", "어텐션의 헤드 수"},
    {"width inside the feed-forward blocks", "피드포워드 블록 안의 폭"},
    {"number of blocks", "블록의 수"},
    {"longest sequence that the model accepts", "모델이 받는 가장 긴 시퀀스"},
    {"longest sequence of tokens that the model accepts", "모델이 받는 가장 긴 토큰 시퀀스"},
    {"the tutorial's length, or more if the sequences are longer", "튜토리얼의 길이. 시퀀스가 더 길면 그 길이"},
    {"activation of the feed-forward blocks", "피드포워드 블록의 활성화 함수"},
    {"layer normalisation before each block (pre), or after each residual sum (post)",
     "레이어 정규화의 위치: 블록마다 그 앞(pre), 또는 잔차 합의 뒤(post)"},
    {"dropout probability, everywhere in the model", "모델 전체의 드롭아웃 확률"},
    {"biases on query, key and value", "쿼리, 키, 값에 편향을 둡니다"},
    {"the output head shares the weight of the token embedding", "출력 층이 토큰 임베딩의 가중치를 함께 씁니다"},
    {"form of self-attention; window: only keys near the query; linformer: projected keys (encoder only); performer: "
     "random features; reformer: keys with similar hashes",
     "셀프 어텐션의 방식. window: 쿼리 근처의 키만; linformer: 투영한 키(인코더만); performer: 무작위 특징; reformer: "
     "해시가 비슷한 키"},
    {"window: keys that a query attends to on each side", "window: 쿼리가 양쪽에서 보는 키의 수"},
    {"window: distance between two of these keys", "window: 그 키 사이의 간격"},
    {"window: the first N tokens attend to all tokens, and all tokens attend to them",
     "window: 처음 N개의 토큰은 모든 토큰을 보고, 모든 토큰도 그 토큰을 봅니다"},
    {"linformer: number of projected keys", "linformer: 투영한 키의 수"},
    {"linformer: separate projections for each head", "linformer: 헤드마다 따로 투영합니다"},
    {"performer: number of random features", "performer: 무작위 특징의 수"},
    {"D log D for heads of size D", "헤드 크기가 D일 때 D log D"},
    {"performer: redraw the features every N steps", "performer: N단계마다 특징을 다시 뽑습니다"},
    {"never", "하지 않음"},
    {"reformer: tokens per chunk, which attend to each other", "reformer: 서로를 보는 한 묶음의 토큰 수"},
    {"reformer: number of buckets, a power of two", "reformer: 버킷의 수, 2의 거듭제곱"},
    {"chosen by the length", "길이에 따라 정함"},
    {"reformer: rounds of hashing", "reformer: 해시를 반복하는 횟수"},
    {"learned: stretch the table of positions over inputs of this length",
     "learned: 위치 표를 이 길이의 입력에 맞게 늘립니다"},
    {"no stretching", "늘리지 않음"},
    {"rope: the slowest pair rotates once in about 2 pi times this number of positions",
     "rope: 가장 느린 쌍은 이 수에 약 2 pi를 곱한 위치마다 한 바퀴 돕니다"},
    {"rope: factor by which inputs are longer than in training (NTK-aware scaling)",
     "rope: 입력이 학습 때보다 길어지는 배수 (NTK 인식 스케일링)"},
    {"shaw: larger distances are clamped to this one", "shaw: 이보다 먼 거리는 이 거리로 봅니다"},
    {"shaw: also add vectors to the values", "shaw: 값에도 벡터를 더합니다"},
    {"t5: number of buckets of distances; even", "t5: 거리 버킷의 수, 짝수"},
    {"t5: distances of at least this share the last bucket", "t5: 이 값 이상의 거리는 마지막 버킷을 함께 씁니다"},
    {"conv: width of the convolution; odd", "conv: 합성곱의 폭, 홀수"},
    {"lstm: size of the hidden states", "lstm: 은닉 상태의 크기"},
    {"the width of the model", "모델의 폭"},
    {"ode: hidden units of the network for dh/dt", "ode: dh/dt를 계산하는 신경망의 은닉 유닛 수"},
    {"ode: time between two positions", "ode: 두 위치 사이의 시간"},
    {"ode: Runge-Kutta in equal steps, or Dormand-Prince in adaptive ones",
     "ode: 같은 간격의 룽게-쿠타, 또는 간격을 조절하는 도르망-프린스"},
    {"ode: steps of rk4 between two positions", "ode: 두 위치 사이의 rk4 단계 수"},
    {"ode: allowed error of a step of dopri5", "ode: dopri5 한 단계의 허용 오차"},
    {"ode: gradients by the adjoint method, which stores no intermediate steps",
     "ode: 중간 단계를 저장하지 않는 수반 방법으로 기울기를 구합니다"},
    {"composite: the added encoding, weighted by alpha", "composite: alpha를 곱하여 더하는 인코딩"},
    {"composite: the relative encoding, weighted by beta", "composite: beta를 곱하는 상대 인코딩"},
    {"dynamic: hidden units of the network", "dynamic: 신경망의 은닉 유닛 수"},
    {"positional encoding; none: attention ignores the order; index: adds the position to all features, which layer "
     "normalisation undoes: as none; learned: adds a learned vector; sinusoidal: adds sines and cosines; rope: rotates "
     "queries and keys; shaw: a learned vector per distance; t5: a learned bias per bucket of distances; alibi: a bias "
     "that falls with the distance; conv: adds a depthwise convolution of the embeddings; conv-multiscale: adds two "
     "convolutions; lstm: adds the states of an LSTM; ode: adds the solution of a learned differential equation; "
     "complex: adds learned waves; composite: an added and a relative one, with learned weights; dynamic: adds the "
     "output of a network",
     "위치 인코딩. none: 어텐션이 순서를 모름; index: 모든 특성에 위치 번호를 더하지만 레이어 정규화가 지우므로 none과 "
     "같음; "
     "learned: 학습한 벡터를 더함; sinusoidal: "
     "사인과 코사인을 더함; rope: 쿼리와 키를 회전함; shaw: 거리마다 학습한 벡터; t5: 거리 버킷마다 학습한 편향; "
     "alibi: 거리에 따라 작아지는 편향; conv: 임베딩의 깊이별 합성곱을 더함; conv-multiscale: 합성곱 두 개를 더함; "
     "lstm: LSTM의 상태를 더함; ode: 학습한 미분방정식의 해를 더함; complex: 학습한 파동을 더함; composite: 더하는 "
     "인코딩과 상대 인코딩을 학습한 가중치로 합침; dynamic: 신경망의 출력을 더함"},
    {"recompute each block in backward: same results, less memory",
     "역전파에서 블록마다 다시 계산합니다. 결과는 같고 메모리를 덜 씁니다"},
    {"also save the causal masks, att.mask, which tutorial 000's code expects in a model",
     "튜토리얼 000의 코드가 모델에서 찾는 인과 마스크 att.mask도 저장합니다"},
    {"hierarchy: layers over the segments", "hierarchy: 구간을 보는 층의 수"},
    {"hierarchy: tokens per segment", "hierarchy: 구간의 토큰 수"},
    {"layers over the tokens", "토큰을 보는 층의 수"},
    {"window: tokens on each side that a token attends to", "window: 토큰이 양쪽에서 보는 토큰의 수"},
    {"type of the model's matrices; bfloat16 takes half the memory of float32, float16 half, int8 a quarter, int4 a "
     "sixth",
     "모델 행렬의 자료형. float32에 비해 메모리가 bfloat16과 float16은 2분의 1, int8은 4분의 1, int4는 6분의 1입니다"},
};

}  // namespace

std::span<const Message> models() { return kModels; }

}  // namespace tapegrad::tasks::language
