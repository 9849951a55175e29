declare module "#core-file" {
  /** Where the file is. */
  const url: string;
  export default url;
}

declare module "#simulation-file" {
  /** Where the file is. */
  const url: string;
  export default url;
}
