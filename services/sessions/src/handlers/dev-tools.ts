import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, type Input, type Result, type sessions as contract } from '@switchyard/contracts';
import type { Ctx, Handler, Handlers } from '@switchyard/bus';
import { mintId } from '@switchyard/security';
import { collection, type Collection, type Store } from '@switchyard/store';
import { z } from 'zod';

/** One execution of a counted development tool. */
const ExecutionDocument = z.object({ id: z.string(), name: z.string(), key: z.string(), at: z.int().nonnegative() });
type ExecutionDocument = z.infer<typeof ExecutionDocument>;

const KEPT_MS = 86_400_000;
const PAGE = 500;

export const executionCollection = collection({
  name: 'executions',
  schema: ExecutionDocument,
  key: 'id',
  indexes: [{ fields: ['name', 'at'] }],
  expires: { field: 'at', afterMs: KEPT_MS },
});

/** Returns true if SWITCHYARD_DEV_TOOLS enables the counted tools. They exist for tests only. */
export function countsTools(env: Readonly<Record<string, string | undefined>>): boolean {
  return env['SWITCHYARD_DEV_TOOLS'] === 'on';
}

/** Returns the handlers, or none if the tools are disabled. */
export async function devTools(env: Readonly<Record<string, string | undefined>>, store: Store): Promise<Handlers<typeof contract>> {
  if (!countsTools(env)) return {};
  const { executions } = await store.open({ executions: executionCollection });
  const execute = (params: Input<'dev.act'>, ctx: Ctx): Promise<Result<'dev.act'>> => executed(executions, store, { params, ctx });
  return { 'dev.act': execute, 'dev.destroy': execute, 'dev.look': execute, 'dev.count': devCount(executions) };
}

interface Executing {
  params: Input<'dev.act'>;
  ctx: Ctx;
}

/** Counts the execution before the tool acts, so that a crash cannot lose the count. */
async function executed(
  executions: Collection<ExecutionDocument>,
  store: Pick<Store, 'now'>,
  { params, ctx }: Executing,
): Promise<Result<'dev.act'>> {
  const { name, waitMs = 0, fails = false, chars } = params;
  const mine = executions.for(ctx.principal);
  const key = ctx.key ?? '';
  await mine.insert({ id: mintId('exec'), name, key, at: store.now() });
  if (waitMs > 0) await sleep(waitMs, undefined, { signal: ctx.signal });
  if (fails) throw new ServiceError('FAILED_PRECONDITION', `${name} failed as requested.`);
  return { name, key, executions: await mine.count({ name }), ...(chars === undefined ? {} : { text: 'x'.repeat(chars) }) };
}

function devCount(executions: Collection<ExecutionDocument>): Handler<'dev.count'> {
  return async ({ name }, { principal }) => {
    const keys = new Map<string, number>();
    let cursor: string | undefined;
    do {
      const page = await executions
        .for(principal)
        .find({ name }, { sort: [['at', 'asc']], limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
      for (const { key } of page.items) keys.set(key, (keys.get(key) ?? 0) + 1);
      cursor = page.cursor;
    } while (cursor !== undefined);
    const counted = [...keys].map(([key, times]) => ({ key, executions: times }));
    return { name, executions: counted.reduce((sum, { executions: times }) => sum + times, 0), keys: counted };
  };
}
