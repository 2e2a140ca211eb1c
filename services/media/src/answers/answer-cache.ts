import { createHash } from 'node:crypto';
import type { Principal } from '@switchyard/contracts';
import type { Collection } from '@switchyard/store';
import type { AnswerDocument } from './answer-document.ts';

/** Parts that decide an answer: kind, model, prompt, and the bytes. */
export type AnswerKey = readonly (string | number | boolean | Uint8Array | undefined)[];

/** Keeps answers of providers for a day, so that the same question of a tenant is paid once. */
export interface AnswerCache {
  /** Returns the kept answer, or makes and keeps one. Calls of this process with the same key share one question. */
  remember<T extends object>(principal: Principal, key: AnswerKey, make: () => Promise<T>): Promise<T>;
}

export function createAnswerCache(answers: Collection<AnswerDocument>, now: () => number): AnswerCache {
  const running = new Map<string, Promise<object>>();

  async function findOrMake(principal: Principal, id: string, make: () => Promise<object>): Promise<object> {
    const own = answers.for(principal);
    const kept = await own.get(id);
    if (kept) return kept.answer;
    const answer = await make();
    await own.replace({ answerId: id, answer: answer as Record<string, unknown>, createdAt: now() });
    return answer;
  }

  return {
    async remember<T extends object>(principal: Principal, key: AnswerKey, make: () => Promise<T>): Promise<T> {
      const id = digest(key);
      const question = `${principal.tenant}/${id}`;
      const current = running.get(question) ?? findOrMake(principal, id, make).finally(() => running.delete(question));
      running.set(question, current);
      return (await current) as T;
    },
  };
}

/** Each part has its length in front, so that no two keys are the same text. */
function digest(key: AnswerKey): string {
  const hash = createHash('sha256');
  for (const part of key) {
    const bytes = part instanceof Uint8Array ? part : Buffer.from(JSON.stringify(part ?? null));
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex');
}
