// What was meant by a name that is none.

/** How many letters have to be changed, added, left out or exchanged with their neighbour. */
function distance(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1] ? 0 : 1;
      let least = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + same,
      );
      if (row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        least = Math.min(least, (before[column - 2] ?? 0) + 1);
      }
      next.push(least);
    }
    before = last;
    last = next;
  }
  return last[other.length] ?? 0;
}

/** The nearest of some names, where one is near enough to have been meant. */
export function nearest(word: string, names: Iterable<string>): string | undefined {
  let best: { name: string; far: number } | undefined;
  for (const name of names) {
    const far = distance(word.toLowerCase(), name.toLowerCase());
    if (far <= Math.max(1, Math.floor(name.length / 3)) && far < (best?.far ?? Infinity))
      best = { name, far };
  }
  return best?.name;
}
