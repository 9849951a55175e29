/** A message or a description, with what stands in backticks as code. */
export function described(text: string): HTMLElement {
  const made = document.createElement("div");
  text.split("`").forEach((part, at) => {
    if (at % 2 === 0) return made.append(part);
    const code = document.createElement("code");
    code.textContent = part;
    made.append(code);
  });
  return made;
}
