/** Why a file of the package is not where it should be. */
export function unread(path: string, cause: unknown): Error {
  return new Error(
    `statewright: ${path} cannot be read; where a bundler put the package into one file with others, leave it out of the bundle (external: ["statewright"])`,
    { cause },
  );
}
