import { createHash } from 'node:crypto';
import type { Candidate } from '../providers/provider-chain.ts';
import type { Visual } from './visual.ts';

const NAMES = { image: 'vision', video: 'video' } as const;
const DIGEST_CHARS = 12;
const MAX_PROMPT_CHARS = 200;

/** Describes the file instead of what it shows. The same bytes and prompt give the same text. */
export function describeForDevelopment({ kind, bytes, mimeType, width, height }: Visual, { provider }: Candidate, prompt: string): string {
  const size = width === undefined || height === undefined ? '' : ` of ${width} x ${height} pixels`;
  const digest = createHash('sha256').update(bytes).digest('hex').slice(0, DIGEST_CHARS);
  const name = `${provider}/${NAMES[kind]}`;
  return `I am ${name}, the development ${kind} model. I received ${mimeType}${size} (${bytes.length} bytes, sha256 ${digest}). The prompt was: ${prompt.slice(0, MAX_PROMPT_CHARS)}`;
}
