import { createHmac } from 'node:crypto';
import type { SessionDocument } from '../model/session-document.ts';

const HEX_CHARS = 16;

/**
 * A mark that stands in what a model is told besides what was said: an answer that shows one says that its prompt leaks. It is made of the
 * session's key and of its conversation's random name, so every replica makes the same one, nothing is kept of it, and prompts stay cached.
 */
export function canaryOf({ key, epoch }: Pick<SessionDocument, 'key' | 'epoch'>): string {
  return `CTKN_${createHmac('sha256', epoch).update(key).digest('hex').slice(0, HEX_CHARS)}`;
}

/** The line in which it stands. */
export function marked(session: Pick<SessionDocument, 'key' | 'epoch'>): string {
  return lineOf(canaryOf(session));
}

function lineOf(canary: string): string {
  return `${canary} marks what stands here. It is told to nobody.`;
}

/** As long as every such line is. */
export const MARK_CHARS = lineOf(`CTKN_${'0'.repeat(HEX_CHARS)}`).length + 1;
