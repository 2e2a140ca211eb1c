import type { Settings } from '@switchyard/service-kit';

/** Routes are made at the start, and the path of webhooks is a setting that may change later. */
export interface HookPaths {
  /** Base path of the webhook routes. */
  readonly base: string;
  /** The address that the routes know, for one that stands below the path that is set now. */
  routed(url: string): string;
  /** Whether an address, as it came, is below the path that is set now. */
  has(url: string): boolean;
}

export function createHookPaths(settings: Settings<'webhooks'>): HookPaths {
  const now = (): string => trimmed(settings.current.webhooks.path);
  const base = now();
  return {
    base,
    routed(url) {
      const path = now();
      return path !== base && isBelow(url, path) ? base + url.slice(path.length) : url;
    },
    has: (url) => isBelow(url, now()),
  };
}

function isBelow(url: string, path: string): boolean {
  return url.startsWith(`${path}/`);
}

function trimmed(path: string): string {
  return path.endsWith('/') ? path.slice(0, -1) : path;
}
