// write {data::numbers
#include <tapegrad/train/data/csv.h>

int main() {
  const tapegrad::data::Csv table("people.csv", {"age", "height"});
  return static_cast<int>(table.size());
}
