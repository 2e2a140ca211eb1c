import type { BrowserContext } from 'playwright-core';
import type { OpenedTargets, TargetListener } from './opened-targets.ts';

/**
 * The tabs that pages have opened and whose first document has not arrived. Callers know nothing of such a tab but its id, so the next tab
 * that the driver reports gets the oldest id.
 */
export interface PendingTabs {
  readonly listener: TargetListener;
  list(): string[];
  /** Removes the oldest id, for the tab whose first document has arrived. */
  take(): string | undefined;
  /** Closes a tab. Returns false if it is not pending. */
  close(tabId: string): Promise<boolean>;
  /** Waits until no tab is pending, at most so long. */
  wait(timeoutMs: number): Promise<void>;
}

export interface PendingTabsOptions {
  context: BrowserContext;
  targets: OpenedTargets;
  /** Returns the id of a new tab; undefined if the session has too many. The tab is closed then. */
  assignId: (pending: number) => string | undefined;
}

export function createPendingTabs({ context, targets, assignId }: PendingTabsOptions): PendingTabs {
  /** Ids of tabs by target, oldest first. */
  const pending = new Map<string, string>();

  return {
    listener: {
      created(targetId) {
        const id = assignId(pending.size);
        if (id === undefined) void targets.close(targetId).catch(() => undefined);
        else pending.set(targetId, id);
      },
      destroyed: (targetId) => void pending.delete(targetId),
    },
    list: () => [...pending.values()],
    take() {
      const [oldest] = pending;
      if (oldest) pending.delete(oldest[0]);
      return oldest?.[1];
    },
    async close(tabId) {
      const target = [...pending].find(([, id]) => id === tabId)?.[0];
      if (target === undefined) return false;
      pending.delete(target);
      await targets.close(target);
      return true;
    },
    async wait(timeoutMs) {
      const until = performance.now() + timeoutMs;
      while (pending.size > 0) {
        const timeout = until - performance.now();
        const page = timeout > 0 && (await context.waitForEvent('page', { timeout }).catch(() => undefined));
        if (!page) return;
      }
    },
  };
}
