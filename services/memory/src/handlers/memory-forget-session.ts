import type { Handler } from '@switchyard/bus';
import { forget } from '../entries/forget.ts';
import type { Given } from './given.ts';

const PAGE = 200;

/** Forgets page after page; whoever asks again after a failure ends what is left. */
export function memoryForgetSession({ entries, store, index }: Given): Handler<'memory.forgetSession'> {
  return async ({ sessionKey }, { principal, signal }) => {
    const mine = entries.for(principal);
    const now = store.now();
    let forgotten = 0;
    for (let more = true; more;) {
      signal.throwIfAborted();
      // What is forgotten says no more of which session it was.
      const { items, cursor } = await mine.find({ sessionKey, goneAt: null }, { limit: PAGE });
      const gone = (await Promise.all(items.map(({ id }) => forget(mine, { id, now })))).filter((entry) => entry !== null);
      await index.note(principal.tenant, gone);
      forgotten += gone.length;
      more = cursor !== undefined;
    }
    return { forgotten };
  };
}
