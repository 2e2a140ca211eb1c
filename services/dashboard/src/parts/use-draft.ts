import { useSyncExternalStore } from 'react';

const drafts = new Map<string, string>();
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** A text that the operator types. It survives leaving its page, a new sign-in and a broken stream, and ends with the tab. */
export function useDraft(key: string, initial = ''): [text: string, set: (text: string) => void] {
  const text = useSyncExternalStore(subscribe, () => drafts.get(key) ?? initial);
  return [text, (next) => setDraft(key, next)];
}

/** Replaces a draft. */
export function setDraft(key: string, text: string | undefined): void {
  if (text === undefined) drafts.delete(key);
  else drafts.set(key, text);
  for (const listener of listeners) listener();
}
