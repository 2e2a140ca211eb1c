import { createHash, subtle } from 'node:crypto';
import type { Principal } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { AnswerDocument } from './answer-document.ts';

/** Parts that decide an answer: kind, model, prompt, and the bytes. */
export type AnswerKey = readonly (string | number | boolean | Uint8Array<ArrayBuffer> | undefined)[];

export interface AnswerContext {
  principal: Principal;
  /** Ends `make`. */
  signal: AbortSignal;
}

/** Keeps answers of providers for a day, so that the same question of a tenant is paid once. */
export interface AnswerCache {
  /**
   * Returns the kept answer, or makes and keeps one. Calls of this process with the same key share one question. When the caller that asks
   * leaves, the next one asks again.
   */
  remember<T extends object>(ctx: AnswerContext, key: AnswerKey, make: () => Promise<T>): Promise<T>;
}

export function createAnswerCache(answers: Collection<AnswerDocument>, now: () => number): AnswerCache {
  const running = new Map<string, { answer: Promise<object>; signal: AbortSignal }>();

  async function findOrMake(principal: Principal, id: string, make: () => Promise<object>): Promise<object> {
    const own = answers.for(principal);
    const kept = await own.get(id);
    if (kept) return kept.answer;
    const answer = await make();
    await own.replace({ answerId: id, answer: answer as Record<string, unknown>, createdAt: now() });
    return answer;
  }

  return {
    async remember<T extends object>({ principal, signal }: AnswerContext, key: AnswerKey, make: () => Promise<T>): Promise<T> {
      const id = await digest(key);
      const question = `${principal.tenant}/${id}`;
      for (let shared = running.get(question); shared !== undefined; shared = running.get(question)) {
        try {
          return (await shared.answer) as T;
        } catch (error) {
          if (!shared.signal.aborted || signal.aborted) throw error;
        }
      }
      const answer = findOrMake(principal, id, make).finally(() => running.delete(question));
      running.set(question, { answer, signal });
      return (await answer) as T;
    },
  };
}

/**
 * Each part has its length in front, so that no two keys are the same text. Bytes are represented by their digest, which another thread
 * calculates, because files are large.
 */
async function digest(key: AnswerKey): Promise<string> {
  const hash = createHash('sha256');
  for (const part of key) {
    const bytes = part instanceof Uint8Array ? await digestBytes(part) : Buffer.from(JSON.stringify(part ?? null));
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex');
}

async function digestBytes(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  return new Uint8Array(await subtle.digest('SHA-256', bytes));
}
