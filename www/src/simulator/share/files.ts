// Files that are loaded: chosen, or dropped on the page.

import { useEffect, useState } from "preact/hooks";

import type { Content } from "../model.ts";
import { contentOfText, MOST_TEXT, Unreadable } from "./content.ts";

/** How many files are read together. */
const MOST_FILES = 50;

/** What files hold: one of them can be a scenario; of the others the definitions come together. */
export async function contentOfFiles(files: readonly File[]): Promise<Content> {
  if (files.length > MOST_FILES) throw new Unreadable(`There are more than ${MOST_FILES} files`);
  const read = await Promise.all(files.map(contentOfFile));
  const [first] = read;
  if (first === undefined) throw new Unreadable("There is no file");
  if (read.length === 1) return first;
  if (read.some(({ scenario }) => scenario !== undefined)) {
    throw new Unreadable("A scenario brings its own machines: load it alone");
  }
  return { definitions: read.flatMap(({ definitions }) => definitions), name: first.name };
}

async function contentOfFile(file: File): Promise<Content> {
  // Its text has as many bytes as characters, or more.
  if (file.size > 4 * MOST_TEXT) throw new Unreadable(`${file.name}: it is larger than what is read`);
  try {
    return { ...contentOfText(await file.text()), name: file.name.replace(/(\.scenario)?\.json$/i, "") };
  } catch (error) {
    if (error instanceof Unreadable) throw new Unreadable(`${file.name}: ${error.message}`);
    throw error;
  }
}

/** Takes files that are dropped anywhere on the page; whether some are held over it. */
export function useDrop(onFiles: (files: readonly File[]) => void): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes("Files") === true;
    const hold = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      event.stopPropagation();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      // Left the window, and not one element for another.
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      setOver(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      // The editor would put the text of a file into its own.
      event.stopPropagation();
      onFiles([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener("dragenter", hold, true);
    addEventListener("dragover", hold, true);
    addEventListener("dragleave", leave, true);
    addEventListener("drop", drop, true);
    return () => {
      removeEventListener("dragenter", hold, true);
      removeEventListener("dragover", hold, true);
      removeEventListener("dragleave", leave, true);
      removeEventListener("drop", drop, true);
    };
  }, [onFiles]);
  return over;
}
