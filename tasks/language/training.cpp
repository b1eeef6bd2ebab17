// The settings of a training run.
#include <tapegrad/tasks/language/tables.h>

namespace tapegrad::tasks::language {
namespace {

constexpr Message kTraining[] = {
    {"number of threads; results do not depend on it", "스레드 수. 결과는 이 값에 따라 달라지지 않습니다"},
    {"number of epochs", "에포크 수"},
    {"write the untrained model", "학습하지 않은 모델을 저장"},
    {"stop after N steps", "N단계 뒤에 멈춥니다"},
    {"no limit", "제한 없음"},
    {"sequences per batch", "배치의 시퀀스 수"},
    {"batches per step, a multiple of the number of processes; their gradients are averaged",
     "한 단계의 배치 수. 프로세스 수의 배수이며 기울기의 평균을 씁니다"},
    {"type of matrix multiplications; with bfloat16 their operands are rounded, weights and sums stay float32",
     "행렬 곱의 자료형. bfloat16이면 피연산자만 반올림하고 가중치와 합은 float32로 둡니다"},
    {"type of the gradients that processes of mpirun exchange; bfloat16 halves their size, with rounding",
     "mpirun의 프로세스가 주고받는 기울기의 자료형. bfloat16이면 반올림하여 크기를 절반으로 줄입니다"},
    {"seed of all random numbers", "모든 난수의 시드"},
    {"random stream of the dropout masks: mt19937, or mkl, the one of PyTorch with MKL on Intel processors",
     "드롭아웃 마스크의 난수열: mt19937, 또는 인텔 프로세서에서 MKL을 쓰는 PyTorch의 mkl"},
    {"steps per epoch", "에포크의 단계 수"},
    {"learning rate; with warmup-cosine the peak", "학습률. warmup-cosine에서는 최댓값"},
    {"constant: --lr; noam: --factor width^-0.5 min(step^-0.5, step --warmup^-1.5); warmup-cosine: rises to --lr, then "
     "falls along a cosine to --min-lr at the last step",
     "constant: --lr; noam: --factor width^-0.5 min(step^-0.5, step --warmup^-1.5); warmup-cosine: --lr까지 오른 뒤 "
     "코사인을 따라 내려가 마지막 단계에 --min-lr"},
    {"steps over which the rate rises", "학습률이 오르는 단계 수"},
    {"factor of the noam schedule", "noam 스케줄의 배수"},
    {"rate at the end of the cosine", "코사인이 끝날 때의 학습률"},
    {"update rule; with sgd and rmsprop the momentum is 0.9", "갱신 규칙. sgd와 rmsprop의 모멘텀은 0.9"},
    {"decoupled weight decay with adamw, adafactor and lion, else added to the gradient",
     "가중치 감쇠. adamw, adafactor, lion에서는 따로 적용하고 나머지에서는 기울기에 더합니다"},
    {"clip gradients to this norm", "기울기의 노름을 이 값 이하로 줄입니다"},
    {"no clipping", "줄이지 않음"},
    {"folder for the run's files", "실행의 결과 파일을 둘 폴더"},
    {"continue from the checkpoint in --out, with the settings of that run",
     "--out의 체크포인트에서 그 실행의 설정으로 이어서 학습합니다"},
    {"steps between two checkpoints", "체크포인트 사이의 단계 수"},
    {"print results only: no progress bar, no lines about epochs",
     "결과만 출력합니다. 진행 막대와 에포크별 줄을 생략합니다"},
    {"stop at the first value or gradient that is not finite, and name its operation (slower)",
     "유한하지 않은 값이나 기울기가 처음 나오면 멈추고 그 연산을 알려 줍니다 (느려집니다)"},
    {"time the first steps, print where their time went, and write trace.json; the run then continues",
     "처음 몇 단계의 시간을 재어 어디에 쓰였는지 출력하고 trace.json을 쓴 뒤 학습을 계속합니다"},
    {"steps that --profile times", "--profile이 시간을 재는 단계 수"},
    {"also write losses, rates, samples, settings and histograms of parameters for TensorBoard",
     "TensorBoard가 읽는 파일에도 손실, 학습률, 표본, 설정, 파라미터의 히스토그램을 씁니다"},
    {"print the profile as one JSON object, and everything else to standard error",
     "측정한 시간을 JSON 객체 하나로 출력하고 나머지는 표준 오류로 보냅니다"},
    {"stop after N evaluations in a row without a lower validation loss",
     "검증 손실이 낮아지지 않은 평가가 N번 이어지면 멈춥니다"},
    {"compute a fixed list of operations, training runs and generated texts, and compare the hash of each with the "
     "published one, which every machine should reproduce",
     "정해진 연산, 학습, 생성을 계산하여 각각의 해시를 공개된 값과 비교합니다. 어느 기계에서나 같아야 합니다"},
    {"also write best.safetensors, the model with the lowest validation loss",
     "검증 손실이 가장 낮은 모델도 best.safetensors에 씁니다"},
    {"mask the zeros of the input, and train as the tutorial does", "입력의 0을 가리고 튜토리얼처럼 학습합니다"},
    {"peak learning rate; after the warm-up it falls along half a cosine",
     "최대 학습률. 워밍업 뒤에는 반 주기의 코사인을 따라 내려갑니다"},
    {"print the losses before the first step, over all batches", "첫 단계 전의 손실을 모든 배치에 대해 출력합니다"},
    {"steps between two evaluations", "평가 사이의 단계 수"},
    {"steps per run", "실행마다의 단계 수"},
    {"dropout probability of the updates' inputs", "갱신에 들어가는 입력의 드롭아웃 확률"},
    {"the updates are multiplied by this value divided by the rank", "갱신에 이 값을 랭크로 나눈 수를 곱합니다"},
    {"write the model with the updates added to its weights", "갱신을 가중치에 더한 모델을 씁니다"},
    {"batches of each split of the text per evaluation", "평가할 때 글의 부분마다 쓰는 배치의 수"},
    {"examples of the validation split per evaluation", "평가할 때 쓰는 검증 부분의 예제 수"},
};

}  // namespace

std::span<const Message> training() { return kTraining; }

}  // namespace tapegrad::tasks::language
