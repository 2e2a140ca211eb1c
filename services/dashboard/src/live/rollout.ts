import { onEvents } from './event-hub.ts';

const listeners = new Set<() => void>();
let loaded: string | undefined;
let isOutdated = false;

/** Whether the gateway serves another version of this page than the one that is open. */
export const isPageOutdated = (): boolean => isOutdated;

/** Calls the listener when another version is served. */
export function onRollout(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Compares the page that is served with the one that is open: now, after each gap in the event stream, and when a script is gone. */
export function watchRollouts(): void {
  void check();
  onEvents((events) => {
    if (events === 'reset') void check();
  });
  addEventListener('online', () => void check());
  addEventListener('vite:preloadError', report);
}

async function check(): Promise<void> {
  // An unreachable gateway tells nothing about its version.
  const response = await fetch('/app/', { cache: 'no-cache' }).catch(() => undefined);
  const etag = response?.ok ? response.headers.get('etag') : null;
  if (etag === null) return;
  loaded ??= etag;
  if (etag !== loaded) report();
}

function report(): void {
  isOutdated = true;
  for (const listener of listeners) listener();
}
