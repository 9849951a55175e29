// What is to be said of a service's address before anything is sent to it. Pure.

/** What is said of an address. */
export interface AddressNote {
  /** `blocked`: the browser will send nothing there. `insecure`: what is sent can be read on its way. */
  readonly kind: "blocked" | "insecure";
  readonly text: string;
}

function isLocal(hostname: string): boolean {
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    /^(127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname)
  );
}

/** A warning of an address that is not encrypted; undefined where there is none, or the text is no address yet. */
export function addressNote(address: string, pageProtocol: string): AddressNote | undefined {
  if (!URL.canParse(address)) return undefined;
  const { protocol, hostname } = new URL(address);
  if (protocol !== "http:" || isLocal(hostname)) return undefined;
  if (pageProtocol === "https:") {
    const text =
      "This page came over HTTPS, so the browser blocks calls to an http address. Use the service’s https address.";
    return { kind: "blocked", text };
  }
  const text = "This address is not encrypted: the key and all data can be read on their way.";
  return { kind: "insecure", text };
}

/** The address as the client takes it: with a scheme, without spaces around it. */
export function asAddress(text: string): string {
  const trimmed = text.trim();
  if (trimmed === "" || /^[a-z][a-z0-9+.-]*:\/\//i.test(trimmed)) return trimmed;
  const { hostname } = URL.canParse(`http://${trimmed}`) ? new URL(`http://${trimmed}`) : { hostname: "" };
  return `${isLocal(hostname) ? "http" : "https"}://${trimmed}`;
}

/** What may help where no answer came from an address. */
export function unreachableHint(address: string, pageOrigin: string): string {
  const origin = URL.canParse(address) ? new URL(address).origin : undefined;
  if (origin === pageOrigin) return "The page came from this address, so the service was there a moment ago.";
  return (
    `Either nothing answers at this address, or the service does not let this page call it: ` +
    `then its setting CORS_ORIGINS has to list ${pageOrigin}.`
  );
}
