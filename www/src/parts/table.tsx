import type { ComponentChildren, JSX } from "preact";

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => ComponentChildren;
  readonly align?: "end";
}

export interface TableProps<Row> {
  /** What the rows are: read out. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string | number;
  /** What is said where there are none. */
  readonly empty: ComponentChildren;
}

/** Rows under heads; narrow screens scroll it sideways, by keyboard too. */
export function Table<Row>({ caption, columns, rows, keyOf, empty }: TableProps<Row>): JSX.Element {
  if (rows.length === 0) return <p class="empty">{empty}</p>;
  return (
    <div class="table" role="region" aria-label={caption} tabIndex={0}>
      <table>
        <caption class="only-read">{caption}</caption>
        <thead>
          <tr>
            {columns.map(({ head, align }) => (
              <th key={head} scope="col" class={align === "end" ? "align-end" : undefined}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ head, cell, align }) => (
                <td key={head} class={align === "end" ? "align-end" : undefined}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
