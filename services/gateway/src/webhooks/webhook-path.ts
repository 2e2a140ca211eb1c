import type { Settings } from '@switchyard/service-kit';

/** Maps the URLs of webhooks to their routes. Routes are registered at the start, and `webhooks.path` may change later. */
export interface HookPaths {
  /** Base path of the webhook routes. */
  readonly base: string;
  /** Rewrites a URL below the current path to the registered path. */
  toBaseUrl(url: string): string;
  /** Whether a URL is below the current path. */
  has(url: string): boolean;
}

export function createHookPaths(settings: Settings<'webhooks'>): HookPaths {
  const getPath = (): string => removeTrailingSlash(settings.current.webhooks.path);
  const base = getPath();
  return {
    base,
    toBaseUrl(url) {
      const path = getPath();
      return path !== base && isBelow(url, path) ? base + url.slice(path.length) : url;
    },
    has: (url) => isBelow(url, getPath()),
  };
}

function isBelow(url: string, path: string): boolean {
  return url.startsWith(`${path}/`);
}

function removeTrailingSlash(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
