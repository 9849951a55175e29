// Files that the page makes for its user to keep.

/** Gives the user a file. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A name that every file system takes; of a name without any letter of one, another. */
export function fileName(name: string, otherwise: string): string {
  const plain = name.normalize("NFC").replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "-");
  return plain.slice(0, 60).replace(/^[.-]+|[.-]+$/g, "") || otherwise;
}
