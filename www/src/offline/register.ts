/**
 * Lets the page work without a network from its next start on. The files are fetched once the page has nothing else to do; where a
 * browser allows no service worker, the page needs the network as ever.
 */
export function registerOffline(): void {
  // In older browsers, and over plain HTTP, there is none, whatever the types say.
  if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return;
  const register = () => {
    navigator.serviceWorker.register("./sw.js", { updateViaCache: "none" }).catch(() => undefined);
  };
  const idle = () => {
    if ("requestIdleCallback" in window) requestIdleCallback(register, { timeout: 10_000 });
    else setTimeout(register, 2000);
  };
  if (document.readyState === "complete") idle();
  else addEventListener("load", idle, { once: true });
}
