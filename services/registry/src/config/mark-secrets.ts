import { REDACTED } from '@switchyard/contracts';
import { isTree, type Tree } from '@switchyard/service-kit';
import { redactConfig } from './redact-config.ts';

const CHANGED = `${REDACTED} (changed)`;

/** Redacts the secrets of two configurations, and marks the secrets that differ. */
export function redactBoth(before: Tree, after: Tree): { shownBefore: Tree; shownAfter: Tree } {
  const shownBefore = redactConfig(before);
  return { shownBefore, shownAfter: markSecrets({ before, after, shownBefore, shownAfter: redactConfig(after) }) as Tree };
}

interface MarkSecretsOptions {
  before: unknown;
  after: unknown;
  shownBefore: unknown;
  shownAfter: unknown;
}

/** Marks values that differ but look the same after redaction: these are changed secrets. */
function markSecrets({ before, after, shownBefore, shownAfter }: MarkSecretsOptions): unknown {
  if (isTree(after) && isTree(shownAfter)) {
    const entries = Object.entries(shownAfter).map(([key, inner]) => {
      const pair = { before: getChild(before, key), after: after[key], shownBefore: getChild(shownBefore, key), shownAfter: inner };
      return [key, markSecrets(pair)] as const;
    });
    return Object.fromEntries(entries);
  }
  if (Array.isArray(after) && Array.isArray(shownAfter))
    return shownAfter.map((inner: unknown, index) =>
      markSecrets({ before: getChild(before, index), after: after[index], shownBefore: getChild(shownBefore, index), shownAfter: inner }),
    );
  const hidden = typeof shownAfter === 'string' && shownAfter === shownBefore && before !== after;
  return hidden ? shownAfter.replace(REDACTED, CHANGED) : shownAfter;
}

function getChild(value: unknown, key: string | number): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string | number, unknown>)[key] : undefined;
}
