// write table."column".
#include <tapegrad/train/data/csv.h>

int main() {
  const tapegrad::data::Csv table("people.csv", {tapegrad::data::numbers("age")});
  return table[0].dim();
}
