import type { SessionDocument } from './session-document.ts';

/** The title of a session as answers have it, where it has one. */
export function labelOf({ label }: Pick<SessionDocument, 'label'>): { label?: string } {
  return label === undefined ? {} : { label };
}
