import { LRUCache } from 'lru-cache';

/** Suppresses repetitions of the same finding for a while. */
export interface ReportWindow {
  /** Returns whether the finding was not reported within the window. */
  add: (finding: string) => boolean;
}

const WINDOW_MS = 60_000;
const MAX_FINDINGS = 10_000;

export function createReportWindow(now: () => number): ReportWindow {
  const reportedAt = new LRUCache<string, number>({ max: MAX_FINDINGS });
  return {
    add(finding) {
      const last = reportedAt.get(finding);
      if (last !== undefined && now() - last < WINDOW_MS) return false;
      reportedAt.set(finding, now());
      return true;
    },
  };
}
