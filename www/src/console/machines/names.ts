import { useEffect, useState } from "preact/hooks";

import { client } from "../service.ts";

/** The ids of the tenant's machines, for completion: none where they cannot be read. */
export function useMachineNames(): readonly string[] {
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    const reading = new AbortController();
    client()
      .machines.list({ limit: 1000 }, { signal: reading.signal })
      .then(
        ({ items }) => setNames(items.map(({ machine_id }) => machine_id)),
        // What is completed is a convenience.
        () => undefined,
      );
    return () => reading.abort();
  }, []);
  return names;
}
