import { useSyncExternalStore } from 'react';
import type { Draft } from './draft.ts';

const drafts = new Map<string, Draft>();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export const getDraft = (path: string): Draft | undefined => drafts.get(path);

/** Replaces the draft of a path of the configuration, or ends it. */
export function setDraft(path: string, draft: Draft | undefined): void {
  if (draft === undefined) drafts.delete(path);
  else drafts.set(path, draft);
  for (const listener of listeners) listener();
}

/** The draft of a path. It survives leaving the page and a new sign-in, and ends with the tab. */
export function useConfigDraft(path: string): Draft | undefined {
  return useSyncExternalStore(subscribe, () => drafts.get(path));
}
